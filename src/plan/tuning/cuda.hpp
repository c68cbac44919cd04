// What the planner assumes of a GPU: rates that rank candidates, not predictions of times.
#pragma once

#include <cstdint>

namespace weft::tuning {

struct CudaRates {
  std::int64_t blocks;        // of 256 threads, resident at once
  double l2_bytes;            // of tables that gathers find in L2
  double l2_gb_s;             // gathers from there
  double memory_gather_gb_s;  // gathers from beyond
  double stream_gb_s;         // arrays read or written in sequence
  double column_gain;         // what gathers gain where tasks of 64 edges run by column; less with larger ones
  double column_from_degree;  // the mean degree from which that pays
  double cluster_gain;        // what gathers gain where rows of one community run together
  double cluster_from_degree;
  double cluster_from_bytes;                           // of the table of sources
  double launch_us;                                    // a kernel
  double finish_us;                                    // the second one
  double load_ns;                                      // one dependent batch of loads
  double task_ns;                                      // a task's start: its own loads before the first row arrives
  double sort_us;                                      // making an order by columns
  double cluster_us, cluster_row_ns, cluster_edge_ns;  // making clusters
  double sector_bytes = 32;                            // the least a gather moves
};

/// One H200: 132 multiprocessors, three blocks each. The ceilings are those of a copy and of L2; gains and latencies
/// fit the times of task sizes from 32 to 512, in order and not, on graphs of mean degree 2 to 486 and widths 16 to
/// 256.
constexpr CudaRates cuda_rates() {
  return {396, 40e6, 7000, 6200, 4000, 0.3, 32, 0.4, 8, 32e6, 4, 4, 900, 400, 40, 60, 0.5, 0.008};
}

/// Rows that end within a few edges keep a group busy with writing: only small tasks then fill the GPU.
constexpr std::int64_t most_edges_a_group(double mean_degree) { return mean_degree < 8 ? 32 : 512; }

/// Of narrow rows, where a group is a warp with 128 edges in flight: enough steps that its start is a small part.
/// Untuned.
inline constexpr std::int64_t most_edges_a_warp = 2048;

}  // namespace weft::tuning
