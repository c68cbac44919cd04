#include "nn/cuda/passes.hpp"

#include "nn/cuda/gpu_loops.cuh"
#include "nn/dense/norm-inl.hpp"

namespace weft::nn::cuda {
namespace {

using weft::cuda::check_status;
using weft::cuda::OnDevice;

constexpr int threads = team_threads;

/// A block adds up a chunk of rows of `Columns` columns: threads stand side by side along the columns, and what several
/// of them have of one is added up in order.
template <int Columns, class Body>
__global__ void __launch_bounds__(threads)
    fold_chunk(std::int64_t rows, std::int64_t columns, std::int64_t chunks, Body body, double* partial) {
  constexpr int along = threads / Columns;
  const int x = threadIdx.x % Columns, y = threadIdx.x / Columns;
  const std::int64_t column = blockIdx.y * std::int64_t{Columns} + x, chunk = blockIdx.x;
  const std::int64_t begin = rows * chunk / chunks, end = rows * (chunk + 1) / chunks;
  double sums[Body::sums] = {};
  if (column < columns)
#pragma unroll 4  // so that several loads are under way
    for (std::int64_t row = begin + y; row < end; row += along) body(row, column, sums);
  if (partial == nullptr) return;
  __shared__ double shared[threads];
#pragma unroll
  for (int k = 0; k < Body::sums; ++k) {
    __syncthreads();
    shared[threadIdx.x] = sums[k];
    __syncthreads();
    for (int half = along / 2; half > 0; half /= 2) {
      if (y < half) shared[threadIdx.x] += shared[threadIdx.x + half * Columns];
      __syncthreads();
    }
    if (y == 0 && column < columns) partial[(chunk * Body::sums + k) * columns + column] = shared[x];
  }
}

/// One warp a column: its lanes take the chunks in turns.
template <class Acc>
struct FinishColumns {
  const double* partial;
  std::int64_t chunks, columns;
  int sums;
  Acc *first, *second;
  __device__ void operator()(const WarpTeam<32>& team, std::int64_t i) const {
    const std::int64_t k = i / columns, column = i - k * columns;
    Acc* const out = k == 0 ? first : second;
    if (out == nullptr) return;
    double sum = 0;
    for (std::int64_t chunk = team.lane(); chunk < chunks; chunk += 32)
      sum += partial[(chunk * sums + k) * columns + column];
    sum = team.sum(sum);
    if (team.lane() == 0) out[column] = static_cast<Acc>(sum);
  }
};

template <class Acc>
struct FinishAll {
  const double* partial;
  std::int64_t count;
  Acc* out;
  __device__ void operator()(const WarpTeam<32>& team, std::int64_t) const {
    double sum = 0;
    for (std::int64_t i = team.lane(); i < count; i += 32) sum += partial[i];
    sum = team.sum(sum);
    if (team.lane() == 0) *out = static_cast<Acc>(sum);
  }
};

template <int Lanes, class Body>
__global__ void __launch_bounds__(threads)
    fold_split_chunk(std::int64_t rows, std::int64_t chunks, Body body, SplitSums* partial) {
  constexpr int teams = threads / Lanes;
  const WarpTeam<Lanes> team = WarpTeam<Lanes>::here();
  const int number = threadIdx.x / Lanes;
  const std::int64_t chunk = blockIdx.x, begin = rows * chunk / chunks, end = rows * (chunk + 1) / chunks;
  SplitSums mine[num_splits] = {};
  for (std::int64_t row = begin + number; row < end; row += teams) {
    const SplitSums of_row = body(team, row);
    if (team.lane() != 0) continue;
    const int at = body.split_of(row);
#pragma unroll
    for (int s = 0; s < num_splits; ++s)
      if (at == s + 1) mine[s].add(of_row);
  }
  __shared__ SplitSums of_teams[teams][num_splits];
  if (team.lane() == 0) {
#pragma unroll
    for (int s = 0; s < num_splits; ++s) of_teams[number][s] = mine[s];
  }
  __syncthreads();
  if (threadIdx.x >= num_splits) return;
  SplitSums sum;
  for (int t = 0; t < teams; ++t) sum.add(of_teams[t][threadIdx.x]);
  partial[chunk * num_splits + threadIdx.x] = sum;
}

/// One warp a split and sum.
struct FinishSplits {
  const double* partial;  // [chunks][num_splits][4]
  std::int64_t chunks;
  double* sums;
  __device__ void operator()(const WarpTeam<32>& team, std::int64_t i) const {
    double sum = 0;
    for (std::int64_t chunk = team.lane(); chunk < chunks; chunk += 32) sum += partial[chunk * num_splits * 4 + i];
    sum = team.sum(sum);
    if (team.lane() == 0) sums[i] = sum;
  }
};

template <class Body>
__global__ void __launch_bounds__(threads) optimise_parameters(std::int64_t count, Body body) {
  if (!body.applies()) return;
  const auto common = body.common();
  for (std::int64_t i = weft::cuda::first_item(); i < count; i += weft::cuda::item_stride()) body(i, common);
}

/// The host reads the number last written, and then what was written before it.
struct PublishToHost {
  __device__ void operator()(std::int64_t* done, std::int64_t epochs) const {
    __threadfence_system();
    *static_cast<volatile std::int64_t*>(done) = epochs;
  }
};

template <class Body>
__global__ void one_thread(Body body) {
  body(PublishToHost{});
}

struct GpuBackend : GpuLoops {
  static constexpr bool has_double = false;  // training in f64 is for checks, and the host's

  template <class Body>
  void fold(std::int64_t rows, std::int64_t columns, const char* doing, const Body& body, double* partial) const {
    const std::int64_t chunks = chunks_of(rows);
    const auto launch = [&]<int Columns>() {
      const dim3 grid(static_cast<unsigned>(chunks), static_cast<unsigned>((columns + Columns - 1) / Columns));
      fold_chunk<Columns><<<grid, threads, 0, stream>>>(rows, columns, chunks, body, partial);
    };
    if (columns <= 8) {
      launch.template operator()<8>();
    } else if (columns <= 16) {
      launch.template operator()<16>();
    } else {
      launch.template operator()<32>();
    }
    check_status(cudaGetLastError(), doing);
  }
  template <class Body, class Acc>
  void fold_columns(std::int64_t rows, std::int64_t columns, const char* doing, const Body& body, void* scratch,
                    Acc* first, Acc* second) const {
    const bool wanted = first != nullptr || second != nullptr;
    auto* const partial = wanted ? static_cast<double*>(scratch) : nullptr;
    fold(rows, columns, doing, body, partial);
    if (wanted)
      teams_of<32>(Body::sums * columns, doing,
                   FinishColumns<Acc>{partial, chunks_of(rows), columns, Body::sums, first, second});
  }
  template <class Body, class Acc>
  void fold_all(std::int64_t rows, std::int64_t columns, const char* doing, const Body& body, void* scratch,
                Acc* out) const {
    auto* const partial = static_cast<double*>(scratch);
    fold(rows, columns, doing, body, partial);
    teams_of<32>(1, doing, FinishAll<Acc>{partial, chunks_of(rows) * columns, out});
  }
  template <class Body>
  void fold_splits(std::int64_t rows, std::int64_t classes, const Body& body, void* scratch, SplitSums* sums) const {
    const std::int64_t chunks = chunks_of(rows);
    const auto launch = [&]<int Lanes>() {
      fold_split_chunk<Lanes>
          <<<static_cast<unsigned>(chunks), threads, 0, stream>>>(rows, chunks, body, static_cast<SplitSums*>(scratch));
    };
    constexpr int few = 8;
    classes <= few* WarpTeam<few>::held ? launch.template operator()<few>() : launch.template operator()<32>();
    check_status(cudaGetLastError(), "losses");
    teams_of<32>(num_splits * 4, "losses",
                 FinishSplits{static_cast<const double*>(scratch), chunks, reinterpret_cast<double*>(sums)});
  }
  template <class Body>
  void optimise(std::int64_t count, const Body& body) const {
    if (count == 0) return;
    optimise_parameters<<<weft::cuda::blocks_for(count, 1024), threads, 0, stream>>>(count, body);
    check_status(cudaGetLastError(), "a step of the optimiser");
  }
  template <class Body>
  void alone(const char* doing, const Body& body) const {
    one_thread<<<1, 1, 0, stream>>>(body);
    check_status(cudaGetLastError(), doing);
  }
};
static_assert(sizeof(SplitSums) == 4 * sizeof(double));

template <class Args>
void run_here(const Args& args, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  run_on(GpuBackend{{stream}}, args);
}

}  // namespace

void run(const ActivateArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const ActivateBackwardArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const ScaleRowsArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const AddSelfArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const SelfGradArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const HeadDotsArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const HeadDotsBackwardArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const MeanHeadsArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const MeanHeadsBackwardArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const LossArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const FindOverflowArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const OptimiseArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const EndStepArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const EndEvaluationArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const KeepBestArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const BatchNormArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const BatchNormBackwardArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const LayerNormArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }
void run(const LayerNormBackwardArgs& args, Device device, CUstream_st* stream) { run_here(args, device, stream); }

}  // namespace weft::nn::cuda
