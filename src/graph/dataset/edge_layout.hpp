// How a list of edges is written: its delimiter, its header, and which columns are source, target and weight.
#pragma once

#include <string>
#include <string_view>

#include "graph/io/delimited.hpp"
#include "graph/io/edge_table.hpp"

namespace weft::io {

struct EdgeLayout : EdgeText {
  bool header = false;
  bool braces = false;  // a Python dict of attributes ends each line, as networkx writes it
  bool words = false;   // ids are words, not numbers
  char record_delimiter = ' ';
  bool by_record = false;  // quotes, braces, words, or blanks within fields: read_edges cannot read it
  std::string note;        // what a person should know: columns that are not read
};

/// Of the beginning of a text, as much as the first records need. `skip` counts from the start of `text`. What has no
/// place for a source and a target ends in an Error.
EdgeLayout edge_layout_of(std::string_view text);

/// Whether the text begins as a list of edges does that no name announces: two ids that are numbers, and at most two
/// further numbers or networkx's braces; or a header that names a source and a target.
bool begins_as_edge_list(std::string_view text);

}  // namespace weft::io
