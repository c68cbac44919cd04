// Files of models, whether the checksum counts or not.
#include "fuzzed.hpp"
#include "nn/model_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weft;
  const io::Source source = test::source_of(std::as_bytes(std::span(data, size)), "fuzzed");
  for (const Checksum checksum : {Checksum::required, Checksum::ignored})
    test::expect_clean_answer(4 * size, [&] {
      nn::TensorFile file = nn::read_tensors(source, checksum);
      const Model model = nn::take_model(file, "model", source.path);
      const Model copy = model.clone();
      static_cast<void>(to_string(copy));
      for (std::int64_t i = 0; i < copy.class_names.count(); ++i) static_cast<void>(copy.class_names.at(i).size());
    });
  return 0;
}
