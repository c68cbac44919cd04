// What weft asks of CUDA's runtime, without its headers.
#pragma once

#include <cstddef>
#include <string_view>

#include "weft/context.hpp"

namespace weft::cuda {

void* allocate(int index, CUstream_st* stream, std::size_t bytes, std::string_view what);
void deallocate(int index, CUstream_st* stream, void* memory) noexcept;
void copy(int index, void* to, const void* from, std::size_t bytes, CUstream_st* stream);
void zero(int index, void* memory, std::size_t bytes, CUstream_st* stream);
void synchronise(int index, CUstream_st* stream);
MemoryStats memory_stats(int index);
void reset_memory_peak(int index);

}  // namespace weft::cuda
