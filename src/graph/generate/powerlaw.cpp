// In-degrees from a power law; each row's sources are drawn by degree, a set share of them from the
// row's own community, without repeats.
#include <algorithm>
#include <bit>
#include <vector>

#include "graph/generate/assemble.hpp"
#include "graph/generate/degrees.hpp"
#include "graph/generate/limits.hpp"
#include "graph/generate/powerlaw.hpp"
#include "graph/generate/random.hpp"

namespace weft {
namespace generator {
namespace {

// Communities are ranges of nodes as even as they can be; ids are shuffled later, if at all.
struct Communities {
  std::int64_t nodes, count;
  std::int64_t begin(std::int64_t c) const { return nodes / count * c + std::min(c, nodes % count); }
  std::int64_t of(std::int64_t node) const {
    const std::int64_t size = nodes / count, larger = nodes % count;  // the first `larger` have one node more
    return node < larger * (size + 1) ? node / (size + 1) : larger + (node - larger * (size + 1)) / size;
  }
};

// Finds the node that owns a unit of mass, node i owning degree(i) + 1 of them: nodes without edges
// of their own can be sources too. A guide table of about one entry a node replaces most of the search.
class Mass {
 public:
  explicit Mass(const Buffer<NodeId>& degrees) : before_(degrees.size() + 1, "source weights") {
    before_[0] = 0;
    for (std::size_t i = 0; i < degrees.size(); ++i) before_[i + 1] = before_[i] + degrees[i] + 1;
    const std::uint64_t total = before_[degrees.size()];
    shift_ = std::bit_width(total / degrees.size());
    guide_ = Buffer<NodeId>((total >> shift_) + 1, "source guide table");
    std::uint64_t entry = 0;
    for (std::size_t i = 0; i < degrees.size(); ++i)
      for (; entry << shift_ < before_[i + 1]; ++entry) guide_[entry] = static_cast<NodeId>(i);
  }
  std::uint64_t before(std::int64_t node) const { return before_[node]; }
  std::int64_t owner(std::uint64_t unit) const {
    std::int64_t node = guide_[unit >> shift_];
    while (before_[node + 1] <= unit) ++node;
    return node;
  }

 private:
  Buffer<std::uint64_t> before_;
  Buffer<NodeId> guide_;
  int shift_ = 0;
};

// The sources of one row while they are collected: a bit for every id, and the ids taken.
class Picked {
 public:
  Picked(std::int64_t nodes, std::int64_t max_degree)
      : bits_((nodes + 63) / 64, "source bits"), ids_(max_degree, "sources of a row") {
    std::fill(bits_.begin(), bits_.end(), std::uint64_t{0});
  }
  void begin(NodeId self) {
    self_ = self;
    size_ = 0;
  }
  std::int64_t size() const { return size_; }
  void add(NodeId id) {
    std::uint64_t& word = bits_[id >> 6];
    const std::uint64_t bit = std::uint64_t{1} << (id & 63);
    if (id == self_ || (word & bit) != 0) return;
    word |= bit;
    ids_[size_++] = id;
  }
  /// Writes the ids in ascending order and forgets them. Long rows are read off the bits, which is
  /// faster than sorting from about one id in eight words.
  void drain(NodeId* out) {
    if (static_cast<std::size_t>(size_) * 8 > bits_.size()) {
      for (std::size_t w = 0; w < bits_.size(); ++w) {
        for (std::uint64_t word = bits_[w]; word != 0; word &= word - 1)
          *out++ = static_cast<NodeId>(w * 64 + std::countr_zero(word));
        bits_[w] = 0;
      }
    } else {
      for (std::int64_t k = 0; k < size_; ++k) bits_[ids_[k] >> 6] = 0;
      std::sort(ids_.begin(), ids_.begin() + size_);
      std::copy_n(ids_.begin(), size_, out);
    }
  }

 private:
  Buffer<std::uint64_t> bits_;
  Buffer<NodeId> ids_;
  std::int64_t size_ = 0;
  NodeId self_ = -1;
};

class Wiring {
 public:
  Wiring(const PowerlawSpec& spec, const Buffer<NodeId>& degrees, const Buffer<NodeId>& ids)
      : seed_(spec.seed),
        inside_(static_cast<std::uint64_t>(spec.inside * 0x1p32)),
        communities_{spec.nodes, std::max<std::int64_t>(spec.communities, 1)},
        degrees_(degrees),
        ids_(ids),
        mass_(degrees) {}

  void collect(std::int64_t node, Picked& picked) const {
    Random random(seed_, Stream::sources, node);
    const std::int64_t nodes = communities_.nodes, degree = degrees_[node], community = communities_.of(node);
    const std::int64_t begin = communities_.begin(community), end = communities_.begin(community + 1);
    std::int64_t inside = degree;
    if (communities_.count > 1)  // the share, rounded up or down at random
      inside = static_cast<std::int64_t>((static_cast<std::uint64_t>(degree) * inside_ + (random.next() >> 32)) >> 32);
    inside = std::min(inside, end - begin - 1);
    picked.begin(id(node));
    // Mass of the row's community, and of everything else by stepping over it.
    const std::uint64_t first = mass_.before(begin), own = mass_.before(end) - first, all = mass_.before(nodes);
    draw(random, picked, inside, own, [&](std::uint64_t unit) { return first + unit; });
    scan(random, picked, inside, begin, end);
    if (own < all) {
      draw(random, picked, degree, all - own, [&](std::uint64_t unit) { return unit < first ? unit : unit + own; });
      scan(random, picked, degree, end, nodes + begin);
    }
    scan(random, picked, degree, 0, nodes);
  }
  NodeId id(std::int64_t node) const { return ids_.empty() ? static_cast<NodeId>(node) : ids_[node]; }

 private:
  // Draws by mass until `want` are picked; rows that want most of what there is are left to scan.
  template <class Place>
  void draw(Random& random, Picked& picked, std::int64_t want, std::uint64_t units, Place&& place) const {
    for (std::int64_t tries = 4 * (want - picked.size()) + 16; picked.size() < want && tries > 0; --tries)
      picked.add(id(mass_.owner(place(random.below(units)))));
  }
  // Takes whatever is free in [begin, end), counted round the end of the nodes, from a random start.
  void scan(Random& random, Picked& picked, std::int64_t want, std::int64_t begin, std::int64_t end) const {
    if (picked.size() >= want) return;
    const std::int64_t size = end - begin, start = static_cast<std::int64_t>(random.below(size));
    for (std::int64_t k = 0; k < size && picked.size() < want; ++k)
      picked.add(id((begin + (start + k) % size) % communities_.nodes));
  }

  std::uint64_t seed_, inside_;  // inside_ of 2^32
  Communities communities_;
  const Buffer<NodeId>& degrees_;
  const Buffer<NodeId>& ids_;
  Mass mass_;
};

Buffer<NodeId> shuffled_ids(std::int64_t nodes, std::uint64_t seed) {
  const Permutation shuffle(nodes, seed, Stream::ids);
  Buffer<NodeId> ids(nodes, "shuffled ids");
  parallel_ranges(default_threads(), nodes, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ids[i] = static_cast<NodeId>(shuffle(i));
  });
  return ids;
}

}  // namespace

PowerlawSpec resolved(const PowerlawSpec& spec) {
  check_nodes("powerlaw", spec.nodes);
  check_edges("powerlaw", spec.edges, spec.nodes);
  WEFT_CHECK(spec.exponent > 1 && spec.exponent <= 100, invalid_argument,
             "powerlaw: exponent={} is out of range: expected more than 1, up to 100", spec.exponent);
  WEFT_CHECK(spec.communities >= 0 && spec.communities <= spec.nodes, invalid_argument,
             "powerlaw: communities={} is out of range: expected 0 (none) to the {} nodes", spec.communities,
             spec.nodes);
  check_share("powerlaw", "inside", spec.inside);
  const std::int64_t most = spec.nodes - 1;
  WEFT_CHECK(spec.max_degree == 0 || (spec.max_degree >= 1 && spec.max_degree <= static_cast<double>(most)),
             invalid_argument, "powerlaw: max_degree={} is out of range: expected 1 to {}, or 0 for a default",
             spec.max_degree, most);
  PowerlawSpec full = spec;
  auto cap = static_cast<std::int64_t>(spec.max_degree);
  if (cap == 0) cap = std::min(most, std::max(spec.nodes * 8 / 100, spec.edges / spec.nodes * 4 + 4));
  WEFT_CHECK(spec.edges <= spec.nodes * cap, invalid_argument,
             "powerlaw: max_degree={} leaves room for {} edges, but edges={}: raise max_degree or lower edges", cap,
             spec.nodes * cap, spec.edges);
  full.max_degree = static_cast<double>(cap);
  return full;
}

}  // namespace generator

Graph generate(const PowerlawSpec& asked, const Progress& progress) {
  using namespace generator;
  const PowerlawSpec spec = resolved(asked);
  const Buffer<NodeId> degrees =
      powerlaw_degrees(spec.nodes, spec.edges, spec.exponent, static_cast<std::int64_t>(spec.max_degree), spec.seed);
  const Buffer<NodeId> ids = spec.shuffled ? shuffled_ids(spec.nodes, spec.seed) : Buffer<NodeId>();
  const Wiring wiring(spec, degrees, ids);

  Buffer<EdgeId> offsets = zero_offsets(spec.nodes);
  for (std::int64_t i = 0; i < spec.nodes; ++i) offsets[wiring.id(i) + 1] = degrees[i];
  counts_to_offsets({offsets.data(), offsets.size()});
  Buffer<NodeId> cols(offsets[spec.nodes], "a generated graph's columns");

  const int threads = default_threads();
  std::vector<Picked> scratch;
  for (int t = 0; t < threads; ++t) scratch.emplace_back(spec.nodes, static_cast<std::int64_t>(spec.max_degree));
  Ticker ticker(progress, spec.edges);
  constexpr std::int64_t rows = 64;  // a task: hub rows take long, so tasks are small
  parallel_tasks(threads, (spec.nodes + rows - 1) / rows, [&](std::int64_t task, int thread) {
    Picked& picked = scratch[thread];
    const std::int64_t end = std::min(spec.nodes, (task + 1) * rows);
    std::int64_t edges = 0;
    for (std::int64_t i = task * rows; i < end; ++i) {
      wiring.collect(i, picked);
      picked.drain(cols.data() + offsets[wiring.id(i)]);
      edges += picked.size();
    }
    ticker.add(edges);
  });
  ticker.end();
  return own_graph(std::move(offsets), std::move(cols));
}

}  // namespace weft
