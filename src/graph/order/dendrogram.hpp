// Communities within communities, and the order of nodes that follows from them.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/tensor.hpp"
#include "weft/types.hpp"

namespace weft {

class Dendrogram {
 public:
  explicit Dendrogram(std::int64_t leaves) : leaves_(leaves) {}
  /// parents[i]: the community, of `count`, that community i of the level before (leaf i of the first) is in.
  void add_level(std::vector<NodeId> parents, std::int64_t count);

  /// i32 [leaves]: leaves by community down from the last level; larger communities first, leaves in sequence.
  Tensor order() const;
  /// i32 [leaves]: the community of the last level; without any, the leaf itself.
  Tensor communities() const;

 private:
  struct Level {
    std::vector<NodeId> parents;
    std::vector<NodeId> sizes;  // [communities] leaves
  };
  std::int64_t leaves_;
  std::vector<Level> levels_;
};

}  // namespace weft
