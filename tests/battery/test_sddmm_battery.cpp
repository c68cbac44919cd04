#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "battery/sweep.hpp"

namespace weft::test {
namespace {

/// Which side broadcasts over features, and whether there are heads.
enum class Spread { none, scalar_lhs, scalar_rhs, heads, heads_scalar_rhs };
constexpr Spread spreads[] = {Spread::none, Spread::scalar_lhs, Spread::scalar_rhs, Spread::heads,
                              Spread::heads_scalar_rhs};

std::int64_t rows_of(const Graph& graph, Target target) {
  return target == Target::u ? graph.num_cols() : target == Target::v ? graph.num_rows() : graph.num_edges();
}

Shape operand_shape(std::int64_t rows, std::int64_t heads, std::int64_t width, bool scalar, bool with_heads) {
  if (with_heads) return Shape(rows, heads, scalar ? 1 : width);
  return scalar ? Shape(rows) : Shape(rows, width);
}

class sddmm_battery : public Battery {};

TEST_P(sddmm_battery, agrees_with_the_reference_on_every_graph_op_target_pair_and_width) {
  const auto [dtype, device] = GetParam();
  std::vector<Way> ways = ways_to_run(device);
  Sweep sweep(512);
  std::set<std::tuple<SddmmOp, Target, Target, std::int64_t, Spread>> seen;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph& graph = battery.graph;
    const Graph there = on(device, graph);
    const bool several_edges = graph.num_edges() > 1;
    for (const std::int64_t width : battery_widths) {
      for (const SddmmOp op : sddmm_ops) {
        for (const Target lhs_target : targets) {
          for (const Target rhs_target : targets) {
            for (const Spread spread : spreads) {
              const bool with_heads = spread >= Spread::heads;
              if (with_heads && width > 64) continue;
              // Thinned out, but not away: what no graph of several edges has had yet runs on the first small one.
              const std::tuple combination{op, lhs_target, rhs_target, width, spread};
              const bool owed = several_edges && graph.num_edges() < 16 && !seen.contains(combination);
              if (!sweep.next(graph.num_edges() * width * (with_heads ? 3 : 1)) && !owed) continue;
              Way& way = way_for(ways, sweep.seed());
              const std::int64_t heads = with_heads ? (sweep.seed() % 2 == 0 ? 2 : 4) : 1;
              const bool scalar_rhs = spread == Spread::scalar_rhs || spread == Spread::heads_scalar_rhs;
              const Shape left =
                  operand_shape(rows_of(graph, lhs_target), heads, width, spread == Spread::scalar_lhs, with_heads);
              const Shape right = operand_shape(rows_of(graph, rhs_target), heads, width, scalar_rhs, with_heads);
              Tensor lhs, rhs;
              if (op != SddmmOp::copy_rhs) lhs = random_tensor(left, dtype, sweep.seed());
              if (op != SddmmOp::copy_lhs) rhs = random_divisors(right, dtype, sweep.seed() + 1);
              const SddmmOptions options{op, lhs_target, rhs_target};
              const Expected expected = expected_sddmm(graph, lhs, rhs, options);
              // A plan is for the operands together, whatever dot makes of their width.
              const std::int64_t joint = op == SddmmOp::dot ? broadcast(left, right, 0).width : expected.shape.width;
              const Plan plan = planned(way, there, {OpKind::sddmm, dtype, heads, joint, Reduce::sum, true});
              Tensor out = on(device, constant(expected.shape, dtype, std::nan("")));
              sddmm(way.context, plan, there, on(device, lhs), on(device, rhs), out, options);
              expect_within_bound(on(Device{}, out), expected,
                                  fmt::format("{} {} {} {}{} lhs {} rhs {} {} seed={}", battery.name, name(dtype),
                                              name(op), name(lhs_target), name(rhs_target), to_string(left),
                                              to_string(right), way.name, sweep.seed()));
              if (HasFailure()) return;
              if (several_edges) seen.insert(combination);
            }
          }
        }
      }
    }
  }
  std::size_t all = 0;
  for (const std::int64_t width : battery_widths) all += std::size(sddmm_ops) * 9 * (width > 64 ? 3 : 5);
  EXPECT_EQ(seen.size(), all);
}

INSTANTIATE_TEST_SUITE_P(settings, sddmm_battery, ::testing::ValuesIn(settings()), text_of);

TEST(sddmm_short_form, agrees_with_the_reference_on_every_graph) {
  Context context = Context::cpu(2);
  std::uint64_t seed = 200;
  for (const BatteryGraph& battery : battery_graphs()) {
    for (const Dtype dtype : floating_dtypes) {
      const Tensor lhs = random_tensor(Shape(battery.graph.num_cols(), 2, 5), dtype, ++seed);
      const Tensor rhs = random_divisors(Shape(battery.graph.num_rows(), 2, 5), dtype, ++seed);
      for (const SddmmOp op : sddmm_ops) {
        const SddmmOptions options{op, Target::u, Target::v};
        const ConstTensorView left = op == SddmmOp::copy_rhs ? ConstTensorView() : lhs;
        const ConstTensorView right = op == SddmmOp::copy_lhs ? ConstTensorView() : rhs;
        const Tensor out = sddmm(context, battery.graph, left, right, options);
        EXPECT_EQ(out.dtype(), dtype);
        expect_within_bound(out, expected_sddmm(battery.graph, left, right, options),
                            fmt::format("{} {} {}", battery.name, name(dtype), name(op)));
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
