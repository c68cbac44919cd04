// Every cut and every flipped bit of a small file of each format: a clear Error, or a graph that holds.
#include "graph/io/archives.hpp"
#include "support/graphs.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

struct Sample {
  std::string name, bytes;
};

std::vector<Sample> samples() {
  const TempFolder folder;
  const Graph graph = battery::random_graph(4, 5, 9, 1);
  std::vector<Sample> all;
  for (const char* name : {"g.weft", "g.npz", "g.mtx", "g.mtx.gz"}) {
    write_graph(folder / name, graph, edge_values(9), {}, "a note");
    all.push_back({name, get(folder / name)});
  }
  put_npz(folder / "deflated.npz", csr_members(), ZIP_CM_DEFLATE);
  all.push_back({"deflated.npz", get(folder / "deflated.npz")});
  all.push_back(
      {"symmetric.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n% c\n5 5 3\n2 1 7\n3 3 1\n5 4 2\n"});
  const std::vector<std::int64_t> counts{3, 4, 5};
  const std::vector<std::int32_t> arrays{0, 2, 2, 5, 1, 3, 0, 0, 2};
  all.push_back({"g.csr", raw(counts) + raw(arrays)});
  return all;
}

/// Whether it was read; what was read must be a graph, what was not must say so in one line.
bool survives(const std::string& path) {
  try {
    const GraphFile file = read_graph(path);
    validate(file.graph.view());
    EXPECT_TRUE(!file.values || file.values.shape().rows == file.graph.num_edges());
    return true;
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_TRUE(error.code() == ErrorCode::invalid_file || error.code() == ErrorCode::unsupported)
        << name(error.code()) << ": " << message;
    EXPECT_EQ(message.find('\n'), message.npos) << message;
    EXPECT_NE(message.find(path), message.npos) << message;
    return false;
  }
}

TEST(damaged_files, cut_at_every_byte_never_crash) {
  const TempFolder folder;
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    const bool text = sample.name.ends_with(".mtx");  // may lose its last line end, or digits of its last number
    for (std::size_t size = 0; size < sample.bytes.size(); ++size) {
      SCOPED_TRACE(size);
      put(folder / sample.name, std::string_view(sample.bytes).substr(0, size));
      const bool read = survives(folder / sample.name);
      const bool may_be_whole = text && size + 8 >= sample.bytes.size();
      EXPECT_FALSE(read && !may_be_whole) << "a cut file was accepted";
    }
  }
}

TEST(damaged_files, with_any_bit_flipped_never_crash) {
  const TempFolder folder;
  reset_memory_peak();
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    int read = 0, total = 0;
    for (std::size_t byte = 0; byte < sample.bytes.size(); ++byte)
      for (int bit = 0; bit < 8; ++bit) {
        SCOPED_TRACE(byte * 8 + static_cast<std::size_t>(bit));
        std::string damaged = sample.bytes;
        damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
        put(folder / sample.name, damaged);
        read += survives(folder / sample.name);
        ++total;
      }
    EXPECT_TRUE(sample.name != "g.weft" || read < total / 4) << "only padding may change unseen";
  }
  EXPECT_LT(memory_stats().peak_bytes, std::size_t{1} << 30);
}

TEST(damaged_files, random_bytes_behind_a_right_start_never_crash) {
  const TempFolder folder;
  for (const Sample& sample : samples())
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      SCOPED_TRACE(sample.name + ", seed " + std::to_string(seed));
      battery::SmallRandom random(seed);
      std::string damaged = sample.bytes;
      const auto changes = 1 + random.below(20);
      for (std::int64_t i = 0; i < changes; ++i)
        damaged[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(damaged.size())))] =
            static_cast<char>(random.next());
      put(folder / sample.name, damaged);
      survives(folder / sample.name);
    }
}

}  // namespace
}  // namespace weft::test
