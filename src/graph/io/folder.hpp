// A folder of files that belong together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/io/naming.hpp"
#include "graph/io/source.hpp"

namespace weft::io {

class Folder {
 public:
  explicit Folder(std::string path);
  static bool is_one(const std::string& path);

  const std::string& path() const { return path_; }
  /// "cora" of "data/cora/".
  std::string name() const;
  /// Of its files, in alphabetical order.
  const std::vector<std::string>& files() const { return files_; }
  bool has(const std::string& file) const;  // which may stand in a folder below: "raw/edge.csv"
  /// "edge.csv" or "edge.csv.gz" (.bz2, .xz, .zst), whichever is there; empty for none.
  std::string packed_or_not(const std::string& file) const;
  /// f(source) of a file, packed or not, with its name, as it is there, in front of whatever is wrong with it. The
  /// source is the whole content.
  template <class F>
  auto with(const std::string& file, const Progress& progress, F&& f) const {
    return with_opened(file, [&](Source source) {
      load(source, progress);
      return f(std::move(source));
    });
  }
  /// The same for archives and arrays, which are read out of the file.
  template <class F>
  auto with_file(const std::string& file, const Progress& progress, F&& f) const {
    return with_opened(file, [&](Source source) {
      unpack(source, progress);
      return f(std::move(source));
    });
  }
  /// f(source) of just that file, as it is: readers of text unpack it block by block.
  template <class F>
  auto with_packed(const std::string& file, F&& f) const {
    const Source source = open(file);
    return naming_part(file, [&] { return f(source); });
  }
  Folder below(const std::string& name) const { return Folder(path_ + "/" + name); }

 private:
  void check_has(const std::string& file) const;
  /// An Error for a file that is not there names it, and what is there instead.
  Source open(const std::string& file) const;
  template <class F>
  auto with_opened(const std::string& file, F&& f) const {
    const std::string found = packed_or_not(file), name = found.empty() ? file : found;
    Source source = open(name);
    return naming_part(name, [&] { return f(std::move(source)); });
  }

  std::string path_;
  std::vector<std::string> files_;
};

}  // namespace weft::io
