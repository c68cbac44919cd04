#pragma once

#include <string_view>

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

namespace weft {

/// "0.1.0": the version of the linked library.
std::string_view version();
/// The commit the library was built from, or "unknown".
std::string_view build_commit();

}  // namespace weft
