#include <filesystem>

#include "graph/order/naive_order.hpp"
#include "support/errors.hpp"
#include "support/graphs.hpp"
#include "support/small_graphs.hpp"
#include "weft/io.hpp"

namespace weft::test {
namespace {

Reordering found(const Graph& graph, const LoaOptions& options = {}, int threads = 2) {
  return loa_order(Context::cpu(threads), graph, options);
}

/// Algorithm 6 of HC-SpMM with sets, as the paper tells it.
std::vector<NodeId> naive_loa(const Graph& graph, const LoaOptions& options) {
  const GraphView view = graph.host_view();
  std::vector<std::vector<NodeId>> columns(static_cast<std::size_t>(view.num_rows));
  for (std::size_t v = 0; v < columns.size(); ++v)
    columns[v].assign(view.cols + view.offsets[v], view.cols + view.offsets[v + 1]);
  std::vector<NodeId> list, result;
  for (std::size_t v = 0; v < columns.size(); ++v)
    if (!columns[v].empty()) list.push_back(static_cast<NodeId>(v));
  std::ranges::stable_sort(list, {}, [&](NodeId v) { return std::ranges::min(columns[static_cast<std::size_t>(v)]); });
  const std::size_t range = options.range > 0 ? static_cast<std::size_t>(options.range) : list.size() + 1;
  for (std::size_t begin = 0; begin < list.size(); begin += range) {
    const std::size_t end = std::min(list.size(), begin + range);
    std::vector<bool> taken(list.size(), false);
    while (std::find(taken.begin() + static_cast<std::ptrdiff_t>(begin),
                     taken.begin() + static_cast<std::ptrdiff_t>(end),
                     false) != taken.begin() + static_cast<std::ptrdiff_t>(end)) {
      std::size_t first = begin;
      while (taken[first]) ++first;
      std::set<NodeId> window;
      std::int64_t edges = 0;
      std::size_t next = first;
      for (std::int64_t i = 0; i < options.window; ++i) {
        if (i > 0) {
          double best = -1;
          std::size_t best_degree = 0;
          bool any = false;
          for (std::size_t j = first + 1; j < end; ++j) {
            if (taken[j] || (j > first + static_cast<std::size_t>(options.look_ahead) && any)) continue;
            const auto& mine = columns[static_cast<std::size_t>(list[j])];
            const auto shared = std::ranges::count_if(mine, [&](NodeId u) { return window.contains(u); });
            const double ratio = static_cast<double>(edges + std::ssize(mine)) /
                                 static_cast<double>(std::ssize(window) + std::ssize(mine) - shared);
            if (any && (ratio < best || (ratio == best && mine.size() <= best_degree))) continue;
            best = ratio;
            best_degree = mine.size();
            next = j;
            any = true;
          }
          if (!any) break;
        }
        taken[next] = true;
        result.push_back(list[next]);
        const auto& mine = columns[static_cast<std::size_t>(list[next])];
        window.insert(mine.begin(), mine.end());
        edges += std::ssize(mine);
      }
    }
  }
  for (std::size_t v = 0; v < columns.size(); ++v)
    if (columns[v].empty()) result.push_back(static_cast<NodeId>(v));
  return result;
}

TEST(loa, arranges_rows_as_the_paper_says) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    const Graph graph = test::random_graph(300, 300, 900, seed);
    for (const std::int64_t range : {0, 64}) {
      for (const std::int64_t look_ahead : {5, 40, 300}) {
        LoaOptions options;
        options.range = range;
        options.look_ahead = look_ahead;
        EXPECT_EQ(numbers(found(graph, options).order), naive_loa(graph, options))
            << "seed " << seed << ", range " << range << ", look-ahead " << look_ahead;
      }
    }
  }
}

TEST(loa, is_a_permutation_of_every_square_graph_of_the_battery) {
  for (const BatteryGraph& each : battery_graphs()) {
    if (!each.graph.is_square()) continue;
    SCOPED_TRACE(each.name);
    expect_permutation(found(each.graph).order, each.graph.num_rows());
  }
}

TEST(loa, gives_the_same_order_for_any_number_of_threads) {
  const Graph graph = battery::power_law_graph();
  LoaOptions options;
  options.range = 128;
  EXPECT_EQ(numbers(found(graph, options, 1).order), numbers(found(graph, options, 5).order));
}

TEST(loa, raises_the_intensity_of_real_graphs_as_far_as_it_was_seen_to) {
  const std::pair<const char*, double> graphs[] = {{"pubmed.mtx", 1.36}, {"ca-CondMat.mtx", 1.55}};
  for (const auto& [name, least] : graphs) {
    const std::string path = std::string(WEFT_SHARED_DATA) + "/graphs/" + name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
    const Graph graph = read_graph(path).graph;
    for (const std::int64_t range : {0, 4096}) {
      LoaOptions options;
      options.range = range;
      EXPECT_GE(window_intensity(reordered(graph, found(graph, options)).graph), least) << name << ", range " << range;
    }
  }
}

TEST(loa, refuses_what_it_cannot_do) {
  expect_refused([] { found(tangled_graph()); }, "6 x 5");
  const auto refused = [](auto change, std::string_view word) {
    LoaOptions options;
    change(options);
    expect_refused([&] { found(Graph(), options); }, std::string(word));
  };
  refused([](LoaOptions& o) { o.window = 0; }, "window");
  refused([](LoaOptions& o) { o.look_ahead = 0; }, "look_ahead");
  refused([](LoaOptions& o) { o.range = 17; }, "range");
}

}  // namespace
}  // namespace weft::test
