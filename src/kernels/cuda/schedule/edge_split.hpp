// Exactly equal shares of the edges: task t owns the edges [t * size, (t + 1) * size), whatever rows they lie in. A row
// that a border cuts leaves its partial sums in staging slots, 2t for the row that began before the task and 2t + 1
// for the one that runs on past it, and a second kernel unites them in the order of the tasks: no atomics, and the same
// bits every time. (After HP-SpMM's hybrid-parallel tasks; the exact shares and the ordered finish are weft's.)
#pragma once

#include <cstdint>

#include "weft/graph.hpp"

namespace weft::cuda {

struct EdgeSplit {
  GraphView graph;                      // with rows
  int size = 0;                         // edges a task
  std::int64_t tasks = 0;               // ceil(edges / size)
  const std::int32_t* order = nullptr;  // which task runs when; null: as they stand
  float* staged = nullptr;              // [2 * tasks, pitch]
  std::int64_t pitch = 0;
};

}  // namespace weft::cuda
