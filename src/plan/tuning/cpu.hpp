// What the planner assumes of a CPU. The rates are rough on purpose: they rank candidates, they do
// not predict times. Each row says where its numbers come from.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/types.hpp"

namespace weft::tuning {

struct CpuRates {
  double cached_gather_gb_s;  // rows gathered from a table that fits the last-level cache, one thread
  double memory_gather_gb_s;  // the same from DRAM
  double stream_gb_s;         // arrays read or written in sequence, one thread
  double gflop_s;             // one thread
  double task_us;             // handing out one task
  double start_us;            // waking the threads
  double uneven;              // how much longer than the average a task may take, as a share of it
  friend constexpr bool operator==(const CpuRates&, const CpuRates&) = default;
};

/// One core of a 2020s server part. untuned beyond bench/records/cpu-neoverse-v1.
constexpr CpuRates cpu_rates() { return {20, 8, 10, 20, 0.3, 5, 0.3}; }

/// How many edges ahead a source row is asked for. Narrow rows need more of them in flight to cover
/// the same latency. bench/records/cpu-neoverse-v1: 16 to 32 edges are flat within 3 %.
constexpr int prefetch_edges(std::int64_t row_bytes) { return row_bytes <= 64 ? 32 : row_bytes <= 512 ? 16 : 8; }

/// The last-level cache the model reckons with, in bytes.
constexpr std::size_t cache_bytes() { return std::size_t{32} << 20; }

/// Feature elements a task should at least touch, so that handing it out is noise.
constexpr std::int64_t task_elements() { return 32 * 1024; }

}  // namespace weft::tuning
