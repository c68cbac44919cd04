#include "graph/dataset/lookup.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/check.hpp"
#include "core/environment.hpp"
#include "core/nearest.hpp"
#include "graph/dataset/builtin.hpp"
#include "graph/dataset/known_names.hpp"
#include "graph/io/format.hpp"
#include "graph/io/packing.hpp"
#include "weft/generate.hpp"

namespace weft::io {
namespace {

namespace fs = std::filesystem;

constexpr auto endings = std::to_array<std::string_view>({".weft", ".npz"});
constexpr auto text_endings = std::to_array<std::string_view>({".mtx", ".txt"});  // these may be packed
constexpr std::string_view of_planetoid = "planetoid-";                           // planetoid-cora.npz

std::string cache_folder() {
#ifdef __APPLE__
  return user_folder("XDG_CACHE_HOME", "Library/Caches");
#else
  return user_folder("XDG_CACHE_HOME", ".cache");
#endif
}

/// What stands in a folder; nothing where it cannot be listed.
std::vector<std::string> entries_of(const std::string& folder) {
  try {
    return Folder::is_one(folder) ? Folder(folder).files() : std::vector<std::string>{};
  } catch (const Error&) {
    return {};
  }
}

bool in_a_known_layout(const std::string& folder) {
  try {
    return format_of_folder(Folder(folder)) != nullptr;
  } catch (const Error&) {
    return false;
  }
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// One folder's entries under names that can be compared.
class Shelf {
 public:
  explicit Shelf(std::string path) : path_(std::move(path)), entries_(entries_of(path_)) {}

  std::string file(const std::string& plain) const { return find(plain, is_file); }
  std::string folder(const std::string& plain) const { return find(plain, Folder::is_one); }

  /// One file that holds all of it.
  std::string whole_file(const std::string& name) const {
    std::vector<std::string> wanted{name};  // the ending was given
    for (const std::string_view ending : endings) {
      wanted.push_back(name + std::string(ending));
      if (ending == ".npz") wanted.push_back(std::string(of_planetoid) + wanted.back());
    }
    for (const std::string_view ending : text_endings) {
      const std::string plain = name + std::string(ending);
      wanted.push_back(plain);
      for (const PackingName& packing : packings) wanted.push_back(plain + std::string(packing.ending));
    }
    for (const std::string& each : wanted)
      if (std::string found = file(each); !found.empty()) return found;
    return "";
  }
  /// One of Planetoid's eight, which stands for all.
  std::string planetoid_file(const std::string& name) const { return file("ind." + name + ".graph"); }

 private:
  template <class Kind>
  std::string find(const std::string& plain, Kind&& is_kind) const {
    for (const std::string& entry : entries_)
      if (plain_name(entry) == plain && is_kind(path_ + "/" + entry)) return path_ + "/" + entry;
    return "";
  }

  std::string path_;
  std::vector<std::string> entries_;
};

std::string find_in_own_folder(const std::string& folder, const std::string& name) {
  for (const std::string& path : {folder, folder + "/raw"}) {
    if (in_a_known_layout(path)) return path;
    const Shelf shelf(path);
    for (std::string found : {shelf.whole_file(name), shelf.planetoid_file(name)})
      if (!found.empty()) return found;
  }
  return "";
}

std::string find_in(const std::string& path, const std::string& name) {
  const Shelf shelf(path);
  if (std::string found = shelf.whole_file(name); !found.empty()) return found;
  if (const std::string own = shelf.folder(name); !own.empty())
    if (std::string found = find_in_own_folder(own, name); !found.empty()) return found;
  if (std::string found = shelf.planetoid_file(name); !found.empty()) return found;
  const std::string planetoid = shelf.folder("planetoid");
  return planetoid.empty() ? "" : Shelf(planetoid).planetoid_file(name);
}

/// "cora" of "planetoid-Cora.npz", "ind.cora.graph" and "cora".
std::string name_of_entry(std::string_view entry) {
  std::string name(without_packing(plain_name(entry)));
  for (const std::string_view ending : {".weft", ".npz", ".mtx", ".txt", ".graph"})
    if (name.ends_with(ending)) name.erase(name.size() - ending.size());
  for (const std::string_view start : {of_planetoid, std::string_view("ind.")})
    if (name.starts_with(start)) name.erase(0, start.size());
  return name;
}

/// 0 for the same; nothing in common is `far`.
constexpr std::size_t far = ~std::size_t{0};
std::size_t distance(std::string_view word, std::string_view name) {
  const std::size_t most = (word.size() + 1) / 3;
  const auto [shorter, longer] = std::minmax({word.size(), name.size()});
  if (longer - shorter <= most)
    if (const std::size_t letters = typing_distance(word, name); letters <= most) return letters;
  const bool within = name.find(word) != name.npos || word.find(name) != word.npos;
  return shorter >= 3 && within ? longer - shorter : far;
}

/// The nearest few of what was offered.
class Near {
 public:
  explicit Near(std::string_view word) : word_(plain_name(word)) {}
  void offer(std::string_view name, std::string shown) {
    const std::size_t letters = distance(word_, plain_name(name));
    if (letters != far) found_.emplace_back(letters, std::move(shown));
  }
  bool empty() const { return found_.empty(); }
  std::string list(std::string_view last_separator) {
    constexpr std::size_t most = 4;
    std::ranges::stable_sort(found_, {}, &std::pair<std::size_t, std::string>::first);
    if (found_.size() > most) found_.resize(most);
    std::string text;
    for (std::size_t i = 0; i < found_.size(); ++i)
      text.append(i == 0 ? "" : i + 1 < found_.size() ? ", " : last_separator).append(found_[i].second);
    return text;
  }

 private:
  std::string word_;
  std::vector<std::pair<std::size_t, std::string>> found_;
};

std::string what_lies_there(std::string_view name, const std::vector<std::string>& folders) {
  Near near(name);
  for (const std::string& folder : folders)
    for (const std::string& entry : entries_of(folder)) {
      const std::string path = folder + "/" + entry;
      if (!Folder::is_one(path))
        near.offer(name_of_entry(entry), path);
      else if (plain_name(entry) == plain_name(name))
        near.offer(entry, path + " (in no layout weft knows)");
      else
        near.offer(entry, path + "/");
    }
  return near.empty() ? "" : "; similar there: " + near.list(" and ");
}

std::string what_may_be_meant(std::string_view name) {
  Near near(name);
  for (const BuiltinDataset& form : builtin_datasets()) near.offer(form.name, fmt::format("{} (built in)", form.name));
  for (const std::string_view known : known_names()) near.offer(known, std::string(known));
  for (const KnownDataset& like : known_datasets())
    if (plain_name(name) == like.name) near.offer(like.name, fmt::format("like:{} (a synthetic stand-in)", like.name));
  return near.empty() ? "" : fmt::format("did you mean {}? ", near.list(" or "));
}

[[noreturn]] void fail_to_find(std::string_view name) {
  const std::vector<std::string> folders = dataset_folders();
  const std::string places = fmt::format("{}", fmt::join(folders, ", ")), there = what_lies_there(name, folders);
  if (const std::string advice = where_to_get(name, folders.front()); !advice.empty())
    fail(ErrorCode::io, "{}: no such file, and no dataset of that name in {} (looked in that order{}): {}{}", name,
         places, std::getenv("WEFT_DATA") == nullptr ? "; WEFT_DATA may name another folder" : "", advice, there);
  std::vector<std::string_view> built_in;
  for (const BuiltinDataset& form : builtin_datasets()) built_in.push_back(form.name);
  fail(
      ErrorCode::io,
      "{}: no such file, and no dataset of that name is known or lies in {}: {}expected a graph file, a dataset's name "
      "(built in: {}) or something like rmat:scale=16,edge_factor=16{}",
      name, places, what_may_be_meant(name), fmt::join(built_in, ", "), there);
}

}  // namespace

std::vector<std::string> dataset_folders() {
  std::vector<std::string> folders;
  for (std::string folder : {environment("WEFT_DATA"), std::string("./data"), cache_folder()}) {
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    if (!folder.empty() && std::ranges::find(folders, folder) == folders.end()) folders.push_back(std::move(folder));
  }
  return folders;
}

bool may_be_name(std::string_view text) {
  constexpr std::size_t longest = 100;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  return text.size() <= longest && std::ranges::any_of(text, letter) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || c == '-' || c == '_' || c == '.'; });
}

std::string find_by_name(std::string_view name) {
  std::vector<std::string> names{plain_name(name)};
  if (const std::string_view also = published_as(name); !also.empty()) names.push_back(plain_name(also));
  for (const std::string& folder : dataset_folders())
    for (const std::string& each : names)
      if (std::string found = find_in(folder, each); !found.empty()) return found;
  fail_to_find(name);
}

}  // namespace weft::io
