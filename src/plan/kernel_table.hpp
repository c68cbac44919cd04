// Which kernels exist that gather rows of features over edges, as values: kernels.def with the shapes of each row.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/built_kernels.hpp"
#include "plan/gather_shape.hpp"
#include "weft/types.hpp"

namespace weft {

/// The kernel template. `gather`: groups of lanes along the features, edges in registers. `by_heads`: the same with
/// weights for every head. `narrow`: lanes along the edges. `staged`: edges in shared memory. `half_pairs`: batches
/// added up in pairs of halves. `other_shapes`: lanes and rows in flight that only a policy asks for. `dot`: SDDMM's.
enum class KernelFamily : std::uint8_t { gather, by_heads, narrow, staged, half_pairs, other_shapes, dot };

/// What an edge sends: the types of kernels/cuda/messages and attention; `ends`: SDDMM, which reads both ends.
enum class KernelMessage : std::uint8_t {
  source,
  averaged,
  weighted,
  scaled,
  edgewise,
  gat,
  gat_backward,
  vector_scored,
  vector_scored_edges,
  leaky_sum,
  leaky_sum_edges,
  ends
};

/// Sum also serves the mean; extremum serves max and, with messages negated, min; winner also says which edge it was.
enum class Reduction : std::uint8_t { sum, extremum, winner };

/// Which (lanes, steps) a row of the table has.
enum class ShapeSet : std::uint8_t {
  every,     // each power of two of lanes, then 2 and 4 steps; fewer for packs of one or two halves
  coarse,    // where speed is no goal: every other number of lanes, and the next larger one serves
  packs,     // those of `every` with the widest load alone
  two_rows,  // for messages with two rows of features per edge: the widest load or single elements, eight lanes or more
  features,  // lanes along the edges: one to four features per lane
  others     // half the lanes of `every`, or fewer rows in flight
};

/// What of CMake's options a row of the table needs.
enum class KernelNeeds : std::uint8_t { nothing, f64, ablations };

/// Attention: how heads lie in the lanes that cover a row. `one`: there is one head, and each lane weighs its own edges
/// for all. `shared`: a power of two of lanes cover each head and share its weights out. `any`: however they lie, every
/// lane weighs all edges for the heads it has features of.
enum class HeadMap : std::uint8_t { one, shared, any };

struct KernelRow {
  KernelFamily family;
  KernelMessage message;
  Reduction reduction;
  Dtype storage;
  int widest;  // elements per load
  ShapeSet shapes;
  int in_flight;  // rows
  int stage_edges;
  KernelNeeds needs;
};

inline constexpr KernelRow kernel_rows[] = {
#define WEFT_KERNELS(FILE, FAMILY, MESSAGE, REDUCTION, STORAGE, WIDEST, SHAPES, IN_FLIGHT, STAGE, NEEDS) \
  {KernelFamily::FAMILY,                                                                                 \
   KernelMessage::MESSAGE,                                                                               \
   Reduction::REDUCTION,                                                                                 \
   Dtype::STORAGE,                                                                                       \
   WIDEST,                                                                                               \
   ShapeSet::SHAPES,                                                                                     \
   IN_FLIGHT,                                                                                            \
   STAGE,                                                                                                \
   KernelNeeds::NEEDS},
#include "plan/kernels.def"
#undef WEFT_KERNELS
};

constexpr bool is_built(const KernelRow& row) {
  return row.needs == KernelNeeds::nothing || (row.needs == KernelNeeds::f64 ? has_cuda_f64 : has_ablations);
}

/// Where the row stands, whether this build has it or not; -1 where the table has none.
constexpr int row_index(KernelFamily family, KernelMessage message, Reduction reduction, Dtype storage,
                        int stage_edges = 0) {
  int index = 0;
  for (const KernelRow& row : kernel_rows) {
    if (row.family == family && row.message == message && row.reduction == reduction && row.storage == storage &&
        row.stage_edges == stage_edges)
      return index;
    ++index;
  }
  return -1;
}

/// A row's shapes, those of one load width by the features they cover, fewest first.
struct ShapeList {
  std::array<GatherShape, 40> shapes{};
  int count = 0;

  constexpr void add(const GatherShape& shape) { shapes[static_cast<std::size_t>(count++)] = shape; }
  constexpr const GatherShape* begin() const { return shapes.data(); }
  constexpr const GatherShape* end() const { return shapes.data() + count; }
};

constexpr ShapeList shapes_of(const KernelRow& row) {
  ShapeList list;
  const auto add = [&](int vector, int lanes, int steps, int loads = 0) {
    const bool by_load = row.in_flight == 8 && row.family != KernelFamily::staged;
    const int usual = by_load ? rows_in_flight(vector, lanes, steps) : row.in_flight / steps;
    list.add({vector, lanes, steps, loads > 0 ? loads : usual});
  };
  if (row.shapes == ShapeSet::features) {
    list.add({1, 1, 1, narrow_slabs});
    if (row.widest >= 4) {
      list.add({2, 1, 1, narrow_slabs});
      list.add({4, 1, 1, narrow_slabs});
      list.add({1, 1, 3, narrow_slabs});
    }
    list.add({1, 1, most_narrow_features, narrow_slabs});
    return list;
  }
  if (row.shapes == ShapeSet::others) {
    for (int lanes = 1; lanes <= 32; lanes *= 2) {
      if (lanes > 1) add(4, lanes, 1, 2);
      if (lanes > 1) add(4, lanes, 1, 4);
      if (lanes < 32) add(4, lanes, 2, 4);
    }
    return list;
  }
  for (int vector = row.widest; vector >= 1; vector /= 2) {
    if (row.shapes == ShapeSet::packs && vector < row.widest) break;
    if (row.shapes == ShapeSet::two_rows) {
      if (vector != row.widest && vector != 1) continue;
      for (const int lanes : {8, 16, 32}) add(vector, lanes, 1);
      add(vector, 32, 4);
      continue;
    }
    const bool coarse = row.shapes == ShapeSet::coarse || !every_cuda_shape;
    const bool each = !coarse && (row.widest <= 4 || vector >= 4);
    if (each) add(vector, 1, 1);
    if (every_cuda_shape) add(vector, 2, 1);
    if (each) add(vector, 4, 1);
    add(vector, 8, 1);
    if (each) add(vector, 16, 1);
    add(vector, 32, 1);
    // Lanes of eight features have enough with two steps: four would be too much for registers and shared memory.
    if (!coarse || vector == 8) add(vector, 32, 2);
    if (vector < 8) add(vector, 32, 4);
  }
  // SDDMM over long rows: half the lanes, with two packs each.
  if (row.family == KernelFamily::dot && row.storage == Dtype::f32)
    for (const int lanes : {16, 32})
      if (every_cuda_shape || lanes == 32) add(4, lanes / 2, 2);
  return list;
}

/// The shape of the row that a call of shape `wanted` takes: the same load, and the fewest lanes and steps that cover
/// as much; rows of more features go in tiles of the last one. No lanes where the row has no such load.
GatherShape covering(const KernelRow& row, const GatherShape& wanted);

/// How a kernel by heads maps them; head_steps: steps of a lane that may lie in different heads.
struct HeadMapping {
  HeadMap map = HeadMap::one;
  int head_steps = 1;
  friend bool operator==(const HeadMapping&, const HeadMapping&) = default;
};

constexpr bool has_mapping(const KernelRow& row, const GatherShape& shape, const HeadMapping& mapping) {
  if (row.family != KernelFamily::by_heads) return mapping == HeadMapping{};
  if (mapping.map == HeadMap::one) return mapping.head_steps == 1;
  if (row.message == KernelMessage::vector_scored || row.message == KernelMessage::vector_scored_edges)
    return mapping.head_steps == shape.steps && (mapping.map == HeadMap::shared || shape.vector == 1);
  if (mapping.map == HeadMap::any) return mapping.head_steps == shape.steps;
  // Whether some heads of that shape share: two that fill the lanes would.
  const std::int64_t width = std::int64_t{shape.lanes} * shape.vector;
  return shares_weights(2, width, static_cast<int>(size_of(row.storage)), shape) &&
         (mapping.head_steps == shape.steps || mapping.head_steps == 1);
}

/// One kernel.
struct Kernel {
  KernelFamily family = KernelFamily::gather;
  KernelMessage message = KernelMessage::source;
  Reduction reduction = Reduction::sum;
  Dtype storage = Dtype::f32;
  GatherShape shape;
  int stage_edges = 0;
  HeadMapping heads;
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// The table's row of a kernel; null where it has none.
const KernelRow* row_of(const Kernel& kernel);
/// Whether this build has it.
bool has_kernel(const Kernel& kernel);
/// All of this build.
std::vector<Kernel> built_kernels();
/// "gather weighted sum f32: 16 lanes x 4 elements, 8 rows in flight"
std::string to_string(const Kernel& kernel);

}  // namespace weft
