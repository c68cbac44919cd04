// Counts every operator new of a program that has allocations.cpp among its sources.
#pragma once

#include <cstddef>

namespace weft::test {

std::size_t operator_new_calls();

}  // namespace weft::test
