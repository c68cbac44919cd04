// Lists of edges that need more than numbers: quotes, words for ids, networkx's braces.
#pragma once

#include <string_view>
#include <vector>

#include "graph/dataset/edge_layout.hpp"
#include "weft/dataset.hpp"

namespace weft::io {

struct EdgeRecords {
  std::vector<std::int64_t> ends;    // source and target of every edge: ids, or places in `names`
  std::vector<float> weights;        // of every edge, or none
  std::int64_t rounded_weights = 0;  // whole numbers that f32 does not have
  NodeNames names;                   // in the order in which they occur first; none where ids are numbers
};

/// Reads record by record. `text` is the whole text of the file.
EdgeRecords read_edge_records(std::string_view text, const EdgeLayout& layout);

}  // namespace weft::io
