// The table of the selector that weft comes with, in the order of SelectorRow's fields.
#pragma once

#include "plan/selector/table.hpp"

namespace weft {

// Untuned: neutral coefficients that keep every window, until `weft tune` has run on the GPU that is named.
inline constexpr std::string_view built_in_device = "NVIDIA H200", built_in_commit = "", built_in_date = "";
inline constexpr SelectorRow built_in_rows[] = {
    {Dtype::f16, 16, 1, 0, 0, 0, 0, 0, 0},  {Dtype::f16, 64, 1, 0, 0, 0, 0, 0, 0},
    {Dtype::f16, 128, 1, 0, 0, 0, 0, 0, 0}, {Dtype::bf16, 16, 1, 0, 0, 0, 0, 0, 0},
    {Dtype::bf16, 64, 1, 0, 0, 0, 0, 0, 0}, {Dtype::bf16, 128, 1, 0, 0, 0, 0, 0, 0},
};

}  // namespace weft
