#include "graph/io/files.hpp"

namespace weft::test {
namespace {

std::string csr_bytes(std::vector<std::int64_t> counts, const std::vector<std::int32_t>& arrays) {
  std::string bytes(reinterpret_cast<const char*>(counts.data()), counts.size() * 8);
  return bytes.append(reinterpret_cast<const char*>(arrays.data()), arrays.size() * 4);
}

class csr_files : public ::testing::Test {
 protected:
  TempFolder folder_;
  std::string file_ = folder_ / "g.csr";
};

TEST_F(csr_files, are_read_whatever_their_name) {
  for (const char* name : {"g.csr", "g.bin", "g"}) {
    put(folder_ / name, csr_bytes({3, 4, 5}, {0, 2, 2, 5, 1, 3, 0, 0, 2}));
    const GraphFile file = read_graph(folder_ / name);
    EXPECT_EQ(file.format, "csr");
    EXPECT_EQ(file.graph.num_rows(), 3);
    EXPECT_EQ(file.graph.num_cols(), 4);
    EXPECT_EQ(list(file.graph.offsets()), (std::vector<EdgeId>{0, 2, 2, 5}));
    EXPECT_EQ(list(file.graph.cols()), (std::vector<NodeId>{1, 3, 0, 0, 2}));
    EXPECT_FALSE(file.graph.has_edge_ids());
    EXPECT_FALSE(file.values);
  }
}

TEST_F(csr_files, a_graph_without_nodes_is_read) {
  put(file_, csr_bytes({0, 0, 0}, {0}));
  EXPECT_EQ(read_graph(file_).graph.num_rows(), 0);
}

TEST_F(csr_files, a_size_that_does_not_match_the_counts_is_named) {
  put(file_, csr_bytes({3, 4, 5}, {0, 2, 2, 5, 1, 3, 0, 0}));
  expect_unreadable(file_, ErrorCode::invalid_file, {"3 rows", "5 edges", "60 bytes", "56"});
  put(file_, csr_bytes({3, 4}, {}));
  expect_unreadable(file_, ErrorCode::invalid_file, {"16 bytes", "24"});
  put(file_, csr_bytes({std::int64_t{1} << 40, 4, 5}, {0}));
  expect_unreadable(file_, ErrorCode::invalid_file, {"1099511627776 rows"});
  put(file_, csr_bytes({3, -4, 5}, {0}));
  expect_unreadable(file_, ErrorCode::invalid_file, {"-4 columns"});
}

TEST_F(csr_files, wrong_offsets_and_columns_are_named) {
  put(file_, csr_bytes({3, 4, 5}, {0, 2, 1, 5, 1, 3, 0, 0, 2}));
  expect_unreadable(file_, ErrorCode::invalid_file, {"offsets[2]"});
  put(file_, csr_bytes({3, 4, 5}, {0, 2, 2, 6, 1, 3, 0, 0, 2}));
  expect_unreadable(file_, ErrorCode::invalid_file, {"offsets[3]", "6", "5"});
  put(file_, csr_bytes({3, 4, 5}, {0, 2, 2, 5, 1, 4, 0, 0, 2}));
  expect_unreadable(file_, ErrorCode::invalid_file, {"cols[1]", "4"});
}

}  // namespace
}  // namespace weft::test
