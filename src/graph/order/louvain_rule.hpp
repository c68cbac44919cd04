// When a node moves to another community: what Louvain's method decides, in whole numbers, so that every device decides
// the same. Weights of edges are counts; the strength of a node is the sum of its edges' weights, that of a community
// the sum of its nodes', and `total` the sum of all (2m).
#pragma once

#include <cstdint>

#include "core/anywhere.hpp"
#include "weft/types.hpp"

namespace weft::louvain {

__extension__ using Wide = __int128;  // products of two sums of weights

/// Nodes decide in turns, a bucket at a time, so that few neighbours decide at once: with all at once, nodes swap
/// places for ever. More buckets come closer to one node after the other, and take more launches.
inline constexpr int buckets = 16;

WEFT_ANYWHERE constexpr int bucket_of(std::int64_t node) {
  return static_cast<int>((static_cast<std::uint32_t>(node) * 2654435761u) >> 28);
}
static_assert(buckets == 1 << 4);

/// A community that a node could belong to.
struct Offer {
  Wide score;
  NodeId community;
};

/// What modularity gains by the node's being there, times 2m^2, but for terms that are the same for all communities.
/// `into`: weight of its edges to the community; `others`: strength of the community without the node.
WEFT_ANYWHERE constexpr Offer offer(NodeId community, std::int64_t into, std::int64_t others, std::int64_t strength,
                                    std::int64_t total) {
  return {static_cast<Wide>(total) * into - static_cast<Wide>(strength) * others, community};
}

/// Equal ones go to the community the node is in, then to the smallest number.
WEFT_ANYWHERE constexpr bool better(const Offer& a, const Offer& b, NodeId own) {
  if (a.score != b.score) return a.score > b.score;
  if (a.community == own || b.community == own) return a.community == own && b.community != own;
  return a.community < b.community;
}

/// Two nodes that are alone must not change places.
WEFT_ANYWHERE constexpr bool may_move(NodeId from, NodeId to, std::int32_t members_from, std::int32_t members_to) {
  return members_from > 1 || members_to > 1 || to < from;
}

}  // namespace weft::louvain
