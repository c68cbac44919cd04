// How far apart the rows of an array are, as kernels take it.
#pragma once

#include <cstdint>

#include "core/check.hpp"

namespace weft::cuda {

/// In bytes, which must fit 32 bits: a row's address then takes one instruction, where 64 bits take four. (One of
/// five that SpMM needs per edge, at 64 features.) `what` names the argument.
template <class Storage>
std::uint32_t pitch_bytes(const char* what, std::int64_t elements) {
  constexpr std::int64_t most = (std::int64_t{1} << 32) / static_cast<std::int64_t>(sizeof(Storage));
  WEFT_CHECK(elements >= 0 && elements < most, unsupported,
             "{} has rows {} elements apart: expected fewer than {} on CUDA; use a narrower tensor, or the cpu device",
             what, elements, most);
  return static_cast<std::uint32_t>(elements * static_cast<std::int64_t>(sizeof(Storage)));
}

}  // namespace weft::cuda
