// The table of the selector that weft comes with, in the order of SelectorRow's fields.
#pragma once

#include "plan/selector/table.hpp"

namespace weft {

// Written by `weft tune` (bench/records/h200/selector.json), which left f32 out then: select=model of f32 needs the
// user's own table.
inline constexpr std::string_view built_in_device = "NVIDIA H200", built_in_commit = "870af2f",
                                  built_in_date = "2026-11-18T15:48:24Z";
inline constexpr SelectorRow built_in_rows[] = {
    {Dtype::f16, 16, -24.9045, 6.3801, 10.0267, 3.2553, 0.3763, 0.9722, 360},
    {Dtype::f16, 64, -28.0736, 5.6797, 5.6236, -1.7438, 0.2950, 1.0000, 360},
    {Dtype::f16, 128, -16.5928, 3.8169, 4.6527, 0.9161, 0.6825, 0.9722, 360},
    {Dtype::bf16, 16, -29.6889, 7.3466, 10.9402, 2.8306, 0.5776, 0.9583, 360},
    {Dtype::bf16, 64, -30.2461, 5.6755, 5.8373, -1.4616, 0.8625, 1.0000, 360},
    {Dtype::bf16, 128, -20.7788, 4.6313, 5.3244, -0.5188, 0.7868, 0.9861, 360},
};

}  // namespace weft
