#include "graph/dataset/npz_splits.hpp"

#include <algorithm>
#include <vector>

#include "core/check.hpp"
#include "graph/dataset/notes.hpp"
#include "graph/dataset/tensor_of.hpp"

namespace weft::io {
namespace {

/// Arrays of one split. Those called by the split's name alone are masks where they hold booleans, lists otherwise.
struct SplitKeys {
  std::vector<std::string> lists, masks;
};

SplitKeys find_keys(const NpzArrays& arrays, const std::vector<std::string>& names) {
  SplitKeys keys;
  for (const std::string& name : names) {
    for (const std::string& key : {name + "_idx", name + "_index", "idx_" + name})
      if (arrays.has(key)) keys.lists.push_back(key);
    if (arrays.has(name + "_mask")) keys.masks.push_back(name + "_mask");
    if (arrays.has(name)) (arrays.is_integer(name) ? keys.lists : keys.masks).push_back(name);
  }
  return keys;
}

SplitArray read_list(const NpzArrays& arrays, const std::string& key, std::int64_t most_nodes) {
  const std::vector<std::int64_t> shape = arrays.shape(key);
  WEFT_CHECK(shape.size() != 1 || shape[0] <= most_nodes, invalid_file,
             "array '{}' has {} elements: expected at most {}, as there are no more nodes", key, shape[0], most_nodes);
  return {key, tensor_of(arrays.node_ids(key), key), true, false};
}

SplitArray read_mask(const NpzArrays& arrays, const std::string& key, std::optional<std::int64_t> nodes,
                     SplitArrays& all) {
  const NpzArrays::Mask mask = arrays.mask(key);
  WEFT_CHECK(!nodes || mask.rows == *nodes, invalid_file,
             "array '{}' has {} rows: expected one for each of the {} nodes", key, mask.rows, *nodes);
  if (all.mask_key.empty()) {
    all.mask_key = key;
    all.mask_rows = mask.rows;
  }
  WEFT_CHECK(mask.rows == all.mask_rows, invalid_file,
             "array '{}' has {} rows, and array '{}' has {}: expected as many", key, mask.rows, all.mask_key,
             all.mask_rows);
  all.mask_columns = std::max(all.mask_columns, mask.columns);
  return {key, tensor_of(mask.marked, key), false, true};
}

/// Keeps what both say, in the order of the first.
void keep_one(SplitArray& first, SplitArray second) {
  if (!second) return;
  if (!first) {
    first = std::move(second);
    return;
  }
  const auto sorted = [](const Tensor& nodes) {
    const auto values = nodes.span<std::int32_t>();
    std::vector<std::int32_t> copy(values.begin(), values.end());
    std::ranges::sort(copy);
    return copy;
  };
  WEFT_CHECK(sorted(first.nodes) == sorted(second.nodes), invalid_file,
             "arrays '{}' ({} nodes) and '{}' ({} nodes) name different nodes: expected the same, or one of the two",
             first.key, first.nodes.shape().rows, second.key, second.nodes.shape().rows);
  first.marked |= second.marked;
}

}  // namespace

std::string SplitArray::place_of(std::size_t i) const {
  return fmt::format("element {} of array '{}'", listed ? static_cast<std::int64_t>(i) : nodes.span<NodeId>()[i], key);
}

bool SplitArrays::has_lists() const {
  return std::ranges::any_of(splits, [](const SplitArray& split) { return split && !split.marked; });
}

SplitArrays read_split_arrays(const NpzArrays& arrays, std::int64_t most_nodes, std::optional<std::int64_t> nodes) {
  const std::array<SplitKeys, 3> keys = {find_keys(arrays, {"train", "training"}),
                                         find_keys(arrays, {"val", "valid", "validation"}),
                                         find_keys(arrays, {"test", "testing"})};
  SplitArrays all;
  std::array<SplitArray, 3> masks;
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (const std::string& key : keys[i].masks) keep_one(masks[i], read_mask(arrays, key, nodes, all));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (const std::string& key : keys[i].lists)
      keep_one(all.splits[i], read_list(arrays, key, std::max(most_nodes, all.mask_rows)));
    keep_one(all.splits[i], std::move(masks[i]));
  }
  return all;
}

void read_splits(const NpzArrays& arrays, Dataset& data) {
  SplitArrays found = read_split_arrays(arrays, data.num_nodes(), data.num_nodes());
  data.train = std::move(found.splits[0].nodes);
  data.val = std::move(found.splits[1].nodes);
  data.test = std::move(found.splits[2].nodes);
  if (found.mask_columns > 1)
    add_note(data.note, fmt::format("its masks hold {} splits, of which the first is read", found.mask_columns));
}

}  // namespace weft::io
