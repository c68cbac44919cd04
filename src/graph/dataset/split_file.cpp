// Which nodes are for training, validation and testing, in a file of its own: .npz, or CSV and similar text.
#include <algorithm>
#include <array>
#include <utility>

#include "core/check.hpp"
#include "core/names.hpp"
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

void read_table(const Source& source, const Dataset& data, NodeSplits& splits) {
  NodeWords table = read_node_words(source, data, split_columns, "split");
  for (std::size_t row = 0; row < table.words.size(); ++row) {
    const auto known =
        std::ranges::find(words, lower_case(table.words[row]), &std::pair<std::string_view, Part>::first);
    WEFT_CHECK(known != words.end(), invalid_file, "{} has the split {}: expected train, val, test or none",
               table.rows.place_of(static_cast<std::int64_t>(row)), in_quotes(table.words[row]));
    splits.parts.push_back(known->second);
  }
  splits.rows = std::move(table.rows);
}

void read_archive(const Source& source, std::int64_t most_nodes, NodeSplits& splits, const Progress& progress) {
  const NpzArrays arrays(source, progress);
  SplitArrays& found = splits.arrays.emplace(read_split_arrays(arrays, most_nodes));
  WEFT_CHECK(std::ranges::any_of(found.splits, &SplitArray::operator bool), invalid_file,
             "it has the arrays {}: expected train_mask, val_mask and test_mask, or train_idx, val_idx and test_idx",
             arrays.keys());
  splits.rows.count = found.mask_rows;
  if (found.mask_columns > 1)
    splits.rows.note =
        fmt::format("the masks of {} hold {} splits, of which the first is read", source.path, found.mask_columns);
}

}  // namespace

NodeSplits read_splits(const std::string& path, const Dataset& data, std::int64_t most_nodes,
                       const Progress& progress) {
  return naming_part(path, [&] {
    const Source source = open_node_file(path, progress);
    NodeSplits splits;
    WEFT_CHECK(
        !is_npy(source.text()), unsupported,
        "splits in a .npy file are not read: save the masks as train_mask, val_mask and test_mask with np.savez");
    if (is_archive(source))
      read_archive(source, most_nodes, splits, progress);
    else
      read_table(source, data, splits);
    splits.rows.path = path;
    return splits;
  });
}

}  // namespace weft::io
