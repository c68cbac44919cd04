#include <map>
#include <utility>

#include "graph/dataset/pickles.hpp"
#include "graph/io/files.hpp"
#include "graph/io/gzip.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

using namespace std::string_literals;
using pickles::ArrayLayout;
using pickles::Csr;
using pickles::pickle;

template <class T>
std::vector<T> numbers(const Tensor& tensor) {
  return tensor ? list(tensor.span<T>()) : std::vector<T>();
}

/// Six nodes: 0 to 2 before the test split, 5 and 3 in it, 4 in no file but the graph's.
class planetoid : public ::testing::Test {
 protected:
  planetoid() {
    parts_["x"] = pickle(Csr(1, 4, {0, 2}, {3, 1}, {1, 1})());
    parts_["y"] = pickle(pickles::array<std::int32_t>({1, 2}, {0, 1}));
    parts_["allx"] = pickle(Csr(3, 4, {0, 2, 4, 5}, {3, 1, 0, 2, 2}, {1, 1, 1, 0, 1})());
    parts_["ally"] = pickle(pickles::array<std::int32_t>({3, 2}, {0, 1, 1, 0, 0, 1}));
    parts_["tx"] = pickle(Csr(2, 4, {0, 1, 3}, {0, 1, 3}, {1, 1, 1})());
    parts_["ty"] = pickle(pickles::array<std::int32_t>({2, 2}, {0, 1, 1, 0}));
    parts_["test.index"] = "5\n3\n";
    parts_["graph"] =
        pickle(pickles::neighbours({{1, {0, 2}}, {0, {2, 1, 1, 0}}, {2, {1, 0}}, {3, {5}}, {4, {}}, {5, {3}}}));
  }

  std::string write(const std::string& name = "tiny", const std::string& below = "") {
    std::filesystem::create_directories(folder_ / below);
    for (const auto& [part, bytes] : parts_) put(file(part, name, below), bytes);
    return file("graph", name, below);
  }
  std::string file(const std::string& part, const std::string& name = "tiny", const std::string& below = "") const {
    return folder_ / (below.empty() ? "" : below + "/") + "ind." + name + "." + part;
  }
  void expect_the_dataset(const Dataset& data) {
    EXPECT_EQ(data.format, "planetoid");
    EXPECT_EQ(data.name, "tiny");
    EXPECT_EQ(list(data.graph.offsets()), (std::vector<EdgeId>{0, 2, 4, 6, 7, 7, 8}));
    EXPECT_EQ(list(data.graph.cols()), (std::vector<NodeId>{1, 2, 0, 2, 0, 1, 5, 3}));
    EXPECT_EQ(list(data.graph.edge_ids()), (std::vector<EdgeId>{2, 4, 0, 5, 1, 3, 7, 6}));
    EXPECT_EQ(data.sparse_features.cols, 4);
    EXPECT_EQ(numbers<std::int64_t>(data.sparse_features.offsets), (std::vector<std::int64_t>{0, 2, 3, 4, 6, 6, 7}));
    EXPECT_EQ(numbers<std::int32_t>(data.sparse_features.columns), (std::vector<std::int32_t>{1, 3, 0, 2, 1, 3, 0}));
    EXPECT_FALSE(data.sparse_features.values);
    EXPECT_EQ(data.classes, 2);
    EXPECT_EQ(numbers<std::int32_t>(data.labels), (std::vector<std::int32_t>{1, 0, 1, 0, 0, 1}));
    EXPECT_EQ(numbers<std::int32_t>(data.train), (std::vector<std::int32_t>{0}));
    EXPECT_EQ(numbers<std::int32_t>(data.val), (std::vector<std::int32_t>{1, 2}));
    EXPECT_EQ(numbers<std::int32_t>(data.test), (std::vector<std::int32_t>{3, 5}));
  }
  /// With this content of one part.
  void expect_refused_part(const std::string& part, const std::string& bytes, std::vector<std::string> message,
                           const char* test = __builtin_FILE(), int line = __builtin_LINE()) {
    const std::string right = std::exchange(parts_[part], bytes);
    const std::string path = write();
    parts_[part] = right;
    expect_file_error([&] { read_dataset(path); }, path, ErrorCode::invalid_file, message, test, line);
  }
  std::string in(const std::string& part) { return "ind.tiny." + part + ": "; }

  TempFolder folder_;
  std::map<std::string, std::string> parts_;
};

TEST_F(planetoid, is_read_by_any_of_its_files_by_its_folder_and_by_the_one_above_raw) {
  write();
  for (const auto& [part, bytes] : parts_) {
    SCOPED_TRACE(part);
    expect_the_dataset(read_dataset(file(part)));
  }
  expect_the_dataset(read_dataset(folder_.path()));
  write("tiny", "Tiny/raw");
  expect_the_dataset(read_dataset(folder_ / "Tiny"));
  expect_the_dataset(read_dataset(folder_ / "Tiny/raw/"));
}

TEST_F(planetoid, parts_may_be_packed) {
  write();
  for (const char* part : {"graph", "allx", "test.index"}) {
    put(file(part) + ".gz", io::gzip_member(parts_[part]));
    std::filesystem::remove(file(part));
  }
  expect_the_dataset(read_dataset(file("graph") + ".gz"));
  expect_the_dataset(read_dataset(folder_.path()));
}

TEST_F(planetoid, names_may_have_dots) {
  write("nell.0.001");
  EXPECT_EQ(read_dataset(file("test.index", "nell.0.001")).name, "nell.0.001");
  EXPECT_EQ(read_dataset(folder_.path()).name, "nell.0.001");
}

TEST_F(planetoid, of_several_in_a_folder_one_must_be_named) {
  write();
  const std::string other = write("cora");
  expect_file_error([&] { read_dataset(folder_.path()); }, folder_.path(), ErrorCode::invalid_file,
                    {"2 datasets, cora, tiny", "name one as " + folder_.path() + "/ind.NAME.graph"});
  EXPECT_EQ(read_dataset(other).name, "cora");
}

TEST_F(planetoid, features_labels_and_splits_are_left_unread_for_the_graph_alone) {
  for (const char* part : {"x", "y", "tx", "ty", "allx"}) parts_.erase(part);
  const GraphFile found = read_graph(write());
  EXPECT_EQ(found.format, "planetoid");
  EXPECT_EQ(found.graph.num_rows(), 6);
  EXPECT_EQ(list(found.graph.cols()), (std::vector<NodeId>{1, 2, 0, 2, 0, 1, 5, 3}));
}

TEST_F(planetoid, values_other_than_one_are_kept_with_their_column) {
  parts_["tx"] = pickle(Csr(2, 4, {0, 1, 3}, {0, 3, 1}, {1, 0.5f, 2})());
  const Dataset data = read_dataset(write());
  EXPECT_EQ(numbers<std::int32_t>(data.sparse_features.columns), (std::vector<std::int32_t>{1, 3, 0, 2, 1, 3, 0}));
  EXPECT_EQ(numbers<float>(data.sparse_features.values), (std::vector<float>{1, 1, 1, 1, 2, 0.5f, 1}));
}

TEST_F(planetoid, arrays_are_read_as_any_numpy_and_python_writes_them) {
  // In Fortran's order, as 64 bits, by a later numpy.
  parts_["ally"] =
      pickle(pickles::array<std::int64_t>({3, 2}, {0, 1, 0, 1, 0, 1}, {"i8", "<", "\x88", "numpy._core.multiarray"}));
  // Bytes as text, as Python 3 writes them, and text as bytes, as some read and write them again.
  parts_["ty"] = pickle(pickles::array_of(
      {2, 2}, pickles::global("_codecs", "encode") + "(X\x08\0\0\0\0\0\0\x01\0\x01\0\0X\x06\0\0\0latin1tR"s,
      {"i2", ">"}));
  parts_["y"] = pickle(pickles::array_of({1, 2}, "X\x02\0\0\0\0\x01"s, {"i1", "|"}));
  // A matrix as protocol 0 and 1 begin it, of doubles.
  Csr tested(2, 4, {0, 1, 3}, {0, 1, 3}, {});
  tested.start = pickles::global("copy_reg", "_reconstructor") + "(" +
                 pickles::global("scipy.sparse._csr", "csr_matrix") + pickles::global("__builtin__", "object") + "NtR";
  tested.data = pickles::array<double>({3}, {1, 1, 1}, {"f8"});
  parts_["tx"] = tested() + ".";
  parts_["graph"] =
      "(dp0\nI0\n(lp1\nI1\naI2\nasI1\n(lp2\nI0\naI2\nasI2\n(lp3\nI0\naI1\nasI3\n(lp4\nI5\nasI4\n(lp5\nsI5\n("
      "lp6\nI3\nas.";
  expect_the_dataset(read_dataset(write()));
}

TEST_F(planetoid, nodes_that_only_the_graph_lists_are_counted) {
  parts_["test.index"] = "4\n3\n";
  const Dataset data = read_dataset(write());
  EXPECT_EQ(data.num_nodes(), 6);
  EXPECT_EQ(numbers<std::int64_t>(data.sparse_features.offsets), (std::vector<std::int64_t>{0, 2, 3, 4, 6, 7, 7}));
  EXPECT_EQ(numbers<std::int32_t>(data.labels), (std::vector<std::int32_t>{1, 0, 1, 0, 1, 0}));
}

TEST_F(planetoid, a_missing_part_is_named) {
  write();
  for (const char* part : {"x", "y", "tx", "ty", "allx", "ally", "test.index"}) {
    const std::string bytes = get(file(part));
    std::filesystem::remove(file(part));
    expect_file_error([&] { read_dataset(file("graph")); }, file("graph"), ErrorCode::invalid_file,
                      {"lacks the file ind.tiny."s + part + ":", "'ind.tiny.graph'"});
    put(file(part), bytes);
  }
  std::filesystem::remove(file("graph"));
  expect_file_error([&] { read_dataset(file("x")); }, file("x"), ErrorCode::invalid_file,
                    {"lacks the file ind.tiny.graph"});
}

TEST_F(planetoid, whatever_is_wrong_with_a_pickle_names_the_file_in_which_it_is) {
  expect_refused_part("tx", "cos\nsystem\n(S'true'\ntR.", {in("tx"), "byte 0", "GLOBAL", "'system' of 'os'"});
  expect_refused_part("graph", parts_["graph"].substr(0, 90), {in("graph"), "byte"});
  expect_refused_part("allx", parts_["allx"] + "x", {in("allx"), "STOP", "1 bytes follow"});
  expect_refused_part("ally", "\x80\x04N.", {in("ally"), "protocol 4"});
  expect_refused_part("y", "", {in("y"), "ends after 0 bytes"});
  expect_refused_part("x", parts_["y"], {in("x"), "an object", "csr_matrix"});
  expect_refused_part("ty", parts_["tx"], {in("ty"), "an object", "numpy array"});
  expect_refused_part("graph", pickle("]"), {in("graph"), "a list", "dict of lists"});
}

TEST_F(planetoid, matrices_that_contradict_themselves_are_refused) {
  Csr m(2, 4, {0, 1, 3}, {0, 1, 3}, {1, 1, 1});
  const auto expect_refused_matrix = [&](std::string Csr::*field, const std::string& bytes,
                                         std::vector<std::string> message) {
    Csr wrong = m;
    wrong.*field = bytes;
    message.push_back(in("tx"));
    expect_refused_part("tx", pickle(wrong()), message);
  };
  using I = std::int32_t;
  expect_refused_matrix(&Csr::indptr, pickles::array<I>({3}, {0, 1}),
                        {"'indptr'", "shape (3)", "8 bytes", "expected 12"});
  expect_refused_matrix(&Csr::indptr, pickles::array<I>({2}, {0, 3}), {"'indptr' has 2", "expected 3"});
  expect_refused_matrix(&Csr::indptr, pickles::array<I>({3}, {0, 4, 3}), {"'indptr' goes from 4 to 3 at row 1"});
  expect_refused_matrix(&Csr::indptr, pickles::array<I>({3}, {0, 1, 2}), {"'indptr' runs from 0 to 2", "0 to 3"});
  expect_refused_matrix(&Csr::indptr, pickles::array<I>({3}, {-1, 1, 3}), {"'indptr' runs from -1"});
  expect_refused_matrix(&Csr::indptr, pickles::array<float>({3}, {0, 1, 3}, {"f4"}), {"'indptr'", "'<f4'", "integers"});
  expect_refused_matrix(&Csr::indptr, pickles::array<I>({3, 1}, {0, 1, 3}), {"'indptr'", "2 dimensions"});
  expect_refused_matrix(&Csr::indptr, "N", {"'indptr'", "None", "numpy array"});
  expect_refused_matrix(&Csr::indices, pickles::array<I>({3}, {0, 1, 4}), {"element 2", "'indices'", "4", "0 to 3"});
  expect_refused_matrix(&Csr::indices, pickles::array<I>({3}, {0, -1, 3}), {"element 1", "'indices'", "-1"});
  expect_refused_matrix(&Csr::data, pickles::array<float>({2}, {1, 1}, {"f4"}), {"'data' has 2", "expected 3"});
  expect_refused_matrix(&Csr::shape, pickles::tuple({pickles::integer(-2), pickles::integer(4)}), {"-2 rows"});
  expect_refused_matrix(&Csr::shape, pickles::tuple({pickles::integer(2)}), {"'_shape' has 1 elements", "2"});
  expect_refused_matrix(&Csr::shape, "N", {"'_shape'", "None", "a tuple"});
  expect_refused_part("tx", pickle(m.start + "}b"), {in("tx"), "lacks its '_shape'"});
  expect_refused_part("tx", pickle(m.start), {in("tx"), "state", "None", "a dict"});
  expect_refused_part("tx", pickle(Csr(2, 4, {0, 1, 3}, {0, 1, 1}, {1, 1, 1})()), {"node 3", "column 1", "ascending"});
}

TEST_F(planetoid, parts_that_do_not_fit_each_other_are_refused) {
  using I = std::int32_t;
  expect_refused_part("tx", pickle(Csr(1, 4, {0, 1}, {0}, {1})()), {"tx has 1 rows", "expected 2", "test.index"});
  expect_refused_part("tx", pickle(Csr(2, 5, {0, 0, 0}, {}, {})()), {"tx has 5 columns", "expected 4", "allx"});
  expect_refused_part("allx", pickle(Csr(2, 4, {0, 0, 0}, {}, {})()), {"allx has 2 rows", "expected 3", "ally"});
  expect_refused_part("x", pickle(Csr(2, 4, {0, 0, 0}, {}, {})()), {"x has 2 rows", "expected 1", "y has"});
  expect_refused_part("x", pickle(Csr(1, 3, {0, 0}, {}, {})()), {"x has 3 columns", "expected 4", "allx"});
  expect_refused_part("y", pickle(pickles::array<I>({4, 2}, {0, 1, 1, 0, 1, 0, 1, 0})), {"y has 4 rows", "at most 3"});
  expect_refused_part("y", pickle(pickles::array<I>({1, 3}, {0, 1, 0})), {"y has 3 columns", "expected 2", "ally"});
  expect_refused_part("ty", pickle(pickles::array<I>({1, 2}, {0, 1})), {"ty has 1 rows", "expected 2", "test.index"});
  expect_refused_part("ty", pickle(pickles::array<I>({2, 1}, {0, 1})), {"ty has 1 columns", "expected 2", "ally"});
  expect_refused_part("ty", pickle(pickles::array<I>({4}, {0, 1, 1, 0})), {in("ty"), "shape (4)", "a row per node"});
  expect_refused_part("ally", pickle(pickles::array<I>({3, 0}, {})),
                      {in("ally"), "shape (3, 0)", "a column per class"});
}

TEST_F(planetoid, ids_of_test_nodes_are_checked) {
  expect_refused_part("test.index", "5\n2\n", {in("test.index"), "line 2", "found 2", "expected 3 to"});
  expect_refused_part("test.index", "5\n-1\n", {in("test.index"), "line 2", "found -1"});
  expect_refused_part("test.index", "5\n5\n", {in("test.index"), "node 5 twice"});
  expect_refused_part("test.index", "5\n2000000000\n", {in("test.index"), "node 2000000000", "at most 10"});
  expect_refused_part("test.index", "5\n99999999999\n", {in("test.index"), "node 99999999999", "at most 10"});
  expect_refused_part("test.index", "5\nfive\n", {in("test.index"), "line 2", "'five'", "id of a node"});
  expect_refused_part("test.index", "5 3\n", {in("test.index"), "line 1", "id of a node"});
}

TEST_F(planetoid, neighbours_are_checked) {
  const auto expect_refused_graph = [&](const std::string& body, std::vector<std::string> message) {
    message.push_back(in("graph"));
    expect_refused_part("graph", pickle(body), message);
  };
  expect_refused_graph(pickles::neighbours({{0, {1}}, {6, {1}}}), {"key", "is 6", "0 to 5"});
  expect_refused_graph(pickles::neighbours({{-1, {1}}}), {"key", "is -1", "0 to 5"});
  expect_refused_graph(pickles::neighbours({{0, {1}}, {0, {2}}}), {"key 0 stands twice"});
  expect_refused_graph(pickles::neighbours({{0, {1}}, {1, {6}}}), {"neighbour of node 1 is 6", "0 to 5"});
  expect_refused_graph(pickles::neighbours({{0, {-1}}}), {"neighbour of node 0 is -1"});
  expect_refused_graph(
      "}U\x01"
      "a]s",
      {"key", "a string", "a node"});
  expect_refused_graph("}K\x01Ns", {"neighbours of node 1", "None", "a list"});
  expect_refused_graph("}K\x01](Nes", {"neighbour of node 1", "None"});
}

TEST_F(planetoid, one_list_named_again_and_again_does_not_grow_beyond_the_file) {
  std::string body = "}(K" + "\0]q\1("s;
  for (int i = 0; i < 200; ++i) body += "K\1";
  body += "e";
  for (char key = 1; key < 6; ++key) body += "K"s + key + "h\1";
  expect_refused_part("graph", pickle(body + "u"), {in("graph"), "more neighbours than", "bytes"});
}

TEST_F(planetoid, damaged_at_any_byte_is_an_error_or_a_dataset_that_holds) {
  const std::string path = write();
  std::size_t refused = 0;
  for (const char* part : {"graph", "tx", "ally"})
    for (std::size_t at = 0; at < parts_[part].size(); ++at) {
      SCOPED_TRACE(part + " "s + std::to_string(at));
      std::string bytes = parts_[part];
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
      put(file(part), bytes);
      try {
        EXPECT_GE(read_dataset(path).num_nodes(), 5);
      } catch (const Error& error) {
        ++refused;
        EXPECT_EQ(error.code(), ErrorCode::invalid_file) << error.what();
        EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
      }
      put(file(part), parts_[part]);
    }
  EXPECT_GT(refused, 500u);
  expect_the_dataset(read_dataset(path));
}

#define WEFT_NEEDS(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the shared data folder lacks " << path

void expect_equal_to_the_bit(const Dataset& found, const Dataset& wanted) {
  expect_same_arrays(found.graph, wanted.graph);
  EXPECT_FALSE(found.values);
  EXPECT_EQ(found.sparse_features.cols, wanted.sparse_features.cols);
  EXPECT_EQ(numbers<std::int64_t>(found.sparse_features.offsets),
            numbers<std::int64_t>(wanted.sparse_features.offsets));
  EXPECT_EQ(numbers<std::int32_t>(found.sparse_features.columns),
            numbers<std::int32_t>(wanted.sparse_features.columns));
  EXPECT_EQ(numbers<float>(found.sparse_features.values), numbers<float>(wanted.sparse_features.values));
  EXPECT_EQ(numbers<std::int32_t>(found.labels), numbers<std::int32_t>(wanted.labels));
  EXPECT_EQ(found.classes, wanted.classes);
  EXPECT_EQ(numbers<std::int32_t>(found.train), numbers<std::int32_t>(wanted.train));
  EXPECT_EQ(numbers<std::int32_t>(found.val), numbers<std::int32_t>(wanted.val));
  EXPECT_EQ(numbers<std::int32_t>(found.test), numbers<std::int32_t>(wanted.test));
}

struct Published {
  const char* name;
  std::int64_t nodes, edges, features, classes, train;
};

class published : public ::testing::TestWithParam<Published> {};

TEST_P(published, files_hold_what_is_known_of_them_and_equal_the_npz_to_the_bit) {
  const Published& known = GetParam();
  const std::string path = WEFT_SHARED_DATA "/planetoid/ind."s + known.name + ".graph";
  const std::string npz = WEFT_SHARED_DATA "/planetoid-"s + known.name + ".npz";
  WEFT_NEEDS(path);
  WEFT_NEEDS(npz);
  const Dataset data = read_dataset(path);
  EXPECT_EQ(data.name, known.name);
  EXPECT_EQ(data.num_nodes(), known.nodes);
  EXPECT_EQ(data.graph.num_edges(), known.edges);
  EXPECT_EQ(data.num_features(), known.features);
  EXPECT_EQ(data.classes, known.classes);
  EXPECT_EQ(data.train.shape().rows, known.train);
  EXPECT_EQ(data.val.shape().rows, 500);
  EXPECT_EQ(data.test.shape().rows, 1000);
  expect_equal_to_the_bit(data, read_dataset(npz));
}

INSTANTIATE_TEST_SUITE_P(planetoid, published,
                         ::testing::Values(Published{"cora", 2708, 10556, 1433, 7, 140},
                                           Published{"citeseer", 3327, 9104, 3703, 6, 120}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace weft::test
