// The JSON of a model's spec: what is read makes a model, and is written and read again as the same.
#include "fuzzed.hpp"
#include "nn/layout.hpp"
#include "nn/spec_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weft;
  const std::string text(reinterpret_cast<const char*>(data), size);
  test::expect_clean_answer(size, [&] {
    const ModelSpec spec = nn::spec_from_json(text, "fuzzed");
    if (!(nn::spec_from_json(nn::spec_to_json(spec), "written") == spec)) std::abort();
    if (nn::parameters_of(spec).empty()) std::abort();
    static_cast<void>(nn::statistics_of(spec));
    static_cast<void>(to_string(spec));
  });
  return 0;
}
