// Counts every operator new of a program that has allocations.cpp among its sources, and lets one fail.
#pragma once

#include <cstddef>

namespace weft::test {

std::size_t operator_new_calls();
/// The n-th operator new from now throws (1 = the next); 0 switches it off.
void fail_operator_new(std::size_t nth);

}  // namespace weft::test
