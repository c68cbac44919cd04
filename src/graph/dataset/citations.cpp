// A citation graph with planted fields, made from a seed. One paper's words hardly tell its field; those of the papers
// around it do. So a model that looks at neighbours must beat one that does not, as on the real ones, and both
// accuracies can be had without a file. Only whole numbers are drawn: the same data on every machine, with any number
// of threads.
#include <algorithm>
#include <array>
#include <cstdint>

#include "core/check.hpp"
#include "core/parallel.hpp"
#include "graph/dataset/builtin.hpp"
#include "graph/generate/assemble.hpp"
#include "graph/generate/limits.hpp"
#include "graph/generate/options.hpp"
#include "graph/generate/random.hpp"
#include "graph/scan.hpp"

namespace weft::builtin {
namespace {

using namespace generator;

constexpr std::uint64_t of = 100;        // the shares below, and `own`, are of a hundred
constexpr std::uint64_t own_words = 20;  // words drawn from those of the field, the others from all
constexpr int fewest_words = 12, most_words = 28;

struct Spec {
  std::int64_t nodes = 3'000;
  std::int64_t classes = 6;
  std::int64_t words = 1'000;
  double degree = 4;
  std::int64_t own = 80;  // percent of the citations that stay within the field
  std::int64_t skew = 0;  // of degrees: 0 for all papers alike, see Papers::drawn
  std::uint64_t seed = 1;
};

Fields fields(Spec& s) {
  return {{"nodes", &s.nodes}, {"classes", &s.classes}, {"words", &s.words}, {"degree", &s.degree},
          {"own", &s.own},     {"skew", &s.skew},       {"seed", &s.seed}};
}

void check(const Spec& spec) {
  constexpr std::int64_t a_class = 4, fewest_classes = 2;  // every split gets a node then
  constexpr double most_degree = 1'000;
  constexpr std::int64_t most_skew = 8;
  WEFT_CHECK(spec.nodes >= a_class * fewest_classes && spec.nodes <= max_nodes, invalid_argument,
             "citations: nodes={} is out of range: expected {} to {}", spec.nodes, a_class * fewest_classes, max_nodes);
  WEFT_CHECK(spec.classes >= fewest_classes && spec.classes <= spec.nodes / a_class, invalid_argument,
             "citations: classes={} is out of range: expected {} to {}, {} or more nodes in each", spec.classes,
             fewest_classes, spec.nodes / a_class, a_class);
  WEFT_CHECK(spec.words >= spec.classes && spec.words <= max_nodes, invalid_argument,
             "citations: words={} is out of range: expected {} (one a class) to {}", spec.words, spec.classes,
             max_nodes);
  WEFT_CHECK(spec.degree >= 0 && spec.degree <= most_degree, invalid_argument,
             "citations: degree={} is out of range: expected 0 to {}", spec.degree, most_degree);
  WEFT_CHECK(spec.own >= 0 && spec.own <= static_cast<std::int64_t>(of), invalid_argument,
             "citations: own={} is out of range: expected 0 to {}, percent of the citations", spec.own, of);
  WEFT_CHECK(spec.skew >= 0 && spec.skew <= most_skew, invalid_argument,
             "citations: skew={} is out of range: expected 0 (all papers alike) to {}", spec.skew, most_skew);
}

/// Of 0, 1, 2, ... below `count`, those of class c are c, c + classes, c + 2 * classes, ...
struct Dealt {
  std::uint64_t count, classes;
  std::uint64_t of_class(std::uint64_t c) const { return (count - c + classes - 1) / classes; }
  std::uint64_t draw(Random& random, std::uint64_t c) const { return random.below(of_class(c)) * classes + c; }
};

class Papers {
 public:
  explicit Papers(const Spec& spec)
      : spec_(spec),
        nodes_{static_cast<std::uint64_t>(spec.nodes), static_cast<std::uint64_t>(spec.classes)},
        words_{static_cast<std::uint64_t>(spec.words), nodes_.classes},
        id_(nodes_.count, spec.seed, Stream::ids),
        rank_(nodes_.count / nodes_.classes, spec.seed, Stream::rank) {}

  NodeId id(std::uint64_t place) const { return static_cast<NodeId>(id_(place)); }
  std::uint64_t class_of(std::uint64_t place) const { return place % nodes_.classes; }

  Graph graph(const Progress& progress) const {
    const auto citations = static_cast<std::int64_t>(static_cast<double>(spec_.nodes) * spec_.degree / 2);
    return graph_from_draws(spec_.nodes, 2 * citations, progress, [&](std::int64_t k) {
      const Edge edge = citation(static_cast<std::uint64_t>(k / 2));
      return k % 2 == 0 ? edge : Edge{edge.col, edge.row};
    });
  }

  SparseRows features() const {
    SparseRows rows;
    rows.cols = spec_.words;
    rows.offsets = Tensor::zeros(Shape(spec_.nodes + 1), Dtype::i64, "offsets of features");
    const auto offsets = rows.offsets.span<std::int64_t>();
    const auto each = [&](auto&& visit) {
      parallel_ranges(default_threads(), spec_.nodes, row_grain, [&](std::int64_t begin, std::int64_t end) {
        Bag bag;
        for (std::int64_t place = begin; place < end; ++place) {
          fill(bag, static_cast<std::uint64_t>(place));
          visit(static_cast<std::size_t>(id(static_cast<std::uint64_t>(place))), bag);
        }
      });
    };
    each([&](std::size_t node, const Bag& bag) { offsets[node + 1] = bag.size; });
    counts_to_offsets(offsets);
    rows.columns = Tensor::empty(Shape(offsets.back()), Dtype::i32, "columns of features");
    std::int32_t* const columns = rows.columns.span<std::int32_t>().data();
    each([&](std::size_t node, const Bag& bag) { std::copy_n(bag.words.data(), bag.size, columns + offsets[node]); });
    return rows;
  }

 private:
  struct Bag {
    std::array<std::int32_t, most_words> words;
    std::int64_t size = 0;
  };

  /// A paper of the field: the one of rank n u^(skew + 1) of its n, for a random u below 1. So degrees fall with the
  /// rank r as (n / r)^(skew / (skew + 1)). Ranks are spread over the places, whose first ones are those of the splits.
  std::uint64_t drawn(Random& random, std::uint64_t field) const {
    if (spec_.skew == 0) return nodes_.draw(random, field);
    const std::uint64_t u = random.next();
    std::uint64_t power = u;
    for (std::int64_t i = 0; i < spec_.skew; ++i) power = scale_below(u, power);
    const std::uint64_t rank = scale_below(power, nodes_.of_class(field));
    // Fields have so many papers, some one more, whose last rank keeps its place.
    return (rank < nodes_.count / nodes_.classes ? rank_(rank) : rank) * nodes_.classes + field;
  }

  // Papers cite in turn where all are alike, so each has a neighbour from a degree of 2 on.
  Edge citation(std::uint64_t k) const {
    Random random(spec_.seed, Stream::citation, k);
    const std::uint64_t citing = spec_.skew == 0 ? k % nodes_.count : drawn(random, k % nodes_.classes);
    std::uint64_t field = class_of(citing);
    if (random.below(of) >= static_cast<std::uint64_t>(spec_.own))
      field = (field + 1 + random.below(nodes_.classes - 1)) % nodes_.classes;
    return {id(drawn(random, field)), id(citing)};
  }

  void fill(Bag& bag, std::uint64_t place) const {
    Random random(spec_.seed, Stream::word, place);
    const auto drawn = static_cast<std::int64_t>(fewest_words + random.below(most_words - fewest_words + 1));
    for (std::int64_t i = 0; i < drawn; ++i) {
      const bool own = random.below(of) < own_words;
      bag.words[static_cast<std::size_t>(i)] =
          static_cast<std::int32_t>(own ? words_.draw(random, class_of(place)) : random.below(words_.count));
    }
    std::sort(bag.words.begin(), bag.words.begin() + drawn);
    bag.size = std::unique(bag.words.begin(), bag.words.begin() + drawn) - bag.words.begin();
  }

  Spec spec_;
  Dealt nodes_, words_;
  Permutation id_, rank_;
};

/// The nodes of `count` places from `begin` on, ascending.
Tensor split(const Papers& papers, std::int64_t begin, std::int64_t count) {
  Tensor tensor = Tensor::empty(Shape(count), Dtype::i32, "nodes of a split");
  const auto nodes = tensor.span<std::int32_t>();
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = papers.id(static_cast<std::uint64_t>(begin) + i);
  std::ranges::sort(nodes);
  return tensor;
}

/// Planetoid's: 20 of each class to train, 500 to validate, 1000 to test. A graph that is too small for that is used
/// up, in about the same proportions.
void add_splits(const Papers& papers, const Spec& spec, Dataset& data) {
  constexpr std::int64_t train_a_class = 20, most_val = 500, most_test = 1'000;
  const std::int64_t wanted = train_a_class * spec.classes + most_val + most_test;
  const bool enough = spec.nodes >= wanted;
  const std::int64_t a_class = enough ? train_a_class : std::max<std::int64_t>(train_a_class * spec.nodes / wanted, 1);
  const std::int64_t train = a_class * spec.classes;  // places are dealt to the classes in turn
  const std::int64_t val = enough ? most_val : (spec.nodes - train) / 3;
  const std::int64_t test = enough ? most_test : spec.nodes - train - val;
  data.train = split(papers, 0, train);
  data.val = split(papers, train, val);
  data.test = split(papers, train + val, test);
}

}  // namespace

Dataset citations(std::string_view given, const ReadOptions& options) {
  Spec spec;
  parse_options("citations", given, fields(spec));
  check(spec);
  const Papers papers(spec);
  Dataset data;
  data.graph = papers.graph(options.progress);
  data.source = canonical("citations", fields(spec));
  data.note = "synthetic citation graph with planted classes; " + data.source;
  if (options.graph_only) return data;
  data.sparse_features = papers.features();
  data.labels = Tensor::empty(Shape(spec.nodes), Dtype::i32, "labels");
  const auto labels = data.labels.span<std::int32_t>();
  for (std::uint64_t place = 0; place < labels.size(); ++place)
    labels[static_cast<std::size_t>(papers.id(place))] = static_cast<std::int32_t>(papers.class_of(place));
  data.classes = spec.classes;
  add_splits(papers, spec, data);
  return data;
}

std::string citations_form() {
  Spec spec;
  return canonical("citations", fields(spec));
}

}  // namespace weft::builtin
