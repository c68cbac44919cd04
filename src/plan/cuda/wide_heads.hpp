// Attention with heads that lie badly in the lanes of a GPU's groups, as 4 of 40 features do: they run wider, in copies
// padded with zeros, where those cost less than they save (bench/records/h200/wide-heads.json).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/context.hpp"
#include "weft/graph.hpp"
#include "weft/plan.hpp"

namespace weft {

/// The width that heads run with, or 0: their own.
std::int64_t head_width(const Context& context, const OpDesc& desc, const GraphView& graph, const Policy& policy);

/// The copies of a run, in its workspace. Over an arena without memory this only counts.
struct WideHeads {
  std::span<std::byte> value;     // [columns, heads, width]
  std::span<std::byte> out;       // [rows, heads, width], in the type of value or its accumulator; in a backward the
                                  // gradient of value follows it there, [columns, heads, width]
  std::span<std::byte> out_grad;  // [rows, heads, width]; a backward's

  /// `desc` with the width that heads run with.
  static WideHeads take(Arena& arena, const OpDesc& desc, std::int64_t rows, std::int64_t columns);
};

}  // namespace weft
