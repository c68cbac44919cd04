// A reader of folders. The input is a bundle of files.
#include <string_view>

#include "bundle.hpp"
#include "fuzzed.hpp"
#include "scratch.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weft;
  const test::Scratch folder;
  test::for_each_file(std::as_bytes(std::span(data, size)),
                      [&](std::string_view name, std::span<const std::byte> content) { folder.put(name, content); });
  test::expect_an_answer(4 * size, [&] {
    const io::Folder files(folder.path());
    const io::Format& format = io::WEFT_FUZZED();
    format.sniff_folder(files);
    return format.read_folder(files, {});
  });
  return 0;
}
