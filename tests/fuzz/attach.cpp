// A file about the nodes of a graph: WEFT_FUZZED says which part of a dataset it is.
#include <string>
#include <vector>

#include "fuzzed.hpp"
#include "graph/dataset/tensor_of.hpp"
#include "scratch.hpp"

namespace {

using namespace weft;

/// Nodes that are called 0 to 3; by ids of their own; by names.
std::vector<Dataset> small_graphs() {
  std::vector<Dataset> graphs(3);
  for (Dataset& each : graphs)
    each.graph = Graph::from_edges(
        4, {.sources = std::vector<NodeId>{0, 1, 2, 0}, .destinations = std::vector<NodeId>{1, 2, 3, 0}});
  graphs[1].node_ids = io::tensor_of(std::vector<std::int64_t>{2, 7, 10, 4'000'000'000}, "ids of nodes");
  graphs[2].node_names = io::names_of(std::vector<std::string>{"ann", "bob", "St. Ives", "7"});
  return graphs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const test::Scratch folder;
  folder.put("part", std::as_bytes(std::span(data, size)));
  DatasetParts parts;
  parts.WEFT_FUZZED = folder.path() + "/part";
  for (Dataset& graph : small_graphs())
    test::expect_an_answer(4 * size, [&] {
      attach(graph, parts);
      return std::move(graph);
    });
  return 0;
}
