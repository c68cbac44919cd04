// What tests of graph files share: a folder that cleans up behind itself, bytes in and out, refusals
// that must name the file, and a comparison of graphs that looks at every array.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dispatch.hpp"
#include "support/errors.hpp"
#include "weft/io.hpp"

namespace weft::test {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-io-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) list.push_back(entry.path().filename());
    return list;
  }

 private:
  std::filesystem::path path_;
};

inline void put(const std::string& path, std::string_view bytes) {
  std::filesystem::remove(path);  // ext4 writes a file to the disk at once when it was cut to nothing first
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.flush()) << path;
}

inline std::string get(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The call must end in a one-line Error of this code that names the file and holds every one of `parts`.
inline void expect_file_error(const std::function<void()>& call, const std::string& path, ErrorCode code,
                              const std::vector<std::string>& parts, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
  const auto look = [&](const std::string& message) {
    EXPECT_NE(message.find(path), message.npos) << message;
    for (const std::string& part : parts)
      EXPECT_NE(message.find(part), message.npos) << message << "\n lacks: " << part;
  };
  expect_error(call, code, look, path, file, line);
}

inline void expect_unreadable(const std::string& path, ErrorCode code, const std::vector<std::string>& parts,
                              const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  expect_file_error([&] { read_graph(path); }, path, code, parts, file, line);
}

template <class T>
std::vector<T> list(std::span<const T> values) {
  return {values.begin(), values.end()};
}

inline std::vector<NodeId> columns_of(const GraphFile& file) { return list(file.graph.cols()); }

inline void expect_same_arrays(const Graph& found, const Graph& wanted) {
  EXPECT_EQ(found.num_rows(), wanted.num_rows());
  EXPECT_EQ(found.num_cols(), wanted.num_cols());
  EXPECT_EQ(list(found.offsets()), list(wanted.offsets()));
  EXPECT_EQ(list(found.cols()), list(wanted.cols()));
  EXPECT_EQ(list(found.edge_ids()), list(wanted.edge_ids()));
}

/// Values as doubles in stored order: what the edge at each place carries, whatever its id is.
inline std::vector<double> stored_values(const Graph& graph, ConstTensorView values) {
  std::vector<double> result;
  const GraphView view = graph.view();
  for (EdgeId k = 0; k < view.num_edges; ++k)
    with_any_dtype(values.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      result.push_back(convert<double>(values.as<T>()[view.edge_id(k) * values.ld]));
    });
  return result;
}

/// Distinct values that a float holds exactly, halves too for the first few hundred.
inline Tensor edge_values(std::int64_t edges, Dtype dtype = Dtype::f32) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < edges; ++i) values.push_back((i % 2 == 0 ? 0.25 : -1.0) * static_cast<double>(i + 1));
  return Tensor::from(std::span<const double>(values), Shape(edges), dtype);
}

}  // namespace weft::test
