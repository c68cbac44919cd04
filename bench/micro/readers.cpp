// How fast files are read: bytes a second of text on one thread and on all, and of arrays.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/parallel.hpp"
#include "weft/generate.hpp"
#include "weft/io.hpp"

namespace weft {
namespace {

/// The edges of a graph as text or arrays, written once for each size and removed at the end.
class Files {
 public:
  ~Files() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string of(std::string_view ending, std::int64_t edges) {
    const std::string path = fmt::format("{}/{}{}", folder_, edges, ending);
    if (std::filesystem::exists(path)) return path;
    std::filesystem::create_directories(folder_);
    const Graph graph = generate(fmt::format("powerlaw:nodes={},edges={},seed=1", edges / 16, edges)).graph;
    if (ending == ".txt") {
      std::string text = fmt::format("# Nodes: {} Edges: {}\n# FromNodeId\tToNodeId\n", graph.num_rows(), edges);
      const auto cols = graph.cols();
      const auto rows = graph.rows();
      for (std::size_t k = 0; k < cols.size(); ++k) text += fmt::format("{}\t{}\n", cols[k], rows[k]);
      std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
    } else {
      write_graph(path, graph);
    }
    return path;
  }

 private:
  std::string folder_ = fmt::format("{}/weft-bench-{}", std::filesystem::temp_directory_path().string(), ::getpid());
};

Files& files() {
  static Files all;
  return all;
}

/// Of the file as a whole: parsing, checking and building the graph. Threads: 1, or 0 for all there are.
void read(benchmark::State& state, std::string_view ending) {
  const std::string path = files().of(ending, state.range(0));
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  set_default_threads(static_cast<int>(state.range(1)));
  std::int64_t edges = 0;
  for (auto _ : state) edges = read_graph(path).graph.num_edges();
  set_default_threads(0);
  state.SetBytesProcessed(state.iterations() * bytes);
  state.counters["edges/s"] =
      benchmark::Counter(static_cast<double>(edges * state.iterations()), benchmark::Counter::kIsRate);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"edges", "threads"})->Unit(benchmark::kMillisecond)->UseRealTime();
  for (const std::int64_t edges : {1 << 16, 1 << 23})
    for (const std::int64_t threads : {1, 0}) benchmark->Args({edges, threads});
}

BENCHMARK_CAPTURE(read, edge_list, ".txt")->Apply(sizes);
BENCHMARK_CAPTURE(read, matrix_market, ".mtx")->Apply(sizes);
BENCHMARK_CAPTURE(read, npz, ".npz")->Apply(sizes);
BENCHMARK_CAPTURE(read, weft, ".weft")->Apply(sizes);

}  // namespace
}  // namespace weft
