// Samples whose edges are drawn anew in place: those of the host at every step, and what is planned before stays good.
#include "battery/sweep.hpp"
#include "cuda/replay.hpp"
#include "cuda/training_pass.hpp"
#include "graph/sample/redrawn.hpp"
#include "support/attention_case.hpp"
#include "support/values.hpp"
#include "weft/sample.hpp"

namespace weft::test {
namespace {

class cuda_redrawn : public GpuTest {};

/// A number on the GPU that a stream reads.
class StepThere {
 public:
  void set(std::int64_t step, CUstream_st* stream) {
    ASSERT_EQ(cudaMemcpyAsync(value_.view().mutable_data(), &step, sizeof(step), cudaMemcpyHostToDevice, stream),
              cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }
  const std::int64_t* get() const { return value_.view().as<std::int64_t>(); }

 private:
  Tensor value_ = Tensor::zeros(Shape(1), Dtype::i64, "a step", gpu);
};

void expect_graph(const Graph& there, const Graph& expected, CUstream_st* stream, const std::string& what) {
  const Graph here = there.to(Device{}, stream);
  EXPECT_TRUE(std::ranges::equal(here.offsets(), expected.offsets())) << what << " offsets";
  EXPECT_TRUE(std::ranges::equal(here.cols(), expected.cols())) << what << " columns";
  const GraphView a = here.view(), b = expected.view();
  for (EdgeId k = 0; k < b.num_edges; ++k) ASSERT_EQ(a.edge_id(k), b.edge_id(k)) << what << " id of edge " << k;
}

TEST_F(cuda_redrawn, samples_and_their_transposes_are_those_of_the_host_at_every_step) {
  const Stream stream;
  StepThere step;
  for (const BatteryGraph& battery : battery_graphs())
    for (const EdgeSampling method : {EdgeSampling::fastrand, EdgeSampling::fresh})
      for (const std::int64_t width : {std::int64_t{1}, std::int64_t{5}, std::int64_t{40}}) {
        EdgeSample sample{method, width, 7, 0};
        RedrawnGraph redrawn(battery.graph.to(gpu, stream), sample, RedrawnGraph::Knows{}, stream);
        for (const std::int64_t now : {0, 3, 1000, 3}) {
          const std::string what = fmt::format("{} {} of {} step {}", battery.name, name(method), width, now);
          step.set(now, stream);
          if (now > 0) redrawn.redraw(step.get(), stream);
          sample.step = now;
          const KeptEdges expected = take_edges(battery.graph, sample, KnownBy::place, nullptr);
          expect_graph(redrawn.graph(), expected.graph, stream, what);
          expect_graph(redrawn.graph().transpose(), expected.graph.transpose(), stream, what + " transpose");
          EXPECT_TRUE(bitwise_equal(redrawn.places().to(Device{}, stream), expected.origin)) << what;
          if (HasFailure()) return;
        }
      }
}

TEST_F(cuda_redrawn, plans_and_recordings_made_before_sum_the_edges_of_every_later_step) {
  const Stream stream;
  Context context = Context::cuda(0, stream);
  StepThere step;
  const Graph graph = battery::power_law_graph();
  for (const char* policy : {"", "order=clusters", "order=clusters,join=yes", "order=none,edges=32"})
    for (const bool weighted : {false, true})
      for (const bool reversed : {false, true}) {
        EdgeSample sample{EdgeSampling::fresh, 6, 11, 0};
        RedrawnGraph redrawn(graph.to(gpu, stream), sample, RedrawnGraph::Knows{.places = false, .ids = weighted},
                             stream);
        const Graph there = reversed ? redrawn.graph().transpose() : redrawn.graph();
        const OpDesc desc{OpKind::spmm, Dtype::f32, 1, 48, Reduce::sum, weighted};
        const Plan plan = make_plan(context, there, desc, parse_policy(policy));
        context.reserve(plan.workspace_bytes);
        const Tensor x = random_tensor(Shape(there.num_cols(), 48), Dtype::f32, 5), x_there = x.to(gpu, stream);
        Tensor edge, edge_there;
        if (weighted) edge = random_tensor(Shape(there.num_edges()), Dtype::f32, 6);
        if (weighted) edge_there = edge.to(gpu, stream);
        Tensor out = Tensor::zeros(Shape(there.num_rows(), 48), Dtype::f32, "out", gpu, stream);
        SpmmOptions options;
        options.op = weighted ? SpmmOp::u_mul_e : SpmmOp::copy_u;
        const auto work = [&] {
          redrawn.redraw(step.get(), stream);
          spmm(context, plan, there, x_there, edge_there, out, options);
        };
        work();
        for (const std::int64_t now : {1, 9}) {
          step.set(now, stream);
          replay(stream, 2, work, [&] {
            ASSERT_EQ(cudaMemsetAsync(out.view().mutable_data(), 0xff, out.bytes(), stream), cudaSuccess);
          });
          sample.step = now;
          const Graph kept = sample_edges(graph, sample).graph;
          const SpmmExpected expected = expected_spmm(reversed ? kept.transpose() : kept, x, edge, options);
          expect_within_bound(
              out.to(Device{}, stream), expected,
              fmt::format("'{}' step {}{}{}", policy, now, weighted ? " weighted" : "", reversed ? " reversed" : ""));
          if (HasFailure()) return;
        }
      }
}

TEST_F(cuda_redrawn, attention_planned_before_reads_the_biases_of_every_later_steps_edges) {
  const Stream stream;
  Context context = Context::cuda(0, stream);
  StepThere step;
  const Graph graph = battery::power_law_graph();
  EdgeSample sample{EdgeSampling::fresh, 6, 11, 0};
  for (const char* policy : {"", "order=clusters"}) {
    RedrawnGraph redrawn(graph.to(gpu, stream), sample, RedrawnGraph::Knows{.places = false}, stream);
    for (const bool reversed : {false, true}) {
      const Graph there = reversed ? redrawn.graph().transpose() : redrawn.graph();
      const Plan plan =
          make_plan(context, there, {OpKind::attention, Dtype::f32, 2, 16, Reduce::sum, true}, parse_policy(policy));
      context.reserve(plan.workspace_bytes);
      sample.step = 9;
      step.set(sample.step, stream);
      redrawn.redraw(step.get(), stream);
      const Graph kept = sample_edges(graph, sample).graph, here = reversed ? kept.transpose() : kept;
      const AttentionCase inputs(here, Score::gat, Dtype::f32, 2, 16, 5, Dtype::f32, 3);
      const AttentionExpected expected = expected_attention(here, inputs.views(), inputs.largest_score);
      const AttentionCase moved = inputs.to(gpu);
      Tensor out = Tensor::zeros(expected.out.shape, Dtype::f32, "out", gpu, stream);
      Tensor row_max = Tensor::zeros(Shape(here.num_rows(), 2, 1), Dtype::f32, "row_max", gpu, stream),
             row_sum = Tensor::zeros(row_max.shape(), Dtype::f32, "row_sum", gpu, stream);
      attention(context, plan, there, moved.views(), out, row_max, row_sum);
      expect_within_bound(out.to(Device{}, stream), expected.out,
                          fmt::format("'{}'{}", policy, reversed ? " reversed" : ""));
    }
  }
}

std::vector<double> losses_of_epochs(Context& context, const Dataset& dataset, const Model& model, Dtype dtype,
                                     EdgeSampling method, bool records = true) {
  TrainOptions options;
  options.epochs = 7;
  options.dtype = dtype;
  options.sample.edges = {method, 4};
  nn::Trainer trainer(context, dataset, model, options);
  trainer.record(records);
  for (int i = 0; i < 7; ++i) trainer.epoch(i % 3 == 2);
  context.synchronise();
  std::vector<double> losses;
  for (int i = 0; i < 7; ++i) losses.push_back(trainer.published(i).loss);
  return losses;
}

constexpr Architecture trained[] = {Architecture::gcn, Architecture::sage, Architecture::gin, Architecture::gat,
                                    Architecture::gatv2};

TEST_F(cuda_redrawn, epochs_that_are_recorded_train_to_the_bit_as_those_that_are_not) {
  const Dataset dataset = small_dataset(2000, 24, 4, false, false, 84);
  for (const Architecture a : trained)
    for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
      const Model model = make_model(spec_for(dataset, a), 1);
      OwnContext own;
      EXPECT_EQ(losses_of_epochs(own.context, dataset, model, dtype, EdgeSampling::fresh, true),
                losses_of_epochs(own.context, dataset, model, dtype, EdgeSampling::fresh, false))
          << name(a) << " " << name(dtype);
    }
}

/// With a first layer that sums the features themselves: they are the same in every epoch, and their sums are not.
TEST_F(cuda_redrawn, epochs_train_on_the_samples_of_the_cpu) {
  Dataset plain = small_dataset(2000, 24, 4, false, false, 84), weighted = small_dataset(2000, 24, 4, false, false, 84);
  add_edge_weights(weighted, 87);
  for (const Architecture a : trained)
    for (const bool weighs : {false, true}) {
      if (weighs && (a == Architecture::gat || a == Architecture::gatv2)) continue;
      const Dataset& dataset = weighs ? weighted : plain;
      ModelSpec spec = spec_for(dataset, a);
      spec.hidden = 32;
      spec.dropout = 0;
      spec.edge_weights = weighs;
      const Model model = make_model(spec, 1);
      OwnContext own;
      Context cpu = Context::cpu();
      const auto there = losses_of_epochs(own.context, dataset, model, Dtype::f32, EdgeSampling::fresh),
                 here = losses_of_epochs(cpu, dataset, model, Dtype::f32, EdgeSampling::fresh),
                 others = losses_of_epochs(cpu, dataset, model, Dtype::f32, EdgeSampling::bucket);
      double apart = 0, from_others = 0;
      for (std::size_t i = 0; i < here.size(); ++i) {
        ASSERT_TRUE(std::isfinite(there[i]) && std::isfinite(here[i])) << name(a) << " epoch " << i;
        apart = std::max(apart, std::abs(there[i] - here[i]) / here[i]);
        from_others = std::max(from_others, std::abs(others[i] - here[i]) / here[i]);
      }
      const std::string what = fmt::format("{}{}", name(a), weighs ? " with weights" : "");
      EXPECT_LT(apart, 1e-4) << what;
      EXPECT_GT(from_others, 1e-3) << what << ": other edges must show";
    }
}

}  // namespace
}  // namespace weft::test
