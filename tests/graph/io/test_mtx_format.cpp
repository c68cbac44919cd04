#include <limits>
#include <ostream>
#include <utility>

#include "core/parallel.hpp"
#include "graph/io/files.hpp"
#include "graph/io/gzip.hpp"

namespace weft::test {
namespace {

struct Edge {
  NodeId destination, source;
  double value;
  friend bool operator==(const Edge&, const Edge&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Edge& edge) {
    return out << "(" << edge.destination << ", " << edge.source << ": " << edge.value << ")";
  }
};

/// Edges in the order of their ids.
std::vector<Edge> edges_of(const GraphFile& file) {
  std::vector<Edge> edges(static_cast<std::size_t>(file.graph.num_edges()));
  const GraphView view = file.graph.view_with_rows();
  const std::vector<double> values =
      file.values ? stored_values(file.graph, file.values) : std::vector<double>(edges.size(), 0.0);
  for (EdgeId k = 0; k < view.num_edges; ++k)
    edges[static_cast<std::size_t>(view.edge_id(k))] = {view.rows[k], view.cols[k],
                                                        values[static_cast<std::size_t>(k)]};
  return edges;
}

class mtx_files : public ::testing::Test {
 protected:
  GraphFile read(std::string_view text) {
    put(file_, text);
    return read_graph(file_);
  }
  void expect_refused_text(std::string_view text, const std::vector<std::string>& parts,
                           ErrorCode code = ErrorCode::invalid_file, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
    put(file_, text);
    expect_unreadable(file_, code, parts, file, line);
  }

  TempFolder folder_;
  std::string file_ = folder_ / "g.mtx";
};

TEST_F(mtx_files, general_real_keeps_the_files_order_as_edge_ids) {
  const GraphFile file = read("%%MatrixMarket matrix coordinate real general\n3 4 3\n3 1 0.5\n1 4 -2\n3 1 1e1\n");
  EXPECT_EQ(file.format, "mtx");
  EXPECT_EQ(file.graph.num_rows(), 3);
  EXPECT_EQ(file.graph.num_cols(), 4);
  EXPECT_EQ(edges_of(file), (std::vector<Edge>{{2, 0, 0.5}, {0, 3, -2}, {2, 0, 10}}));
}

TEST_F(mtx_files, comments_blank_lines_tabs_and_carriage_returns_are_skipped) {
  const GraphFile file = read(
      "%%matrixmarket MATRIX Coordinate Double GENERAL\r\n% a comment\r\n\r\n%\r\n  2\t2   2 \r\n\r\n % more\r\n 1 1 1 "
      "\r\n\t2  2 \t 2\r\n\r\n");
  EXPECT_EQ(edges_of(file), (std::vector<Edge>{{0, 0, 1}, {1, 1, 2}}));
}

TEST_F(mtx_files, the_last_line_needs_no_end) {
  EXPECT_EQ(edges_of(read("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1")),
            (std::vector<Edge>{{1, 0, 0}}));
}

TEST_F(mtx_files, a_pattern_has_no_values) {
  const GraphFile file = read("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n");
  EXPECT_FALSE(file.values);
}

TEST_F(mtx_files, a_matrix_without_entries_is_a_graph_without_edges) {
  const GraphFile file = read("%%MatrixMarket matrix coordinate real general\n7 5 0\n");
  EXPECT_EQ(file.graph.num_rows(), 7);
  EXPECT_EQ(file.graph.num_cols(), 5);
  EXPECT_EQ(file.graph.num_edges(), 0);
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate pattern symmetric\n0 0 0").graph.num_rows(), 0);
}

TEST_F(mtx_files, symmetric_entries_are_mirrored_off_the_diagonal_and_follow_the_files_own) {
  const GraphFile file = read("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 5\n3 3 7\n3 2 9\n");
  EXPECT_EQ(edges_of(file), (std::vector<Edge>{{1, 0, 5}, {2, 2, 7}, {2, 1, 9}, {0, 1, 5}, {1, 2, 9}}));
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 3\n3 2\n").graph.num_edges(), 5);
}

TEST_F(mtx_files, skew_symmetric_mirrors_are_negated) {
  EXPECT_EQ(edges_of(read("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 5\n")),
            (std::vector<Edge>{{1, 0, 5}, {0, 1, -5}}));
  EXPECT_EQ(edges_of(read("%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 -3\n")),
            (std::vector<Edge>{{1, 0, -3}, {0, 1, 3}}));
  expect_refused_text("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 5\n1 1 1\n",
                      {"line 4", "'1 1 1'", "diagonal"});
  expect_refused_text("%%MatrixMarket matrix coordinate pattern skew-symmetric\n2 2 0\n", {"line 1", "skew"});
  expect_refused_text("%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 -9223372036854775808\n",
                      {"line 3"});
}

TEST_F(mtx_files, complex_is_read_while_imaginary_parts_are_zero) {
  EXPECT_EQ(edges_of(read("%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 3 0\n2 1 5 0.0\n")),
            (std::vector<Edge>{{0, 0, 3}, {1, 0, 5}, {0, 1, 5}}));
  expect_refused_text("%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 1 3 0\n2 1 5 -0.5\n",
                      {"line 4", "'2 1 5 -0.5'", "imaginary"});
  expect_refused_text("%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 3\n", {"line 3", "imaginary"});
}

TEST_F(mtx_files, values_take_the_smallest_type_that_holds_them_exactly) {
  const auto dtype = [&](std::string_view field, std::string_view value) {
    return read("%%MatrixMarket matrix coordinate " + std::string(field) + " general\n1 1 1\n1 1 " + std::string(value))
        .values.dtype();
  };
  EXPECT_EQ(dtype("real", "0.5"), Dtype::f32);
  EXPECT_EQ(dtype("real", "0.1"), Dtype::f64);
  EXPECT_EQ(dtype("real", "1e300"), Dtype::f64);
  EXPECT_EQ(dtype("real", "nan"), Dtype::f32);
  EXPECT_EQ(dtype("real", "-inf"), Dtype::f32);
  EXPECT_EQ(dtype("integer", "16777216"), Dtype::f32);
  EXPECT_EQ(dtype("integer", "16777217"), Dtype::f64);
  EXPECT_EQ(dtype("integer", "-9007199254740993"), Dtype::i64);
  EXPECT_EQ(dtype("unsigned-integer", "9223372036854775807"), Dtype::i64);
}

TEST_F(mtx_files, numbers_in_every_notation_are_read) {
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, double>>{{"+1.5", 1.5},
                                                   {"1.5D+3", 1500},
                                                   {"-2d-1", -0.2},
                                                   {".5", 0.5},
                                                   {"5.", 5},
                                                   {"1E2", 100},
                                                   {"1e-400", 0},
                                                   {"-0.0", -0.0},
                                                   {"4.9e-324", 4.9e-324},
                                                   {"1.7976931348623157e308", 1.7976931348623157e308}}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(edges_of(read("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 " + text + "\n"))[0].value,
              value);
  }
}

TEST_F(mtx_files, malformed_entries_are_named_with_line_and_text) {
  const std::string head = "%%MatrixMarket matrix coordinate real general\n% comment\n3 4 2\n1 1 1\n";
  expect_refused_text(head + "0 1 1\n", {"line 5", "row 0", "1 to 3", "counts from 1"});
  expect_refused_text(head + "4 1 1\n", {"line 5", "row 4", "1 to 3"});
  expect_refused_text(head + "1 5 1\n", {"line 5", "column 5", "1 to 4"});
  expect_refused_text(head + "-1 1 1\n", {"line 5", "row -1"});
  expect_refused_text(head + "99999999999999999999 1 1\n", {"line 5", "'99999999999999999999 1 1'"});
  expect_refused_text(head + "1.5 1 1\n", {"line 5", "'1.5 1 1'", "a row and a column"});
  expect_refused_text(head + "1\n", {"line 5", "'1'"});
  expect_refused_text(head + "1 1\n", {"line 5", "'1 1'", "number"});
  expect_refused_text(head + "1 1 x\n", {"line 5", "'1 1 x'", "number"});
  expect_refused_text(head + "1 1 1e400\n", {"line 5", "1e400", "1.8e308"});
  expect_refused_text(head + "1 1 -1e400\n", {"line 5"});
  expect_refused_text(head + "1 1 1 1\n", {"line 5", "'1 1 1 1'", "nothing behind"});
  expect_refused_text(head + "1 1 1e\n", {"line 5"});
  expect_refused_text(head + "1 1 ++1\n", {"line 5"});
  expect_refused_text("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n", {"line 3", "integer"});
  expect_refused_text("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9223372036854775808\n", {"line 3"});
  expect_refused_text("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 1.5\n",
                      {"line 3", "nothing behind"});
}

TEST_F(mtx_files, too_few_and_too_many_entries_are_counted) {
  const std::string head = "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n";
  expect_refused_text(head + "1 1\n", {"line 2", "promises 2", "but 1"});
  expect_refused_text(head + "1 1\n1 1\n1 1\n", {"line 2", "promises 2", "but 3"});
  expect_refused_text(head, {"promises 2", "but 0"});
}

TEST_F(mtx_files, lying_sizes_are_refused_before_memory_is_asked_for) {
  const std::string head = "%%MatrixMarket matrix coordinate pattern general\n";
  expect_refused_text(head + "3 3 9223372036854775807\n1 1\n", {"line 2", "9223372036854775807"});
  expect_refused_text(head + "2147483647 2 1\n1 1\n", {"line 2", "2147483647", "bytes"});
  expect_refused_text(head + "2147483648 2 1\n1 1\n", {"line 2", "2147483648 rows"});
  expect_refused_text(head + "3 -3 1\n1 1\n", {"line 2", "-3 columns"});
  expect_refused_text(head + "3 3 -1\n1 1\n", {"line 2", "-1"});
  expect_refused_text(head + "nan 3 1\n1 1\n", {"line 2", "'nan 3 1'", "three numbers"});
  expect_refused_text(head + "3 3\n1 1\n", {"line 2", "'3 3'", "three numbers"});
  expect_refused_text(head + "3 3 1 1\n1 1\n", {"line 2", "'3 3 1 1'"});
}

TEST_F(mtx_files, malformed_banners_say_what_is_known) {
  expect_refused_text("%%MatrixMarket\n", {"line 1", "coordinate FIELD SYMMETRY"});
  expect_refused_text("%%MatrixMarket vector coordinate real general\n1 1 0\n", {"line 1"});
  expect_refused_text("%%MatrixMarket matrix array real general\n1 1\n1\n", {"line 1", "dense", "coordinate"},
                      ErrorCode::unsupported);
  expect_refused_text("%%MatrixMarket matrix list real general\n1 1 0\n", {"line 1", "'list'", "coordinate"});
  expect_refused_text("%%MatrixMarket matrix coordinate quaternion general\n1 1 0\n",
                      {"line 1", "'quaternion'", "pattern"});
  expect_refused_text("%%MatrixMarket matrix coordinate real diagonal\n1 1 0\n",
                      {"line 1", "'diagonal'", "skew-symmetric"});
  expect_refused_text("%%MatrixMarket matrix coordinate real\n1 1 0\n", {"line 1", "symmetry"});
  expect_refused_text("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n", {"line 2", "2 x 3", "square"});
  expect_refused_text("%%MatrixMarket matrix coordinate real general", {"line 1", "ends before"});
  expect_refused_text("%%MatrixMarket matrix coordinate real general\n% only comments\n", {"line 3", "ends before"});
  expect_refused_text("1 1 1\n", {"line 1", "'1 1 1'", "%%MatrixMarket"});
}

TEST_F(mtx_files, of_several_faults_the_first_in_the_file_is_named_by_any_number_of_threads) {
  std::string text = "%%MatrixMarket matrix coordinate pattern general\n9 9 600000\n";
  for (int i = 0; i < 600'000; ++i) text += i == 250'000 ? "1 0\n" : i > 590'000 ? "0 0\n" : "1 1\n";
  put(file_, text);
  for (const int threads : {1, 2, 5}) {
    set_default_threads(threads);
    expect_unreadable(file_, ErrorCode::invalid_file, {"line 250003", "column 0"});
  }
  set_default_threads(0);
}

TEST_F(mtx_files, gzip_is_recognised_by_its_content) {
  const std::string text = "%%MatrixMarket matrix coordinate real general\n3 4 1\n3 1 0.5\n";
  for (const char* name : {"g.mtx.gz", "g.mtx", "g"}) {
    put(folder_ / name, io::gzip_member(text));
    EXPECT_EQ(edges_of(read_graph(folder_ / name)), (std::vector<Edge>{{2, 0, 0.5}}));
  }
}

TEST_F(mtx_files, written_files_are_plain_matrix_market) {
  write_graph(file_,
              Graph::from_edges({.num_sources = 3, .num_destinations = 2},
                                {.sources = std::vector<NodeId>{0, 2}, .destinations = std::vector<NodeId>{1, 0}}),
              Tensor::from(std::span<const float>(std::vector<float>{0.5f, -3.0f}), Shape(2)));
  const std::string text = get(file_);
  EXPECT_TRUE(text.starts_with("%%MatrixMarket matrix coordinate real general\n%")) << text;
  EXPECT_TRUE(text.ends_with("\n2 3 2\n2 1 0.5\n1 3 -3\n")) << text;
}

TEST_F(mtx_files, a_note_is_a_comment_line_in_front_of_the_sizes) {
  const std::string banner = "%%MatrixMarket matrix coordinate pattern general\n";
  EXPECT_EQ(read(banner + "% weft note: made up\r\n1 1 0\n").note, "made up");
  EXPECT_EQ(read(banner + "% see: % weft note: a\n%\n\n% weft note: b\n% weft note: c\n1 1 0\n").note, "b");
  EXPECT_EQ(read(banner + "% weft note: \x1b[31m" + std::string(2000, 'x') + "\n1 1 0\n").note,
            "?[31m" + std::string(992, 'x') + "...");
  EXPECT_EQ(read(banner + "% note: someone else's\n1 1 0\n").note, "");
  EXPECT_EQ(read(banner + "1 1 1\n% weft note: too late\n1 1\n").note, "");
}

TEST_F(mtx_files, extreme_integers_come_back) {
  const std::vector<std::int64_t> numbers{std::numeric_limits<std::int64_t>::min(),
                                          std::numeric_limits<std::int64_t>::max(), 0};
  Tensor values = Tensor::zeros(Shape(3), Dtype::i64);
  std::copy(numbers.begin(), numbers.end(), values.span<std::int64_t>().begin());
  write_graph(file_,
              Graph::from_edges(1, {.sources = std::vector<NodeId>(3, 0), .destinations = std::vector<NodeId>(3, 0)}),
              values);
  const GraphFile back = read_graph(file_);
  EXPECT_EQ(list<std::int64_t>(std::as_const(back.values).span<std::int64_t>()), numbers);
}

}  // namespace
}  // namespace weft::test
