#include "graph/cuda/edge_places.hpp"

#include "core/cuda/sorting.hpp"
#include "core/loops/cuda/each.cuh"

namespace weft {
namespace {

using namespace cuda;

__device__ __forceinline__ std::int32_t id_of(const EdgePlaces::Walk& walk, std::int64_t k) {
  if (walk.narrow != nullptr) return __ldg(walk.narrow + k);
  return static_cast<std::int32_t>(walk.wide != nullptr ? __ldg(walk.wide + k) : k);
}

struct FindTurn {
  EdgePlaces::Walk reading;
  std::int32_t* turns;
  __device__ void operator()(std::int64_t k) const { turns[id_of(reading, k)] = static_cast<std::int32_t>(k); }
};

/// When the k-th edge that is written is read.
struct Turn {
  EdgePlaces::Walk writing;
  const std::int32_t* turns;  // by id; null: edges are read by id
  __device__ __forceinline__ std::int32_t operator()(std::int64_t k) const {
    const std::int32_t id = id_of(writing, k);
    return turns != nullptr ? __ldg(turns + id) : id;
  }
};

struct TakeBin {
  Turn turn;
  int bin_bits;
  std::uint16_t* bins;
  std::int32_t* numbers;
  __device__ void operator()(std::int64_t k) const {
    bins[k] = static_cast<std::uint16_t>(turn(k) >> bin_bits);
    numbers[k] = static_cast<std::int32_t>(k);
  }
};

struct Place {
  Turn turn;
  const std::int32_t* in_bins;  // the edges that are written, bin by bin; null: as they are
  std::int32_t* written;
  std::int32_t* read;
  __device__ void operator()(std::int64_t place) const {
    const std::int64_t k = in_bins != nullptr ? __ldg(in_bins + place) : place;
    if (written != nullptr) written[k] = static_cast<std::int32_t>(place);
    read[turn(k)] = static_cast<std::int32_t>(place);
  }
};

}  // namespace

EdgePlaces::EdgePlaces(Device device, std::int64_t num_edges, const Walk& writing, const Walk& reading,
                       CUstream_st* stream, int bin_bits) {
  const OnDevice on(device.index);
  const auto edges = static_cast<std::size_t>(num_edges);
  const auto buffer = [&](std::size_t bytes, const char* what) { return DeviceBuffer(device, stream, bytes, what); };
  const std::size_t table = edges * sizeof(std::int32_t);
  read_ = buffer(table, "where values of edges are read");
  DeviceBuffer turns;
  if (reading.narrow != nullptr || reading.wide != nullptr) {
    turns = buffer(table, "when edges are read");
    each(num_edges, stream, "finding when edges are read", FindTurn{reading, as<std::int32_t>(turns)});
  }
  const Turn turn{writing, as<std::int32_t>(turns)};
  DeviceBuffer in_bins;
  const std::int64_t last_bin = (num_edges - 1) >> bin_bits;
  check_bins(num_edges, bin_bits);
  bytes_ = table;
  if (last_bin > 0) {
    bytes_ += table;
    written_ = buffer(table, "where values of edges are written");
    in_bins = buffer(table, "edges, bin by bin");
    const DeviceBuffer bins = buffer(2 * edges * sizeof(std::uint16_t), "the bins of edges");
    auto* const bin = as<std::uint16_t>(bins);
    auto* const numbers = as<std::int32_t>(written_);  // until edges are placed
    each(num_edges, stream, "sorting edges into bins", TakeBin{turn, bin_bits, bin, numbers});
    sort_pairs(device, stream, "sorting edges into bins",
               SortedPairs<std::uint16_t, std::int32_t>{bin, numbers, bin + edges, as<std::int32_t>(in_bins), num_edges,
                                                        bits_for(last_bin)});
  }
  each(num_edges, stream, "placing values of edges",
       Place{turn, as<std::int32_t>(in_bins), as<std::int32_t>(written_), as<std::int32_t>(read_)});
  made_.set(device, stream);
}

}  // namespace weft
