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

/// Gathers as in bench/records/cpu-neoverse-v1/spmm-arxiv.json; the others are untuned guesses for a server core.
constexpr CpuRates cpu_rates() { return {11, 9, 10, 20, 0.3, 5, 0.3}; }

/// How many edges ahead a source row is asked for. Narrow rows need more of them in flight to cover the same latency.
/// Rows of 128 bytes gain up to 24 edges ahead, rows of 512 nothing beyond 8 (tried on a Neoverse V1). Passes over
/// slices of the features, so that a slice fits the last-level cache, gained nothing there: with a power-of-two pitch
/// the slices share few cache sets.
constexpr int prefetch_edges(std::int64_t row_bytes) { return row_bytes <= 128 ? 32 : row_bytes <= 512 ? 16 : 8; }

/// The last-level cache the model reckons with, in bytes.
constexpr std::size_t cache_bytes() { return std::size_t{32} << 20; }

/// Feature elements a task should at least touch, so that handing it out is noise.
constexpr std::int64_t task_elements() { return 32 * 1024; }

}  // namespace weft::tuning
