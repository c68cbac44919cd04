#include "nn/cuda/passes.hpp"

#include "nn/cuda/gpu_loops.cuh"
#include "nn/dense/norm-inl.hpp"

namespace weft::nn::cuda {
namespace {

using weft::cuda::check_status;
using weft::cuda::OnDevice;

constexpr int threads = team_threads;

/// A block adds up a chunk of rows of `Lanes` strips: threads stand side by side along the columns, and what several of
/// them have of one is added up in order.
template <int Lanes, class Strip, class Args>
__global__ void __launch_bounds__(threads)
    fold_chunk(std::int64_t columns, std::int64_t chunks, const Args args, double* partial) {
  constexpr int along = threads / Lanes, together = Lanes * Strip::width;
  const int x = threadIdx.x % Lanes, y = threadIdx.x / Lanes;
  const std::int64_t first = blockIdx.y * std::int64_t{together}, chunk = blockIdx.x;
  const std::int64_t column = first + x * Strip::width;
  const std::int64_t begin = args.rows * chunk / chunks, end = args.rows * (chunk + 1) / chunks;
  const bool there = column < columns;
  Strip strip(args, there ? column : 0);
  if (there && begin + y < end) {
    auto now = strip.load(begin + y);
    for (std::int64_t row = begin + y; row < end; row += along) {
      const auto next = strip.load(row + along < end ? row + along : row);
      strip.take(row, now);
      now = next;
    }
  }
  if (partial == nullptr) return;
  __shared__ double shared[along][together];
#pragma unroll
  for (int k = 0; k < Strip::sums; ++k) {
    __syncthreads();
#pragma unroll
    for (int n = 0; n < Strip::width; ++n) shared[y][x * Strip::width + n] = strip.sum[k][n];
    __syncthreads();
    for (int c = threadIdx.x; c < together && first + c < columns; c += threads) {
      double sum = 0;
#pragma unroll 8
      for (int row = 0; row < along; ++row) sum += shared[row][c];
      partial[(chunk * Strip::sums + k) * columns + first + c] = sum;
    }
  }
}

/// A block adds up the chunks' parts of 32 sums that stand side by side: threads along y take chunks in turns.
template <class Acc>
__global__ void __launch_bounds__(1024) finish_columns(const double* partial, std::int64_t chunks, std::int64_t columns,
                                                       std::int64_t sums, Acc* first, Acc* second) {
  const std::int64_t i = blockIdx.x * std::int64_t{32} + threadIdx.x;
  double sum = 0;
  if (i < sums * columns)
#pragma unroll 8
    for (std::int64_t chunk = threadIdx.y; chunk < chunks; chunk += 32) sum += partial[chunk * sums * columns + i];
  __shared__ double shared[32][33];
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || i >= sums * columns) return;
  Acc* const out = i < columns ? first : second;
  if (out == nullptr) return;
  sum = 0;
#pragma unroll
  for (int y = 0; y < 32; ++y) sum += shared[y][threadIdx.x];
  out[i < columns ? i : i - columns] = static_cast<Acc>(sum);
}

/// One block: its threads take the parts in turns.
template <class Acc>
__global__ void __launch_bounds__(1024) finish_all(const double* partial, std::int64_t count, Acc* out) {
  double sum = 0;
#pragma unroll 8
  for (std::int64_t i = threadIdx.x; i < count; i += 1024) sum += partial[i];
  __shared__ double of_warps[32];
  const WarpTeam<32> team = WarpTeam<32>::here();
  sum = team.sum(sum);
  if (team.lane() == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = team.sum(of_warps[threadIdx.x]);
  if (threadIdx.x == 0) *out = static_cast<Acc>(sum);
}

template <int Lanes, class Body>
__global__ void __launch_bounds__(threads)
    fold_split_chunk(std::int64_t rows, std::int64_t chunks, Body body, SplitSums* partial) {
  constexpr int teams = threads / Lanes;
  const WarpTeam<Lanes> team = WarpTeam<Lanes>::here();
  const int number = threadIdx.x / Lanes;
  const std::int64_t chunk = blockIdx.x, begin = rows * chunk / chunks, end = rows * (chunk + 1) / chunks;
  // In shared memory: registers for sums of every split would leave room for fewer rows.
  __shared__ SplitSums of_teams[teams][num_splits];
  if (team.lane() == 0) {
#pragma unroll
    for (int s = 0; s < num_splits; ++s) of_teams[number][s] = SplitSums{};
  }
  for (std::int64_t row = begin + number; row < end; row += teams) {
    const SplitSums of_row = body(team, row);
    const int at = body.split_of(row);
    if (team.lane() == 0 && at > 0) of_teams[number][at - 1].add(of_row);
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

  /// In strips of 16 bytes where the columns can be cut in such.
  template <class T, template <class, int> class Strip, class Args>
  void fold(const Args& args, std::int64_t columns, const char* doing, double* partial) const {
    if (args.width % pack_size<T> == 0) {
      constexpr int pack = pack_size<T>;
      if (columns <= 8 * pack) return fold_strips<8, Strip<T, pack>>(args, columns, doing, partial);
      if (columns <= 16 * pack) return fold_strips<16, Strip<T, pack>>(args, columns, doing, partial);
      return fold_strips<32, Strip<T, pack>>(args, columns, doing, partial);
    }
    if (columns <= 8) return fold_strips<8, Strip<T, 1>>(args, columns, doing, partial);
    fold_strips<32, Strip<T, 1>>(args, columns, doing, partial);
  }
  template <int Lanes, class Strip, class Args>
  void fold_strips(const Args& args, std::int64_t columns, const char* doing, double* partial) const {
    const std::int64_t chunks = chunks_of(args.rows), together = Lanes * Strip::width;
    const dim3 grid(static_cast<unsigned>(chunks), static_cast<unsigned>((columns + together - 1) / together));
    fold_chunk<Lanes, Strip><<<grid, threads, 0, stream>>>(columns, chunks, args, partial);
    check_status(cudaGetLastError(), doing);
  }
  template <class T, template <class, int> class Strip, class Args, class Acc>
  void fold_columns(const Args& args, std::int64_t columns, const char* doing, Acc* first, Acc* second) const {
    const bool wanted = first != nullptr || second != nullptr;
    auto* const partial = wanted ? static_cast<double*>(args.scratch) : nullptr;
    fold<T, Strip>(args, columns, doing, partial);
    if (!wanted) return;
    constexpr std::int64_t sums = Strip<T, 1>::sums;
    const std::int64_t blocks = (sums * columns + 31) / 32;
    finish_columns<<<static_cast<unsigned>(blocks), dim3(32, 32), 0, stream>>>(partial, chunks_of(args.rows), columns,
                                                                               sums, first, second);
    check_status(cudaGetLastError(), doing);
  }
  template <class T, template <class, int> class Strip, class Args, class Acc>
  void fold_all(const Args& args, std::int64_t columns, const char* doing, Acc* out) const {
    auto* const partial = static_cast<double*>(args.scratch);
    fold<T, Strip>(args, columns, doing, partial);
    finish_all<<<1, 1024, 0, stream>>>(partial, chunks_of(args.rows) * columns, out);
    check_status(cudaGetLastError(), doing);
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
