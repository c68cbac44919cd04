// Train, val and test drawn from the nodes whose label is known.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/names.hpp"
#include "graph/dataset/tensor_of.hpp"
#include "graph/generate/random.hpp"
#include "weft/dataset.hpp"

namespace weft {
namespace {

using Method = SplitSpec::Method;
constexpr NameTable<Method, 2> method_names = {{{Method::random, "random"}, {Method::stratified, "stratified"}}};
constexpr const char* forms = "random:TRAIN,VAL,TEST (fractions) or stratified:TRAIN_PER_CLASS,VAL,TEST (nodes)";
constexpr std::int64_t most_nodes = INT32_MAX;
constexpr double rounding = 1e-9;  // 0.7 + 0.2 + 0.1 may pass 1 by its last digit

/// Three numbers behind a colon.
template <class Number>
std::array<Number, 3> parse_three(std::string_view text, std::string_view numbers) {
  std::array<Number, 3> values{};
  const char *at = numbers.data(), *const end = at + numbers.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [rest, error] = std::from_chars(at, end, values[i]);
    const bool separated = i + 1 < values.size() ? rest != end && *rest == ',' : rest == end;
    WEFT_CHECK(error == std::errc() && separated, invalid_argument, "the split '{}' is not valid: expected {}", text,
               forms);
    at = rest + 1;
  }
  return values;
}

void check_spec(const SplitSpec& split) {
  check_enum(split.method, Method::stratified, "the split's method");
  if (split.method == Method::random) {
    for (const double fraction : {split.train, split.val, split.test})
      WEFT_CHECK(fraction >= 0 && fraction <= 1, invalid_argument, "the split {} has the fraction {}: expected 0 to 1",
                 to_string(split), fraction);
    const double sum = split.train + split.val + split.test;
    WEFT_CHECK(sum <= 1 + rounding, invalid_argument, "the fractions of the split {} add up to {}: expected at most 1",
               to_string(split), sum);
    WEFT_CHECK(split.train > 0, invalid_argument,
               "the split {} leaves nothing to train on: expected a first fraction "
               "above 0",
               to_string(split));
    return;
  }
  for (const std::int64_t nodes : {split.per_class, split.val_nodes, split.test_nodes})
    WEFT_CHECK(nodes >= 0 && nodes <= most_nodes, invalid_argument, "the split {} asks for {} nodes: expected 0 to {}",
               to_string(split), nodes, most_nodes);
  WEFT_CHECK(split.per_class > 0, invalid_argument,
             "the split {} leaves nothing to train on: expected 1 or more nodes of every class", to_string(split));
}

std::vector<NodeId> labelled_nodes(const Dataset& data) {
  std::vector<NodeId> nodes;
  const auto known = [&](std::int64_t node) {
    if (!data.multi_label()) return data.labels.span<std::int32_t>()[static_cast<std::size_t>(node)] >= 0;
    const auto row = data.labels.span<float>().subspan(static_cast<std::size_t>(node * data.classes),
                                                       static_cast<std::size_t>(data.classes));
    return std::ranges::any_of(row, [](float target) { return !std::isnan(target); });
  };
  for (std::int64_t node = 0; node < data.num_nodes(); ++node)
    if (known(node)) nodes.push_back(static_cast<NodeId>(node));
  return nodes;
}

/// Every order is as likely as any other (Fisher and Yates).
void shuffle(std::vector<NodeId>& nodes, std::uint64_t seed) {
  generator::Random random(seed, generator::Stream::split, 0);
  for (std::size_t left = nodes.size(); left > 1; --left) std::swap(nodes[left - 1], nodes[random.below(left)]);
}

struct Drawn {
  std::vector<NodeId> train, val, test;
};

Drawn draw_fractions(const SplitSpec& split, const std::vector<NodeId>& shuffled, const Dataset& data) {
  const auto nodes = static_cast<double>(shuffled.size());
  // Ends are rounded, not sizes: fractions that add up to 1 leave no node out.
  auto from = shuffled.begin();
  double sum = 0;
  const auto take = [&](double fraction, std::string_view what) {
    sum += fraction;
    const auto end = std::min(shuffled.size(), static_cast<std::size_t>(std::llround(sum * nodes)));
    const auto to = shuffled.begin() + static_cast<std::ptrdiff_t>(end);
    WEFT_CHECK(fraction == 0 || from != to, invalid_argument,
               "the split {} of the {} labelled nodes of {} leaves none for {}: give it a larger fraction",
               to_string(split), shuffled.size(), data.name, what);
    return std::vector<NodeId>(std::exchange(from, to), to);
  };
  Drawn drawn;
  drawn.train = take(split.train, "train");
  drawn.val = take(split.val, "val");
  drawn.test = take(split.test, "test");
  return drawn;
}

Drawn draw_by_class(const SplitSpec& split, const std::vector<NodeId>& shuffled, const Dataset& data) {
  const auto label = data.labels.span<std::int32_t>();
  std::vector<std::int64_t> taken(static_cast<std::size_t>(data.classes));
  Drawn drawn;
  std::vector<NodeId> rest;
  for (const NodeId node : shuffled) {
    std::int64_t& of_class = taken[static_cast<std::size_t>(label[static_cast<std::size_t>(node)])];
    of_class < split.per_class ? drawn.train.push_back(node) : rest.push_back(node);
    if (of_class < split.per_class) ++of_class;
  }
  for (std::size_t i = 0; i < taken.size(); ++i)
    WEFT_CHECK(taken[i] == 0 || taken[i] == split.per_class, invalid_argument,
               "the split {} takes {} nodes of every class, but class {} of {} has only {}: take fewer, or split at "
               "random",
               to_string(split), split.per_class, i, data.name, taken[i]);
  const auto left = static_cast<std::int64_t>(rest.size());
  WEFT_CHECK(split.val_nodes + split.test_nodes <= left, invalid_argument,
             "the split {} takes {} nodes for val and test, but {} of the {} labelled nodes of {} are left after "
             "training: take fewer",
             to_string(split), split.val_nodes + split.test_nodes, left, shuffled.size(), data.name);
  const auto val = rest.begin() + split.val_nodes;
  drawn.val.assign(rest.begin(), val);
  drawn.test.assign(val, val + split.test_nodes);
  return drawn;
}

Tensor ascending(std::vector<NodeId> nodes) {
  if (nodes.empty()) return {};
  std::ranges::sort(nodes);
  return io::tensor_of(nodes, "nodes of a split");
}

}  // namespace

SplitSpec parse_split(std::string_view text) {
  const std::size_t colon = text.find(':');
  SplitSpec split;
  split.method = parse_in(method_names, "the split", text.substr(0, colon));
  if (colon != text.npos) {
    const std::string_view numbers = text.substr(colon + 1);
    if (split.method == Method::random) {
      const auto [train, val, test] = parse_three<double>(text, numbers);
      split.train = train, split.val = val, split.test = test;
    } else {
      const auto [train, val, test] = parse_three<std::int64_t>(text, numbers);
      split.per_class = train, split.val_nodes = val, split.test_nodes = test;
    }
  }
  check_spec(split);
  return split;
}

std::string to_string(const SplitSpec& split) {
  if (split.method == Method::random) return fmt::format("random:{},{},{}", split.train, split.val, split.test);
  return fmt::format("{}:{},{},{}", name_in(method_names, split.method), split.per_class, split.val_nodes,
                     split.test_nodes);
}

void split_nodes(Dataset& data, const SplitSpec& split, std::uint64_t seed) {
  check_spec(split);
  WEFT_CHECK(static_cast<bool>(data.labels), invalid_argument,
             "{} has no labels: a split is drawn from the nodes that have one", data.name);
  WEFT_CHECK(split.method == Method::random || !data.multi_label(), invalid_argument,
             "the split {} needs one class per node, and nodes of {} have several: split at random", to_string(split),
             data.name);
  std::vector<NodeId> nodes = labelled_nodes(data);
  WEFT_CHECK(!nodes.empty(), invalid_argument, "no node of {} has a known label: there is nothing to split", data.name);
  shuffle(nodes, seed);
  Drawn drawn = split.method == Method::random ? draw_fractions(split, nodes, data) : draw_by_class(split, nodes, data);
  data.train = ascending(std::move(drawn.train));
  data.val = ascending(std::move(drawn.val));
  data.test = ascending(std::move(drawn.test));
}

}  // namespace weft
