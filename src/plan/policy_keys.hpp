// The keys of a policy and the devices that they are of.
#pragma once

#include <string_view>

#include "weft/types.hpp"

namespace weft {

/// An Error where the text, which parse_policy takes, has a key that plans on this device do not look at; it names the
/// key, and those that there are.
void check_policy_keys(std::string_view text, DeviceKind device);

}  // namespace weft
