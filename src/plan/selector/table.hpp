// The selector's coefficients for one kind of GPU: a row a storage type and rows of a window, fitted by `weft tune`.
// Plans take the table of the GPU at hand that the user keeps in a file, else the one that is built in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/windows/window_model.hpp"
#include "weft/types.hpp"

namespace weft {

struct SelectorRow {
  Dtype dtype = Dtype::f16;
  int window_rows = 128;
  // The log odds of tensor cores being faster are bias + columns * log2(dense columns) + density * log2(density) +
  // fill * log2(tile fill) + width * log2(features of a node).
  double bias = 1, columns = 0, density = 0, fill = 0, width = 0;
  double accuracy = 0;       // share of held-out windows that it told right
  std::int64_t samples = 0;  // it was fitted to and tested with; 0: not fitted

  /// For rows of so many features. One that looks at nothing else is that of all windows, or of none.
  WindowModel at(std::int64_t features) const;
  friend bool operator==(const SelectorRow&, const SelectorRow&) = default;
};

struct SelectorTable {
  std::string device;        // "NVIDIA H200"
  std::string commit, date;  // of the kernels that were timed, and when
  std::vector<SelectorRow> rows;

  const SelectorRow* find(Dtype dtype, int window_rows) const;
  friend bool operator==(const SelectorTable&, const SelectorTable&) = default;
};

std::string to_json(const SelectorTable& table);
/// An Error (invalid_file) that starts with the path and says what is wrong with the text.
SelectorTable parse_selector_table(std::string_view text, const std::string& path);
SelectorTable read_selector_table(const std::string& path);

const SelectorTable& built_in_selector();

/// Where the user keeps the table of a GPU: $WEFT_TUNING, else tuning-DEVICE.json in $XDG_CONFIG_HOME/weft or
/// ~/.config/weft. The path is empty where none of these variables is set.
struct TuningFile {
  std::string path;
  bool named = false;  // by WEFT_TUNING: it must be there
};
TuningFile tuning_file(std::string_view device);

/// What a plan goes by.
struct SelectorChoice {
  SelectorRow row;
  std::string source;  // "built in for NVIDIA H200", or a file
  std::string note;    // why the source is not what might be expected; else empty
};
/// An Error where the user's file is bad, or named and not there. One of another GPU is not used, and the note says so.
SelectorChoice choose_selector(std::string_view device, Dtype dtype, int window_rows);

}  // namespace weft
