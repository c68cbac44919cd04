#include "plan/kernel_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/names.hpp"

namespace weft {
namespace {

constexpr std::string_view family_names[] = {"gather",     "by_heads",     "narrow", "staged",
                                             "half_pairs", "other_shapes", "dot"};
constexpr std::string_view message_names[] = {"source",       "averaged",        "weighted",
                                              "scaled",       "edgewise",        "gat",
                                              "gat_backward", "vector_scored",   "vector_scored_edges",
                                              "leaky_sum",    "leaky_sum_edges", "ends"};
constexpr std::string_view reduction_names[] = {"sum", "extremum", "winner"};
constexpr std::string_view map_names[] = {"one head", "heads share lanes", "heads as they lie"};

// Names stand in the order of their enumerators.
static_assert(std::size(family_names) == static_cast<std::size_t>(KernelFamily::dot) + 1);
static_assert(std::size(message_names) == static_cast<std::size_t>(KernelMessage::ends) + 1);
static_assert(std::size(reduction_names) == static_cast<std::size_t>(Reduction::winner) + 1);
static_assert(std::size(map_names) == static_cast<std::size_t>(HeadMap::any) + 1);

template <class Enum, std::size_t N>
constexpr std::string_view name_in(const std::string_view (&names)[N], Enum value) {
  return names[static_cast<std::size_t>(value)];
}

/// The shapes of a row of kernel_rows, made when this is compiled: launches look theirs up.
const ShapeList& listed(const KernelRow& row) {
  static constexpr auto lists = [] {
    std::array<ShapeList, std::size(kernel_rows)> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = shapes_of(kernel_rows[i]);
    return all;
  }();
  return lists[static_cast<std::size_t>(&row - kernel_rows)];
}

std::vector<HeadMapping> mappings_of(const KernelRow& row, const GatherShape& shape) {
  std::vector<HeadMapping> mappings;
  for (const HeadMap map : {HeadMap::one, HeadMap::shared, HeadMap::any})
    for (const int steps : {1, shape.steps})
      if (const HeadMapping mapping{map, steps};
          has_mapping(row, shape, mapping) && std::ranges::count(mappings, mapping) == 0)
        mappings.push_back(mapping);
  return mappings;
}

}  // namespace

const KernelRow* row_of(const Kernel& kernel) {
  const int index = row_index(kernel.family, kernel.message, kernel.reduction, kernel.storage, kernel.stage_edges);
  return index < 0 ? nullptr : &kernel_rows[index];
}

bool has_kernel(const Kernel& kernel) {
  const KernelRow* const row = row_of(kernel);
  if (row == nullptr || !is_built(*row)) return false;
  const ShapeList& shapes = listed(*row);
  return std::find(shapes.begin(), shapes.end(), kernel.shape) != shapes.end() &&
         has_mapping(*row, kernel.shape, kernel.heads);
}

GatherShape covering(const KernelRow& row, const GatherShape& wanted) {
  const auto covered = [](const GatherShape& shape) { return shape.lanes * shape.steps; };
  GatherShape best{0, 0, 0, 0};
  for (const GatherShape& shape : listed(row)) {
    if (shape.vector != wanted.vector) continue;
    const bool enough = covered(best) >= covered(wanted);
    if (enough ? covered(shape) >= covered(wanted) && covered(shape) < covered(best) : covered(shape) > covered(best))
      best = shape;
  }
  return best;
}

std::vector<Kernel> built_kernels() {
  std::vector<Kernel> kernels;
  for (const KernelRow& row : kernel_rows) {
    if (!is_built(row)) continue;
    for (const GatherShape& shape : listed(row))
      for (const HeadMapping& heads : mappings_of(row, shape))
        kernels.push_back({row.family, row.message, row.reduction, row.storage, shape, row.stage_edges, heads});
  }
  return kernels;
}

std::string to_string(const Kernel& kernel) {
  const GatherShape& shape = kernel.shape;
  std::string text = fmt::format("{} {} {} {}: {} lane{} x {} element{}", name_in(family_names, kernel.family),
                                 name_in(message_names, kernel.message), name_in(reduction_names, kernel.reduction),
                                 name(kernel.storage), shape.lanes, shape.lanes == 1 ? "" : "s", shape.vector,
                                 shape.vector == 1 ? "" : "s");
  if (shape.steps > 1) text += fmt::format(" x {} steps", shape.steps);
  text += fmt::format(", {} rows in flight", shape.loads);
  if (kernel.stage_edges > 0) text += fmt::format(", {} edges staged", kernel.stage_edges);
  if (kernel.family == KernelFamily::by_heads)
    text += fmt::format(
        ", {}{}", name_in(map_names, kernel.heads.map),
        kernel.heads.map == HeadMap::shared && kernel.heads.head_steps < shape.steps ? ", a lane's steps in one" : "");
  return text;
}

}  // namespace weft
