// Exactly equal shares of the edges, whatever rows they lie in. (After HP-SpMM's hybrid-parallel tasks; exact shares,
// ordered ends and the two ways to join them are weft's.)
//
// Loose tasks belong to one group of threads each, which run in any order: a row that a border cuts leaves its partial
// results in staging slots, 2t for the row that began before task t and 2t + 1 for the one that runs on past it.
// Joined tasks belong to a block, whose groups share the edges and unite cut rows in shared memory. Their borders step
// back to the start of the row they fall into, unless that row is longer than `whole_row`: only such rows are staged.
// Tasks of whole rows (row groups) are loose ones that cut nothing, for graphs whose rows are short and alike.
// Either way a second kernel, where it is needed, unites what is staged in the order of the tasks: no atomics, and the
// same bits every time.
#pragma once

#include <cstdint>

#include "weft/graph.hpp"

namespace weft::cuda {

struct EdgeSplit {
  GraphView graph;                    // rows and cols in the order of the work; offsets as stored
  const EdgeId* starts = nullptr;     // [rows] where a row's edges begin in that order
  const std::int32_t* ids = nullptr;  // [edges << id_shift] their edge ids, where those are not their places
  int id_shift = 0;                   // 1: the lower halves of the graph's own, which have 64 bits
  std::int64_t size = 0;              // edges per task; 0: tasks are whole rows
  std::int64_t rows_a_task = 0;       // a task's then
  std::int64_t tasks = 0;             // that many cover the edges, or the rows
  bool joined = false;
  bool cuts = true;                     // false: no row is cut by tasks
  std::int64_t whole_row = 0;           // joined: rows of up to so many edges are not cut by tasks
  const std::int32_t* order = nullptr;  // loose: which task runs when; null: as they stand

  /// Blocks of so many groups that the tasks take.
  std::int64_t blocks(int groups) const { return joined ? tasks : (tasks + groups - 1) / groups; }

#ifdef __CUDACC__
  /// Whether what edges have stands in the order of the work.
  __host__ __device__ bool in_order() const { return ids == nullptr && graph.edge_ids == nullptr; }
  /// The task that edge k would be in if no border stepped back. (Divisions of 64 bits take some hundred instructions.)
  __device__ __forceinline__ std::int64_t task_of(EdgeId k) const {
    if (graph.num_edges >> 32 != 0) return k / size;
    return static_cast<std::uint32_t>(k) / static_cast<std::uint32_t>(size);
  }
  __device__ __forceinline__ std::int32_t id_at(EdgeId k) const { return __ldg(ids + (k << id_shift)); }
  __device__ __forceinline__ EdgeId id_of(EdgeId k) const {
    if (ids != nullptr) return id_at(k);
    return graph.edge_ids != nullptr ? __ldg(graph.edge_ids + k) : k;
  }
#endif
};

}  // namespace weft::cuda
