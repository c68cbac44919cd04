// The battery with either kind of core forced: every graph, width and storage type by CUDA cores alone and by windows
// of every size and either threshold. What windows have no kernels of is refused by name. Layouts, selections and what
// becomes of rows take turns, in an order drawn from a seed.
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "cuda/windows_on_gpu.hpp"
#include "graph/graph_internals.hpp"
#include "plan/cuda/windows.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t first_seed = 20'000;
constexpr int window_sizes[] = {16, 64, 128}, thresholds[] = {1, 3};
constexpr WindowLayout layouts[] = {WindowLayout::none, WindowLayout::clusters, WindowLayout::loa};
constexpr WindowSelect selections[] = {WindowSelect::all, WindowSelect::none, WindowSelect::model};

struct Windows {
  int rows, threshold;
  WindowLayout layout;
  WindowSelect select;
  std::string policy() const {
    return fmt::format("core=tensor,window={},threshold={},layout={},select={}", rows, threshold, name(layout),
                       name(select));
  }
};

/// The battery's widths, and one more than a panel of 64 features.
std::vector<std::int64_t> widths() {
  std::vector<std::int64_t> all(std::begin(battery_widths), std::end(battery_widths));
  all.push_back(72);
  return all;
}

/// The battery's graphs, two of whose windows much is dense, and transposes of graphs with parallel edges.
std::vector<PlacedGraph> all_graphs() {
  std::vector<PlacedGraph> graphs = placed(battery_graphs());
  const auto add = [&](const char* name, const char* spec) {
    const Graph graph = generate(spec).graph;
    graphs.push_back({name, graph, graph.to(gpu)});
  };
  add("communities", "powerlaw:nodes=1000,edges=20000,communities=8,inside=0.9,seed=1");
  add("dense", "uniform:nodes=600,edges=20000,seed=2");
  add_transposes(graphs, "duplicate_edges", battery::graph_with_duplicates());
  add_transposes(graphs, "power_law", battery::power_law_graph());
  return graphs;
}

/// What a plan by windows is refused with, as docs/policies.md has it; empty: there are kernels.
std::string refusal_of_kernels(const OpDesc& desc, const Windows& windows) {
  const bool halves = size_of(desc.dtype) == 2, dots = desc.kind == OpKind::sddmm;
  const bool any = halves || (desc.dtype == Dtype::f32 && !dots && !desc.weighted);
  if (!any || desc.width % 8 != 0 || (dots && desc.width > 128) || (dots && !has_hopper_windows()))
    return "policy core=tensor";
  if (windows.rows < (dots ? 128 : 16)) return fmt::format("policy core=tensor,window={}", windows.rows);
  if (windows.select == WindowSelect::model && built_in_selector().find(desc.dtype, windows.rows) == nullptr)
    return "policy select=model";
  return {};
}
std::string refusal_of(const Graph& graph, const OpDesc& desc, const Windows& windows) {
  const std::string why = refusal_of_kernels(desc, windows);
  return why.empty() && !has_windows(graph) ? "has no windows" : why;
}

/// Choices in an order drawn from a seed: every one comes once before any comes again.
template <class T>
class Turns {
 public:
  Turns(std::vector<T> all, std::uint64_t seed) : all_(std::move(all)), random_(seed) {}
  const T& next() {
    if (at_ == all_.size()) at_ = 0;
    if (at_ == 0)
      for (std::size_t i = all_.size() - 1; i > 0; --i)
        std::swap(all_[i], all_[static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(i)))]);
    return all_[at_++];
  }

 private:
  std::vector<T> all_;
  Random random_;
  std::size_t at_ = 0;
};

/// What is not crossed with graphs and widths.
class Rotation {
 public:
  explicit Rotation(std::uint64_t seed) : plain_(finishes(false), seed), finished_(finishes(true), seed + 1) {
    for (const int rows : window_sizes)
      for (const int threshold : thresholds) {
        std::vector<Windows> all;
        for (const WindowLayout layout : layouts)
          for (const WindowSelect select : selections) all.push_back({rows, threshold, layout, select});
        windows_.emplace_back(std::move(all), seed + 2 + windows_.size());
      }
  }
  /// Sums as they are, and finished, for all plans of a graph and width: each takes one.
  std::vector<Finish> finishes() { return {plain_.next(), finished_.next()}; }
  /// Every size with either threshold.
  std::vector<Windows> windows() {
    std::vector<Windows> all;
    for (Turns<Windows>& turns : windows_) all.push_back(turns.next());
    return all;
  }

 private:
  static std::vector<Finish> finishes(bool more) {
    std::vector<Finish> all;
    for (const Reduce reduce : {Reduce::sum, Reduce::mean})
      for (int bits = more ? 1 : 0; bits < (more ? 16 : 1); ++bits)
        all.push_back({reduce, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0});
    return all;
  }

  Turns<Finish> plain_, finished_;
  std::vector<Turns<Windows>> windows_;
};

/// Runs f there: what it throws is a failure of that place.
template <class F>
void at(const std::string& where, const F& f) {
  SCOPED_TRACE(where);
  try {
    f();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

/// The plan has the windows that were asked for, and runs on tensor cores unless a model kept none of them.
void expect_windows(const Plan& plan, const Windows& windows) {
  const auto facts = window_facts(plan);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->rows, windows.rows);
  EXPECT_EQ(facts->threshold, windows.threshold);
  EXPECT_EQ(facts->layout, windows.layout);
  if (windows.select != WindowSelect::model) {
    EXPECT_EQ(facts->selected, windows.select == WindowSelect::all ? facts->candidates : 0);
  }
  const bool kept = windows.select != WindowSelect::model || facts->selected > 0;
  EXPECT_EQ(plan.cuda().core, kept ? Core::tensor : Core::cuda);
}

class cuda_window_battery : public GpuTest, public ::testing::WithParamInterface<Dtype> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) context_.emplace(Context::cuda());
  }
  /// The plan by windows, which `run` gets; or its refusal, as it should be.
  template <class Run>
  void plan_or_refusal(const PlacedGraph& graph, const OpDesc& desc, const Windows& windows, const Run& run) {
    const auto make = [&] { return make_plan(*context_, graph.there, desc, parse_policy(windows.policy())); };
    if (const std::string why = refusal_of(graph.here, desc, windows); !why.empty())
      return expect_refused(make, why, ErrorCode::unsupported);
    const Plan plan = make();
    expect_windows(plan, windows);
    run(plan);
    policies_.insert(windows.policy());
  }
  Plan plan_by_cuda_cores(const PlacedGraph& graph, const OpDesc& desc) const {
    Plan plan = make_plan(*context_, graph.there, desc, parse_policy("core=cuda"));
    EXPECT_EQ(plan.cuda().core, Core::cuda);
    return plan;
  }
  /// That no policy with kernels for `desc` was left out.
  void expect_every_policy(const OpDesc& desc) const {
    std::size_t all = 0;
    for (const int rows : window_sizes)
      for (const int threshold : thresholds)
        for (const WindowLayout layout : layouts)
          for (const WindowSelect select : selections)
            all += refusal_of_kernels(desc, {rows, threshold, layout, select}).empty() ? 1 : 0;
    EXPECT_EQ(policies_.size(), all);
  }

  void sum_by_every_core(bool weighted) {
    // Where there are no windows turns are taken apart, so that all come round where there are.
    Rotation rotations[] = {Rotation(first_seed), Rotation(first_seed + 100)};
    Random random(first_seed + 200);
    SCOPED_TRACE(fmt::format("turns drawn from seed {}", first_seed));
    std::set<Finish> by_cuda_cores, by_windows;
    for (const PlacedGraph& graph : all_graphs())
      for (const std::int64_t width : widths()) {
        const auto seed = static_cast<std::uint64_t>(random.integer(0, 1'000'000));
        const std::string call = fmt::format("{} {}{} width {} seed {}", graph.name, name(GetParam()),
                                             weighted ? " weighted" : "", width, seed);
        Rotation& rotation = rotations[has_windows(graph.here) && width % 8 == 0 ? 1 : 0];
        const std::vector<Finish> finishes = rotation.finishes();
        const auto draw = [&] { return finishes[static_cast<std::size_t>(random.integer(0, 1))]; };
        SumOperands sum(graph.here, GetParam(), width, weighted, seed);
        const Finish on_cuda_cores = draw();
        const std::string by_cuda = fmt::format("{} {} policy 'core=cuda'", call, text(on_cuda_cores));
        at(by_cuda, [&] {
          const Plan plan = plan_by_cuda_cores(graph, sum.desc(on_cuda_cores));
          sum.expect_by(*context_, graph.there, plan, on_cuda_cores, by_cuda);
          by_cuda_cores.insert(on_cuda_cores);
        });
        for (const Windows& windows : rotation.windows()) {
          const Finish finish = draw();
          const std::string where = fmt::format("{} {} policy '{}'", call, text(finish), windows.policy());
          at(where, [&] {
            plan_or_refusal(graph, sum.desc(finish), windows, [&](const Plan& plan) {
              sum.expect_by(*context_, graph.there, plan, finish, where);
              by_windows.insert(finish);
            });
          });
        }
        if (HasFailure()) return;
      }
    expect_every_policy({OpKind::spmm, GetParam(), 1, 64, Reduce::sum, weighted});
    EXPECT_EQ(by_cuda_cores.size(), 32u);
    EXPECT_EQ(by_windows.size(), policies_.empty() ? 0u : 32u);
  }

  std::optional<Context> context_;
  std::set<std::string> policies_;  // that have run
};
INSTANTIATE_TEST_SUITE_P(storage, cuda_window_battery, ::testing::ValuesIn(floating_dtypes),
                         [](const auto& tested) { return std::string(name(tested.param)); });

TEST_P(cuda_window_battery, of_sums_agrees_with_the_reference_on_every_graph_width_and_core) {
  sum_by_every_core(false);
}

TEST_P(cuda_window_battery, of_weighted_sums_agrees_with_the_reference_on_every_graph_width_and_core) {
  sum_by_every_core(true);
}

TEST_P(cuda_window_battery, of_dot_products_agrees_with_the_reference_on_every_graph_width_and_core) {
  std::uint64_t seed = first_seed + 300;
  for (const PlacedGraph& graph : all_graphs())
    for (const std::int64_t width : widths()) {
      ++seed;
      const std::string call =
          fmt::format("{} {} dot products width {} seed {}", graph.name, name(GetParam()), width, seed);
      const DotOperands dot(graph.here, GetParam(), width, seed);
      const std::string by_cuda = call + " policy 'core=cuda'";
      at(by_cuda,
         [&] { dot.expect_by(*context_, graph.there, plan_by_cuda_cores(graph, dot.desc()), seed % 2 == 0, by_cuda); });
      // One value per edge is little to look at: policies are crossed in full.
      for (const int rows : window_sizes)
        for (const int threshold : thresholds)
          for (const WindowLayout layout : layouts)
            for (const WindowSelect select : selections) {
              const Windows windows{rows, threshold, layout, select};
              const std::string where = fmt::format("{} policy '{}'", call, windows.policy());
              at(where, [&] {
                plan_or_refusal(graph, dot.desc(), windows, [&](const Plan& plan) {
                  dot.expect_by(*context_, graph.there, plan, seed % 2 == 0, where);
                });
              });
            }
      if (HasFailure()) return;
    }
  expect_every_policy({OpKind::sddmm, GetParam(), 1, 64, Reduce::sum, false});
}

TEST_P(cuda_window_battery, of_windows_that_blocks_share_agrees_with_the_reference) {
  std::uint64_t seed = first_seed + 400;
  // So few windows of so many tiles that two, four and eight blocks share one (kernels/cuda/windows).
  for (const auto& [spec, tiles] : {std::pair{"uniform:nodes=600,edges=20000,seed=2", 8},
                                    {"uniform:nodes=1100,edges=40000,seed=3", 16},
                                    {"uniform:nodes=3000,edges=100000,seed=4", 32}}) {
    const Graph graph = generate(spec).graph;
    const PlacedGraph placed{spec, graph, graph.to(gpu)};
    for (const std::int64_t width : {64, 128})
      for (const bool weighted : {false, true}) {
        SumOperands sum(graph, GetParam(), width, weighted, ++seed);
        for (const int rows : {64, 128}) {
          const Windows windows{rows, 1, WindowLayout::none, WindowSelect::all};
          const std::string where = fmt::format("{} {}{} width {} seed {} policy '{}'", spec, name(GetParam()),
                                                weighted ? " weighted" : "", width, seed, windows.policy());
          at(where, [&, tiles = tiles] {
            plan_or_refusal(placed, sum.desc({}), windows, [&](const Plan& plan) {
              const auto facts = window_facts(plan);
              EXPECT_GE(facts->tiles, (rows == 128 ? tiles : tiles / 2) * facts->windows);
              sum.expect_by(*context_, placed.there, plan, {}, where);
            });
          });
        }
        if (HasFailure()) return;
      }
  }
}

TEST_P(cuda_window_battery, refuses_operators_that_windows_have_no_kernels_of) {
  const Graph there = battery::graph_with_duplicates().to(gpu);
  const Dtype dtype = GetParam();
  const OpDesc refused[] = {
      {OpKind::spmm, dtype, 1, 64, Reduce::max, false},
      {OpKind::spmm, dtype, 1, 64, Reduce::min, true},
      {OpKind::spmm, dtype, 2, 32, Reduce::sum, true},
      {.kind = OpKind::spmm, .dtype = dtype, .width = 64, .weighted = false, .sample_width = 4},
      {OpKind::sddmm, dtype, 2, 32, Reduce::sum, false},
      {OpKind::sddmm, dtype, 1, 136, Reduce::sum, false},
      {OpKind::spmv, dtype, 1, 1, Reduce::sum, true},
      {OpKind::softmax, dtype, 8, 1, Reduce::sum, true},
      {OpKind::attention, dtype, 2, 32, Reduce::sum, true},
      {.kind = OpKind::attention, .dtype = dtype, .heads = 2, .width = 32, .backward = true},
      {OpKind::segment, dtype, 1, 64, Reduce::sum, false},
  };
  for (const OpDesc& desc : refused)
    for (const char* policy : {"core=tensor", "core=tensor,window=16", "core=tensor,window=64,select=none",
                               "core=tensor,window=128,threshold=1,layout=none,select=model"}) {
      SCOPED_TRACE(fmt::format("{} {} of {} heads by '{}'", name(desc.kind), name(desc.reduce), desc.heads, policy));
      expect_refused([&] { make_plan(*context_, there, desc, parse_policy(policy)); }, "policy core=tensor",
                     ErrorCode::unsupported);
    }
}

TEST_P(cuda_window_battery, refuses_calls_that_its_plans_do_not_fit) {
  const Graph graph = battery::graph_with_duplicates(), there = graph.to(gpu);
  const Dtype dtype = GetParam();
  const std::int64_t nodes = graph.num_rows(), edges = graph.num_edges(), width = 16;
  const auto has_plan = [](const OpDesc& desc) {
    return refusal_of_kernels(desc, {128, 1, WindowLayout::none, WindowSelect::all}).empty();
  };
  const auto plan_of = [&](const OpDesc& desc) {
    const Plan plan = make_plan(*context_, there, desc, parse_policy("core=tensor,window=128,threshold=1"));
    context_->reserve(plan.workspace_bytes);
    return plan;
  };
  const auto random = [&](Shape shape, Dtype of) { return random_tensor(shape, of, first_seed).to(gpu); };
  const Tensor x = random(Shape(nodes, width), dtype), wide_x = random(Shape(nodes, width + 1), dtype);
  const ConstTensorView askew = columns(wide_x.view(), 1, width);
  Tensor out = random(Shape(nodes, width), dtype), wide_out = random(Shape(nodes, width + 1), dtype);
  const auto refused = [](const char* what, const std::function<void()>& call) {
    SCOPED_TRACE(what);
    expect_refused(call, "policy core=tensor", ErrorCode::unsupported);
  };

  if (const OpDesc desc{OpKind::spmm, dtype, 1, width, Reduce::sum, false}; has_plan(desc)) {
    const Plan plan = plan_of(desc);
    const auto sum = [&](ConstTensorView of, TensorView to, const SpmmOptions& options) {
      spmm(*context_, plan, there, of, {}, to, options);
    };
    SpmmOptions options;
    options.op = SpmmOp::copy_u;
    refused("rows of x askew", [&] { sum(askew, out, options); });
    refused("rows of out askew", [&] { sum(x, columns(wide_out.view(), 1, width), options); });
    const Tensor scale = random(Shape(nodes), Dtype::f32);
    options.epilogue.col_scale = scale;
    if (dtype != Dtype::f32) refused("col_scale", [&] { sum(x, out, options); });
  }
  if (const OpDesc desc{OpKind::spmm, dtype, 1, width, Reduce::sum, true}; has_plan(desc)) {
    const Plan plan = plan_of(desc);
    const auto sum = [&](const Tensor& edge, SpmmOp op) { spmm(*context_, plan, there, x, edge, out, {.op = op}); };
    refused("values that are added", [&] { sum(random(Shape(edges), dtype), SpmmOp::u_add_e); });
    refused("values in f32", [&] { sum(random(Shape(edges), Dtype::f32), SpmmOp::u_mul_e); });
    refused("values of every feature", [&] { sum(random(Shape(edges, width), dtype), SpmmOp::u_mul_e); });
  }
  if (const OpDesc desc{OpKind::sddmm, dtype, 1, width, Reduce::sum, false}; has_plan(desc)) {
    const Plan plan = plan_of(desc);
    Tensor dots = random(Shape(edges), dtype), products = random(Shape(edges, width), dtype);
    const auto multiply = [&](ConstTensorView left, ConstTensorView right, TensorView to, SddmmOptions options) {
      sddmm(*context_, plan, there, left, right, to, options);
    };
    refused("products", [&] { multiply(x, x, products, {.op = SddmmOp::mul}); });
    refused("one end twice", [&] { multiply(x, x, dots, {.lhs = Target::u, .rhs = Target::u}); });
    refused("rows of lhs askew", [&] { multiply(askew, x, dots, {}); });
    refused("rows of rhs askew", [&] { multiply(x, askew, dots, {}); });
  }
}

}  // namespace
}  // namespace weft::test
