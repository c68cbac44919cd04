// Element-wise work, on either backend. A pass is a struct of arguments, `Args`, and
//   run_on(loops, args)  which body it runs over how many items (in the namespace of Args), and
//   one line in the list of its layer (pass_list-inl.hpp), which is compiled once with the loops of a CPU (cpu.hpp) and
//   once with those of a GPU (cuda/gpu.cuh).
// A body is a plain struct with a call operator that both backends compile.
#pragma once

#include "core/cuda/launcher.hpp"
#include "core/device.hpp"
#include "core/operator_timer.hpp"
#include "weft/context.hpp"

namespace weft::loops {

struct Cpu {
  int threads;
};
struct Gpu {
  Device device;
  CUstream_st* stream;
};

// Both are defined with the loops of their backend, and instantiated by the lists of passes.
template <class Args>
void run(Cpu on, const Args& args);
/// Puts the pass into the stream.
template <class Args>
WEFT_LAUNCHER(void run(Gpu on, const Args& args));

template <class Args>
void run(const Context& context, const Args& args) {
  const TimedOperator timed(context, "passes");
  if (context.device().kind == DeviceKind::cpu) return run(Cpu{context.threads()}, args);
  run(Gpu{context.device(), context.stream()}, args);
}

}  // namespace weft::loops
