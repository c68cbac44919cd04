// Lists of edges as CSV, TSV and other programs write them: headers, quotes, words for ids, weights, braces.
#include <fmt/format.h>

#include "graph/dataset/folders.hpp"
#include "graph/io/gzip.hpp"

namespace weft::test {
namespace {

class edge_dialects : public ::testing::Test {
 protected:
  Dataset read(std::string_view text, const std::string& name = "edges.csv") {
    put(folder_ / name, text);
    return read_dataset(folder_ / name);
  }
  void expect_refused(std::string_view text, const std::vector<std::string>& parts, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
    put(folder_ / "edges.csv", text);
    expect_unreadable_dataset(folder_ / "edges.csv", parts, ErrorCode::invalid_file, file, line);
  }
  /// "0>1 0>2": edges in the order of the file.
  static std::string edges(const Dataset& data) {
    const GraphView view = data.graph.view_with_rows();
    std::vector<std::string> texts(static_cast<std::size_t>(view.num_edges));
    for (EdgeId k = 0; k < view.num_edges; ++k)
      texts[static_cast<std::size_t>(view.edge_id(k))] = fmt::format("{}>{}", view.cols[k], view.rows[k]);
    return fmt::format("{}", fmt::join(texts, " "));
  }
  static std::string names(const Dataset& data) {
    std::string all;
    for (std::int64_t i = 0; i < data.node_names.count(); ++i)
      all += (i == 0 ? "" : "|") + std::string(data.node_names.at(i));
    return all;
  }

  TempFolder folder_;
};

using Floats = std::vector<float>;

TEST_F(edge_dialects, a_third_column_is_the_weight_of_the_edge) {
  const Dataset data = read("0 1 0.5\n1 2 -2e3\n2 0 1\n", "edges.txt");
  EXPECT_EQ(edges(data), "0>1 1>2 2>0");
  EXPECT_EQ(data.values.dtype(), Dtype::f32);
  EXPECT_EQ(values_of<float>(data.values), (Floats{0.5f, -2000, 1}));
  EXPECT_EQ(data.note, "");
  for (const std::string name : {"g.weft", "g.npz", "g.mtx"}) {
    SCOPED_TRACE(name);
    write_dataset(folder_ / name, data);
    const Dataset again = read_dataset(folder_ / name);
    EXPECT_EQ(stored_values(again.graph, again.values), stored_values(data.graph, data.values));
  }
}

TEST_F(edge_dialects, further_columns_are_left_out_and_the_note_says_so) {
  const Dataset konect = read("% sym weighted\n1 2 1 1082040961\n2 3 -1 1082040962\n", "out.txt");
  EXPECT_EQ(values_of<float>(konect.values), (Floats{1, -1}));
  EXPECT_EQ(konect.note, "column 4 is not read");
  EXPECT_NE(read("% bip unweighted\n1 2\n2 1\n", "out.txt").note.find("bipartite"), std::string::npos);
  const Dataset named = read("id,from,to,kind,w\n7,0,1,\"a, b\",2\n8,1,0,c,3\n");
  EXPECT_EQ(edges(named), "0>1 1>0");
  EXPECT_EQ(values_of<float>(named.values), (Floats{2, 3}));
  EXPECT_EQ(named.note, "columns 'id', 'kind' are not read");
}

TEST_F(edge_dialects, a_third_column_of_times_is_no_weight) {
  const Dataset data = read("0 1 1082040961\n1 0 1082040962\n", "edges.txt");
  EXPECT_FALSE(data.values);
  EXPECT_EQ(data.note, "column 3 looks like times and is not read as weights");
  EXPECT_TRUE(read("source,target,weight\n0,1,1082040961\n").values) << "the header says what it is";
}

TEST_F(edge_dialects, a_header_says_which_columns_are_the_ends_and_the_weight) {
  EXPECT_EQ(edges(read("target,weight,source\n1,5,0\n2,6,0\n")), "0>1 0>2");
  EXPECT_EQ(values_of<float>(read("target,weight,source\n1,5,0\n2,6,0\n").values), (Floats{5, 6}));
  EXPECT_EQ(edges(read("FromNodeId\tToNodeId\n0\t1\n")), "0>1");
  EXPECT_EQ(edges(read("Dst;Src\n0;1\n")), "1>0");
  EXPECT_EQ(edges(read("id_1,id_2\n0,1\n")), "0>1") << "words above numbers are a header";
  EXPECT_EQ(edges(read(",source,target\n5,0,1\n6,1,0\n")), "0>1 1>0") << "pandas' row numbers";
  EXPECT_EQ(edges(read(",a,b\n5,0,1\n6,1,0\n")), "0>1 1>0");
  EXPECT_FALSE(read("a,b,c\n0,1,5\n").values) << "nothing calls it a weight";
  EXPECT_EQ(read("a,b,c\n0,1,5\n").note, "column 'c' is not read; its first line is read as a header");
  EXPECT_EQ(read("source,target\n0,1\n").note, "") << "no guess";
  EXPECT_EQ(read("source,target\n").graph.num_edges(), 0);
  EXPECT_EQ(read("source,target\n").note, "it has a header and no edges");
  EXPECT_EQ(read("# nothing yet\n").note, "it has no edges");
  expect_refused("source,other\n0,1\n", {"line 1", "'source'", "no target", "dst"});
  expect_refused("# c\nother,to\n0,1\n", {"line 2", "'to'", "no source", "src"});
}

TEST_F(edge_dialects, delimiters_byte_order_marks_and_carriage_returns_do_not_matter) {
  for (const char* text :
       {"source,target,w\r\n0,1,2\r\n1,2,3\r\n", "source;target;w\n0;1;2\n1;2;3\n",
        "source\ttarget\tw\n0\t1\t2\n1\t2\t3", "source target w\n0 1 2\n1  2 3\n",
        "\xef\xbb\xbfsource,target,w\n0,1,2\n1,2,3\n",
        "\"source\",\"target\",\"w\"\n\"0\",\"1\",\"2\"\n\"1\",\"2\",\"3\"\n", "\xef\xbb\xbf# c\n0|1|2\n1|2|3\n",
        "\xef\xbb\xbf"
        "0,1,2\n1,2,3\n"}) {
    SCOPED_TRACE(text);
    for (const std::string& bytes : {std::string(text), io::gzip_member(text)}) {
      const Dataset data = read(bytes);
      EXPECT_EQ(edges(data), "0>1 1>2");
      EXPECT_EQ(values_of<float>(data.values), (Floats{2, 3}));
      EXPECT_FALSE(data.node_names);
    }
  }
  put(folder_ / "edges.csv", std::string_view("\xff\xfe"
                                              "0\0,\0",
                                              6));
  expect_unreadable_dataset(folder_ / "edges.csv", {"UTF-16", "save it as UTF-8"}, ErrorCode::unsupported);
}

TEST_F(edge_dialects, whole_numbers_written_as_reals_are_ids) {
  const Dataset data = read("0.000000000000000000e+00 1.000000000000000000e+00\n1.0 2.0\n", "edges.txt");
  EXPECT_EQ(edges(data), "0>1 1>2");
  EXPECT_FALSE(data.node_names);
  expect_refused("0,1.5\n1,2\n", {"line 1", "'0,1.5'", "a source and a target"});
}

TEST_F(edge_dialects, of_networkx_may_have_attributes_in_braces) {
  EXPECT_EQ(edges(read("0 1 {}\n1 2 {}\n", "g.edgelist")), "0>1 1>2");
  EXPECT_FALSE(read("0 1 {}\n1 2 {}\n", "g.edgelist").values);
  const Dataset data = read("# made\n0 1 {'weight': 2.0}\n1 0 {'color': 'a, {b}', 'weight': -3}\n", "g");
  EXPECT_EQ(data.format, "edge list");
  EXPECT_EQ(values_of<float>(data.values), (Floats{2, -3}));
  const Dataset words = read("ann,bob,{\"weight\": 1}\nbob,eve,{\"weight\": 4}\n");
  EXPECT_EQ(names(words), "ann|bob|eve");
  EXPECT_EQ(values_of<float>(words.values), (Floats{1, 4}));
  expect_refused("0 1 {'weight': 2.0}\n1 2 {}\n", {"line 2", "'1 2 {}'", "a weight, as in the lines before"});
  expect_refused("0 1 {}\n1 2 {'weight': 2.0}\n", {"line 2", "no weight"});
  expect_refused("0 1 {}\n1 2\n", {"line 2", "'1 2'", "dict of attributes"});
  expect_refused("0 1 {}\n1 {}\n", {"line 2", "'1 {}'"});
}

TEST_F(edge_dialects, words_are_names_and_nodes_are_numbered_as_they_come) {
  const Dataset data = read("source,target,weight\nbob,ann,1\nann,\"St. Ives, \"\"old\"\"\",2\nbob,007,3\n");
  EXPECT_EQ(names(data), "bob|ann|St. Ives, \"old\"|007");
  EXPECT_EQ(edges(data), "0>1 1>2 0>3");
  EXPECT_EQ(values_of<float>(data.values), (Floats{1, 2, 3}));
  EXPECT_FALSE(data.node_ids);
  EXPECT_EQ(data.note, "");
  write_dataset(folder_ / "g.weft", data);
  EXPECT_EQ(names(read_dataset(folder_ / "g.weft")), names(data));
  const Dataset plain = read("New York\tRome\nRome\tNew York\n", "edges.tsv");
  EXPECT_EQ(names(plain), "New York|Rome");
  EXPECT_EQ(plain.note, "its first line is read as an edge, not as a header");
}

TEST_F(edge_dialects, are_known_without_a_name_where_a_header_names_both_ends) {
  EXPECT_EQ(read("source,target\nann,bob\n", "edges").format, "edge list");
  for (const char* text : {"a,b\n0,1\n", "source,other\n0,1\n", "ann,bob\n"}) {
    put(folder_ / "edges", text);
    expect_unreadable_dataset(folder_ / "edges", {"not a graph file weft knows"});
  }
}

TEST_F(edge_dialects, a_first_line_that_may_count_nodes_and_edges_is_noted) {
  EXPECT_NE(read("4 3\n0 1\n1 2\n2 3\n", "edges.txt").note.find("'4 3'"), std::string::npos);
  EXPECT_EQ(read("4 3\n0 1\n1 2\n2 3\n3 4\n", "edges.txt").note, "");
}

TEST_F(edge_dialects, whose_lines_have_varying_numbers_of_columns_are_refused) {
  expect_refused("0,1\n1,2,0.5\n", {"line 2", "'1,2,0.5'", "2 columns with a source and a target"});
  expect_refused("0 1 0.5\n1 2\n", {"line 2", "'1 2'", "3 columns with a source, a target and a weight"});
  expect_refused("0 1 0.5 7\n1 2 1\n", {"line 2", "'1 2 1'", "4 columns"});
  expect_refused("4 6\n2 3 4\n1 3 4\n1 2\n1 2 3\n", {"line 2", "'2 3 4'", "2 columns"});
  expect_refused("source,target\nann,bob\nann\n", {"line 3", "'ann'", "2 columns"});
  expect_refused("0,1,\n1,2,3\n", {"line 1", "'0,1,'", "a weight"});
}

TEST_F(edge_dialects, whose_fields_are_wrong_are_refused) {
  expect_refused("source,target,weight\n0,1,2\n1,2,heavy\n", {"line 3", "'1,2,heavy'", "a weight"});
  expect_refused("source,target,weight\n0,1,1e39\n", {"line 2", "'0,1,1e39'", "a weight"});
  expect_refused("source,target\nann,bob\n,eve\n", {"line 3", "',eve'", "a source and a target"});
  expect_refused("\"0\",1\n1,x\n", {"line 2", "'1,x'", "whole numbers"});
  expect_refused("\"0\",1\n1,-2\n", {"line 2", "'1,-2'", "0 to"});
  expect_refused("a,b\n\"c,d\n", {"line 2", "closes"});
  expect_refused("only\n", {"line 1", "'only'", "a source and a target"});
}

TEST_F(edge_dialects, whose_weights_do_not_fit_f32_are_refused_for_that) {
  for (const char* text : {"0 1 1e300\n", "0 1 1\n1 2 -1e300\n", "0 1 1e400\n", "0 1 {'weight': 1e300}\n",
                           "source,target,w\nann,bob,1e39\n", "source,target,w\n\"0\",1,+1e400\n"})
    expect_refused(text, {"line ", "found", "a weight of at most 3.4e38", "f32", "scale"});
}

TEST_F(edge_dialects, with_a_decimal_comma_are_refused_for_that) {
  for (const char* text : {"0;1;0,5\n1;2;1\n", "source;target;weight\n0;1;0,5\n", "0\t1\t0,5\n", "0 1 0,5\n1 2 1,5\n",
                           "source;target;weight\nann;bob;0,5\n"})
    expect_refused(text, {"found", "a weight with a decimal point instead of the comma, as in 0.5"});
  expect_refused("a b 0,5\nb c 0,7\n", {"found", "a weight with a decimal point instead of the comma, as in 0.5"});
  EXPECT_EQ(names(read("St. Ives,1\n1,St. Ives\n")), "St. Ives|1") << "blanks and commas are no decimals";
}

TEST_F(edge_dialects, with_a_delimiter_at_the_end_of_lines_are_refused_for_that) {
  for (const char* text : {"0,1,\n1,2,\n", "ann,bob,\nbob,eve,\n"})
    expect_refused(text, {"line 1", "a weight behind the ','", "leave out the ',' at the end"});
  for (const char* text : {"source,target\n0,1,\n1,2,\n", "source,target\nann,bob,\n"})
    expect_refused(text, {"line 2", "2 columns with a source and a target", "leave out the ',' at its end"});
  expect_refused("0,1\n1,2,3\n", {"line 2", "2 columns with a source and a target, as in the first line"});
}

TEST_F(edge_dialects, whose_whole_weights_f32_rounds_say_how_many) {
  constexpr const char* what = "rounded: f32, which weights are kept in, has 24 bits for digits";
  const Dataset data = read("0 1 16777217\n1 2 16777216\n2 0 33554433\n", "edges.txt");
  EXPECT_EQ(data.note, fmt::format("2 whole weights above 2^24 are {}", what));
  EXPECT_EQ(values_of<float>(data.values), (Floats{16777216, 16777216, 33554432}));
  EXPECT_EQ(read("source,target,w\nann,bob,-16777217\n").note, fmt::format("1 whole weight above 2^24 is {}", what));
  EXPECT_EQ(read("0 1 {'weight': 16777217}\n").note, fmt::format("1 whole weight above 2^24 is {}", what));
  EXPECT_EQ(read("source,target,w\n0,1,9007199254740993\n").note, fmt::format("1 whole weight above 2^24 is {}", what))
      << "a double rounds it to what f32 has";
  EXPECT_EQ(read("source,target,w\n0,1,9223372036854775807\n").note,
            fmt::format("1 whole weight above 2^24 is {}", what));
  EXPECT_NE(read("source,target,w\n0,1,18446744073709551617\n").note.find(what), std::string::npos) << "beyond 64 bits";
  EXPECT_EQ(read("source,target,w\n0,1,18446744073709551616\n").note, "") << "2^64, which f32 has";
  EXPECT_EQ(read("0 1 16777218\n1 2 0.1\n2 0 1e30\n", "edges.txt").note, "") << "reals are rounded as ever";
  EXPECT_EQ(read("0 1 1082040961\n", "edges.txt").note, "column 3 looks like times and is not read as weights");
}

TEST_F(edge_dialects, quotes_that_only_come_late_are_read) {
  std::string text = "source,target,label\n";
  while (text.size() < 3 << 20) text += "0,1,plain\n";
  const auto plain = std::count(text.begin(), text.end(), '\n') - 1;
  text += "2,3,\"now, with\nquotes\"\n";
  for (const std::string& bytes : {text, io::gzip_member(text)}) {
    const Dataset data = read(bytes);
    EXPECT_EQ(data.graph.num_edges(), plain + 1);
    EXPECT_EQ(data.num_nodes(), 4);
  }
}

TEST_F(edge_dialects, cut_off_at_any_byte_end_in_an_answer) {
  for (const std::string text :
       {"source,target,w\r\nann,\"b \"\"o\",1.5\r\nbob,eve,2\r\n", "# c\n0 1 {'weight': 2.0}\n1 2 {'weight': 3}\n",
        "\xef\xbb\xbfsrc;dst\n\"0\";1.0\n1;2\n"}) {
    for (std::size_t size = 1; size <= text.size(); ++size) {
      try {
        EXPECT_LE(read(text.substr(0, size)).graph.num_edges(), 2);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_file) << error.what();
      }
    }
  }
}

TEST(edge_dialects_by_columns, two_long_rows_are_refused_with_how_to_transpose_them) {
  const TempFolder folder;
  put(folder / "edges.txt", "0 1 2 3 4 5 6 7 8 9\n1 2 3 4 5 6 7 8 9 0\n");
  expect_unreadable_dataset(folder / "edges.txt", {"10 columns", "np.savetxt(file, edge_index.T)"});
}

}  // namespace
}  // namespace weft::test
