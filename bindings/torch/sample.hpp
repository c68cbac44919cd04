// An operator's sample arguments as an EdgeSample.
#pragma once

#include <string>

#include "weft/sample.hpp"

namespace weft::pytorch {

EdgeSample sample_of(const std::string& method, std::int64_t width, std::int64_t seed, std::int64_t step);

}  // namespace weft::pytorch
