// A reader of folders. The input is a bundle of files: each begins with a line "==== NAME", and ends before the
// line end in front of the next.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "fuzzed.hpp"

namespace {

/// Made anew for every input, in memory where the system has a folder for that.
class Scratch {
 public:
  Scratch() {
    const char* const base = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    path_ = std::string(base) + "/weft-fuzz-" + std::to_string(::getpid());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  void put(std::string_view name, std::string_view content) const {
    const bool plain =
        !name.empty() && name.size() < 100 && name.find("..") == name.npos && name.front() != '/' &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == name.npos;
    if (!plain) return;
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::error_code ignored;
    std::filesystem::create_directories(file.parent_path(), ignored);
    std::ofstream(file, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weft;
  constexpr std::string_view mark = "==== ";
  const Scratch folder;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (rest.starts_with(mark)) {
    const std::size_t line_end = rest.find('\n');
    if (line_end == rest.npos) break;
    const std::string_view name = rest.substr(mark.size(), line_end - mark.size());
    rest.remove_prefix(line_end + 1);
    const std::size_t next = rest.find("\n==== ");
    folder.put(name, rest.substr(0, next));
    rest.remove_prefix(next == rest.npos ? rest.size() : next + 1);
  }
  test::expect_an_answer(4 * size, [&] {
    const io::Folder files(folder.path());
    const io::Format& format = io::WEFT_FUZZED();
    format.sniff_folder(files);
    return format.read_folder(files, {});
  });
  return 0;
}
