// The table of the selector that weft comes with, in the order of SelectorRow's fields.
#pragma once

#include "plan/selector/table.hpp"

namespace weft {

// Written by `weft tune` (bench/records/h200/selector.json).
inline constexpr std::string_view built_in_device = "NVIDIA H200", built_in_commit = "2fa0aab",
                                  built_in_date = "2026-11-19T01:39:03Z";
inline constexpr SelectorRow built_in_rows[] = {
    {Dtype::f16, 16, -11.3993, 4.0267, 8.5744, 4.3016, 0.7105, 0.9861, 360},
    {Dtype::f16, 64, -20.9101, 4.3116, 5.4846, 1.3233, 1.1353, 1.0000, 360},
    {Dtype::f16, 128, -18.6706, 4.3519, 5.7664, -0.6390, 1.0977, 1.0000, 360},
    {Dtype::bf16, 16, -15.0255, 4.4925, 8.2676, 3.6041, 0.9852, 0.9722, 360},
    {Dtype::bf16, 64, -25.8943, 4.7160, 6.3314, 2.3192, 2.0328, 0.9861, 360},
    {Dtype::bf16, 128, -18.6706, 4.3519, 5.7664, -0.6390, 1.0977, 0.9722, 360},
    {Dtype::f32, 16, -39.3551, 5.2870, 5.9187, 0.8510, 1.6485, 0.9028, 360},
    {Dtype::f32, 64, -44.3380, 5.4999, 5.6252, -2.2289, 2.9424, 0.9861, 360},
    {Dtype::f32, 128, -37.1390, 4.5769, 4.2992, -0.6517, 2.6970, 0.9722, 360},
};

}  // namespace weft
