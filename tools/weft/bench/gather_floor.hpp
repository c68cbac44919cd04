// The gather floor: the time just to load what an operator must load and write what it must write.
// Column indices are streamed, every indexed row is loaded with plain vector loads and summed so that
// the loads cannot be left out, and the output's bytes are written. No multiplication, no row borders,
// no edge values: a kernel at ratio 1 is limited by its loads alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/context.hpp"
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
  virtual ~GatherFloor() = default;
  /// One pass, started in the context's stream where there is one.
  virtual void run() = 0;
};

/// Of its settings (how far ahead rows are asked for, edges per task) the fastest over a few passes is kept. What the
/// job points to must be on the context's device, and both must outlive the floor.
std::unique_ptr<GatherFloor> make_gather_floor(const Context& context, FloorJob job);

}  // namespace weft::tool
