// The loops of a GPU: a thread for every item, or a team of lanes. All are put into the stream.
#pragma once

#include "core/loops/cuda/each.cuh"
#include "core/loops/cuda/fold.cuh"
#include "core/loops/fold.hpp"
#include "core/loops/run.hpp"

namespace weft::loops {

template <class Body>
__global__ void __launch_bounds__(team_threads) each_item_with_common(std::int64_t count, Body body) {
  if (!body.applies()) return;
  const auto common = body.common();
  for (std::int64_t i = cuda::first_item(); i < count; i += cuda::item_stride()) body(i, common);
}

/// The host reads the number last written, and then what was written before it.
struct PublishToHost {
  __device__ void operator()(std::int64_t* number, std::int64_t value) const {
    __threadfence_system();
    *static_cast<volatile std::int64_t*>(number) = value;
  }
};

template <class Body>
__global__ void one_thread(Body body) {
  body(PublishToHost{});
}

struct GpuLoops {
  static constexpr bool has_f64 = false;  // training in f64 is for checks, and the host's
  CUstream_st* stream;

  template <class Body>
  void each(std::int64_t count, const char* doing, const Body& body) const {
    cuda::each(count, stream, doing, body);
  }
  template <class Body>
  void each_with_common(std::int64_t count, const char* doing, const Body& body) const {
    if (count == 0) return;
    // What is common takes a thread longer than an item: few threads with many items each.
    constexpr std::int64_t most_blocks = 1024;
    each_item_with_common<<<cuda::blocks_for(count, most_blocks), team_threads, 0, stream>>>(count, body);
    cuda::check_status(cudaGetLastError(), doing);
  }
  template <class Body>
  void teams(std::int64_t count, std::int64_t width, const char* doing, const Body& body) const {
    width <= 64 ? teams_of<8>(count, doing, body) : teams_of<32>(count, doing, body);
  }
  template <class Body>
  void alone(const char* doing, const Body& body) const {
    one_thread<<<1, 1, 0, stream>>>(body);
    cuda::check_status(cudaGetLastError(), doing);
  }

  template <class T, template <class, int> class Strip, class Args, class Acc>
  void fold_columns(const Args& args, std::int64_t columns, const char* doing, Acc* first, Acc* second) const {
    if (columns == 0) return;
    const bool wanted = first != nullptr || second != nullptr;
    auto* const partial = wanted ? static_cast<double*>(args.scratch) : nullptr;
    fold<T, Strip>(args, columns, doing, partial);
    if (!wanted) return;
    constexpr std::int64_t sums = Strip<T, 1>::sums;
    const std::int64_t blocks = (sums * columns + 31) / 32;
    finish_columns<<<static_cast<unsigned>(blocks), dim3(32, 32), 0, stream>>>(partial, chunks_of(args.rows), columns,
                                                                               sums, first, second);
    cuda::check_status(cudaGetLastError(), doing);
  }
  template <class T, template <class, int> class Strip, class Args, class Acc>
  void fold_all(const Args& args, std::int64_t columns, const char* doing, Acc* out) const {
    auto* const partial = static_cast<double*>(args.scratch);
    fold<T, Strip>(args, columns, doing, partial);
    finish_all<<<1, 1024, 0, stream>>>(partial, chunks_of(args.rows) * columns, out);
    cuda::check_status(cudaGetLastError(), doing);
  }
  template <class Body>
  void fold_groups(std::int64_t rows, std::int64_t width, const char* doing, const Body& body, void* scratch,
                   typename Body::Sums* sums) const {
    using Sums = typename Body::Sums;
    const std::int64_t chunks = chunks_of(rows);
    const auto launch = [&]<int Lanes>() {
      fold_group_chunk<Lanes>
          <<<static_cast<unsigned>(chunks), team_threads, 0, stream>>>(rows, chunks, body, static_cast<Sums*>(scratch));
    };
    constexpr int few = 8;
    width <= few* WarpTeam<few>::held ? launch.template operator()<few>() : launch.template operator()<32>();
    cuda::check_status(cudaGetLastError(), doing);
    static_assert(sizeof(Sums) % sizeof(double) == 0);
    constexpr int count = Body::groups * static_cast<int>(sizeof(Sums) / sizeof(double));
    teams_of<32>(count, doing,
                 FinishGroups<count>{static_cast<const double*>(scratch), chunks, reinterpret_cast<double*>(sums)});
  }

 private:
  template <int Lanes, class Body>
  void teams_of(std::int64_t count, const char* doing, const Body& body) const {
    const std::int64_t blocks = (count + team_threads / Lanes - 1) / (team_threads / Lanes);
    if (blocks == 0) return;
    constexpr std::int64_t most = 1 << 20;
    over_teams<Lanes><<<static_cast<unsigned>(blocks < most ? blocks : most), team_threads, 0, stream>>>(count, body);
    cuda::check_status(cudaGetLastError(), doing);
  }
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
    fold_chunk<Lanes, Strip><<<grid, team_threads, 0, stream>>>(columns, chunks, args, partial);
    cuda::check_status(cudaGetLastError(), doing);
  }
};

template <class Args>
void run(Gpu on, const Args& args) {
  const cuda::OnDevice there(on.device.index);
  run_on(GpuLoops{on.stream}, args);
}

}  // namespace weft::loops
