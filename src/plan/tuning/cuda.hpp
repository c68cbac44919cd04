// What the planner assumes of a GPU: rates that rank candidates, not predictions of times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "weft/context.hpp"

namespace weft::tuning {

/// Of operators of one kind by windows of 128 rows; tile_ns is 0 where they were not measured.
struct WindowRates {
  double tile_ns = 0;          // 64 features of a tile, where the GPU is full
  double edge_ns = 0;          // an edge of a tile,
  double edge_step_ns = 0;     // and the same for every 64 features
  double residual_factor = 1;  // an edge beside windows costs so many edges without them
  double run_share = 1;        // what a run without windows takes at the least, of what is modelled for it
  double best_saving = 0;      // of a run without windows, on any graph measured
  int blocks_a_window = 1;     // that share its tiles where windows are too few to fill the GPU
};

struct CudaRates {
  std::int64_t blocks;                                  // of 256 threads, resident at once
  double l2_bytes;                                      // of tables that gathers find in L2
  double l2_gb_s;                                       // gathers from there
  double memory_gather_gb_s;                            // gathers from beyond
  double stream_gb_s;                                   // arrays read or written in sequence
  double sector_bytes;                                  // the least a gather moves
  double column_gain;                                   // what gathers gain where tasks run by column
  double column_from_degree;                            // the mean degree from which that pays
  double cluster_from_degree;                           // the same for clusters
  double joined_clusters_bytes;                         // a row: from there on clustered tasks are a block's
  double launch_us;                                     // a kernel
  double finish_us;                                     // the second one
  double load_ns;                                       // one dependent batch of loads
  double task_ns;                                       // a task's start: its own loads before the first row arrives
  double sort_us, sort_edge_ns;                         // making an order by columns
  double cluster_us, cluster_row_ns, cluster_edge_ns;   // making clusters
  double order_runs;                                    // in so many runs an order must come back
  WindowRates sums, sums_f32;                           // by windows
  WindowRates weighted_sums, dots, gat, gat_gradients;  // the same, of halves
  double window_us, window_edge_ns, listed_edge_ns;     // making windows; the last is an edge of those with lists
  double look_us, look_edge_ns;                         // a look at some, with communities of rows
};

/// What was measured of one architecture, and on which GPU.
struct CudaTuning {
  int compute_capability;
  int multiprocessors;
  double l2_bytes, memory_gb_s;  // as the driver tells them
  CudaRates rates;
};

/// A row an architecture that was tuned; others take the nearest older one, scaled, and are untuned.
inline constexpr CudaTuning cuda_tunings[] = {
    // One H200, three blocks per multiprocessor. The ceilings are those of a copy and of L2; gains and latencies fit
    // the
    // times of share sizes from 8 to 512 in every order, on graphs of mean degree 2 to 486 and widths 16 to 256
    // (bench/records/h200).
    {90,
     132,
     62914560,
     4917,
     {.blocks = 396,
      .l2_bytes = 40e6,
      .l2_gb_s = 7000,
      .memory_gather_gb_s = 5600,
      .stream_gb_s = 4000,
      .sector_bytes = 32,
      .column_gain = 0.2,
      .column_from_degree = 32,
      .cluster_from_degree = 8,
      .joined_clusters_bytes = 512,
      .launch_us = 4,
      .finish_us = 3,
      .load_ns = 900,
      .task_ns = 400,
      .sort_us = 60,
      .sort_edge_ns = 0.001,
      .cluster_us = 80,
      .cluster_row_ns = 0.65,
      .cluster_edge_ns = 0.0095,
      .order_runs = 5,
      // Windows: bench/records/h200/windows.json, clusters-ordered. At threshold 3 its 49,350 tiles have 66.3 % of the
      // edges, 29,529 at 5 57.6 %, 25,622 at 6 55.0 %; those of dense at 1, 1,539, have all (counted on the host).
      // Kernels at 3, 64 features: weighted sums 352 us, 2.6 ns per tile, as sums have, and 0.007 ns per edge; dense
      // takes
      // 6.8 us longer than sums, and 12.5 in 128 features: 0.0055 ns. Dots 337 us and, in 128 features, 465 of all
      // 1,113: as much per tile, and 0.0066 ns per edge once. GAT 382 us, 7.7 ns per tile.
      // Residuals at 3 have 33.7 % of the edges: 275 of 665 us (weighted sums), 327 of 621 (dots), 340 of 827 (GAT).
      // All of GAT at 6, 701 us, needs 1.28 instead of those 1.22.
      // run_share: cuda_us by the model's time. As sums' is 1, their forecasts are too good, but right on all graphs.
      // Windows were made in 4.6 ms, 6.9 the first time in a process; lists of edges add 2.1. A look took 0.1 ms on
      // arxiv, 0.2 on products, 0.3 on clusters and 1.3 on reddit.
      // Gradients of GAT took 1682, 1524, 1433, 1388, 1424, 1480 us at 4 to 16 (20,044 tiles and 50.1 % at 8), and 1.43
      // (reddit, 128 features) to 2 times of the modelled time without windows.
      .sums = {.tile_ns = 2.6, .residual_factor = 1.35, .best_saving = 0.5, .blocks_a_window = 8},
      .sums_f32 = {.tile_ns = 7.2, .residual_factor = 1.35, .best_saving = 0.4, .blocks_a_window = 8},
      .weighted_sums = {.tile_ns = 2.6,
                        .edge_step_ns = 0.0055,
                        .residual_factor = 1.22,
                        .run_share = 0.7,
                        .best_saving = 0.35,
                        .blocks_a_window = 8},
      .dots = {.tile_ns = 2.6, .edge_ns = 0.0066, .residual_factor = 1.55, .run_share = 0.7, .best_saving = 0.15},
      .gat = {.tile_ns = 7.7, .residual_factor = 1.28, .run_share = 0.88, .best_saving = 0.25},
      .gat_gradients = {.tile_ns = 22, .residual_factor = 1.08, .run_share = 1.43, .best_saving = 0.3},
      .window_us = 1500,
      .window_edge_ns = 0.1,
      .listed_edge_ns = 0.145,
      .look_us = 90,
      .look_edge_ns = 0.006}},
};

/// Of any GPU: its architecture's row with what depends on the number of multiprocessors, L2 and memory in proportion.
inline CudaRates cuda_rates(const CudaDevice& device) {
  const CudaTuning* row = cuda_tunings;
  for (const CudaTuning& t : cuda_tunings)
    if (t.compute_capability <= device.compute_capability) row = &t;
  CudaRates rates = row->rates;
  const auto share = [](double of, double measured_on) { return of > 0 ? of / measured_on : 1.0; };
  const double cores = share(device.multiprocessors, row->multiprocessors);
  const double memory = share(device.memory_gb_s, row->memory_gb_s);
  if (device.multiprocessors > 0) rates.blocks = rates.blocks * device.multiprocessors / row->multiprocessors;
  rates.l2_bytes *= share(static_cast<double>(device.l2_bytes), row->l2_bytes);
  rates.l2_gb_s *= cores;
  rates.memory_gather_gb_s *= memory;
  rates.stream_gb_s *= memory;
  const bool measured = device.compute_capability == row->compute_capability;
  for (WindowRates* kind :
       {&rates.sums, &rates.sums_f32, &rates.weighted_sums, &rates.dots, &rates.gat, &rates.gat_gradients}) {
    kind->tile_ns = measured ? kind->tile_ns / cores : 0;
    kind->edge_ns /= cores;
    kind->edge_step_ns /= cores;
  }
  return rates;
}

/// Rows that end within a few edges keep a group busy with writing: only small shares then fill the GPU.
constexpr std::int64_t most_edges_a_group(double mean_degree, double row_bytes) {
  if (mean_degree >= 8) return 512;
  return row_bytes < 1024 ? 40 : 32;
}

/// Whether rows are short and so much alike that whole ones make tasks of much the same length. Narrow ones share their
/// warp with too many others that are longer.
constexpr bool rows_alike(double mean_degree, std::int64_t longest_row, double row_bytes) {
  return mean_degree < 16 && longest_row >= 0 && static_cast<double>(longest_row) <= 4 * mean_degree + 8 &&
         row_bytes >= 256;
}

/// A group of threads that covers a row takes no more edges: the rest of the GPU would wait for it. (A warp with its
/// lanes along the edges takes as many in each lane.)
inline constexpr std::int64_t most_edges_in_sequence = 1024;

/// Edges a row, in the mean, from which SDDMM's batches of edges nearly always share their destination.
inline constexpr std::int64_t least_long_row = 128;

/// Edges a row group: bench/records/h200/row-group-sizes.json, and row-groups.json against tasks of equal edges.
inline constexpr std::int64_t edges_by_rows = 24;

/// A window of sources that stays in L1: 32 KiB of rows per group. Only tasks within one row have a place in the order,
/// so they must not be much longer than rows are. Parts of rows of halves are twice as large as what they are parts of,
/// and attention's gradients wait for more than rows: there fewer and longer tasks are faster.
constexpr std::int64_t edges_by_columns(double row_bytes, double mean_degree, bool longer) {
  std::int64_t edges = longer ? 512 : 256;
  while (edges > 32 && static_cast<double>(edges) * row_bytes > (longer ? 131072 : 32768)) edges /= 2;
  while (edges > 64 && static_cast<double>(edges) > 2 * mean_degree) edges /= 2;
  return edges;
}

/// Whether tasks over two rows have a place among the columns: where they are most, and those over more are few.
constexpr bool orders_over_two_rows(std::int64_t edges_a_task, double mean_degree) {
  const auto edges = static_cast<double>(edges_a_task);
  return 2 * edges >= mean_degree && edges <= mean_degree;
}

/// Whether edges come through shared memory, a warp's tile at a time: where few threads cover a row the index would
/// take more of L1's time than the rows do. Rows must be long for the groups of a warp to share them, and tasks many.
constexpr bool stages_edges(std::int64_t features, double mean_degree, std::int64_t edges) {
  return features <= 16 && mean_degree >= 32 && edges >= 4'000'000;
}

/// A warp's task then, whole tiles of 128.
constexpr std::int64_t edges_by_tiles(double mean_degree) { return mean_degree >= 128 ? 512 : 256; }

/// Halves a load moves: 16 bytes, but at least four lanes cover a row, unless rows are short: with fewer the index
/// comes in small pieces. A graph that leaves the
/// GPU half empty has room for more lanes, each with less to do.
constexpr int halves_a_load(std::int64_t features, double mean_degree, std::int64_t edges, std::int64_t blocks) {
  int halves = 8;
  while (halves > 2 && features / halves < 4 && mean_degree >= 8) halves /= 2;
  if (edges * (features / halves) < blocks * 2048)
    while (halves > 2 && features / halves < (halves == 8 ? 16 : 8)) halves /= 2;
  return halves;
}

/// Whether sums of halves go by fours all the same: four lanes of eights hold more sums than registers where rows are
/// long (bench/records/h200/half-sums.json).
constexpr bool sums_by_fours(std::int64_t features, double mean_degree) { return features <= 32 && mean_degree >= 32; }

/// The same of extremes and of values for every feature of an edge, which take more registers.
inline constexpr int most_halves_a_load_otherwise = 4;
/// Attention as well, but where rows are short or long. Rows of which a lane would take two packs of four go by
/// eights, unless lanes can share a head's weights by fours alone, which outweighs all else (the cells of attention-*
/// in bench/records/h200). `shares`, `shares_by_fours`: whether they can.
constexpr bool attends_by_fours(std::int64_t heads, std::int64_t width, bool shares, bool shares_by_fours,
                                bool backward, double mean_degree) {
  if (heads > 1 && !shares && (shares_by_fours || !backward)) return true;
  if (heads * width > 128 && (heads == 1 || shares)) return false;
  return mean_degree >= 8 && mean_degree < (heads == 1 ? 32 : 128);
}

/// Here the rows' own community is the window, and longer shares cut fewer rows.
constexpr std::int64_t edges_by_clusters(double row_bytes) {
  return row_bytes < 128 ? 64 : row_bytes < 1024 ? 256 : 128;
}

/// What gathers gain where rows of one community run together: the more of the table L2 cannot hold, the more. Very
/// long rows gather from everywhere.
inline double cluster_gain(double table_bytes, double mean_degree) {
  if (mean_degree > 128) return 1.0;
  return 1 + 0.18 * std::log2(std::max(table_bytes, 1.0) / 64e6);
}

/// Of narrow rows, where a group is a warp with 128 edges in flight: enough steps that its start is a small part.
/// Untuned.
inline constexpr std::int64_t most_edges_a_warp = 2048;
/// A warp of edge softmax carries a row's sum from one 256 edges to the next by plain additions.
inline constexpr std::int64_t most_edges_of_softmax = 4 * most_edges_a_warp;

}  // namespace weft::tuning
