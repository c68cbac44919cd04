// Plain lists of edges.
#include <fmt/format.h>

#include "graph/io/files.hpp"
#include "graph/io/gzip.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

class edge_lists : public ::testing::Test {
 protected:
  Dataset read(std::string_view text) {
    put(file_, text);
    return read_dataset(file_);
  }
  void expect_refused(std::string_view text, const std::vector<std::string>& parts) {
    put(file_, text);
    expect_file_error([&] { read_dataset(file_); }, file_, ErrorCode::invalid_file, parts);
  }

  TempFolder folder_;
  std::string file_ = folder_ / "edges.txt";
};

TEST_F(edge_lists, give_an_edge_from_the_first_to_the_second_number_of_each_line) {
  const Dataset data = read("# Nodes: 3 Edges: 3\n0\t2\n2 1\r\n\n0 1\n");
  EXPECT_EQ(data.format, "edge list");
  EXPECT_EQ(data.name, "edges");
  EXPECT_EQ(data.graph.num_rows(), 3);
  EXPECT_EQ(list(data.graph.offsets()), (std::vector<EdgeId>{0, 0, 2, 3}));
  EXPECT_EQ(list(data.graph.cols()), (std::vector<NodeId>{0, 2, 0}));
  EXPECT_EQ(list(data.graph.edge_ids()), (std::vector<EdgeId>{2, 1, 0}));
  EXPECT_FALSE(data.node_ids);
  EXPECT_FALSE(data.values);
}

TEST_F(edge_lists, number_nodes_anew_where_ids_have_gaps_and_keep_the_files_ids) {
  const Dataset data = read("100 7\n7 4000000\n");
  EXPECT_EQ(data.graph.num_rows(), 3);
  EXPECT_EQ(list(data.node_ids.span<std::int64_t>()), (std::vector<std::int64_t>{7, 100, 4000000}));
  EXPECT_EQ(list(data.graph.offsets()), (std::vector<EdgeId>{0, 1, 1, 2}));
  EXPECT_EQ(list(data.graph.cols()), (std::vector<NodeId>{1, 0}));
}

TEST_F(edge_lists, that_count_from_1_keep_that_in_their_ids) {
  const Dataset data = read("1 2\n2 3\n3 1\n");
  EXPECT_EQ(data.graph.num_rows(), 3);
  EXPECT_EQ(list(data.node_ids.span<std::int64_t>()), (std::vector<std::int64_t>{1, 2, 3}));
}

TEST_F(edge_lists, may_have_ids_of_63_bits) {
  const Dataset data = read("9223372036854775807 0\n4294967296 9223372036854775807\n");
  EXPECT_EQ(list(data.node_ids.span<std::int64_t>()),
            (std::vector<std::int64_t>{0, 4294967296, std::numeric_limits<std::int64_t>::max()}));
  EXPECT_EQ(list(data.graph.cols()), (std::vector<NodeId>{2, 1}));
}

TEST_F(edge_lists, may_have_commas_and_further_numbers) {
  EXPECT_EQ(columns_of(read("0,1,1\n1 , 2,0.5\n")), (std::vector<NodeId>{0, 1}));
  EXPECT_EQ(columns_of(read("0 1 0.5 1082040961\n1 2 3 4\n")), (std::vector<NodeId>{0, 1}));
}

TEST_F(edge_lists, keep_duplicates_and_self_loops) {
  EXPECT_EQ(columns_of(read("0 0\n0 1\n0 1\n")), (std::vector<NodeId>{0, 0, 0}));
}

TEST_F(edge_lists, are_the_same_packed) {
  put(folder_ / "edges.txt.gz", io::gzip_member("0 2\n2 1\n"));
  const Dataset data = read_dataset(folder_ / "edges.txt.gz");
  EXPECT_EQ(data.name, "edges");
  EXPECT_EQ(list(data.graph.cols()), (std::vector<NodeId>{2, 0}));
}

TEST_F(edge_lists, of_many_chunks_have_every_edge_in_its_place) {
  std::string text;
  constexpr int edges = 300000;  // some megabytes
  for (int k = 0; k < edges; ++k) text += fmt::format("{} {}\n", k % 1000, (k + 1) % 1000);
  const Dataset data = read(text);
  ASSERT_EQ(data.graph.num_edges(), edges);
  ASSERT_EQ(data.graph.num_rows(), 1000);
  const auto offsets = data.graph.offsets();
  for (std::size_t v = 0; v < 1000; ++v) {
    ASSERT_EQ(offsets[v + 1] - offsets[v], edges / 1000);
    for (EdgeId k = offsets[v]; k < offsets[v + 1]; ++k)
      ASSERT_EQ(data.graph.cols()[static_cast<std::size_t>(k)], static_cast<NodeId>((v + 999) % 1000));
  }
}

TEST_F(edge_lists, that_are_wrong_name_the_line) {
  expect_refused("0 1\n# fine\n2 x\n", {"line 3", "'2 x'", "a source and a target"});
  expect_refused("0 1\n2\n", {"line 2", "'2'", "a source and a target"});
  expect_refused("0 1\n2 3 words\n", {"line 2", "'2 3 words'"});
  expect_refused("0 1\n2 -3\n", {"line 2", "-3", "0 to"});
  expect_refused("0 1\n2 99999999999999999999\n", {"line 2", "99999999999999999999"});
  expect_refused("0,1\n2 3\n", {"line 2", "'2 3'"});
  expect_refused("0 1\n2 1.5\n", {"line 2", "'2 1.5'"});
}

TEST_F(edge_lists, name_the_first_of_several_faults) {
  std::string text = "0 1\n";
  while (text.size() < 3 << 20) text += "123456 654321\n";
  const auto line = 1 + std::count(text.begin(), text.end(), '\n');
  text += "bad\n";
  while (text.size() < 6 << 20) text += "123456 654321\n";
  expect_refused(text + "worse\n", {fmt::format("line {}:", line), "'bad'"});
}

}  // namespace
}  // namespace weft::test
