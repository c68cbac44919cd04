// A folder for inputs of readers that open files by themselves.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace weft::test {

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
  void put(std::string_view name, std::span<const std::byte> content) const {
    const bool plain =
        !name.empty() && name.size() < 100 && name.find("..") == name.npos && name.front() != '/' &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == name.npos;
    if (!plain) return;
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::error_code ignored;
    std::filesystem::create_directories(file.parent_path(), ignored);
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace weft::test
