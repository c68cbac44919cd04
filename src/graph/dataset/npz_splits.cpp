#include "graph/dataset/npz_splits.hpp"

#include <algorithm>
#include <array>

#include "core/check.hpp"
#include "graph/dataset/notes.hpp"
#include "graph/dataset/npz_keys.hpp"
#include "graph/dataset/tensor_of.hpp"

namespace weft::io {
namespace {

/// One split, and where it was read from.
struct Split {
  std::string key;
  Tensor nodes;
  std::int64_t columns = 1;  // of a mask
};

Split read_list(const NpzArrays& arrays, const std::string& key) {
  if (key.empty()) return {};
  return {key, tensor_of(arrays.node_ids(key), key)};
}

Split read_mask(const NpzArrays& arrays, const std::string& key, std::int64_t nodes) {
  if (key.empty()) return {};
  const NpzArrays::Mask mask = arrays.mask(key);
  WEFT_CHECK(mask.rows == nodes, invalid_file, "array '{}' has {} rows: expected one for each of the {} nodes", key,
             mask.rows, nodes);
  return {key, tensor_of(mask.marked, key), mask.columns};
}

/// What both say, in the order of the list.
Split only_one(Split list, Split mask) {
  if (!list.nodes) return mask;
  if (!mask.nodes) return list;
  const auto sorted = [](const Tensor& nodes) {
    const auto values = nodes.span<std::int32_t>();
    std::vector<std::int32_t> copy(values.begin(), values.end());
    std::ranges::sort(copy);
    return copy;
  };
  WEFT_CHECK(sorted(list.nodes) == sorted(mask.nodes), invalid_file,
             "arrays '{}' ({} nodes) and '{}' ({} nodes) name different nodes: expected the same, or one of the two",
             list.key, list.nodes.shape().rows, mask.key, mask.nodes.shape().rows);
  list.columns = mask.columns;
  return list;
}

}  // namespace

void read_splits(const NpzArrays& arrays, Dataset& data) {
  struct Names {
    Tensor* split;
    std::string list, mask;
  };
  const std::array<Names, 3> all = {{
      {&data.train, first_key(arrays, {"train_idx", "train_index", "idx_train"}), first_key(arrays, {"train_mask"})},
      {&data.val, first_key(arrays, {"val_idx", "valid_idx", "val_index", "valid_index", "idx_val"}),
       first_key(arrays, {"val_mask", "valid_mask"})},
      {&data.test, first_key(arrays, {"test_idx", "test_index", "idx_test"}), first_key(arrays, {"test_mask"})},
  }};
  std::int64_t splits = 1;
  for (const auto& [split, list, mask] : all) {
    Split read = only_one(read_list(arrays, list), read_mask(arrays, mask, data.num_nodes()));
    *split = std::move(read.nodes);
    splits = std::max(splits, read.columns);
  }
  if (splits > 1) add_note(data.note, fmt::format("its masks hold {} splits, of which the first is read", splits));
}

}  // namespace weft::io
