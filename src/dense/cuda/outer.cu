#include "core/cuda/status.hpp"
#include "core/device.hpp"
#include "dense/cuda/outer_kernel.cuh"

namespace weft::dense::cuda {
namespace {

using weft::cuda::check_status;
using weft::cuda::OnDevice;

constexpr int stages = 3;

/// As many blocks as an H200 has multiprocessors, on every GPU, as the bits depend on it.
constexpr int most_blocks = 132;
constexpr std::int64_t least_rows = 256;  // of a chunk: a row of out's sums costs as much as a few rows of a

int parts_of(const OuterArgs& args) { return pieces(args.k, most_height) * pieces(args.n, most_width); }
int chunks_of(const OuterArgs& args) {
  const std::int64_t most = most_blocks / parts_of(args), wanted = args.m / least_rows;
  return static_cast<int>(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

template <class T, int Blocks, int Steps>
void launch(const OuterArgs& args, OuterShape shape, CUstream_st* stream) {
  constexpr auto* kernel = outer_kernel<T, Blocks, Steps, stages>;
  check_status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, max_shared),
               "asking for shared memory");
  kernel<<<dim3(shape.chunks, parts_of(args)), outer_threads, shape.shared_bytes, stream>>>(args, shape);
  check_status(cudaGetLastError(), "multiplying matrices for the gradient of weights");
}

template <class T>
void launch(const OuterArgs& args, CUstream_st* stream) {
  const auto with_steps = [&](auto steps) {
    OuterShape shape = shape_of<T>(args, stages, steps());
    if (shape.shared_bytes > max_shared) return false;
    shape.chunks = chunks_of(args);
    args.k <= 32 ? launch<T, 1, steps()>(args, shape, stream) : launch<T, 2, steps()>(args, shape, stream);
    return true;
  };
  if (!with_steps(std::integral_constant<int, 4>{})) with_steps(std::integral_constant<int, 2>{});

  const auto* const sums = static_cast<const float*>(args.workspace);
  const int count = static_cast<int>(args.k * args.n),
            columns = args.column_sums != nullptr ? static_cast<int>(args.n) : 0;
  constexpr int parts = 8;
  finish_outer<parts><<<pieces(count, lanes) + pieces(columns, lanes), lanes * parts, 0, stream>>>(
      {sums, args.out, count}, {sums + static_cast<std::int64_t>(chunks_of(args)) * count, args.column_sums, columns},
      chunks_of(args));
  check_status(cudaGetLastError(), "adding up the gradient of weights");
}

}  // namespace

std::size_t workspace_bytes(const OuterArgs& args) {
  return static_cast<std::size_t>(chunks_of(args) * (args.k + 1) * args.n) * sizeof(float);
}

void run(const OuterArgs& args, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  switch (args.dtype) {
    case Dtype::f16: return launch<Half>(args, stream);
    case Dtype::bf16: return launch<BFloat16>(args, stream);
    default: return launch<float>(args, stream);
  }
}

bool supported(const OuterArgs& args, Device device) {
  return is_narrow(args.dtype, args.m, args.n, args.k, device) && is_aligned(args.a) && is_aligned(args.g);
}

}  // namespace weft::dense::cuda
