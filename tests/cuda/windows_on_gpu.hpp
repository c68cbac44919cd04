// What tests of row windows share: which of their kernels there are, graphs that windows are made of, and sums and dot
// products over them that run twice.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "battery/sweep.hpp"
#include "core/device.hpp"
#include "cuda/gpu.hpp"
#include "plan/built_kernels.hpp"
#include "support/graphs.hpp"
#include "support/oracle.hpp"
#include "weft/generate.hpp"
#include "weft/ops.hpp"

namespace weft::test {

/// Of Hopper's own instructions, without which windows have no sums of f32 and no values of edges.
inline bool has_hopper_windows() { return has_wgmma && cuda_device(gpu.index).compute_capability == 90; }

inline bool has_windows(const Graph& graph) { return graph.is_square() && graph.num_edges() > 0; }

inline Graph graph_of_communities() {
  return generate("powerlaw:nodes=3000,edges=90000,communities=20,inside=0.9,seed=1").graph;
}

/// The battery's graphs that have windows, one of communities, and one whose windows have nearly every column.
inline std::vector<BatteryGraph> graphs_with_windows() {
  std::vector<BatteryGraph> graphs;
  for (BatteryGraph& battery : battery_graphs())
    if (has_windows(battery.graph)) graphs.push_back(std::move(battery));
  graphs.push_back({"communities", graph_of_communities()});
  graphs.push_back({"dense", generate("uniform:nodes=700,edges=100000,seed=2").graph});
  return graphs;
}

/// A graph on the host and on the GPU.
struct PlacedGraph {
  std::string name;
  Graph here, there;
};
inline std::vector<PlacedGraph> placed(const std::vector<BatteryGraph>& graphs) {
  std::vector<PlacedGraph> all;
  for (const BatteryGraph& battery : graphs) all.push_back({battery.name, battery.graph, battery.graph.to(gpu)});
  return all;
}
/// Transposes, whose edges have ids of their own: one that the GPU makes, and a copy of the host's. Nobody may have
/// transposed the graph before: copies of it would have that transpose.
inline void add_transposes(std::vector<PlacedGraph>& graphs, const std::string& name, const Graph& graph) {
  const Graph by_gpu = graph.to(gpu).transpose();
  const Graph by_host = graph.transpose();
  graphs.push_back({name + " transposed by the GPU", by_host, by_gpu});
  graphs.push_back({name + " transposed by the host", by_host, by_host.to(gpu)});
}

/// A tensor on the host and on the GPU.
struct PlacedTensor {
  Tensor here, there;

  PlacedTensor() = default;
  explicit PlacedTensor(Tensor tensor) : here(std::move(tensor)), there(here.to(gpu)) {}
};

/// What `run` gives is within the bound, and has the same bits the second time.
template <class Run>
void expect_twice(const Run& run, const Expected& expected, const std::string& where) {
  const Tensor first = run();
  expect_within_bound(first, expected, where);
  EXPECT_TRUE(bitwise_equal(run(), first)) << where << ": other bits the second time";
}

/// What becomes of a row's sum.
struct Finish {
  Reduce reduce = Reduce::sum;
  bool row_scale = false, bias = false, relu = false, self_scale = false;  // the last in square graphs alone
  friend auto operator<=>(const Finish&, const Finish&) = default;
};
inline std::string text(const Finish& finish) {
  return fmt::format("{}{}{}{}{}", name(finish.reduce), finish.row_scale ? " row_scale" : "",
                     finish.bias ? " bias" : "", finish.relu ? " relu" : "", finish.self_scale ? " self_scale" : "");
}

/// Operands of sums over sources, as they are or times one value of each edge; what comes of them in float64 is worked
/// out once for all plans.
class SumOperands {
 public:
  SumOperands(const Graph& graph, Dtype dtype, std::int64_t width, bool weighted, std::uint64_t seed)
      : graph_(graph),
        // Sums of one sign are where it would show that tensor cores cut off instead of rounding.
        x_(random_tensor(Shape(graph.num_cols(), width), dtype, seed, seed % 2 == 0 ? 0.5 : -2, 2)),
        row_scale_(
            random_tensor(Shape(graph.num_rows()), dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32, seed + 2, 0.5, 2)),
        bias_(random_tensor(Shape(width), dtype, seed + 3)),
        self_scale_(
            random_tensor(Shape(graph.num_rows()), dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32, seed + 4, 0.5, 2)),
        blank_(constant(Shape(graph.num_rows(), width), dtype, std::nan(""))) {
    if (weighted) weights_.emplace(random_tensor(Shape(graph.num_edges()), dtype, seed + 1, 0.25, 2));
  }

  OpDesc desc(const Finish& finish) const {
    return {OpKind::spmm, x_.here.dtype(), 1, x_.here.shape().width, finish.reduce, weights_.has_value()};
  }
  const SpmmExpected& expected(const Finish& finish) {
    const auto [found, added] = expected_.try_emplace(finish);
    if (added)
      found->second =
          expected_spmm(graph_, x_.here, weights(&PlacedTensor::here), options(finish, &PlacedTensor::here));
    return found->second;
  }
  /// `more`: roundings that each term may be off by besides.
  void expect_by(Context& context, const Graph& there, const Plan& plan, const Finish& finish, const std::string& where,
                 double more = 0) {
    context.reserve(plan.workspace_bytes);
    const auto run = [&] {
      Tensor out = blank_.to(gpu);
      spmm(context, plan, there, x_.there, weights(&PlacedTensor::there), out, options(finish, &PlacedTensor::there));
      return out.to(Device{});
    };
    if (more == 0) return expect_twice(run, expected(finish), where);
    SpmmExpected looser = expected(finish);
    looser.more = more;
    expect_twice(run, looser, where);
  }

 private:
  ConstTensorView weights(Tensor PlacedTensor::*place) const {
    return weights_ ? ConstTensorView((*weights_).*place) : ConstTensorView();
  }
  SpmmOptions options(const Finish& finish, Tensor PlacedTensor::*place) const {
    SpmmOptions options;
    options.op = weights_ ? SpmmOp::u_mul_e : SpmmOp::copy_u;
    options.reduce = finish.reduce;
    if (finish.row_scale) options.epilogue.row_scale = row_scale_.*place;
    if (finish.bias) options.epilogue.bias = bias_.*place;
    options.epilogue.relu = finish.relu;
    if (finish.self_scale && graph_.num_rows() == graph_.num_cols()) options.epilogue.self_scale = self_scale_.*place;
    return options;
  }

  Graph graph_;
  PlacedTensor x_, row_scale_, bias_, self_scale_;
  Tensor blank_;  // an output in which everything has to be written
  std::optional<PlacedTensor> weights_;
  std::map<Finish, SpmmExpected> expected_;
};

/// The same of dot products of both ends of every edge.
class DotOperands {
 public:
  DotOperands(const Graph& graph, Dtype dtype, std::int64_t width, std::uint64_t seed)
      : sources_(random_tensor(Shape(graph.num_cols(), width), dtype, seed)),
        destinations_(random_tensor(Shape(graph.num_rows(), width), dtype, seed + 1)),
        blank_(constant(Shape(graph.num_edges()), dtype, std::nan(""))),
        expected_(expected_sddmm(graph, sources_.here, destinations_.here, {})) {}

  OpDesc desc() const {
    return {OpKind::sddmm, sources_.here.dtype(), 1, sources_.here.shape().width, Reduce::sum, false};
  }
  /// `swapped`: destinations are the left operand.
  void expect_by(Context& context, const Graph& there, const Plan& plan, bool swapped, const std::string& where) const {
    context.reserve(plan.workspace_bytes);
    SddmmOptions options;
    if (swapped) std::swap(options.lhs, options.rhs);
    const auto run = [&] {
      Tensor out = blank_.to(gpu);
      sddmm(context, plan, there, (swapped ? destinations_ : sources_).there,
            (swapped ? sources_ : destinations_).there, out, options);
      return out.to(Device{});
    };
    expect_twice(run, expected_, where);
  }

 private:
  PlacedTensor sources_, destinations_;
  Tensor blank_;
  Expected expected_;
};

}  // namespace weft::test
