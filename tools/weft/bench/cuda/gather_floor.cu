// The gather floor on a GPU: groups of lanes take equal shares of the edges, read their columns and load the rows
// these name, eight rows in flight a lane and as wide as the rows allow; then every block reads its share of what is
// streamed and writes its share of the output.
#include <cuda_runtime.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "bench/cuda/measure.hpp"
#include "core/cuda/status.hpp"
#include "core/device.hpp"

namespace weft::tool {
namespace {

using weft::cuda::check_status;

constexpr int block_threads = 256;
constexpr int in_flight = 8;
constexpr int most_streams = 4;

struct Pass {
  const NodeId* cols = nullptr;
  std::int64_t edges = 0, edges_a_task = 0;
  const std::byte* rows = nullptr;
  std::int64_t row_bytes = 0;
  int words_a_row = 0, lanes_log2 = 0;
  struct {
    const uint4* data;
    std::int64_t words, words_a_block;
  } streamed[most_streams] = {};
  int streams = 0;
  uint4* out = nullptr;
  std::int64_t out_words = 0, out_words_a_block = 0;
};

__device__ __forceinline__ unsigned folded(uint4 v) { return v.x + v.y + v.z + v.w; }
__device__ __forceinline__ unsigned folded(uint2 v) { return v.x + v.y; }
__device__ __forceinline__ unsigned folded(unsigned v) { return v; }
__device__ __forceinline__ unsigned folded(unsigned short v) { return v; }

// Columns k to k + 7; behind the end the last one again. Whole ones are aligned: tasks are multiples of 32 edges.
__device__ __forceinline__ void load_columns(const NodeId* cols, std::int64_t k, std::int64_t end,
                                             NodeId (&to)[in_flight]) {
  if (k + in_flight <= end) {
    const int4 a = __ldg(reinterpret_cast<const int4*>(cols + k));
    const int4 b = __ldg(reinterpret_cast<const int4*>(cols + k + 4));
    to[0] = a.x, to[1] = a.y, to[2] = a.z, to[3] = a.w;
    to[4] = b.x, to[5] = b.y, to[6] = b.z, to[7] = b.w;
    return;
  }
#pragma unroll
  for (int j = 0; j < in_flight; ++j) to[j] = __ldg(cols + (k + j < end ? k + j : end - 1));
}

template <class Word>
__device__ __forceinline__ unsigned gather(const Pass& p, std::int64_t begin, std::int64_t end, int lane) {
  unsigned sum = 0;
  NodeId next[in_flight];
  load_columns(p.cols, begin, end, next);
  for (std::int64_t k = begin; k < end; k += in_flight) {
    const std::byte* row[in_flight];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) row[j] = p.rows + next[j] * p.row_bytes;
    if (k + in_flight < end) load_columns(p.cols, k + in_flight, end, next);
    for (int i = lane; i < p.words_a_row; i += 1 << p.lanes_log2) {
      Word words[in_flight];
#pragma unroll
      for (int j = 0; j < in_flight; ++j) words[j] = __ldg(reinterpret_cast<const Word*>(row[j]) + i);
#pragma unroll
      for (int j = 0; j < in_flight; ++j) sum += folded(words[j]);
    }
  }
  return sum;
}

template <class Word>
__global__ void __launch_bounds__(block_threads) floor_pass(const Pass p) {
  const int lane = static_cast<int>(threadIdx.x) & ((1 << p.lanes_log2) - 1);
  const std::int64_t groups = blockDim.x >> p.lanes_log2;
  const std::int64_t task = blockIdx.x * groups + (threadIdx.x >> p.lanes_log2);
  const std::int64_t begin = task * p.edges_a_task;
  const std::int64_t end = begin + p.edges_a_task < p.edges ? begin + p.edges_a_task : p.edges;
  unsigned sum = begin < end && p.words_a_row > 0 ? gather<Word>(p, begin, end, lane) : 0;
  const std::int64_t block = blockIdx.x;
  for (int s = 0; s < p.streams; ++s) {
    const std::int64_t first = block * p.streamed[s].words_a_block;
    const std::int64_t last = min(first + p.streamed[s].words_a_block, p.streamed[s].words);
#pragma unroll 4
    for (std::int64_t i = first + threadIdx.x; i < last; i += block_threads)
      sum += folded(__ldg(p.streamed[s].data + i));
  }
  // What is written depends on every load above, so none of them can be left out.
  const std::int64_t first = block * p.out_words_a_block;
  const std::int64_t last = min(first + p.out_words_a_block, p.out_words);
  for (std::int64_t i = first + threadIdx.x; i < last; i += block_threads) p.out[i] = make_uint4(sum, sum, sum, sum);
}

// The widest load that every row of the table is aligned to.
int word_bytes(const FloorJob::Rows& rows) {
  const auto bits = reinterpret_cast<std::uintptr_t>(rows.base) | static_cast<std::uintptr_t>(rows.row_bytes) | 16;
  return static_cast<int>(bits & (~bits + 1));
}

// Lanes that leave the fewest loads of a row's last step idle; at least eight where the row has as many words, so that
// neighbouring lanes read neighbouring words.
int lanes_log2_for(std::int64_t words) {
  int best = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int log2 = 0; log2 <= 5; ++log2) {
    const std::int64_t lanes = std::int64_t{1} << log2;
    if (lanes < 8 && lanes < words) continue;
    const std::int64_t taken = (words + lanes - 1) / lanes * lanes;
    if (taken > least || (log2 > 0 && lanes / 2 >= words)) continue;
    least = taken;
    best = log2;
  }
  return best;
}

class CudaFloor final : public GatherFloor {
 public:
  CudaFloor(const Context& context, FloorJob job)
      : index_(context.device().index),
        stream_(context.stream()),
        job_(std::move(job)),
        out_(context.device(), context.stream(), (job_.written_bytes + 15) / 16 * 16, "the gather floor's output") {
    const std::unique_ptr<Timer> timer = make_event_timer(context);
    double fastest = std::numeric_limits<double>::infinity();
    std::int64_t best = 128;
    for (const std::int64_t size : {32, 64, 128, 256, 512}) {
      edges_a_task_ = size;
      for (int trial = 0; trial < 4; ++trial) {
        const double us = timer->microseconds([&] { run(); });
        if (trial == 0 || us >= fastest) continue;  // the first one warms up
        fastest = us;
        best = size;
      }
    }
    edges_a_task_ = best;
  }

  void run() override {
    const weft::cuda::OnDevice on(index_);
    const std::size_t passes = std::max<std::size_t>(1, job_.gathered.size());
    for (std::size_t i = 0; i < passes; ++i) {
      Pass pass;
      if (i + 1 == passes) add_streams(pass);
      if (job_.gathered.empty())
        launch<unsigned>(pass);
      else
        gather_rows(job_.gathered[i], pass);
    }
  }

 private:
  void add_streams(Pass& pass) const {
    for (const FloorJob::Rows& rows : job_.streamed)
      if (pass.streams < most_streams)
        pass.streamed[pass.streams++] = {static_cast<const uint4*>(rows.base), rows.row_bytes / 16, 0};
    pass.out = reinterpret_cast<uint4*>(out_.data());
    pass.out_words = static_cast<std::int64_t>((job_.written_bytes + 15) / 16);
  }

  void gather_rows(const FloorJob::Rows& rows, Pass& pass) const {
    const int bytes = word_bytes(rows);
    pass.cols = job_.graph.cols;
    pass.edges = job_.graph.num_edges;
    pass.rows = static_cast<const std::byte*>(rows.base);
    pass.row_bytes = rows.row_bytes;
    pass.words_a_row = static_cast<int>(rows.row_bytes / bytes);
    pass.lanes_log2 = lanes_log2_for(pass.words_a_row);
    switch (bytes) {
      case 16: return launch<uint4>(pass);
      case 8: return launch<uint2>(pass);
      case 4: return launch<unsigned>(pass);
      default: return launch<unsigned short>(pass);  // no storage type is smaller than two bytes
    }
  }

  template <class Word>
  void launch(Pass& pass) const {
    pass.edges_a_task = edges_a_task_;
    const std::int64_t groups = block_threads >> pass.lanes_log2;
    const std::int64_t tasks = (pass.edges + edges_a_task_ - 1) / edges_a_task_;
    const std::int64_t gathering = (tasks + groups - 1) / groups;
    // Where nothing is gathered, as many blocks as keep the memory busy.
    const std::int64_t blocks = std::max<std::int64_t>(gathering, job_.gathered.empty() ? 1024 : 1);
    const auto share = [&](std::int64_t words) { return (words + blocks - 1) / blocks; };
    for (int s = 0; s < pass.streams; ++s) pass.streamed[s].words_a_block = share(pass.streamed[s].words);
    pass.out_words_a_block = share(pass.out_words);
    floor_pass<Word><<<static_cast<unsigned>(blocks), block_threads, 0, stream_>>>(pass);
    check_status(cudaGetLastError(), "running the gather floor");
  }

  int index_;
  cudaStream_t stream_;
  FloorJob job_;
  DeviceBuffer out_;
  std::int64_t edges_a_task_ = 128;
};

}  // namespace

std::unique_ptr<GatherFloor> make_cuda_floor(const Context& context, FloorJob job) {
  return std::make_unique<CudaFloor>(context, std::move(job));
}

}  // namespace weft::tool
