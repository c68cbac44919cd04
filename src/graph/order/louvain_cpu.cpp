#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>

#include "core/memory.hpp"
#include "core/parallel.hpp"
#include "graph/counting_sort.hpp"
#include "graph/order/louvain_level.hpp"
#include "graph/order/placed.hpp"
#include "graph/scan.hpp"

namespace weft::louvain {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Weights added up by community, of few communities at a time: a hash table that empties in the time it was filled in.
class SumsByCommunity {
 public:
  struct Entry {
    NodeId community;
    std::int64_t sum;
  };

  /// Empties it, for at most so many communities.
  void begin(std::int64_t most) {
    for (const std::size_t slot : used_) slots_[slot] = -1;
    used_.clear();
    entries_.clear();
    if (2 * most > std::ssize(slots_)) slots_.assign(std::bit_ceil(at(2 * most)), -1);
  }
  void add(NodeId community, std::int64_t weight) {
    const std::size_t slot = slot_of(community);
    if (slots_[slot] >= 0) {
      entries_[at(slots_[slot])].sum += weight;
      return;
    }
    slots_[slot] = static_cast<std::int32_t>(entries_.size());
    used_.push_back(slot);
    entries_.push_back({community, weight});
  }
  const std::vector<Entry>& entries() const { return entries_; }
  /// Of a community that has been added to.
  std::int64_t sum_of(NodeId community) const { return entries_[at(slots_[slot_of(community)])].sum; }

 private:
  /// Where the community is, or belongs.
  std::size_t slot_of(NodeId community) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = (static_cast<std::uint32_t>(community) * 2654435761u) & mask;
    while (slots_[slot] >= 0 && entries_[at(slots_[slot])].community != community) slot = (slot + 1) & mask;
    return slot;
  }
  std::vector<std::int32_t> slots_ = std::vector<std::int32_t>(64, -1);
  std::vector<std::size_t> used_;
  std::vector<Entry> entries_;
};

/// Compressed rows, with a weight per edge but for graphs as they are given, where each counts 1.
struct Adjacency {
  std::int64_t nodes = 0;
  std::span<const EdgeId> offsets;
  std::span<const NodeId> cols;
  std::vector<std::int64_t> weights;
  std::shared_ptr<const void> keeper;  // of offsets and columns

  std::int64_t degree(std::int64_t v) const { return offsets[at(v) + 1] - offsets[at(v)]; }
  std::int64_t weight(EdgeId k) const { return weights.empty() ? 1 : weights[at(k)]; }
};

class CpuLevel final : public Level {
 public:
  CpuLevel(Adjacency graph, int threads) : graph_(std::move(graph)), threads_(threads) {
    const std::size_t n = at(graph_.nodes);
    community_.resize(n);
    std::iota(community_.begin(), community_.end(), NodeId{0});
    wish_ = community_;
    members_.assign(n, 1);
    changed_.assign(n, 0);
    strength_.resize(n);
    each_node([&](std::int64_t v) {
      std::int64_t sum = graph_.weights.empty() ? graph_.degree(v) : 0;
      if (!graph_.weights.empty())
        for (EdgeId k = graph_.offsets[at(v)]; k < graph_.offsets[at(v) + 1]; ++k) sum += graph_.weight(k);
      strength_[at(v)] = sum;
    });
    community_strength_ = strength_;
    total_ = std::accumulate(strength_.begin(), strength_.end(), std::int64_t{0});
    for (std::int64_t v = 0; v < graph_.nodes; ++v) in_bucket_[at(bucket_of(v))].push_back(static_cast<NodeId>(v));
  }

  std::int64_t nodes() const override { return graph_.nodes; }
  std::int64_t total() const override { return total_; }

  Wide modularity() override {
    std::int64_t inside = 0;
    Wide squares = 0;
    for (std::int64_t v = 0; v < graph_.nodes; ++v) {
      for (EdgeId k = graph_.offsets[at(v)]; k < graph_.offsets[at(v) + 1]; ++k)
        if (graph_.cols[at(k)] == v) inside += graph_.weight(k);
      squares += static_cast<Wide>(strength_[at(v)]) * strength_[at(v)];
    }
    return static_cast<Wide>(total_) * inside - squares;
  }

  std::int64_t move_nodes() override {
    std::int64_t moved = 0;
    for (const std::vector<NodeId>& bucket : in_bucket_) {
      by_chunks(bucket, [&](SumsByCommunity& sums, NodeId v) { wish_[at(v)] = decide(sums, v); });
      std::atomic<std::int64_t> count{0};
      by_chunks(bucket, [&](SumsByCommunity&, NodeId v) {
        if (wish_[at(v)] == community_[at(v)]) return;
        move(v, wish_[at(v)]);
        count.fetch_add(1, std::memory_order_relaxed);
      });
      moved += count.load();
      ++now_;
    }
    return moved;
  }

  std::vector<NodeId> number_communities(std::int64_t& count) override {
    std::vector<NodeId> number(at(graph_.nodes), 0);
    count = 0;
    for (std::size_t c = 0; c < number.size(); ++c)
      if (members_[c] > 0) number[c] = static_cast<NodeId>(count++);
    each_node([&](std::int64_t v) { community_[at(v)] = number[at(community_[at(v)])]; });
    communities_ = count;
    return community_;
  }

  std::unique_ptr<Level> contract() override {
    struct Arrays {
      std::vector<EdgeId> offsets;
      std::vector<NodeId> cols;
    };
    std::vector<EdgeId> starts(at(communities_) + 1, 0), filled;
    for (const NodeId c : community_) ++starts[at(c) + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<NodeId> by_community(at(graph_.nodes));
    filled = starts;
    for (std::int64_t v = 0; v < graph_.nodes; ++v)
      by_community[at(filled[at(community_[at(v)])]++)] = static_cast<NodeId>(v);

    const std::int64_t pieces = std::clamp<std::int64_t>(communities_ / 64, 1, std::int64_t{threads_} * 32);
    const auto border = [&](std::int64_t i) { return communities_ * i / pieces; };
    std::vector<Rows> parts(at(pieces));
    std::vector<SumsByCommunity> sums(at(threads_));
    parallel_tasks(threads_, pieces, [&](std::int64_t piece, int thread) {
      for (std::int64_t c = border(piece); c < border(piece + 1); ++c) {
        const std::span members(by_community.begin() + starts[at(c)], by_community.begin() + starts[at(c) + 1]);
        append_row(sums[at(thread)], members, parts[at(piece)]);
      }
    });

    auto arrays = std::make_shared<Arrays>();
    Adjacency contracted;
    arrays->offsets.push_back(0);
    for (Rows& part : parts) {
      for (const std::int64_t length : part.lengths) arrays->offsets.push_back(arrays->offsets.back() + length);
      arrays->cols.insert(arrays->cols.end(), part.cols.begin(), part.cols.end());
      contracted.weights.insert(contracted.weights.end(), part.weights.begin(), part.weights.end());
      part = {};
    }
    contracted.nodes = communities_;
    contracted.offsets = arrays->offsets;
    contracted.cols = arrays->cols;
    contracted.keeper = std::move(arrays);
    return std::make_unique<CpuLevel>(std::move(contracted), threads_);
  }

 private:
  /// Some rows of the graph of communities.
  struct Rows {
    std::vector<NodeId> cols;
    std::vector<std::int64_t> weights, lengths;
  };

  template <class F>
  void each_node(const F& f) {
    parallel_ranges(threads_, graph_.nodes, scan_grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t v = begin; v < end; ++v) f(v);
    });
  }

  template <class F>
  void by_chunks(const std::vector<NodeId>& bucket, const F& f) {
    constexpr std::int64_t chunk = 256;  // nodes
    const std::int64_t count = std::ssize(bucket);
    sums_.resize(at(threads_));
    parallel_tasks(threads_, (count + chunk - 1) / chunk, [&](std::int64_t task, int thread) {
      for (std::int64_t i = task * chunk; i < std::min(count, (task + 1) * chunk); ++i)
        f(sums_[at(thread)], bucket[at(i)]);
    });
  }

  NodeId decide(SumsByCommunity& sums, NodeId v) const {
    const NodeId own = community_[at(v)];
    if (changed_[at(v)] < now_ - buckets) return own;
    sums.begin(graph_.degree(v));
    for (EdgeId k = graph_.offsets[at(v)]; k < graph_.offsets[at(v) + 1]; ++k)
      if (const NodeId u = graph_.cols[at(k)]; u != v) sums.add(community_[at(u)], graph_.weight(k));
    const std::int64_t strength = strength_[at(v)];
    Offer best = offer(own, 0, community_strength_[at(own)] - strength, strength, total_);
    for (const auto& [community, into] : sums.entries()) {
      const std::int64_t others = community_strength_[at(community)] - (community == own ? strength : 0);
      const Offer next = offer(community, into, others, strength, total_);
      if (better(next, best, own)) best = next;
    }
    return may_move(own, best.community, members_[at(own)], members_[at(best.community)]) ? best.community : own;
  }

  void move(NodeId v, NodeId to) {
    const NodeId from = community_[at(v)];
    const auto add = [](auto& value, auto amount) {
      std::atomic_ref(value).fetch_add(amount, std::memory_order_relaxed);
    };
    add(community_strength_[at(from)], -strength_[at(v)]);
    add(community_strength_[at(to)], strength_[at(v)]);
    add(members_[at(from)], -1);
    add(members_[at(to)], 1);
    community_[at(v)] = to;
    for (EdgeId k = graph_.offsets[at(v)]; k < graph_.offsets[at(v) + 1]; ++k)
      std::atomic_ref(changed_[at(graph_.cols[at(k)])]).store(now_, std::memory_order_relaxed);
  }

  /// A row of the graph of communities: the edges of all members, united, by column.
  void append_row(SumsByCommunity& sums, std::span<const NodeId> members, Rows& rows) const {
    std::int64_t edges = 0;
    for (const NodeId v : members) edges += graph_.degree(v);
    sums.begin(std::min(edges, communities_));
    for (const NodeId v : members)
      for (EdgeId k = graph_.offsets[at(v)]; k < graph_.offsets[at(v) + 1]; ++k)
        sums.add(community_[at(graph_.cols[at(k)])], graph_.weight(k));
    rows.lengths.push_back(std::ssize(sums.entries()));
    const auto first = std::ssize(rows.cols);
    for (const auto& entry : sums.entries()) rows.cols.push_back(entry.community);
    std::sort(rows.cols.begin() + first, rows.cols.end());
    for (std::int64_t i = first; i < std::ssize(rows.cols); ++i) rows.weights.push_back(sums.sum_of(rows.cols[at(i)]));
  }

  Adjacency graph_;
  int threads_;
  std::int64_t total_ = 0, communities_ = 0;
  std::vector<NodeId> community_, wish_;
  std::vector<std::int64_t> strength_, community_strength_;
  std::vector<std::int32_t> members_;  // of communities
  std::vector<std::int32_t> changed_;  // when a neighbour last moved, in buckets that have decided
  std::int32_t now_ = 0;
  std::vector<NodeId> in_bucket_[buckets];
  std::vector<SumsByCommunity> sums_;  // one per thread
};

}  // namespace

std::unique_ptr<Level> first_level_on_cpu(const Graph& graph, int threads) {
  const Graph host = placed_on(graph, Device{});
  const GraphView view = host.host_view();
  auto reversed = std::make_shared<EdgeArrays>(reverse_edges(view));
  Adjacency first;
  first.nodes = view.num_rows;
  if (std::ranges::equal(host.offsets(), reversed->offsets) && std::ranges::equal(host.cols(), reversed->nodes)) {
    first.offsets = {reversed->offsets.data(), reversed->offsets.size()};
    first.cols = {reversed->nodes.data(), reversed->nodes.size()};
    first.keeper = std::move(reversed);
    return std::make_unique<CpuLevel>(std::move(first), threads);
  }
  // Both directions, one behind the other in every row.
  struct Arrays {
    Buffer<EdgeId> offsets;
    Buffer<NodeId> cols;
  };
  auto both = std::make_shared<Arrays>();
  both->offsets = Buffer<EdgeId>(at(view.num_rows) + 1, "offsets of a graph without directions");
  both->cols = Buffer<NodeId>(2 * at(view.num_edges), "columns of a graph without directions");
  for (std::size_t v = 0; v <= at(view.num_rows); ++v) both->offsets[v] = view.offsets[v] + reversed->offsets[v];
  parallel_ranges(threads, view.num_rows, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      NodeId* const out = std::copy(view.cols + view.offsets[v], view.cols + view.offsets[v + 1],
                                    both->cols.data() + both->offsets[at(v)]);
      std::copy(reversed->nodes.data() + reversed->offsets[at(v)],
                reversed->nodes.data() + reversed->offsets[at(v) + 1], out);
    }
  });
  first.offsets = {both->offsets.data(), both->offsets.size()};
  first.cols = {both->cols.data(), both->cols.size()};
  first.keeper = std::move(both);
  return std::make_unique<CpuLevel>(std::move(first), threads);
}

}  // namespace weft::louvain
