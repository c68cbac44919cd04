// Graphs in a folder of their own, and files about their nodes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/io/archives.hpp"
#include "weft/dataset.hpp"

namespace weft::test {

using Classes = std::vector<std::int32_t>;
using Nodes = std::vector<NodeId>;

inline Nodes nodes_of(const Tensor& split) { return split ? list(split.span<NodeId>()) : Nodes{}; }
inline std::vector<float> reals(const Tensor& tensor) { return list(tensor.span<float>()); }
inline Classes classes_of(const Dataset& data) { return list(data.labels.span<std::int32_t>()); }
inline std::vector<std::string> names_of(const NodeNames& names) {
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < names.count(); ++i) all.emplace_back(names.at(i));
  return all;
}

template <class T>
std::string npy_matrix(std::string_view descr, std::int64_t rows, std::int64_t columns, const std::vector<T>& values) {
  return io::make_npy_header(descr, {rows, columns}) + raw(values);
}

class attached : public ::testing::Test {
 protected:
  /// From a list of edges; the file given is the part under test.
  Dataset graph(std::string_view edges) {
    put(folder_ / "edges.csv", edges);
    return read_dataset(folder_ / "edges.csv");
  }
  Dataset numbered() { return graph("0,1\n1,2\n2,3\n"); }
  Dataset ids() { return graph("10,20\n20,30\n"); }
  Dataset named() { return graph("source,target\nann,bob\nbob,cleo\n"); }

  std::vector<std::string> features(Dataset& data, const std::string& what) { return attach(data, {.features = what}); }
  std::string file(std::string_view name, std::string_view bytes) {
    put(folder_ / name, bytes);
    return folder_ / name;
  }
  std::string archive(const Members& members) {
    put_npz(folder_ / "part.npz", members);
    return folder_ / "part.npz";
  }
  void expect_refused(Dataset data, const DatasetParts& parts, const std::vector<std::string>& words,
                      ErrorCode code = ErrorCode::invalid_file) {
    const std::string path = !parts.features.empty() ? parts.features : parts.labels + parts.masks;
    expect_file_error([&] { attach(data, parts); }, path, code, words);
  }
  void labels_refused(Dataset data, std::string_view text, const std::vector<std::string>& words) {
    expect_refused(std::move(data), {.labels = file("y.csv", text)}, words);
  }

  TempFolder folder_;
};

}  // namespace weft::test
