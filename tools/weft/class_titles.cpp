#include "class_titles.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/io/note.hpp"

namespace weft::tool {

std::string class_title(const NodeNames& names, std::int64_t number) {
  constexpr std::size_t longest = 32;  // bytes
  return names ? io::clean_note(names.at(number), longest) : fmt::to_string(number);
}

std::string class_list(const NodeNames& names) {
  constexpr std::int64_t most = 10;
  std::string text;
  for (std::int64_t i = 0; i < std::min(names.count(), most); ++i)
    text += fmt::format("{}{} = {}", i > 0 ? ", " : "", i, class_title(names, i));
  return names.count() > most ? text + ", ..." : text;
}

std::vector<std::string> class_names_of(const NodeNames& names) {
  std::vector<std::string> list;
  for (std::int64_t i = 0; i < names.count(); ++i) list.emplace_back(names.at(i));
  return list;
}

}  // namespace weft::tool
