#include <gtest/gtest.h>

#include <utility>

#include "graph/graph_impl.hpp"
#include "graph/naive_graph.hpp"
#include "support/errors.hpp"

namespace weft {
namespace {

using test::expect_refused;
using test::message_of;

// A graph of three rows that each test breaks in one place.
struct ViewTest : ::testing::Test {
  std::vector<EdgeId> offsets{0, 2, 2, 5};
  std::vector<NodeId> rows{0, 0, 2, 2, 2};
  std::vector<NodeId> cols{0, 3, 1, 1, 2};
  std::vector<EdgeId> ids{4, 0, 1, 3, 2};
  GraphView view{3, 4, 5, offsets.data(), rows.data(), cols.data(), ids.data()};

  std::string message() {
    return message_of([this] { validate(view); });
  }
  void refuses(std::string_view argument, ErrorCode code) {
    expect_refused([this] { validate(view); }, argument, code);
  }
};
using graph_validate = ViewTest;

TEST_F(graph_validate, accepts_a_graph_with_and_without_its_optional_arrays) {
  EXPECT_NO_THROW(validate(view));
  view.rows = nullptr;
  view.edge_ids = nullptr;
  EXPECT_NO_THROW(validate(view));
  EXPECT_NO_THROW(validate(GraphView{}));
}

TEST_F(graph_validate, refuses_counts_no_graph_has) {
  view.num_rows = -1;
  refuses("num_rows", ErrorCode::invalid_argument);
  view.num_rows = std::int64_t{1} << 31;
  refuses("num_rows", ErrorCode::invalid_argument);
  view.num_rows = 3;
  view.num_cols = -1;
  refuses("num_cols", ErrorCode::invalid_argument);
  view.num_cols = std::int64_t{1} << 40;
  refuses("num_cols", ErrorCode::invalid_argument);
  view.num_cols = 4;
  view.num_edges = -5;
  refuses("num_edges", ErrorCode::invalid_argument);
}

TEST_F(graph_validate, refuses_missing_arrays) {
  view.offsets = nullptr;
  refuses("offsets", ErrorCode::invalid_argument);
  view.offsets = offsets.data();
  view.cols = nullptr;
  refuses("cols", ErrorCode::invalid_argument);
}

TEST_F(graph_validate, names_offsets_that_do_not_start_at_zero) {
  offsets[0] = 1;
  refuses("offsets", ErrorCode::invalid_graph);
  EXPECT_EQ(message(), "offsets[0] is 1: expected 0");
}

TEST_F(graph_validate, names_the_first_offset_that_falls) {
  offsets = {0, 2, 1, 0};
  view.offsets = offsets.data();
  refuses("offsets", ErrorCode::invalid_graph);
  EXPECT_EQ(message(), "offsets[2] is 1, below offsets[1] = 2: expected offsets that never fall");
}

TEST_F(graph_validate, names_offsets_that_do_not_end_at_the_number_of_edges) {
  offsets[3] = 6;
  refuses("offsets", ErrorCode::invalid_graph);
  EXPECT_EQ(message(), "offsets[3] is 6: expected the number of edges, 5");
}

TEST_F(graph_validate, names_the_first_column_out_of_range_and_its_row) {
  cols[3] = 4;
  cols[4] = -1;
  refuses("cols", ErrorCode::invalid_graph);
  EXPECT_EQ(message(), "cols[3] is 4, in row 2: expected a node id from 0 to 3 (the graph has 4 columns)");
}

TEST_F(graph_validate, names_the_first_row_entry_that_contradicts_the_offsets) {
  rows[1] = 1;
  rows[4] = 0;
  refuses("rows", ErrorCode::invalid_graph);
  EXPECT_EQ(message(), "rows[1] is 1: expected 0, the row whose offsets enclose edge 1");
}

TEST_F(graph_validate, names_the_first_edge_id_out_of_range) {
  ids[2] = 5;
  ids[3] = -1;
  refuses("edge_ids", ErrorCode::invalid_graph);
  EXPECT_EQ(message(), "edge_ids[2] is 5, in row 2: expected an edge id from 0 to 4");
}

TEST_F(graph_validate, names_the_first_edge_id_that_comes_twice) {
  ids = {4, 0, 4, 0, 2};
  view.edge_ids = ids.data();
  refuses("edge_ids", ErrorCode::invalid_graph);
  EXPECT_EQ(message(), "edge_ids[2] is 4, in row 2: an earlier edge has that id, expected each id once");
}

TEST(graph_validate_threads, report_the_same_first_offence) {
  const test::ThreadsRestored restored;
  constexpr std::int64_t nodes = 200'000;
  std::vector<EdgeId> offsets(nodes + 1);
  std::vector<NodeId> rows(nodes), cols(nodes, 0);
  std::vector<EdgeId> ids(nodes);
  for (std::int64_t v = 0; v < nodes; ++v) {
    const auto i = static_cast<std::size_t>(v);
    offsets[i + 1] = v + 1;
    rows[i] = static_cast<NodeId>(v);
    ids[i] = nodes - 1 - v;
  }
  const GraphView view{nodes, 1, nodes, offsets.data(), rows.data(), cols.data(), ids.data()};
  const auto on_every_thread_count = [&](const std::string& start) {
    for (int threads = 1; threads <= 5; ++threads) {
      set_default_threads(threads);
      const std::string message = message_of([&] { validate(view); });
      EXPECT_EQ(message.substr(0, start.size()), start) << threads << " threads";
    }
  };
  on_every_thread_count("no error");
  ids[150'000] = ids[3];
  ids[150'001] = ids[4];
  on_every_thread_count("edge_ids[150000] is 199996, in row 150000");
  ids[90'001] = ids[199'999] = -3;
  on_every_thread_count("edge_ids[90001] is -3");
  rows[60'003] = rows[180'000] = 0;
  on_every_thread_count("rows[60003] is 0: expected 60003");
  cols[60'000] = cols[130'000] = 1;
  on_every_thread_count("cols[60000] is 1, in row 60000");
  offsets[40'000] = offsets[160'000] = 0;
  on_every_thread_count("offsets[40000] is 0, below offsets[39999] = 39999");
}

TEST_F(graph_validate, by_mixed_sum_takes_each_permutation_and_refuses_every_other_list) {
  std::vector<EdgeId> given{0, 0, 0, 0, 0};
  view.edge_ids = given.data();
  for (int code = 0; code < 7 * 7 * 7 * 7 * 7; ++code) {  // ids from -1 to 5 at each of the five places
    int rest = code;
    for (EdgeId& id : given) id = std::exchange(rest, rest / 7) % 7 - 1;
    const std::string exact = message();
    EXPECT_EQ(message_of([&] { validate(view, EdgeIdCheck::mixed_sum); }), exact) << code;
  }
}

TEST(graph_validate_battery, accepts_every_graph_and_its_transpose) {
  for (const auto& [name, graph] : battery_graphs()) {
    SCOPED_TRACE(name);
    EXPECT_NO_THROW(validate(graph.view_with_rows()));
    const Graph transpose = graph.transpose();
    EXPECT_NO_THROW(validate(transpose.view_with_rows()));
  }
}

}  // namespace
}  // namespace weft
