// Graphs over the caller's tensors on a GPU, and lists of edges in 64 bits.
#include "battery/sweep.hpp"
#include "cuda/gpu.hpp"
#include "graph/naive_graph.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

class cuda_adopt : public GpuTest {};

/// A graph's arrays on the GPU in types of the caller's.
struct Rows {
  Tensor offsets, cols, ids;

  Rows(const Graph& graph, bool narrow, bool wide) {
    const auto there = [](const auto& values) {
      using T = typename std::decay_t<decltype(values)>::value_type;
      const Shape shape(static_cast<std::int64_t>(values.size()));
      Tensor here = Tensor::empty(shape, dtype_of<T>);
      std::copy(values.begin(), values.end(), here.span<T>().begin());
      return here.to(gpu);
    };
    const std::vector<EdgeId> starts(graph.offsets().begin(), graph.offsets().end());
    const std::vector<NodeId> sources(graph.cols().begin(), graph.cols().end());
    offsets = narrow ? there(std::vector<std::int32_t>(starts.begin(), starts.end())) : there(starts);
    cols = wide ? there(std::vector<std::int64_t>(sources.begin(), sources.end())) : there(sources);
    if (graph.has_edge_ids()) ids = there(std::vector<EdgeId>(graph.edge_ids().begin(), graph.edge_ids().end()));
  }
  RowTensors tensors() const {
    RowTensors rows;
    rows.offsets = offsets;
    rows.cols = cols;
    if (ids) rows.edge_ids = ids;
    return rows;
  }
};

TEST_F(cuda_adopt, sums_as_the_graph_of_the_same_rows_whatever_their_types) {
  Context context = Context::cuda();
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph& graph = battery.graph;
    const Graph reversed = graph.transpose(), copied = graph.to(gpu);
    const Tensor x = random_tensor(Shape(graph.num_cols(), 8), Dtype::f32, 1).to(gpu);
    const Tensor y = random_tensor(Shape(graph.num_rows(), 8), Dtype::f32, 2).to(gpu);
    const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 3).to(gpu);
    const Tensor sums = spmm(context, copied, x, edge).to(Device{}),
                 back = spmm(context, copied.transpose(), y, edge).to(Device{});
    for (const bool narrow : {false, true})
      for (const bool wide : {false, true})
        for (const Validate validate : {Validate::full, Validate::trusted}) {
          SCOPED_TRACE(fmt::format("{} {} {}", battery.name, narrow, wide));
          const auto rows = std::make_shared<Rows>(graph, narrow, wide),
                     other = std::make_shared<Rows>(reversed, wide, narrow);
          const auto both = std::make_shared<std::pair<std::shared_ptr<Rows>, std::shared_ptr<Rows>>>(rows, other);
          const Graph there = Graph::adopt({.num_sources = graph.num_cols(), .num_destinations = graph.num_rows()},
                                           rows->tensors(), other->tensors(), both, validate);
          EXPECT_EQ(there.view().longest_row, validate == Validate::full ? copied.view().longest_row : -1);
          EXPECT_EQ(there.view().empty_rows, validate == Validate::full ? copied.view().empty_rows : -1);
          const Graph here = there.to(Device{});
          EXPECT_EQ(stored_edges(here), stored_edges(graph));
          const SpmmExpected expected = expected_spmm(graph, x.to(Device{}), edge.to(Device{}), {});
          expect_within_bound(spmm(context, there, x, edge).to(Device{}), expected, battery.name);
          if (validate == Validate::full) {
            EXPECT_TRUE(bitwise_equal(spmm(context, there, x, edge).to(Device{}), sums));
            EXPECT_TRUE(bitwise_equal(spmm(context, there.transpose(), y, edge).to(Device{}), back));
          }
        }
  }
}

TEST_F(cuda_adopt, names_what_a_look_at_the_arrays_finds) {
  const Graph graph = battery::power_law_graph();
  Rows rows(graph, false, true);
  Tensor cols = rows.cols.to(Device{});
  cols.span<std::int64_t>()[7] = std::int64_t{1} << 32;
  rows.cols = cols.to(gpu);
  expect_refused(
      [&] {
        Graph::adopt({.num_sources = graph.num_cols(), .num_destinations = graph.num_rows()}, rows.tensors(), {},
                     nullptr);
      },
      "rows.cols[7] is 4294967296", ErrorCode::invalid_graph);
}

TEST_F(cuda_adopt, lists_of_64_bits_are_those_of_32) {
  const auto ids = [](std::initializer_list<std::int64_t> values) {
    Tensor here = Tensor::empty(Shape(static_cast<std::int64_t>(values.size())), Dtype::i64);
    std::copy(values.begin(), values.end(), here.span<std::int64_t>().begin());
    return here.to(gpu);
  };
  const NodeCounts nodes{.num_sources = 4, .num_destinations = 3};
  const Tensor from = ids({3, 1, 3, 0}), to = ids({2, 0, 2, 1});
  const std::vector<NodeId> narrow_from{3, 1, 3, 0}, narrow_to{2, 0, 2, 1};
  EXPECT_EQ(stored_edges(Graph::from_edges(nodes, {.sources = from, .destinations = to}, nullptr).to(Device{})),
            stored_edges(Graph::from_edges(nodes, {.sources = narrow_from, .destinations = narrow_to})));
  const Tensor wrong = ids({3, 1, (std::int64_t{1} << 32) + 1, 0});
  expect_refused([&] { Graph::from_edges(nodes, {.sources = wrong, .destinations = to}, nullptr); },
                 "sources[2] is 4294967297", ErrorCode::invalid_graph);
}

}  // namespace
}  // namespace weft::test
