// Graphs and datasets with their nodes renumbered.
#include "graph/dataset/ring.hpp"
#include "graph/io/files.hpp"
#include "graph/naive_graph.hpp"
#include "graph/order/naive_order.hpp"
#include "support/errors.hpp"
#include "support/small_graphs.hpp"

namespace weft::test {
namespace {

template <class T>
std::vector<T> values(const Tensor& of) {
  return {of.span<T>().begin(), of.span<T>().end()};
}
Reordering order_of(const std::vector<NodeId>& order) {
  Reordering result;
  result.order = tensor(order);
  return result;
}

TEST(reordered, by_degree_puts_the_longest_rows_first) {
  const std::vector<EdgeId> offsets{0, 1, 1, 4, 5};
  const std::vector<NodeId> cols{0, 1, 2, 3, 0};
  const Reordering order = degree_order(Graph::from_csr(4, 4, offsets, cols));
  EXPECT_EQ(numbers(order.order), (std::vector<NodeId>{2, 0, 3, 1}));
  EXPECT_EQ(numbers(order.inverse()), (std::vector<NodeId>{1, 3, 0, 2}));
  EXPECT_EQ(order.method, "degree");
  expect_refused([] { degree_order(tangled_graph()); }, "6 x 5");
}

TEST(reordered, graphs_have_the_same_edges_between_renumbered_nodes) {
  const Graph graph = random_graph(50, 50, 400, 3);
  const Reordering order = louvain_order(Context::cpu(2), graph);
  const Derived derived = reordered(graph, order);
  const std::vector<NodeId> old_of = numbers(order.order);
  const auto ids = derived.origin.ids();
  std::multiset<std::tuple<NodeId, NodeId, EdgeId>> before, after;
  for (const NaiveEdge& edge : stored_edges(graph)) before.insert({edge.row, edge.col, edge.id});
  for (const NaiveEdge& edge : stored_edges(derived.graph))
    after.insert({old_of[static_cast<std::size_t>(edge.row)], old_of[static_cast<std::size_t>(edge.col)],
                  ids[static_cast<std::size_t>(edge.id)]});
  EXPECT_EQ(before, after);
}

TEST(reordered, datasets_carry_along_what_belongs_to_nodes) {
  const Dataset after = reordered(ring(), order_of({2, 0, 3, 1}));
  EXPECT_NO_THROW(validate(after));
  EXPECT_EQ(values<std::int64_t>(after.sparse_features.offsets), (std::vector<std::int64_t>{0, 1, 3, 4, 4}));
  EXPECT_EQ(values<std::int32_t>(after.sparse_features.columns), (std::vector<std::int32_t>{0, 1, 9, 5}));
  EXPECT_EQ(values<float>(after.sparse_features.values), (std::vector<float>{3, 0.25f, 2, 4}));
  EXPECT_EQ(values<std::int32_t>(after.labels), (std::vector<std::int32_t>{-1, 0, 1, 1}));
  EXPECT_EQ(values<std::int32_t>(after.train), (std::vector<std::int32_t>{2, 1}));
  EXPECT_EQ(values<std::int32_t>(after.val), (std::vector<std::int32_t>{3}));
  EXPECT_EQ(values<std::int32_t>(after.test), (std::vector<std::int32_t>{0}));
  EXPECT_EQ(values<std::int64_t>(after.node_ids), (std::vector<std::int64_t>{2, 0, 3, 1}));
  EXPECT_EQ(values<std::int32_t>(after.original), (std::vector<std::int32_t>{2, 0, 3, 1}));
  // Edge 1 -> 2 of value 1 is now 3 -> 0.
  const GraphView view = after.graph.host_view();
  ASSERT_EQ(view.cols[0], 3);
  EXPECT_EQ(values<float>(after.values)[static_cast<std::size_t>(view.edge_id(0))], 1.0f);
}

TEST(reordered, datasets_remember_the_numbers_that_nodes_had_first) {
  const Dataset once = reordered(ring(), order_of({2, 0, 3, 1}));
  const Dataset twice = reordered(once, order_of({3, 1, 0, 2}));
  EXPECT_EQ(values<std::int32_t>(twice.original), (std::vector<std::int32_t>{1, 0, 2, 3}));
  EXPECT_EQ(values<std::int64_t>(twice.node_ids), (std::vector<std::int64_t>{1, 0, 2, 3}));
}

TEST(reordered, ids_and_names_that_nodes_have_stay_theirs) {
  Dataset data = ring();
  data.node_ids = tensor<std::int64_t>({10, 20, 30, 40});
  EXPECT_EQ(values<std::int64_t>(reordered(data, order_of({2, 0, 3, 1})).node_ids),
            (std::vector<std::int64_t>{30, 10, 40, 20}));
  data.node_ids = {};
  data.node_names = {tensor<std::int64_t>({0, 1, 3, 6, 6}), "abbccc"};
  const Dataset named = reordered(data, order_of({2, 0, 3, 1}));
  EXPECT_FALSE(named.node_ids);
  EXPECT_EQ(named.node_names.text, "cccabb");
  EXPECT_EQ(named.node_names.at(0), "ccc");
  EXPECT_EQ(named.node_names.at(2), "");
}

TEST(reordered, graphs_of_a_collection_stay_side_by_side) {
  Dataset data = ring();
  data.graph_ids = tensor<std::int32_t>({0, 0, 1, 1});
  data.graph_labels = tensor<std::int32_t>({1, 0});
  data.graph_classes = 2;
  const Dataset after = reordered(data, order_of({3, 1, 0, 2}));
  EXPECT_NO_THROW(validate(after));
  EXPECT_EQ(values<std::int32_t>(after.original), (std::vector<std::int32_t>{1, 0, 3, 2}));
  EXPECT_EQ(values<std::int32_t>(after.graph_ids), (std::vector<std::int32_t>{0, 0, 1, 1}));
}

TEST(reordered, weft_files_keep_the_numbers_that_nodes_had) {
  const TempFolder folder;
  const std::string path = folder / "ring.weft";
  write_dataset(path, reordered(ring(), order_of({2, 0, 3, 1})));
  EXPECT_EQ(values<std::int32_t>(read_dataset(path).original), (std::vector<std::int32_t>{2, 0, 3, 1}));
}

TEST(reordered, numbers_that_nodes_cannot_have_had_are_refused) {
  Dataset data = reordered(ring(), order_of({2, 0, 3, 1}));
  data.original = tensor<std::int32_t>({2, 0, 2, 1});
  expect_refused([&] { validate(data); }, "node 2 was node 2", ErrorCode::invalid_file);
  data.original = tensor<std::int32_t>({2, 0, 4, 1});
  expect_refused([&] { validate(data); }, "original", ErrorCode::invalid_file);
  data.original = tensor<std::int32_t>({2, 0, 1});
  expect_refused([&] { validate(data); }, "original", ErrorCode::invalid_file);
}

TEST(reordered, rows_of_values_go_there_and_back) {
  const Reordering order = order_of({2, 0, 1});
  const Tensor rows = tensor<float>({1, 2, 3, 4, 5, 6}, Shape(3, 2));
  const Tensor there = reordered(rows, order);
  EXPECT_EQ(values<float>(there), (std::vector<float>{5, 6, 1, 2, 3, 4}));
  EXPECT_EQ(values<float>(restored(there, order)), values<float>(rows));
  expect_refused([&] { restored(tensor<float>({1, 2}), order); }, "3");
}

TEST(reordered, by_an_order_of_other_nodes_is_refused) {
  expect_refused([] { reordered(ring(), order_of({0, 1})); }, "2");
  expect_refused([] { reordered(ring().graph, order_of({0, 1, 1, 3})); }, "order[2]");
  expect_refused([] { reordered(ring(), order_of({0, 1, 9, 3})); }, "order[2]");
  expect_refused([] { restored(tensor<float>({1, 2, 3}), order_of({0, -1, 2})); }, "order[1]");
}

TEST(reordered, intensity_counts_a_column_once_a_window) {
  // Rows 0 and 1 share column 5; row 2 has it in the next window.
  const std::vector<EdgeId> offsets{0, 2, 3, 4, 4, 4, 4};
  const std::vector<NodeId> cols{1, 5, 5, 5};
  const Graph graph = Graph::from_csr(6, 6, offsets, cols);
  EXPECT_DOUBLE_EQ(window_intensity(graph, 2), 4.0 / 3);
  EXPECT_DOUBLE_EQ(window_intensity(graph, 6), 2);
  EXPECT_DOUBLE_EQ(window_intensity(graph, 1), 1);
  EXPECT_DOUBLE_EQ(window_intensity(Graph::from_edges(3, EdgeList{}), 16), 0);
  expect_refused([&] { window_intensity(graph, 0); }, "window");
}

TEST(reordered, methods_go_by_their_names) {
  for (const ReorderMethod method : {ReorderMethod::louvain, ReorderMethod::loa, ReorderMethod::degree})
    EXPECT_EQ(parse_reorder_method(name(method)), method);
  expect_refused([] { parse_reorder_method("louvian"); }, "louvain");
}

}  // namespace
}  // namespace weft::test
