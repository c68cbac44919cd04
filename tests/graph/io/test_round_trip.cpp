#include <algorithm>

#include "core/parallel.hpp"
#include "graph/io/files.hpp"
#include "support/graphs.hpp"

namespace weft::test {
namespace {

class graph_files : public ::testing::TestWithParam<const char*> {
 protected:
  TempFolder folder_;
  std::string file_ = folder_ / (std::string("graph") + GetParam());
};

TEST_P(graph_files, battery_graphs_come_back_with_every_value_on_its_edge) {
  for (const auto& [name, graph] : battery_graphs()) {
    SCOPED_TRACE(name);
    const Tensor values = edge_values(graph.num_edges());
    write_graph(file_, graph, values);
    const GraphFile back = read_graph(file_);
    EXPECT_EQ(back.name, "graph");
    EXPECT_EQ(back.graph.num_rows(), graph.num_rows());
    EXPECT_EQ(back.graph.num_cols(), graph.num_cols());
    EXPECT_EQ(list(back.graph.offsets()), list(graph.offsets()));
    EXPECT_EQ(list(back.graph.cols()), list(graph.cols()));
    ASSERT_TRUE(back.values);
    EXPECT_EQ(back.values.dtype(), Dtype::f32);
    EXPECT_EQ(stored_values(back.graph, back.values), stored_values(graph, values));
  }
}

TEST_P(graph_files, only_the_finished_file_is_left_in_the_folder) {
  write_graph(file_, battery::grid_graph(5));
  EXPECT_EQ(folder_.names(), std::vector<std::string>{std::string("graph") + GetParam()});
}

TEST_P(graph_files, same_graph_gives_same_bytes) {
  const Graph graph = battery::random_graph(40, 50, 300, 5);
  write_graph(file_, graph, edge_values(300));
  const std::string first = get(file_);
  write_graph(file_, graph, edge_values(300));
  EXPECT_EQ(get(file_), first);
}

TEST_P(graph_files, values_of_every_dtype_keep_their_value) {
  const Graph graph = battery::random_graph(20, 30, 100, 6);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64, Dtype::i32, Dtype::i64}) {
    SCOPED_TRACE(name(dtype));
    const Tensor values = edge_values(100, dtype);
    write_graph(file_, graph, values);
    const GraphFile back = read_graph(file_);
    EXPECT_EQ(stored_values(back.graph, back.values), stored_values(graph, values));
  }
}

TEST_P(graph_files, floats_that_are_no_short_decimals_come_back_bit_for_bit) {
  const Graph graph = battery::random_graph(20, 30, 100, 7);
  std::vector<float> values;
  for (int i = 0; i < 100; ++i) values.push_back(0.1f * static_cast<float>(i) + 1e-20f);
  write_graph(file_, graph, Tensor::from(std::span<const float>(values), Shape(100)));
  const GraphFile back = read_graph(file_);
  ASSERT_EQ(back.values.dtype(), Dtype::f32);
  const std::vector<double> wanted = stored_values(graph, Tensor::from(std::span<const float>(values), Shape(100)));
  EXPECT_EQ(stored_values(back.graph, back.values), wanted);
}

TEST_P(graph_files, a_column_of_a_wider_tensor_can_be_the_values) {
  const Graph graph = battery::random_graph(20, 30, 50, 8);
  std::vector<float> wide(50 * 3);
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<float>(i);
  const Tensor tensor = Tensor::from(std::span<const float>(wide), Shape(50, 3));
  const ConstTensorView column = columns(tensor.view(), 1, 1);
  write_graph(file_, graph, column);
  const GraphFile back = read_graph(file_);
  EXPECT_EQ(stored_values(back.graph, back.values), stored_values(graph, column));
}

TEST_P(graph_files, progress_is_told_while_writing_and_reading) {
  const Graph graph = battery::random_graph(2000, 2000, 200'000, 9);
  std::int64_t calls = 0, last = -1, total = 0;
  const Progress progress = [&](std::string_view what, std::int64_t done, std::int64_t all) {
    EXPECT_FALSE(what.empty());
    EXPECT_LE(done, all);
    ++calls;
    last = done;
    total = all;
  };
  write_graph(file_, graph, {}, progress);
  EXPECT_GT(calls, 0);
  EXPECT_EQ(last, total);
  calls = 0;
  ReadOptions options;
  options.progress = progress;
  read_graph(file_, options);
  EXPECT_GT(calls, 0);
}

TEST_P(graph_files, an_exception_from_progress_stops_the_write_and_leaves_the_old_file) {
  const Graph graph = battery::random_graph(100, 100, 1000, 10);
  write_graph(file_, graph);
  const std::string before = get(file_);
  const Progress stop = [](std::string_view, std::int64_t, std::int64_t) { throw std::runtime_error("stop"); };
  EXPECT_THROW(write_graph(file_, battery::grid_graph(30), {}, stop), std::runtime_error);
  EXPECT_EQ(get(file_), before);
  EXPECT_EQ(folder_.names().size(), 1u);
}

TEST_P(graph_files, values_of_the_wrong_length_are_refused_before_anything_is_written) {
  const Graph graph = battery::grid_graph(3);
  expect_file_error([&] { write_graph(file_, graph, edge_values(graph.num_edges() - 1)); }, file_,
                    ErrorCode::invalid_argument, {"values", "[23]", "24"});
  EXPECT_TRUE(folder_.names().empty());
}

TEST_P(graph_files, the_note_comes_back) {
  const Graph graph = battery::grid_graph(3);
  for (const std::string note :
       {"synthetic stand-in for arxiv (1,234 nodes); 100 % made up", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x95\xb8"}) {
    write_graph(file_, graph, {}, {}, note);
    const GraphFile back = read_graph(file_);
    EXPECT_EQ(back.note, note);
    EXPECT_EQ(list(back.graph.cols()), list(graph.cols()));
  }
  write_graph(file_, graph);
  EXPECT_EQ(read_graph(file_).note, "");
}

TEST_P(graph_files, a_bad_note_is_cleaned_before_it_is_written) {
  write_graph(file_, battery::grid_graph(3), {}, {}, "two\nlines\x1b[31m \xff and % more");
  EXPECT_EQ(read_graph(file_).note, "two lines?[31m ? and % more");
  write_graph(file_, battery::grid_graph(3), {}, {}, std::string(5000, 'x'));
  EXPECT_EQ(read_graph(file_).note, std::string(997, 'x') + "...");
}

INSTANTIATE_TEST_SUITE_P(formats, graph_files, ::testing::Values(".weft", ".npz", ".mtx", ".mtx.gz"),
                         [](const auto& instance) {
                           std::string name = instance.param + 1;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(graph_files, edge_ids_survive_weft_and_matrix_market) {
  const TempFolder folder;
  for (const auto& [name, graph] : battery_graphs()) {
    SCOPED_TRACE(name);
    write_graph(folder / "g.weft", graph);
    const GraphFile weft = read_graph(folder / "g.weft");
    expect_same_arrays(weft.graph, graph);
    EXPECT_FALSE(weft.values);
    // Graph::from_edges leaves ids out where they are in order, so compare what they say.
    write_graph(folder / "g.mtx", graph);
    const GraphFile mtx = read_graph(folder / "g.mtx");
    EXPECT_FALSE(mtx.values);
    ASSERT_EQ(mtx.graph.num_edges(), graph.num_edges());
    for (EdgeId k = 0; k < graph.num_edges(); ++k) ASSERT_EQ(mtx.graph.view().edge_id(k), graph.view().edge_id(k));
  }
}

TEST(graph_files, npz_gives_a_graph_without_values_ones) {
  const TempFolder folder;
  write_graph(folder / "g.npz", battery::grid_graph(4));
  const GraphFile back = read_graph(folder / "g.npz");
  EXPECT_EQ(stored_values(back.graph, back.values), std::vector<double>(48, 1.0));
}

TEST(graph_files, values_of_several_numbers_an_edge_stay_whole_in_weft_only) {
  const TempFolder folder;
  const Graph graph = battery::random_graph(9, 9, 20, 11);
  for (const Shape& shape : {Shape(20, 4), Shape(20, 2, 3), Shape(20, 0)}) {
    std::vector<float> numbers(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) * 0.5f;
    const Tensor values = Tensor::from(std::span<const float>(numbers), shape, Dtype::bf16);
    write_graph(folder / "g.weft", graph, values);
    const GraphFile back = read_graph(folder / "g.weft");
    EXPECT_EQ(back.values.shape(), shape);
    EXPECT_EQ(back.values.dtype(), Dtype::bf16);
    ASSERT_EQ(back.values.bytes(), values.bytes());
    EXPECT_TRUE(values.bytes() == 0 || std::memcmp(back.values.view().data, values.view().data, values.bytes()) == 0);
    for (const char* name : {"g.npz", "g.mtx"})
      expect_file_error([&] { write_graph(folder / name, graph, values); }, folder / name, ErrorCode::invalid_argument,
                        {"values", to_string(shape), ".weft"});
  }
}

TEST(graph_files, results_do_not_depend_on_the_number_of_threads) {
  const TempFolder folder;
  const Graph graph = battery::random_graph(3000, 3000, 300'000, 12);
  const Tensor values = edge_values(300'000);
  std::vector<std::string> contents;
  for (const int threads : {1, 3}) {
    set_default_threads(threads);
    for (const char* name : {"g.weft", "g.npz", "g.mtx", "g.mtx.gz"}) {
      write_graph(folder / name, graph, values);
      const GraphFile back = read_graph(folder / name);
      EXPECT_EQ(list(back.graph.cols()), list(graph.cols()));
      EXPECT_EQ(stored_values(back.graph, back.values), stored_values(graph, values));
      contents.push_back(get(folder / name));
    }
  }
  set_default_threads(0);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(contents[i], contents[i + 4]);
}

}  // namespace
}  // namespace weft::test
