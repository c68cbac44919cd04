// Which nodes are for training, validation and testing, in a file of its own: .npz, or CSV and similar text.
#include <algorithm>
#include <array>
#include <utility>

#include "core/check.hpp"
#include "graph/dataset/node_parts.hpp"
#include "graph/dataset/node_table.hpp"
#include "graph/io/format.hpp"
#include "graph/io/naming.hpp"
#include "graph/io/npy_file.hpp"
#include "graph/io/npz_arrays.hpp"

namespace weft::io {
namespace {

constexpr std::array<std::string_view, 4> split_columns = {"split", "set", "mask", "fold"};
constexpr std::array<std::pair<std::string_view, Part>, 9> words = {{{"train", Part::train},
                                                                     {"training", Part::train},
                                                                     {"val", Part::val},
                                                                     {"valid", Part::val},
                                                                     {"validation", Part::val},
                                                                     {"dev", Part::val},
                                                                     {"test", Part::test},
                                                                     {"none", Part::none},
                                                                     {"", Part::none}}};

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

void read_table(const Source& source, const Dataset& data, NodeSplits& splits) {
  NodeWords table = read_node_words(source, data, split_columns, "split");
  for (std::size_t row = 0; row < table.words.size(); ++row) {
    const auto known = std::ranges::find(words, lower(table.words[row]), &std::pair<std::string_view, Part>::first);
    WEFT_CHECK(known != words.end(), invalid_file, "{} has the split {}: expected train, val, test or none",
               table.rows.place_of(static_cast<std::int64_t>(row)), quoted(table.words[row]));
    splits.parts.push_back(known->second);
  }
  splits.rows = std::move(table.rows);
}

/// Names that the arrays of a part have in an .npz file, in front of _mask and _idx.
struct PartNames {
  Part part;
  std::array<const char*, 2> names;
};
constexpr PartNames part_names[] = {
    {Part::train, {"train", "training"}}, {Part::val, {"val", "valid"}}, {Part::test, {"test", "testing"}}};

/// The key of the array that a part has with this ending, or nothing.
std::string find_array(const NpzArrays& arrays, const PartNames& part, std::string_view ending) {
  for (const char* name : part.names)
    if (std::string key = fmt::format("{}{}", name, ending); arrays.has(key)) return key;
  return {};
}

/// One element a node, 0 or 1.
void read_mask(const NpzArrays& arrays, const std::string& key, Part part, NodeSplits& splits) {
  const Tensor mask = arrays.matrix(key);  // its only column
  WEFT_CHECK(mask.shape().row_size() == 1, invalid_file,
             "array '{}' has {} columns, as several splits have: save one of them, such as {}[:, 0]", key,
             mask.shape().row_size(), key);
  if (splits.parts.empty()) splits.parts.resize(static_cast<std::size_t>(mask.shape().rows));
  const auto rows = static_cast<std::int64_t>(splits.parts.size());
  WEFT_CHECK(mask.shape().rows == rows, invalid_file,
             "array '{}' has {} elements, and another mask {}: expected as many", key, mask.shape().rows, rows);
  const auto in = mask.span<float>();
  for (std::size_t row = 0; row < in.size(); ++row) {
    WEFT_CHECK(in[row] == 0 || in[row] == 1, invalid_file,
               "element {} of array '{}' is {}: expected a mask of 0 and 1, or indices in an array '{}_idx'", row, key,
               in[row], key.substr(0, key.find('_')));
    if (in[row] == 0) continue;
    WEFT_CHECK(splits.parts[row] == Part::none, invalid_file,
               "element {} is set in array '{}' and in another mask: expected each node in one split at most", row,
               key);
    splits.parts[row] = part;
  }
  splits.rows.count = rows;
}

void read_indices(const NpzArrays& arrays, const std::string& key, Part part, NodeSplits& splits,
                  std::vector<std::string>& places) {
  const Buffer<std::int64_t> indices = arrays.integers(key);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    splits.rows.keys.push_back(fmt::to_string(indices[i]));
    splits.parts.push_back(part);
    places.push_back(fmt::format("element {} of array '{}'", i, key));
  }
}

void read_archive(const Source& source, NodeSplits& splits, const Progress& progress) {
  const NpzArrays arrays(source, progress);
  std::vector<std::string> places;
  bool masks = false;
  for (const PartNames& part : part_names) {
    if (const std::string key = find_array(arrays, part, "_mask"); !key.empty()) {
      read_mask(arrays, key, part.part, splits);
      masks = true;
    }
  }
  for (const PartNames& part : part_names)
    for (const char* const ending : {"_idx", ""})
      if (const std::string key = find_array(arrays, part, ending); !masks && !key.empty()) {
        read_indices(arrays, key, part.part, splits, places);
        break;
      }
  WEFT_CHECK(!splits.parts.empty(), invalid_file,
             "it has the arrays {}: expected train_mask, val_mask and test_mask, or train_idx, val_idx and test_idx",
             arrays.keys());
  if (masks) return;
  splits.indices = true;
  splits.rows.count = static_cast<std::int64_t>(splits.parts.size());
  splits.rows.place = [places = std::move(places)](std::int64_t row) { return places[static_cast<std::size_t>(row)]; };
}

}  // namespace

NodeSplits read_splits(const std::string& path, const Dataset& data, const Progress& progress) {
  return naming_part(path, [&] {
    const Source source = open_node_file(path, progress);
    NodeSplits splits;
    WEFT_CHECK(
        !is_npy(source.text()), unsupported,
        "splits in a .npy file are not read: save the masks as train_mask, val_mask and test_mask with np.savez");
    if (is_archive(source))
      read_archive(source, splits, progress);
    else
      read_table(source, data, splits);
    splits.rows.path = path;
    return splits;
  });
}

}  // namespace weft::io
