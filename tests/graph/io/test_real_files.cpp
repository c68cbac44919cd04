// Matrix Market files as the world publishes them. The numbers were counted with awk from the files.
#include <utility>

#include "graph/io/files.hpp"

namespace weft::test {
namespace {

std::string shared(const char* name) { return std::string(WEFT_SHARED_DATA "/graphs/") + name; }

#define WEFT_NEEDS(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the shared data folder lacks " << path

std::int64_t self_loops(const Graph& graph) {
  const GraphView view = graph.view_with_rows();
  std::int64_t count = 0;
  for (EdgeId k = 0; k < view.num_edges; ++k) count += view.rows[k] == view.cols[k];
  return count;
}

void expect_symmetric(const Graph& graph) {
  const Graph reversed = graph.transpose();
  EXPECT_EQ(list(reversed.offsets()), list(graph.offsets()));
  EXPECT_EQ(list(reversed.cols()), list(graph.cols()));
}

TEST(real_files, pubmed_has_its_88648_citations_and_3_self_loops) {
  const std::string path = shared("pubmed.mtx");
  WEFT_NEEDS(path);
  const GraphFile file = read_graph(path);
  EXPECT_EQ(file.name, "pubmed");
  EXPECT_EQ(file.graph.num_rows(), 19717);
  EXPECT_EQ(file.graph.num_cols(), 19717);
  EXPECT_EQ(self_loops(file.graph), 3);
  EXPECT_EQ(file.graph.num_edges(), 88648 + 3);
  expect_symmetric(file.graph);
  ASSERT_EQ(file.values.dtype(), Dtype::f32);
  for (const float value : std::as_const(file.values).span<float>()) ASSERT_EQ(value, 1.0f);
}

TEST(real_files, ca_condmat_has_23133_authors) {
  const std::string path = shared("ca-CondMat.mtx");
  WEFT_NEEDS(path);
  const GraphFile file = read_graph(path);
  EXPECT_EQ(file.name, "ca-CondMat");
  EXPECT_EQ(file.graph.num_rows(), 23133);
  EXPECT_EQ(file.graph.num_edges(), 2 * (93497 - 58) + 58);
  EXPECT_EQ(self_loops(file.graph), 58);
  EXPECT_FALSE(file.values);
  expect_symmetric(file.graph);
}

TEST(real_files, come_back_from_every_format) {
  const TempFolder folder;
  for (const char* name : {"pubmed.mtx", "ca-CondMat.mtx"}) {
    const std::string path = shared(name);
    WEFT_NEEDS(path);
    const GraphFile file = read_graph(path);
    for (const char* copy : {"g.weft", "g.npz", "g.mtx", "g.mtx.gz"}) {
      SCOPED_TRACE(copy);
      write_graph(folder / copy, file.graph, file.values);
      const GraphFile back = read_graph(folder / copy);
      EXPECT_EQ(list(back.graph.offsets()), list(file.graph.offsets()));
      EXPECT_EQ(list(back.graph.cols()), list(file.graph.cols()));
      if (file.values) {
        EXPECT_EQ(stored_values(back.graph, back.values), stored_values(file.graph, file.values));
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
