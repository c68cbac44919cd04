// METIS graphs.
#include <fmt/format.h>

#include "graph/dataset/folders.hpp"
#include "graph/io/gzip.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

const std::string k4 = "4 6\n2 3 4\n1 3 4\n1 2 4\n1 2 3\n";

class metis : public ::testing::Test {
 protected:
  Dataset read(std::string_view text, const std::string& name = "g.graph") {
    put(folder_ / name, text);
    return read_dataset(folder_ / name);
  }
  void expect_refused(std::string_view text, const std::vector<std::string>& parts, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
    put(folder_ / "g.graph", text);
    expect_unreadable_dataset(folder_ / "g.graph", parts, ErrorCode::invalid_file, file, line);
  }

  TempFolder folder_;
};

TEST_F(metis, give_both_directions_of_every_edge) {
  const Dataset data = read(k4, "k4.graph");
  EXPECT_EQ(data.format, "metis");
  EXPECT_EQ(data.name, "k4");
  EXPECT_EQ(data.graph.num_rows(), 4);
  EXPECT_EQ(list(data.graph.offsets()), (std::vector<EdgeId>{0, 3, 6, 9, 12}));
  EXPECT_EQ(list(data.graph.cols()), (std::vector<NodeId>{1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2}));
  EXPECT_FALSE(data.values);
  EXPECT_FALSE(data.has_more_than_graph());
  EXPECT_EQ(data.note, "");
}

TEST_F(metis, may_have_comments_and_nodes_without_neighbours) {
  const Dataset data = read("% made by hand\n4 2 0\n3\n\n% between\n1 4\r\n3\n");
  EXPECT_EQ(list(data.graph.offsets()), (std::vector<EdgeId>{0, 1, 1, 3, 4}));
  EXPECT_EQ(list(data.graph.cols()), (std::vector<NodeId>{2, 0, 3, 2}));
  EXPECT_EQ(read("2 0\n\n\n").graph.num_rows(), 2);
  EXPECT_EQ(read("3 1\n2\n1\n\n\n\n").graph.num_rows(), 3) << "blank lines behind the last node";
}

TEST_F(metis, give_the_weights_of_edges_as_values) {
  const Dataset data = read("3 2 001\n3 0.5 2 7\n1 7\n1 0.5\n");
  EXPECT_EQ(list(data.graph.cols()), (std::vector<NodeId>{1, 2, 0, 0}));
  EXPECT_EQ(values_of<float>(data.values), (std::vector<float>{0.5f, 7, 7, 0.5f})) << "in the order of the file";
  EXPECT_EQ(stored_values(data.graph, data.values), (std::vector<double>{7, 0.5, 7, 0.5}));
  write_dataset(folder_ / "g.mtx", data);
  EXPECT_EQ(stored_values(data.graph, read_dataset(folder_ / "g.mtx").values), (std::vector<double>{7, 0.5, 7, 0.5}));
}

TEST_F(metis, whose_weights_f32_does_not_have_say_so) {
  EXPECT_NE(read("2 1 001\n2 16777217\n1 16777217\n").note.find("1 whole weight above 2^24 is rounded"),
            std::string::npos);
  expect_refused("2 1 001\n2 1e39\n1 1e39\n", {"line 2", "'2 1e39'", "a weight of at most 3.4e38"});
}

TEST_F(metis, leave_out_sizes_and_weights_of_nodes_and_say_so) {
  const Dataset data = read("2 1 111 2\n9 5 6 2 1.5\n9 5 6 1 1.5\n");
  EXPECT_EQ(data.graph.num_edges(), 2);
  EXPECT_EQ(values_of<float>(data.values), (std::vector<float>{1.5f, 1.5f}));
  EXPECT_EQ(data.note, "sizes and weights of nodes are not read");
  EXPECT_EQ(read("2 1 10\n5 2\n5 1\n").note, "weights of nodes are not read");
  EXPECT_EQ(read("2 1 100\n5 2\n5 1\n").note, "sizes of nodes are not read");
}

TEST_F(metis, are_the_same_packed) {
  const Dataset data = read(io::gzip_member(k4), "k4.metis.gz");
  EXPECT_EQ(data.format, "metis");
  EXPECT_EQ(data.name, "k4");
  EXPECT_EQ(data.graph.num_edges(), 12);
}

TEST_F(metis, are_known_by_their_content_under_any_name) {
  for (const char* name : {"g.graph", "g.metis", "g.txt", "g.csv", "g"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(read(k4, name).format, "metis");
    EXPECT_EQ(read(io::gzip_member(k4), name).format, "metis");
  }
}

TEST_F(metis, and_lists_of_edges_that_both_would_be_right_are_what_their_name_says) {
  const std::string ring = "4 4\n2 3\n1 4\n1 4\n2 3\n";
  for (const char* name : {"g.graph", "g.metis", "g"}) EXPECT_EQ(read(ring, name).format, "metis") << name;
  for (const char* name : {"g.txt", "g.edges", "g.tsv", "g.txt.gz"}) {
    EXPECT_EQ(read(ring, name).format, "edge list") << name;
    EXPECT_EQ(read(ring, name).graph.num_edges(), 5) << name;
  }
  for (const char* text : {"0 1\n1 2\n2 0\n", "4 3\n1 2\n2 3\n3 4\n", "3 3\n1 2\n2 3\n1 3\n4 1\n", "2 1 0.5\n1 2 1\n"})
    EXPECT_EQ(read(text, "g").format, "edge list") << text;
}

TEST_F(metis, of_a_large_graph_are_recognised_and_read_whole) {
  const Graph grid = generate("grid:side=150").graph;  // more text than recognition looks at
  std::string text = fmt::format("{} {}\n", grid.num_rows(), grid.num_edges() / 2);
  for (std::int64_t v = 0; v < grid.num_rows(); ++v) {
    const auto at = static_cast<std::size_t>(v);
    for (EdgeId k = grid.offsets()[at]; k < grid.offsets()[at + 1]; ++k)
      text += fmt::format("{} ", grid.cols()[static_cast<std::size_t>(k)] + 1);
    text += '\n';
  }
  ASSERT_GT(text.size(), 1u << 17);
  for (const std::string& bytes : {text, io::gzip_member(text)}) {
    const Dataset data = read(bytes, "grid");
    EXPECT_EQ(data.format, "metis");
    EXPECT_EQ(list(data.graph.cols()), list(grid.cols()));
    EXPECT_EQ(list(data.graph.offsets()), list(grid.offsets()));
  }
}

TEST_F(metis, whose_header_is_wrong_are_refused) {
  expect_refused("% nothing\n", {"line 2", "the file ends"});
  expect_refused("4\n1\n", {"line 1", "'4'", "NODES EDGES"});
  expect_refused("-4 6\n", {"line 1", "'-4 6'"});
  expect_refused("3 4611686018427387905\n2\n1\n\n", {"line 1", "'3 4611686018427387905'", "NODES EDGES"});
  expect_refused("2 1 002\n2\n1\n", {"line 1", "'2 1 002'", "FMT"});
  expect_refused("2 1 0 2\n2\n1\n", {"line 1", "NCON"});
  expect_refused("2 1 010 0\n2\n1\n", {"line 1", "NCON"});
  expect_refused("9999999999 6\n1\n", {"9999999999"});
  expect_refused("1000000 6\n1\n", {"line 1", "1000000 nodes", "1 lines follow", ".edges"});
}

TEST_F(metis, whose_lines_are_wrong_are_refused_with_the_first_of_them) {
  expect_refused("4 6\n2 3 4\n1 3 4\n1 2 4\n", {"line 1", "4 nodes", "3 lines"});
  expect_refused(k4 + "1\n", {"line 1", "4 nodes", "5 lines"});
  expect_refused("3 2\n2\n% c\n1 4\n2\n", {"line 4", "neighbour 4", "1 to 3"});
  expect_refused("3 2\n2\n0 1\n2\n", {"line 3", "neighbour 0", "counts from 1"});
  expect_refused("3 2\n2\n1 x\n2\n", {"line 3", "'1 x'", "whole numbers"});
  expect_refused("2 1\n1 2\n1\n", {"line 2", "node 1", "self-loops"});
  expect_refused("2 1\n2 2\n1\n", {"line 2", "neighbour 2 twice"});
  expect_refused("3 2\n2 3\n1\n\n", {"line 2", "node 1 lists the neighbour 3", "both ends"});
  expect_refused("3 3\n2 3\n1\n1\n", {"line 1", "3 edges", "4 neighbours", "expected 6"});
  expect_refused("2 1 1\n2 5\n1\n", {"line 3", "'1'", "weight of its edge"});
  expect_refused("2 1 1\n2 5\n1 6\n", {"line 2", "between 1 and 2", "weight 5", "6"});
  expect_refused("2 1 1\n2 nan\n1 nan\n", {"line 2", "weight"});
  expect_refused("2 1 10 3\n1 1 1 2\n1 1\n", {"line 3", "'1 1'", "3 numbers"});
}

TEST_F(metis, cut_off_at_any_byte_are_refused_or_the_same) {
  const std::string text = "% c\n4 6 1\n2 1 3 2 4 3\n1 1 3 4 4 5\n1 2 2 4 4 6\n1 3 2 5 3 6\n";
  const std::vector<NodeId> whole = columns_of(read(text));
  for (std::size_t size = 1; size < text.size(); ++size) {
    SCOPED_TRACE(size);
    try {
      EXPECT_EQ(columns_of(read(text.substr(0, size))), whole);
      EXPECT_EQ(size, text.size() - 1) << "only the last line's end may be missing";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_file) << error.what();
    }
  }
}

}  // namespace
}  // namespace weft::test
