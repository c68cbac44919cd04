// One operator on one graph with one width and type: its inputs, its plan, one run of it, and the
// proof that what came out is right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bench/gather_floor.hpp"
#include "bench/peers/peer.hpp"
#include "bench/sample.hpp"
#include "bench/verify.hpp"
#include "weft/context.hpp"
#include "weft/graph.hpp"
#include "weft/plan.hpp"
#include "weft/sample.hpp"
#include "weft/types.hpp"

namespace weft::tool {

/// A run that samples the edges of the whole graph itself. The workload's graph has the kept edges written out: what
/// the result is verified by, and what the floor gathers.
struct DrawnSample {
  const Graph* whole = nullptr;  // where the operator runs
  EdgeSample sample;
  const EdgeOrigin* origin = nullptr;  // of the kept edges, on the host

  /// Values of the kept edges as those of all: edges that are not kept have 0.
  Tensor of_all(const Tensor& of_kept) const;
};

struct Setup {
  OpDesc desc;  // of a run that samples, with its width
  std::optional<DrawnSample> sampled;
  SpmmOp spmm_op = SpmmOp::u_mul_e;
  bool edge_vectors = false;  // spmm: an edge has a value for every feature
  SddmmOp sddmm_op = SddmmOp::dot;
  Score score = Score::gat;
  bool backward = false;    // attention and spmm into a product: the gradients
  std::int64_t linear = 0;  // spmm: columns of the weights that its sums meet; 0: none do
  Policy policy;
  std::uint64_t seed = 1;

  /// "u_mul_e.sum", "u_mul_e[].sum" of edge vectors, "copy_u.sum.linear64", "dot", "gat", "gat.backward": what of the
  /// operator is run.
  std::string variant() const;
};

class Workload {
 public:
  virtual ~Workload() = default;

  /// One run, into memory that was allocated before.
  virtual void run() = 0;
  /// The graph whose rows the result's are, from the one it was made for: a gradient's may be those of the transpose.
  virtual Graph reduced_over(const Graph& graph) const { return graph; }
  /// What a result of this workload's shape should be on the sampled rows. The sample, of what is reduced over on the
  /// host, must outlive it.
  virtual Reference reference(const Sample& sample) const = 0;
  /// What the last run wrote.
  virtual Tensor& result() = 0;
  /// Features summed or written per edge: what the reference's work is counted in.
  virtual std::int64_t features_an_edge() const = 0;
  virtual double flops() const = 0;
  virtual FloorJob floor() const = 0;
  /// What this one is measured by besides the floor: attention by the SpMM of as many features, spmm_linear by its two
  /// steps one after the other. Null where there is nothing; made when it is first asked for.
  virtual Workload* yardstick() { return nullptr; }
  /// What a peer would be given; none where no peer has the operator.
  virtual std::optional<PeerProblem> for_peers() const { return std::nullopt; }

  /// None where the operator plans inside its call, as segment_reduce does.
  const std::optional<Plan>& plan() const { return plan_; }
  virtual std::string plan_text() const { return plan_ ? to_string(*plan_) : "planned inside the call"; }
  double plan_us() const { return plan_us_; }
  /// Another plan for the same inputs, and its time; nothing where there is none.
  void plan_again(Context& context, const Graph& graph, const Setup& setup) {
    if (plan_) make_plan_for(context, graph, setup);
  }
  /// Plans as a caller with a new graph would: the plan, and workspace where there is too little.
  void plan_once(Context& context, const Graph& graph, const Setup& setup);

 protected:
  /// Makes the plan (median time of three, until the device is done with it), and the workspace it needs.
  void make_plan_for(Context& context, const Graph& graph, const Setup& setup);
  /// What plan() is to be; an operator with a plan of its own kind keeps that and shows what is most of it.
  virtual std::optional<Plan> planned(Context& context, const Graph& graph, const Setup& setup);
  virtual std::size_t workspace_bytes() const { return plan_ ? plan_->workspace_bytes : 0; }

 private:
  std::optional<Plan> plan_;
  double plan_us_ = 0;
};

/// The graph's ids must be in stored order, and its arrays on the context's device; context and graph must outlive the
/// workload.
std::unique_ptr<Workload> make_workload(Context& context, const Graph& graph, const Setup& setup);

std::unique_ptr<Workload> make_spmm_workload(Context& context, const Graph& graph, const Setup& setup);
std::unique_ptr<Workload> make_spmm_linear_workload(Context& context, const Graph& graph, const Setup& setup);
std::unique_ptr<Workload> make_sddmm_workload(Context& context, const Graph& graph, const Setup& setup);
std::unique_ptr<Workload> make_softmax_workload(Context& context, const Graph& graph, const Setup& setup);
std::unique_ptr<Workload> make_attention_workload(Context& context, const Graph& graph, const Setup& setup);
std::unique_ptr<Workload> make_attention_backward_workload(Context& context, const Graph& graph, const Setup& setup);
std::unique_ptr<Workload> make_segment_workload(Context& context, const Graph& graph, const Setup& setup);

}  // namespace weft::tool
