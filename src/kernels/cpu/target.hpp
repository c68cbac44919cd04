#pragma once

#include <string_view>

namespace weft::cpu {

/// The instruction set the kernels run with on this machine: "NEON", "AVX2", "AVX3" (AVX-512).
std::string_view cpu_target();

/// Honours WEFT_CPU_TARGET=NAME, which keeps the kernels from using anything better than NAME; an unknown
/// name is an Error that lists what this build and machine can do. Every kernel calls it before it runs.
void settle_target();

}  // namespace weft::cpu
