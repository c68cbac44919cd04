// What the text form of a power-law specification needs beside the generator itself.
#pragma once

#include "weft/generate.hpp"

namespace weft::generator {

/// The specification with its defaults filled in; an Error where a value is out of range.
PowerlawSpec resolved(const PowerlawSpec& spec);

}  // namespace weft::generator
