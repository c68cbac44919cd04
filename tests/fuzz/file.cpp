// A reader of single files.
#include "fuzzed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weft;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  test::expect_an_answer(4 * size, [&] {  // unpacked text may be some times the file
    io::Source source = test::source_of(bytes, "fuzzed");
    const io::Format& format = io::WEFT_FUZZED();
    if (!format.unpacks) io::unpack(source, {});
    format.sniff(source);
    return format.read(source, {});
  });
  return 0;
}
