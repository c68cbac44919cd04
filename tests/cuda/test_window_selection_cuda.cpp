// Which windows have tiles: the rule's choice and no other, with the same sums whatever it is.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "cuda/windows_on_gpu.hpp"
#include "graph/graph_internals.hpp"
#include "graph/windows/row_windows.hpp"
#include "plan/cuda/windows.hpp"

namespace weft::test {
namespace {

class cuda_window_selection : public GpuTest {};

constexpr int rows = 16;

/// Windows of consecutive rows, window w with columns_of[w] columns, each an edge of every row.
Graph full_windows(const std::vector<NodeId>& columns_of) {
  battery::GrowingEdges edges;
  const auto nodes = static_cast<NodeId>(columns_of.size() * rows);
  for (std::size_t w = 0; w < columns_of.size(); ++w)
    for (NodeId r = 0; r < rows; ++r)
      for (NodeId c = 0; c < columns_of[w]; ++c)
        edges.add((c * 7 + static_cast<NodeId>(w)) % nodes, static_cast<NodeId>(w) * rows + r);
  return edges.graph(nodes, nodes);
}

std::vector<std::int32_t> tiles_of(const RowWindows& windows) {
  const std::vector<WindowWork> all_work = from_gpu(windows.view().work, windows.windows());
  std::vector<std::int32_t> tiles(all_work.size());
  for (const WindowWork& work : all_work) tiles[static_cast<std::size_t>(work.window)] = work.tiles;
  return tiles;
}

Tensor sum_by(Context& context, const Graph& there, const Tensor& x, const Plan& plan) {
  context.reserve(plan.workspace_bytes);
  const Tensor x_there = x.to(gpu);
  Tensor out = constant(Shape(there.num_rows(), plan.desc.width), plan.desc.dtype, std::nan("")).to(gpu);
  spmm(context, plan, there, x_there, {}, out, {.op = SpmmOp::copy_u});
  return out.to(Device{});
}

OpDesc sum_of(std::int64_t width, Dtype dtype) { return {OpKind::spmm, dtype, 1, width, Reduce::sum, false}; }

TEST_F(cuda_window_selection, counts_the_dense_columns_and_edges_of_every_window) {
  const Graph graph = graph_of_communities();
  const Graph there = graph.to(gpu);
  for (const int threshold : {1, 2, 4}) {
    const auto windows = GraphInternals::row_windows(there, {64, threshold, WindowLayout::none}, nullptr);
    const std::vector<WindowCounts> counts = windows->counts();
    ASSERT_EQ(std::ssize(counts), windows->windows());
    for (std::int64_t w = 0; w < windows->windows(); ++w) {
      std::vector<int> edges(static_cast<std::size_t>(graph.num_cols()), 0);
      for (std::int64_t r = w * 64; r < std::min(graph.num_rows(), (w + 1) * 64); ++r) {
        const auto begin = graph.cols().begin() + graph.offsets()[static_cast<std::size_t>(r)];
        const auto end = graph.cols().begin() + graph.offsets()[static_cast<std::size_t>(r) + 1];
        for (auto c = begin; c != end; ++c)
          if (c == begin || *c != c[-1]) ++edges[static_cast<std::size_t>(*c)];
      }
      WindowCounts expected;
      for (const int count : edges)
        if (count >= threshold) {
          ++expected.columns;
          expected.edges += count;
        }
      EXPECT_EQ(counts[static_cast<std::size_t>(w)], expected) << "window " << w << ", threshold " << threshold;
    }
  }
}

TEST_F(cuda_window_selection, keeps_the_windows_that_the_rule_keeps_and_no_other) {
  std::vector<NodeId> columns(50);
  std::iota(columns.begin(), columns.end(), 1);  // 1 to 50 of them
  const Graph graph = full_windows(columns);
  const Graph there = graph.to(gpu);
  // log2(columns) > log2(20.5)
  const WindowModel from_21{-std::log2(20.5), 1, 0, 0};
  const auto windows = GraphInternals::row_windows(there, {rows, 1, WindowLayout::none, from_21}, nullptr);
  const std::vector<std::int32_t> tiles = tiles_of(*windows);
  std::int64_t kept_columns = 0, kept_edges = 0;
  for (std::size_t w = 0; w < columns.size(); ++w) {
    EXPECT_EQ(tiles[w], columns[w] > 20 ? 1 : 0) << columns[w] << " columns";
    if (columns[w] <= 20) continue;
    kept_columns += columns[w];
    kept_edges += columns[w] * rows;
  }
  EXPECT_EQ(windows->selected(), 30);
  EXPECT_EQ(windows->dense_columns(), kept_columns);
  EXPECT_EQ(windows->dense_edges(), kept_edges);
  EXPECT_EQ(windows->residual().num_edges(), graph.num_edges() - kept_edges);
  const Graph residual = windows->residual().to(Device{});
  for (std::size_t k = 0; k < residual.rows().size(); ++k)
    ASSERT_LE(columns[static_cast<std::size_t>(residual.rows()[k] / rows)], 20);
}

TEST_F(cuda_window_selection, sums_the_same_whatever_is_selected) {
  Context context = Context::cuda();
  std::uint64_t seed = 9100;
  for (const BatteryGraph& battery : graphs_with_windows()) {
    const Graph there = battery.graph.to(gpu);
    // Some windows of each: more than about twice the edges per column, and the other way round.
    for (const WindowModel& model : {WindowModel{2.5, 0, 1, 0}, WindowModel{-2.5, 0, -1, 0}, WindowModel::none()})
      for (const int window_rows : {16, 64, 128}) {
        ++seed;
        constexpr Dtype dtypes[] = {Dtype::bf16, Dtype::f16, Dtype::f32};
        // Not by the rows of windows, which go by threes as well.
        const OpDesc desc = sum_of(seed % 2 == 0 ? 64 : 72, dtypes[(seed + seed / 3) % 3]);
        const Tensor x = random_tensor(Shape(battery.graph.num_cols(), desc.width), desc.dtype, seed);
        const SpmmExpected expected = expected_spmm(battery.graph, x, {}, {.op = SpmmOp::copy_u});
        Plan plan = make_plan(context, there, desc,
                              parse_policy(fmt::format("core=tensor,window={},threshold=1,layout=none", window_rows)));
        auto selected = std::make_shared<WindowPlan>(*plan.backing.windows);
        selected->windows = GraphInternals::row_windows(there, {window_rows, 1, WindowLayout::none, model}, nullptr);
        selected->residual = make_plan(context, selected->windows->residual(), desc);
        plan.backing.windows = selected;
        plan.workspace_bytes += selected->residual.workspace_bytes +
                                sizeof(float) * static_cast<std::size_t>(battery.graph.num_rows() * desc.width) + 4096;
        const Tensor out = sum_by(context, there, x, plan);
        expect_within_bound(
            out, expected,
            fmt::format("{} {} width {} windows of {} rows, {} of {} selected, seed {}", battery.name, name(desc.dtype),
                        desc.width, window_rows, selected->windows->selected(), selected->windows->windows(), seed));
        if (HasFailure()) return;
      }
  }
}

TEST_F(cuda_window_selection, of_none_sums_as_a_plan_without_windows_does) {
  Context context = Context::cuda();
  const Graph graph = graph_of_communities();
  const Graph there = graph.to(gpu);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    const OpDesc desc = sum_of(64, dtype);
    const Tensor x = random_tensor(Shape(graph.num_cols(), 64), dtype, 77);
    // The same tasks: the residual is a graph of its own, for which the planner may choose others.
    const std::string tasks = "edges=64,order=none,join=no,stage=registers";
    const Plan none = make_plan(context, there, desc, parse_policy("core=tensor,select=none," + tasks));
    EXPECT_EQ(none.backing.windows->windows->selected(), 0);
    EXPECT_EQ(none.backing.windows->windows->tiles(), 0);
    EXPECT_EQ(none.backing.windows->windows->dense_edges(), 0);
    EXPECT_EQ(none.backing.windows->windows->residual().num_edges(), graph.num_edges());
    const Plan usual = make_plan(context, there, desc, parse_policy(tasks));
    EXPECT_TRUE(bitwise_equal(sum_by(context, there, x, none), sum_by(context, there, x, usual))) << name(dtype);
  }
}

TEST_F(cuda_window_selection, of_all_is_what_a_policy_without_the_key_has) {
  Context context = Context::cuda();
  const Graph there = generate("powerlaw:nodes=2000,edges=40000,communities=10,inside=0.9,seed=1").graph.to(gpu);
  const OpDesc desc = sum_of(64, Dtype::f16);
  const Plan all = make_plan(context, there, desc, parse_policy("core=tensor,select=all"));
  const Plan usual = make_plan(context, there, desc, parse_policy("core=tensor"));
  EXPECT_EQ(all, usual);
  EXPECT_EQ(all.backing.windows->windows, usual.backing.windows->windows);
}

TEST_F(cuda_window_selection, keeps_windows_of_different_selections_apart) {
  const Graph there = generate("powerlaw:nodes=2000,edges=40000,communities=10,inside=0.9,seed=1").graph.to(gpu);
  const WindowShape all{16, 1, WindowLayout::none};
  WindowShape none = all, some = all, others = all;
  none.select = WindowModel::none();
  some.select = {-2, 1, 0.5, 0};
  others.select = {-2.5, 1, 0.5, 0};
  std::vector<std::shared_ptr<const RowWindows>> made;
  for (const WindowShape& shape : {all, none, some, others})
    made.push_back(GraphInternals::row_windows(there, shape, nullptr));
  for (std::size_t i = 0; i < made.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(made[i], made[j]) << i << " and " << j;
  EXPECT_EQ(GraphInternals::row_windows(there, some, nullptr), made[2]);
  EXPECT_EQ(GraphInternals::row_windows(there, all, nullptr), made[0]);
}

/// A table of this GPU with one row, which plans read while it lives.
class OwnTable {
 public:
  explicit OwnTable(const SelectorRow& row) {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-selection-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a folder for the test");
    folder_ = pattern;
    std::ofstream(path()) << to_json(SelectorTable{cuda_devices().front().name, "", "", {row}});
    setenv("WEFT_TUNING", path().c_str(), 1);
  }
  ~OwnTable() {
    unsetenv("WEFT_TUNING");
    std::filesystem::remove_all(folder_);
  }
  OwnTable(const OwnTable&) = delete;
  OwnTable& operator=(const OwnTable&) = delete;
  std::string path() const { return (folder_ / "table.json").string(); }

 private:
  std::filesystem::path folder_;
};

constexpr const char* by_model = "core=tensor,window=16,threshold=1,layout=none,select=model";

TEST_F(cuda_window_selection, by_the_model_separates_windows_by_their_columns_and_sums_right) {
  std::vector<NodeId> columns(50);
  std::iota(columns.begin(), columns.end(), 1);
  const Graph graph = full_windows(columns);
  const Graph there = graph.to(gpu);
  for (const Dtype dtype : {Dtype::f16, Dtype::f32}) {
    const OwnTable table({dtype, rows, -std::log2(20.5), 1, 0, 0, 0, 0, 1});
    Context context = Context::cuda();
    const OpDesc desc = sum_of(64, dtype);
    const Plan plan = make_plan(context, there, desc, parse_policy(by_model));
    ASSERT_EQ(plan.cuda().core, Core::tensor) << name(dtype);
    EXPECT_EQ(plan.cuda().window_select, WindowSelect::model);
    EXPECT_EQ(plan.backing.windows->selector->source, table.path());
    const std::vector<std::int32_t> tiles = tiles_of(*plan.backing.windows->windows);
    for (std::size_t w = 0; w < columns.size(); ++w) EXPECT_EQ(tiles[w] > 0, columns[w] > 20) << columns[w];
    const Tensor x = random_tensor(Shape(graph.num_cols(), 64), dtype, 31);
    expect_within_bound(sum_by(context, there, x, plan), expected_spmm(graph, x, {}, {.op = SpmmOp::copy_u}),
                        fmt::format("windows of more than 20 columns on tensor cores, {}", name(dtype)));
  }
}

TEST_F(cuda_window_selection, by_a_model_that_looks_at_the_width_is_of_each_width) {
  const Graph there = full_windows({5, 10, 20, 40, 80}).to(gpu);
  // Columns times width from 1000 on.
  const OwnTable table({Dtype::f16, rows, -std::log2(1000), 1, 0, 0, 1, 0, 1});
  Context context = Context::cuda();
  const auto windows = [&](std::int64_t width) {
    return make_plan(context, there, sum_of(width, Dtype::f16), parse_policy(by_model)).backing.windows->windows;
  };
  EXPECT_EQ(windows(16)->selected(), 1);   // 80
  EXPECT_EQ(windows(64)->selected(), 3);   // 20, 40, 80
  EXPECT_EQ(windows(128)->selected(), 4);  // 10 and more
  EXPECT_EQ(windows(64), windows(64));
  EXPECT_NE(windows(64), windows(16));
}

TEST_F(cuda_window_selection, by_a_model_that_keeps_none_is_a_plan_without_windows) {
  const Graph there = full_windows({5, 10, 20}).to(gpu);
  const OwnTable table({Dtype::f16, rows, -20, 1, 0, 0, 0, 0, 1});
  Context context = Context::cuda();
  const OpDesc desc = sum_of(64, Dtype::f16);
  const Plan plan = make_plan(context, there, desc, parse_policy(by_model));
  EXPECT_EQ(plan, make_plan(context, there, desc));
  EXPECT_EQ(plan.cuda().core, Core::cuda);
  const auto facts = window_facts(plan);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->selected, 0);
  EXPECT_EQ(facts->candidates, 3);
  EXPECT_EQ(facts->median, (WindowCounts{10, 160}));
  EXPECT_EQ(facts->select, WindowSelect::model);
}

TEST_F(cuda_window_selection, by_the_model_goes_by_its_table_and_says_so) {
  const OwnTable table({Dtype::f16, rows, 1.5, 0, 0.01, 0, 0, 0.75, 8});
  Context context = Context::cuda();
  const Graph there = generate("powerlaw:nodes=2000,edges=40000,communities=10,inside=0.9,seed=1").graph.to(gpu);
  const OpDesc desc = sum_of(64, Dtype::f16);
  const Plan plan = make_plan(context, there, desc, parse_policy(by_model));
  EXPECT_EQ(plan.cuda().window_select, WindowSelect::model);
  const auto facts = window_facts(plan);
  ASSERT_TRUE(facts.has_value());
  ASSERT_TRUE(facts->selector.has_value());
  EXPECT_EQ(facts->selector->row.accuracy, 0.75);
  EXPECT_EQ(facts->selector->source, table.path());
  EXPECT_EQ(facts->selector->note, "");
  EXPECT_EQ(facts->windows, 125);
  EXPECT_EQ(facts->selected, facts->candidates);
  EXPECT_NEAR(facts->log_odds, 1.5 + 0.01 * std::log2(facts->median.edges / (16.0 * facts->median.columns)), 1e-12);
  EXPECT_EQ(plan.backing.windows->windows->shape().select, facts->selector->row.at(64));
  const std::vector<WindowCounts> counts = plan.backing.windows->windows->counts();
  std::int64_t columns = 0, edges = 0;
  for (const WindowCounts& each : counts) {
    columns += each.columns;
    edges += each.edges;
  }
  EXPECT_DOUBLE_EQ(facts->intensity, static_cast<double>(edges) / static_cast<double>(columns));
}

}  // namespace
}  // namespace weft::test
