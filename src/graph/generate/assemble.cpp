#include "graph/generate/assemble.hpp"

#include <bit>

#include "graph/graph_impl.hpp"

namespace weft::generator {

Buffer<EdgeId> zero_offsets(std::int64_t rows) {
  Buffer<EdgeId> offsets(rows + 1, "a generated graph's offsets");
  std::fill(offsets.begin(), offsets.end(), EdgeId{0});
  return offsets;
}

Graph own_graph(Buffer<EdgeId> offsets, Buffer<NodeId> cols) {
  const std::int64_t nodes = static_cast<std::int64_t>(offsets.size()) - 1;
  return own(nodes, nodes, {std::move(offsets), std::move(cols), {}});
}

EdgeBuckets::EdgeBuckets(std::int64_t nodes, std::int64_t pieces) : nodes_(nodes), pieces_(pieces) {
  shift_ = std::max(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(nodes))) - 9);  // at most 512 buckets
  buckets_ = ((nodes - 1) >> shift_) + 1;
  next_ = Buffer<std::int64_t>(pieces * buckets_, "bucket counts");
  std::fill(next_.begin(), next_.end(), 0);
}

void EdgeBuckets::allocate() {
  begin_ = Buffer<std::int64_t>(buckets_ + 1, "bucket offsets");
  std::int64_t total = 0;
  for (std::int64_t b = 0; b < buckets_; ++b) {
    begin_[b] = total;
    for (std::int64_t p = 0; p < pieces_; ++p) total += std::exchange(next_[p * buckets_ + b], total);
  }
  begin_[buckets_] = total;
  edges_ = Buffer<Edge>(total, "drawn edges");
}

Graph EdgeBuckets::finish(Ticker& ticker) {
  const int threads = default_threads();
  Buffer<EdgeId> offsets = zero_offsets(nodes_);
  Buffer<NodeId> sorted(edges_.size(), "a generated graph's columns");
  Buffer<EdgeId> starts(nodes_, "a generated graph's row starts");
  parallel_tasks(threads, buckets_, [&](std::int64_t b, int) {
    const std::int64_t first = b << shift_, last = std::min(nodes_, (b + 1) << shift_);
    const Edge* begin = edges_.data() + begin_[b];
    const Edge* end = edges_.data() + begin_[b + 1];
    EdgeId* length = offsets.data() + 1;
    for (const Edge* e = begin; e != end; ++e) ++length[e->row];
    EdgeId at = begin_[b];
    for (std::int64_t i = first; i < last; ++i) at += std::exchange(length[i], starts[i] = at);
    for (const Edge* e = begin; e != end; ++e) sorted[length[e->row]++] = e->col;
    for (std::int64_t i = first; i < last; ++i) {
      NodeId* from = sorted.data() + starts[i];
      NodeId* to = sorted.data() + length[i];
      std::sort(from, to);
      length[i] = std::unique(from, to) - from;
    }
    ticker.add(end - begin);
  });
  edges_ = {};
  const EdgeId kept = counts_to_offsets({offsets.data(), offsets.size()});
  if (kept == static_cast<EdgeId>(sorted.size())) return own_graph(std::move(offsets), std::move(sorted));
  Buffer<NodeId> cols(kept, "a generated graph's columns");
  parallel_row_ranges(offsets.data(), nodes_, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      std::copy_n(sorted.data() + starts[i], offsets[i + 1] - offsets[i], cols.data() + offsets[i]);
  });
  return own_graph(std::move(offsets), std::move(cols));
}

}  // namespace weft::generator
