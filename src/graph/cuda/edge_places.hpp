// Where values of edges stand that one walk over a graph's edges writes and another, in another order, reads.
//
// In the order of either walk the other one would move 4 bytes at a time, far apart, and memory 32 or more for each.
// So edges stand in bins: each holds what is read one after the other, few enough edges to stay in a GPU's cache while
// they are; within a bin they stand as they are written, so that writes are runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/cuda/milestone.hpp"
#include "core/device.hpp"
#include "weft/graph.hpp"

namespace weft {

class EdgePlaces {
 public:
  /// A bin has 2^22 edges, 16 MiB of floats: a part of L2. (From 2^20 to 2^24 attention's gradients differ by 5%.)
  static constexpr int usual_bin_bits = 22;

  /// The ids of edges in the order of a walk. Both null: an edge's id is its place in it.
  struct Walk {
    const EdgeId* wide = nullptr;
    const std::int32_t* narrow = nullptr;
  };
  static bool possible(const GraphView& graph) {
    return graph.num_edges > 0 && graph.num_edges < (std::int64_t{1} << 31);
  }
  /// Of edges that `possible` allows.
  EdgePlaces(Device device, std::int64_t num_edges, const Walk& writing, const Walk& reading, CUstream_st* stream,
             int bin_bits = usual_bin_bits);

  /// [edges] of the k-th edge that is written; null: k itself.
  const std::int32_t* written() const { return reinterpret_cast<const std::int32_t*>(written_.data()); }
  /// [edges] of the k-th edge that is read.
  const std::int32_t* read() const { return reinterpret_cast<const std::int32_t*>(read_.data()); }
  /// Of the arrays, on the device.
  std::size_t bytes() const { return bytes_; }
  /// Work that follows in `stream` finds the arrays complete, whichever stream they were made in.
  void ready_in(CUstream_st* stream) const { made_.precede(stream); }

 private:
  /// An Error unless bins have numbers of 16 bits.
  static void check_bins(std::int64_t num_edges, int bin_bits);

  DeviceBuffer written_, read_;
  std::size_t bytes_ = 0;
  Milestone made_;
};

}  // namespace weft
