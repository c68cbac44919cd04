// W. W. Zachary, An Information Flow Model for Conflict and Fission in Small Groups, Journal of Anthropological
// Research 33 (1977), 452-473: who was friends with whom in a karate club before it split in two, and which of the two
// clubs each member was in afterwards. Nodes are the paper's individuals, counted from 0.
#include <array>
#include <cstdint>
#include <vector>

#include "core/check.hpp"
#include "graph/dataset/builtin.hpp"

namespace weft::builtin {
namespace {

constexpr std::int64_t members = 34;
constexpr NodeId instructor = 0, officer = 33;

struct Friends {
  NodeId a, b;
};
// clang-format off
constexpr auto friendships = std::to_array<Friends>({
    {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}, {0, 7}, {0, 8}, {0, 10}, {0, 11}, {0, 12}, {0, 13}, {0, 17},
    {0, 19}, {0, 21}, {0, 31}, {1, 2}, {1, 3}, {1, 7}, {1, 13}, {1, 17}, {1, 19}, {1, 21}, {1, 30}, {2, 3}, {2, 7},
    {2, 8}, {2, 9}, {2, 13}, {2, 27}, {2, 28}, {2, 32}, {3, 7}, {3, 12}, {3, 13}, {4, 6}, {4, 10}, {5, 6}, {5, 10},
    {5, 16}, {6, 16}, {8, 30}, {8, 32}, {8, 33}, {9, 33}, {13, 33}, {14, 32}, {14, 33}, {15, 32}, {15, 33},
    {18, 32}, {18, 33}, {19, 33}, {20, 32}, {20, 33}, {22, 32}, {22, 33}, {23, 25}, {23, 27}, {23, 29}, {23, 32},
    {23, 33}, {24, 25}, {24, 27}, {24, 31}, {25, 31}, {26, 29}, {26, 33}, {27, 33}, {28, 31}, {28, 33}, {29, 32},
    {29, 33}, {30, 32}, {30, 33}, {31, 32}, {31, 33}, {32, 33}});
// clang-format on
constexpr auto with_the_instructor = std::to_array<NodeId>({0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21});

Graph club() {
  std::vector<NodeId> rows, cols;
  for (const auto& [a, b] : friendships) {
    rows.insert(rows.end(), {a, b});
    cols.insert(cols.end(), {b, a});
  }
  const Graph listed = Graph::from_edges(members, {.sources = cols, .destinations = rows});
  return Graph::from_csr(members, members, listed.offsets(), listed.cols());  // ids in stored order
}

Tensor nodes(std::initializer_list<NodeId> list) {
  Tensor tensor = Tensor::empty(Shape(static_cast<std::int64_t>(list.size())), Dtype::i32, "nodes of a split");
  std::ranges::copy(list, tensor.span<NodeId>().begin());
  return tensor;
}

}  // namespace

Dataset karate(std::string_view given, const ReadOptions& options) {
  WEFT_CHECK(given.empty(), invalid_argument, "karate: '{}' is not valid: expected nothing, it has no options", given);
  Dataset data;
  data.graph = club();
  data.source = "Zachary 1977, built in";
  data.note =
      "Zachary's karate club; labels are the factions after the split, trained on their leaders alone (nodes 0 and 33) "
      "and tested on all others";
  if (options.graph_only) return data;
  data.labels = Tensor::empty(Shape(members), Dtype::i32, "labels");
  std::ranges::fill(data.labels.span<std::int32_t>(), 1);
  for (const NodeId member : with_the_instructor)
    data.labels.span<std::int32_t>()[static_cast<std::size_t>(member)] = 0;
  data.classes = 2;
  data.train = nodes({instructor, officer});
  data.test = Tensor::empty(Shape(members - 2), Dtype::i32, "nodes of a split");
  NodeId member = instructor;
  for (std::int32_t& node : data.test.span<std::int32_t>()) node = ++member;
  return data;
}

std::string karate_form() { return "karate"; }

}  // namespace weft::builtin
