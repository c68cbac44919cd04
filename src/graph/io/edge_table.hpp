// Lines of edges whose ids are numbers, parsed on all threads: two ids, perhaps a weight, and columns nobody asks for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/memory.hpp"
#include "graph/io/text_blocks.hpp"
#include "weft/progress.hpp"

namespace weft::io {

inline constexpr std::string_view edge_comments = "#%";

/// Which columns of a line are what, from 0.
struct EdgeColumns {
  int count = 2;
  int source = 0, target = 1;
  int weight = -1;  // -1: none
  /// "3 columns with a source, a target and a weight": of a line, for people.
  std::string expected() const;
};

struct EdgeText {
  EdgeColumns columns;
  char delimiter = ' ';  // blanks may stand around it
  std::size_t skip = 0;  // bytes before the first edge: a byte order mark, comments, a header

  /// What people hear that a line should have had; `one_more`: it has all of it, and a delimiter at its end.
  std::string expected_columns(bool one_more = false) const;
  /// The same of a weight, of whose field this is the text.
  std::string expected_weight(std::string_view field) const;
};

template <class Id>
struct EdgeTable {
  std::int64_t rows = 0;
  Buffer<Id> ends;                   // source and target of every edge, and room for more
  Buffer<float> weights;             // where there is a column of them
  std::int64_t rounded_weights = 0;  // whole numbers that f32 does not have
};

/// Ids are whole numbers from 0, also written as reals ("1.0"). Of std::int32_t only what fits: an Error with the code
/// `unsupported` says that some id does not. Every line must have all columns and no more.
template <class Id>
EdgeTable<Id> read_edges(TextBlocks&& text, const EdgeText& layout, const Progress& progress);

}  // namespace weft::io
