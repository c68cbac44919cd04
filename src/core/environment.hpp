// What the user's environment says: variables, and folders that hold files of theirs.
#pragma once

#include <string>

namespace weft {

/// Empty where the variable is not set.
std::string environment(const char* variable);

/// The folder `weft` in the one that an XDG variable names, which must be absolute, else in `below_home` of the user's
/// home. Empty where neither is known.
std::string user_folder(const char* xdg_variable, const char* below_home);

}  // namespace weft
