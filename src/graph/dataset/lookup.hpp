// Datasets by name: "cora" for whichever of its layouts lies where datasets are kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::io {

/// Where datasets are looked for, in this order: $WEFT_DATA, ./data, and weft's folder in the user's cache.
std::vector<std::string> dataset_folders();

/// Whether a text that is no path may be a dataset's name: letters, digits, '-', '_' and '.'.
bool may_be_name(std::string_view text);

/// The file or folder of that name, whatever its case, '-' and '_' alike. Where there is none, an Error says where it
/// was looked for and where to get it, or which names are like it.
std::string find_by_name(std::string_view name);

}  // namespace weft::io
