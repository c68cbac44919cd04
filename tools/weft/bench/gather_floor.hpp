// The gather floor: the time just to load what an operator must load and write what it must write.
// Column indices are streamed, every indexed row is loaded with plain vector loads and summed so that
// the loads cannot be left out, and the output's bytes are written. No multiplication, no row borders,
// no edge values: a kernel at ratio 1 is limited by its loads alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/memory.hpp"
#include "weft/graph.hpp"

namespace weft::tool {

struct FloorJob {
  struct Rows {
    const void* base = nullptr;
    std::int64_t row_bytes = 0;  // contiguous
  };
  GraphView graph;             // whose columns are followed
  std::vector<Rows> gathered;  // one row each of these for every edge
  std::vector<Rows> streamed;  // read once from front to back, `row_bytes` in all
  std::size_t written_bytes = 0;

  double gathered_bytes() const;
};

class GatherFloor {
 public:
  GatherFloor(FloorJob job, int threads);
  /// One pass; `ahead` edges are prefetched, 0 for none.
  void run(int ahead);
  /// The distance that was fastest over a few passes; what `run` should be timed with.
  int best_ahead();

 private:
  FloorJob job_;
  int threads_;
  Buffer<std::byte> out_;
  std::vector<std::uint32_t> sums_;  // one a task: keeps the loads alive
};

}  // namespace weft::tool
