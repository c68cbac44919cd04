#include <sys/stat.h>

#include <algorithm>

#include "graph/io/files.hpp"
#include "graph/io/gzip.hpp"
#include "support/graphs.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

TEST(graph_recognition, content_wins_over_the_name) {
  const TempFolder folder;
  const Graph graph = battery::random_graph(12, 9, 40, 1);
  for (const std::string name : {"weft", "npz", "mtx"}) {
    SCOPED_TRACE(name);
    write_graph(folder / ("g." + name), graph);
    for (const char* disguise : {"h.weft", "h.npz", "h.mtx", "h.csr", "h.txt", "h"}) {
      put(folder / disguise, get(folder / ("g." + name)));
      const GraphFile file = read_graph(folder / disguise);
      EXPECT_EQ(file.format, name);
      EXPECT_EQ(file.name, "h");
      EXPECT_EQ(list(file.graph.cols()), list(graph.cols()));
    }
  }
}

TEST(graph_recognition, any_format_may_be_packed_with_gzip) {
  const TempFolder folder;
  const Graph graph = battery::random_graph(12, 9, 40, 2);
  for (const std::string name : {"weft", "npz", "mtx"}) {
    write_graph(folder / ("g." + name), graph);
    put(folder / "packed", io::gzip_member(get(folder / ("g." + name))));
    const GraphFile file = read_graph(folder / "packed");
    EXPECT_EQ(file.format, name);
    EXPECT_EQ(list(file.graph.cols()), list(graph.cols()));
  }
}

TEST(graph_recognition, name_is_the_files_without_folder_and_endings) {
  const TempFolder folder;
  write_graph(folder / "my.graph.MTX", battery::grid_graph(2));
  EXPECT_EQ(read_graph(folder / "my.graph.MTX").name, "my.graph");
  write_graph(folder / "b.mtx.gz", battery::grid_graph(2));
  EXPECT_EQ(read_graph(folder / "b.mtx.gz").name, "b");
}

TEST(graph_recognition, a_missing_file_is_named) {
  const TempFolder folder;
  expect_unreadable(folder / "none.weft", ErrorCode::io, {"No such file"});
  expect_unreadable(folder / "no-folder/none.weft", ErrorCode::io, {"No such file"});
}

TEST(graph_recognition, an_empty_path_is_called_one) {
  for (const auto open : {&read_graph, &open_graph})
    expect_file_error([&] { open("", {}); }, "path is empty", ErrorCode::invalid_argument, {"expected"});
}

TEST(graph_recognition, a_folder_is_refused) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "g.weft");
  expect_unreadable(folder / "g.weft", ErrorCode::io, {"folder"});
}

TEST(graph_recognition, a_pipe_is_refused_without_waiting) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe.mtx").c_str(), 0600), 0);
  expect_unreadable(folder / "pipe.mtx", ErrorCode::io, {"not a regular file"});
}

TEST(graph_recognition, an_empty_file_is_refused) {
  const TempFolder folder;
  for (const char* name : {"g.weft", "g.npz", "g.mtx", "g.csr", "g"}) {
    put(folder / name, "");
    expect_unreadable(folder / name, ErrorCode::invalid_file, {"empty", ".weft", ".npz", ".mtx", ".csr"});
  }
}

TEST(graph_recognition, an_unknown_format_lists_the_known_ones) {
  const TempFolder folder;
  put(folder / "words.text", "# FromNodeId ToNodeId\nwords\n");
  expect_unreadable(folder / "words.text", ErrorCode::invalid_file,
                    {"'# FromNodeId ToN'", ".weft", ".npz", ".mtx", ".mtx.gz", ".csr", ".txt"});
  put(folder / "packed.gz", io::gzip_member("hello"));
  expect_unreadable(folder / "packed.gz", ErrorCode::invalid_file, {"'hello'", ".weft"});
  put(folder / "nothing.gz", io::gzip_member(""));
  expect_unreadable(folder / "nothing.gz", ErrorCode::invalid_file, {"unpacks to nothing"});
}

TEST(graph_recognition, a_plain_list_of_edges_is_known_by_its_first_line) {
  const TempFolder folder;
  for (const std::string text : {"0 1\n1 2\n", "# Directed graph\n# FromNodeId\tToNodeId\r\n0\t1\r\n",
                                 "% bip unweighted\n\n#\n%\n 10 20", "3,4\n", "0 1 0.5\n", "0 1 1 1082040961\n"}) {
    SCOPED_TRACE(text);
    put(folder / "edges", text);
    EXPECT_EQ(read_graph(folder / "edges").format, "edge list");
    put(folder / "edges.gz", io::gzip_member(text));
    EXPECT_EQ(read_graph(folder / "edges.gz").format, "edge list");
  }
  for (const std::string text :
       {"# only a comment\n", "12\n13\n", "a b\n", "0 x\n", "1.5 2\n", "0 1 and words\n", "1 2 3 4 5\n", "% 0 1"}) {
    SCOPED_TRACE(text);
    put(folder / "edges", text);
    expect_unreadable(folder / "edges", ErrorCode::invalid_file, {"not a graph file weft knows"});
  }
}

TEST(graph_recognition, control_characters_of_a_file_do_not_reach_the_terminal) {
  const TempFolder folder;
  put(folder / "g.bin", "\x1b[31m\n\xff");
  expect_unreadable(folder / "g.bin", ErrorCode::invalid_file, {"'\\x1b[31m\\x0a\\xff'"});
}

TEST(graph_recognition, writing_takes_the_format_from_the_name) {
  const TempFolder folder;
  const Graph graph = battery::grid_graph(2);
  for (const char* name : {"g.text", "g", ".weft", "g.weft.gz"})
    expect_file_error([&] { write_graph(folder / name, graph); }, folder / name, ErrorCode::invalid_argument,
                      {"format", ".weft", ".npz", ".mtx"});
  for (const std::string ending : {"csr", "txt"})
    expect_file_error([&] { write_graph(folder / ("g." + ending), graph); }, folder / ("g." + ending),
                      ErrorCode::unsupported, {"does not write it", ".weft"});
  EXPECT_TRUE(folder.names().empty());
}

TEST(graph_recognition, the_list_of_formats_says_what_can_be_written) {
  std::vector<std::string> readable, writable;
  for (const GraphFormat& format : graph_formats()) {
    EXPECT_FALSE(format.description.empty());
    if (format.readable) readable.emplace_back(format.name);
    if (format.writable) writable.emplace_back(format.name);
  }
  for (const char* known : {"weft", "npz dataset", "npz", "mtx", "csr", "edge list"})
    EXPECT_NE(std::ranges::find(readable, known), readable.end()) << known;
  EXPECT_EQ(writable, (std::vector<std::string>{"weft", "npz", "mtx"}));
}

TEST(open_graph, takes_a_generators_spec) {
  const GraphFile file = open_graph("grid:side=4");
  EXPECT_EQ(file.graph.num_rows(), 16);
  EXPECT_EQ(file.format, "generated");
  EXPECT_EQ(file.name, "grid:side=4");
  EXPECT_EQ(file.note, generate("grid:side=4").description);
  EXPECT_FALSE(file.note.empty());
  EXPECT_FALSE(file.values);
}

TEST(open_graph, takes_a_file) {
  const TempFolder folder;
  write_graph(folder / "g.weft", battery::grid_graph(3));
  EXPECT_EQ(open_graph(folder / "g.weft").format, "weft");
}

TEST(open_graph, says_that_neither_file_nor_spec_was_found) {
  expect_file_error([] { open_graph("no-such-thing"); }, "no-such-thing", ErrorCode::io, {"no such file", "rmat:"});
}

}  // namespace
}  // namespace weft::test
