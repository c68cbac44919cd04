// Train, validation and test nodes out of an .npz: lists of nodes (train_idx, ...) or marks (train_mask, ...).
#pragma once

#include <array>
#include <optional>
#include <string>

#include "graph/io/npz_arrays.hpp"
#include "weft/dataset.hpp"

namespace weft::io {

/// The nodes of one split as an array has them: places from 0, not yet compared with any graph.
struct SplitArray {
  std::string key;                      // of the array, empty for none
  Tensor nodes;                         // i32
  bool listed = false, marked = false;  // in a list, in a mask, or the same nodes in both
  explicit operator bool() const { return static_cast<bool>(nodes); }
  /// Of one of the nodes, for messages: "element 7 of array 'train_idx'".
  std::string place_of(std::size_t i) const;
};

struct SplitArrays {
  std::array<SplitArray, 3> splits;  // train, val, test
  std::string mask_key;              // of the first mask, empty for none
  std::int64_t mask_rows = 0;
  std::int64_t mask_columns = 1;  // splits that masks have side by side; the first of them is read

  /// Whether an array names nodes that no mask marks.
  bool has_lists() const;
};

/// Every spelling that is there is read, and those of one split must name the same nodes. A list longer than there
/// are nodes, `most_nodes` or as many as a mask has rows, is refused before there is memory for it. `nodes`: the rows
/// that masks must have, where that is known already.
SplitArrays read_split_arrays(const NpzArrays& arrays, std::int64_t most_nodes, std::optional<std::int64_t> nodes = {});

/// The splits of a dataset whose graph is there. That masks hold several splits, the note says.
void read_splits(const NpzArrays& arrays, Dataset& data);

}  // namespace weft::io
