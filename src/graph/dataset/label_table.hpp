// Labels of nodes that come as a table of numbers.
#pragma once

#include "weft/dataset.hpp"

namespace weft::io {

void check_rows(const Tensor& table, std::int64_t nodes);
/// f32 [nodes, columns]. One column is classes, NaN and -1 where none is known; several are as many labels of 0 and 1,
/// NaN where one is unknown.
void take_labels(Tensor table, Dataset& data);

}  // namespace weft::io
