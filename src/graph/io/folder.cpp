#include "graph/io/folder.hpp"

#include <algorithm>
#include <filesystem>

#include "graph/io/format.hpp"
#include "graph/io/packing.hpp"

namespace weft::io {
namespace {

constexpr std::size_t most_files = 4096;  // a folder of more is no dataset's

}  // namespace

bool Folder::is_one(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

Folder::Folder(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  std::error_code error;
  std::filesystem::directory_iterator at(path_, error);
  WEFT_CHECK(!error, io, "cannot list the folder: {}", error.message());
  for (const std::filesystem::directory_iterator end; at != end; at.increment(error)) {
    files_.push_back(at->path().filename().string());
    WEFT_CHECK(files_.size() <= most_files, unsupported, "the folder has more than {} files: expected a dataset's",
               most_files);
  }
  WEFT_CHECK(!error, io, "cannot list the folder: {}", error.message());
  std::ranges::sort(files_);
}

std::string Folder::name() const {
  const std::filesystem::path whole = std::filesystem::path(path_).lexically_normal();
  std::string last = whole.filename().string();
  if (last.empty() || last == "." || last == "..") {
    std::error_code ignored;
    last = std::filesystem::canonical(whole, ignored).filename().string();
  }
  return last;
}

bool Folder::has(const std::string& file) const {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path_ + "/" + file, ignored);
}

std::string Folder::packed_or_not(const std::string& file) const {
  if (has(file)) return file;
  for (const PackingName& packing : packings)
    if (std::string packed = file + std::string(packing.ending); has(packed)) return packed;
  return {};
}

void Folder::check_has(const std::string& file) const {
  if (has(file)) return;
  std::string found;
  for (const std::string& name : files_) {
    if (found.size() > 200) {
      found += ", ...";
      break;
    }
    found += (found.empty() ? "" : ", ") + in_quotes(name);
  }
  fail(ErrorCode::invalid_file, "it lacks the file {}: found {}", file, found.empty() ? "nothing" : found);
}

Source Folder::open(const std::string& file) const {
  check_has(file);
  return naming_part(file, [&] { return open_file(path_ + "/" + file); });
}

}  // namespace weft::io
