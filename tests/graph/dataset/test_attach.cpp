// Datasets put together from a graph and files about its nodes.
#include <cmath>

#include "graph/dataset/attached.hpp"

namespace weft::test {
namespace {

TEST_F(attached, identity_features_are_a_sparse_column_a_node) {
  Dataset data = numbered();
  features(data, "identity");
  validate(data);
  EXPECT_FALSE(data.features);
  EXPECT_EQ(data.num_features(), 4);
  EXPECT_EQ(reals(data.sparse_features.dense()), (std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}));
}

TEST_F(attached, degree_features_are_the_logarithm_of_the_edges_that_arrive) {
  Dataset data = graph("0,1\n2,1\n3,1\n1,0\n");
  features(data, "degree");
  ASSERT_EQ(data.features.shape(), Shape(4, 1));
  EXPECT_FLOAT_EQ(data.features.span<float>()[0], std::log(2.0f));
  EXPECT_FLOAT_EQ(data.features.span<float>()[1], std::log(4.0f));
  EXPECT_EQ(data.features.span<float>()[2], 0);
}

TEST_F(attached, constant_features_are_1_and_replace_others) {
  Dataset data = open_dataset("citations:nodes=50");
  features(data, "constant");
  validate(data);
  EXPECT_FALSE(data.sparse_features);
  EXPECT_EQ(reals(data.features), std::vector<float>(50, 1.0f));
}

TEST_F(attached, matrices_of_npy_and_npz_have_a_row_a_node) {
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> wanted{1, 2, 3, 4, 5, 6, 7, 8};
  Dataset data = numbered();
  features(data, file("x.npy", npy_matrix<double>("<f8", 4, 2, values)));
  EXPECT_EQ(data.features.shape(), Shape(4, 2));
  EXPECT_EQ(reals(data.features), wanted);
  data = numbered();
  features(data, archive({{"anything", npy_matrix<double>("<f8", 4, 2, values)}}));
  EXPECT_EQ(reals(data.features), wanted);
  data = numbered();
  features(data, archive({{"x", npy_matrix<double>("<f8", 4, 2, values)}, {"y", npy<std::int32_t>("<i4", {1})}}));
  EXPECT_EQ(reals(data.features), wanted);
}

TEST_F(attached, matrices_may_be_in_fortrans_order) {
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> wanted{1, 2, 3, 4, 5, 6, 7, 8};
  const std::string matrix = npy_by_columns<double>("<f8", 4, 2, values);
  for (const std::string& path : {file("x.npy", matrix), archive({{"x", matrix}})}) {
    Dataset data = numbered();
    features(data, path);
    EXPECT_EQ(data.features.shape(), Shape(4, 2));
    EXPECT_EQ(reals(data.features), wanted);
  }
  Dataset data = numbered();
  attach(data, {.labels = file("y.npy", npy_by_columns<std::int8_t>("|i1", 4, 2, {0, 1, 1, 1, 0, 0, 1, 0}))});
  EXPECT_EQ(reals(data.labels), (std::vector<float>{0, 1, 1, 1, 0, 0, 1, 0}));
  data = numbered();
  attach(data, {.labels = file("y.npy", npy_by_columns<std::int64_t>("<i8", 4, 1, {1, 0, 2, -1}))});
  EXPECT_EQ(classes_of(data), (Classes{1, 0, 2, -1}));
}

TEST_F(attached, sparse_matrices_of_scipy_stay_sparse) {
  Dataset data = graph("0,1\n1,2\n");
  features(data, archive(csr_members()));
  validate(data);
  EXPECT_EQ(data.num_features(), 4);
  EXPECT_EQ(reals(data.sparse_features.dense()), (std::vector<float>{0, 1, 0, 2, 0, 0, 0, 0, 3, 0, 4, 0}));
  Members members = csr_members();
  members["format"] = io::make_npy_header("|S3", {}) + "csc";
  expect_refused(graph("0,1\n1,2\n"), {.features = archive(members)}, {"'csc'", "tocsr"}, ErrorCode::unsupported);
}

TEST_F(attached, rows_of_a_table_are_matched_by_ids_and_by_names) {
  Dataset data = ids();
  features(data, file("x.csv", "id,a,b\n30,5,6\n10,1,2\n20,3,4\n"));
  EXPECT_EQ(reals(data.features), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  data = named();
  features(data, file("x.tsv", "a\tnode\n3\tcleo\n1\tann\n2\tbob\n"));
  EXPECT_EQ(reals(data.features), (std::vector<float>{1, 2, 3}));
  data = named();
  features(data, file("x.csv", "cleo,3\nann,1\nbob,2\n"));
  EXPECT_EQ(reals(data.features), (std::vector<float>{1, 2, 3}));
}

TEST_F(attached, tables_without_ids_are_in_the_order_of_nodes) {
  Dataset data = ids();
  features(data, file("x.csv", "1,2\n3,4\n5,6\n"));
  EXPECT_EQ(reals(data.features), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  data = ids();
  features(data, file("x.csv", "height,age\n1,2\n3,4\n5,6\n"));
  EXPECT_EQ(reals(data.features), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(attached, a_first_column_without_a_name_that_has_every_node_once_is_its_id) {
  Dataset data = ids();
  const auto notes = features(data, file("x.csv", "30,5,6\n10,1,2\n20,3,4\n"));
  EXPECT_EQ(reals(data.features), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("first column"), std::string::npos) << notes[0];
  EXPECT_NE(notes[0].find("no feature"), std::string::npos) << notes[0];
}

TEST_F(attached, features_that_do_not_fit_are_refused) {
  const std::string five = npy_matrix<float>("<f4", 3, 1, {1, 2, 3});
  expect_refused(numbered(), {.features = file("x.npy", five)}, {"3 rows", "4 nodes"});
  expect_refused(named(), {.features = file("x.npy", five)}, {"'ann'", "column 'node'"});
  expect_refused(numbered(), {.features = file("x.npy", npy_matrix<float>("<f4", 4, 1, {1, NAN, 3, 4}))},
                 {"row 1", "nan", "finite"});
  expect_refused(numbered(), {.features = file("x.npy", npy<float>("<f4", {1, 2, 3, 4}))}, {"1 dimensions"});
  expect_refused(numbered(), {.features = file("x.npy", npy_matrix<float>("<f4", 4, 0, {}))}, {"0 columns"});
  expect_refused(ids(), {.features = file("x.csv", "id,a\n10,1\n20,2\n20,3\n")}, {"line 4", "'20'", "line 3"});
  expect_refused(ids(), {.features = file("x.csv", "id,a\n10,1\n20,2\n")}, {"2 rows for 3 nodes", "node 30"});
  expect_refused(ids(), {.features = file("x.csv", "id,a\n10,1\n20,\n30,2\n")}, {"line 3", "finite"});
  expect_refused(ids(), {.features = file("x.csv", "id,a\n10,1\n20,tall\n30,2\n")}, {"line 3", "'tall'"});
  expect_refused(ids(), {.features = file("x.csv", "id\n10\n20\n30\n")}, {"none of features"});
  expect_refused(numbered(), {.features = archive({{"a", five}, {"b", five}})}, {"'a', 'b'", "one matrix"});
  expect_refused(numbered(), {.features = folder_ / "absent.npy"}, {}, ErrorCode::io);
}

TEST_F(attached, labels_are_classes_by_number) {
  Dataset data = numbered();
  attach(data, {.labels = file("y.npy", npy<std::int64_t>("<i8", {1, -1, 0, 2}))});
  EXPECT_EQ(classes_of(data), (Classes{1, -1, 0, 2}));
  EXPECT_EQ(data.classes, 3);
  EXPECT_FALSE(data.class_names);
  data = numbered();
  attach(data, {.labels = file("y.npy", npy<double>("<f8", {1, NAN, 0, 0}))});
  EXPECT_EQ(classes_of(data), (Classes{1, -1, 0, 0}));
  data = numbered();
  attach(data, {.labels = file("y.txt", "1\n1\n0\n-1\n")});
  EXPECT_EQ(classes_of(data), (Classes{1, 1, 0, -1}));
}

TEST_F(attached, labels_that_do_not_count_from_0_are_numbered_in_their_order_and_keep_their_names) {
  Dataset data = numbered();
  attach(data, {.labels = file("y.csv", "node,label\n0,2021\n1,2019\n3,2021\n")});
  EXPECT_EQ(classes_of(data), (Classes{1, 0, -1, 1}));
  EXPECT_EQ(names_of(data.class_names), (std::vector<std::string>{"2019", "2021"}));
  data = named();
  attach(data, {.labels = file("y.csv", "class,name\n\"sales, west\",ann\nhr,cleo\n")});
  EXPECT_EQ(classes_of(data), (Classes{1, -1, 0}));
  EXPECT_EQ(names_of(data.class_names), (std::vector<std::string>{"hr", "sales, west"}));
}

TEST_F(attached, labels_are_left_out_where_none_are_wanted) {
  Dataset data = numbered();
  attach(data, {.labels = file("y.csv", "label\na\nb\na\nb\n")});
  ASSERT_EQ(data.classes, 2);
  EXPECT_TRUE(attach(data, {.labels = "none"}).empty());
  EXPECT_FALSE(data.labels);
  EXPECT_FALSE(data.class_names);
  EXPECT_EQ(data.classes, 0);
}

TEST_F(attached, class_names_come_back_from_a_weft_file) {
  Dataset data = named();
  attach(data, {.labels = file("y.csv", "node,label\nann,x\nbob,y\n")});
  write_dataset(folder_ / "g.weft", data);
  const Dataset found = read_dataset(folder_ / "g.weft");
  EXPECT_EQ(names_of(found.class_names), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(classes_of(found), (Classes{0, 1, -1}));
  data.classes = 3;
  expect_file_error([&] { write_dataset(folder_ / "h.weft", data); }, folder_ / "h.weft", ErrorCode::invalid_argument,
                    {"names", "2 classes", "each of 3"});
}

TEST_F(attached, a_header_of_unknown_words_is_no_node) {
  Dataset data = named();
  const auto notes = attach(data, {.labels = file("y.csv", "who,team\nann,x\nbob,y\ncleo,x\n")});
  EXPECT_EQ(data.num_nodes(), 3);
  EXPECT_EQ(classes_of(data), (Classes{0, 1, 0}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("header: no node is called 'who'"), std::string::npos) << notes[0];
  EXPECT_NE(notes[0].find("column 1 ('who') has the node, column 2 ('team') its label"), std::string::npos) << notes[0];
}

TEST_F(attached, columns_that_the_header_does_not_name_are_said) {
  const auto note = [&](std::string_view text) {
    Dataset data = graph("0,1\n1,2\n");
    const auto notes = attach(data, {.labels = file("y.csv", text)});
    EXPECT_EQ(classes_of(data), (Classes{0, 1, 1})) << text;
    return notes.empty() ? "" : notes.front();
  };
  EXPECT_NE(note("who,score\n0,0\n1,1\n2,1\n").find("column 1 ('who') has the node, column 2 ('score') its label"),
            std::string::npos);
  EXPECT_NE(note("score,id\n0,0\n1,1\n1,2\n").find("column 2 ('id') has the node, column 1 ('score') its label"),
            std::string::npos);
  EXPECT_NE(note("who,label\n0,0\n1,1\n2,1\n").find("column 1 ('who') has the node, column 2 ('label') its label"),
            std::string::npos);
  EXPECT_NE(note("who,age,y\n7,8,0\n8,8,1\n9,8,1\n").find("column 3 ('y') has the label of the nodes in their order"),
            std::string::npos);
  EXPECT_NE(note("team\n0\n1\n1\n").find("'team', is taken for a header"), std::string::npos);
  EXPECT_EQ(note("node,label\n0,0\n1,1\n2,1\n"), "");
  EXPECT_EQ(note("label\n0\n1\n1\n"), "");
  Dataset data = graph("0,1\n1,2\n");
  const auto notes = attach(data, {.masks = file("m.csv", "who,when\n0,train\n1,val\n2,test\n")});
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("column 2 ('when') its split"), std::string::npos) << notes[0];
}

TEST_F(attached, numbers_that_are_nearly_right_are_refused_for_what_is_wrong) {
  const auto refused = [&](std::string_view text, const std::vector<std::string>& words) {
    expect_refused(graph("0,1\n1,2\n"), {.features = file("x.csv", text)}, words);
  };
  refused("0,5;1\n1;2\n3;4\n", {"line 1", "'0,5'", "a number with a decimal point instead of the comma, as in 0.5"});
  refused("1,2\n1,1e300\n3,4\n", {"line 2", "'1e300'", "a number of at most 3.4e38"});
  refused("1,2,\n3,4,\n5,6,\n", {"line 1", "'1,2,'", "leave out the ',' at the end of lines"});
  refused("a,b,\n1,2,\n3,4,\n5,6,\n", {"line 2", "'1,2,'", "leave out the ',' at the end of lines"});
  refused("1,2,\n3,4,5\n5,6,7\n", {"line 1", "nan"});
  labels_refused(graph("0,1\n1,2\n"), "0,a,\n1,b,\n2,b,\n", {"line 1", "leave out the ',' at the end of lines"});
  labels_refused(graph("0,1\n1,2\n"), "node,label\n0,a,\n", {"line 2", "3 fields", "leave out the ',' at its end"});
}

TEST_F(attached, a_first_line_with_a_numeric_id_is_no_header) {
  Dataset data = graph("0,1\n1,2\n");
  const auto notes = attach(data, {.labels = file("y.csv", "9,rare\n0,a\n1,a\n2,b\n")});
  EXPECT_EQ(list(std::as_const(data).node_ids.span<std::int64_t>()), (std::vector<std::int64_t>{0, 1, 2, 9}));
  EXPECT_EQ(classes_of(data), (Classes{0, 0, 1, 2}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("1 node without edges"), std::string::npos) << notes[0];
}

TEST_F(attached, a_first_line_that_is_of_a_node_is_no_header) {
  Dataset data = named();
  attach(data, {.labels = file("y.csv", "ann,y\nbob,n\ncleo,y\n")});
  EXPECT_EQ(classes_of(data), (Classes{1, 0, 1}));
}

TEST_F(attached, a_first_line_that_may_be_a_header_or_a_label_is_refused) {
  labels_refused(numbered(), "kind\na\nb\na\nb\n", {"5 lines", "one more", "'kind'", "call it 'label'"});
  Dataset data = numbered();
  attach(data, {.labels = file("y.csv", "label\nkind\na\nb\na\nb\n")});
  EXPECT_EQ(names_of(data.class_names), (std::vector<std::string>{"a", "b", "kind"})) << "a fifth node without edges";
}

TEST_F(attached, several_labels_a_node_are_a_matrix_of_0_and_1) {
  Dataset data = numbered();
  attach(data, {.labels = file("y.npy", npy_matrix<std::int8_t>("|i1", 4, 2, {0, 1, 1, 1, 0, 0, 1, 0}))});
  validate(data);
  EXPECT_TRUE(data.multi_label());
  EXPECT_EQ(data.classes, 2);
  EXPECT_EQ(reals(data.labels), (std::vector<float>{0, 1, 1, 1, 0, 0, 1, 0}));
  expect_refused(numbered(), {.labels = file("y.npy", npy_matrix<float>("<f4", 4, 2, {0, 1, 1, 1, 0, 3, 1, 0}))},
                 {"row 2, column 1 is 3", "0 or 1"});
}

TEST_F(attached, labels_that_do_not_fit_are_refused) {
  labels_refused(ids(), "node,label\n10,1\n10,2\n", {"line 3", "'10'", "line 2"});
  labels_refused(ids(), "node,label\n1,0\n2,1\n3,1\n", {"none of its 3 rows", "'1'", "10, 20, 30"});
  labels_refused(ids(), "node,label\n10,0\nann,1\n", {"line 3", "'ann'", "numbers"});
  labels_refused(ids(), "node,label\n10,0\n-3,1\n", {"line 3", "'-3'", "0 or more"});
  labels_refused(ids(), "node,height,age\n10,1,2\n20,1,2\n", {"none of its 3 columns", "label"});
  labels_refused(ids(), "10,1,2\n20,1,2\n", {"3 columns and no header", "label"});
  labels_refused(ids(), "node,label\n10,\n20,\n", {"label of no node"});
  labels_refused(ids(), "1\n0\n", {"2 rows", "3 nodes"});
  expect_refused(numbered(), {.labels = file("y.npy", npy<double>("<f8", {0, 1.5, 0, 1}))}, {"element 1", "1.5"});
  expect_refused(numbered(),
                 {.labels = file("y.npy", io::make_npy_header("<f4", {4, 1, 1}) + raw<float>({1, 2, 3, 4}))},
                 {"3 dimensions"});
  expect_refused(numbered(), {.labels = archive({{"y", npy<std::int32_t>("<i4", {0, 1, 0, 1})}})}, {".npy"},
                 ErrorCode::unsupported);
}

TEST_F(attached, tables_of_far_more_rows_than_nodes_are_refused_when_they_are_reached) {
  std::string text;
  for (int i = 0; i <= 1 << 22; ++i) text += "0\n";
  labels_refused(numbered(), text, {"line 4194305", "more than 4194304 rows"});
  expect_refused(numbered(), {.features = file("x.csv", text)}, {"line 4194305", "more than 4194304 rows"});
  expect_refused(numbered(), {.masks = file("m.csv", text)}, {"line 4194305", "more than 4194304 rows"});
}

TEST_F(attached, nodes_without_edges_are_added_where_a_matrix_counts_them) {
  // Of six nodes 2 and 5 have no edge.
  Dataset data = graph("0,1\n1,3\n3,4\n4,1\n");
  ASSERT_EQ(data.num_nodes(), 4);
  const auto notes = attach(data, {.features = file("x.npy", npy_matrix<float>("<f4", 6, 1, {0, 1, 2, 3, 4, 5})),
                                   .labels = file("y.npy", npy<std::int32_t>("<i4", {0, 1, 0, 1, 0, 1})),
                                   .masks = archive({{"train_idx", npy<std::int32_t>("<i4", {2, 3})}})});
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("2 nodes without edges"), std::string::npos) << notes[0];
  validate(data);
  EXPECT_EQ(data.num_nodes(), 6);
  EXPECT_FALSE(data.node_ids) << "nodes are 0 to 5 now";
  EXPECT_EQ(list(data.graph.offsets()), (std::vector<EdgeId>{0, 0, 2, 2, 3, 4, 4}));
  EXPECT_EQ(list(data.graph.cols()), (Nodes{0, 4, 1, 3}));
  EXPECT_EQ(list(data.graph.edge_ids()), (std::vector<EdgeId>{0, 3, 1, 2}));
  EXPECT_EQ(reals(data.features), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(nodes_of(data.train), (Nodes{2, 3}));
}

TEST_F(attached, nodes_without_edges_are_added_where_a_table_names_them) {
  Dataset data = ids();
  attach(data, {.labels = file("y.csv", "node,label\n10,0\n15,1\n20,0\n")});
  EXPECT_EQ(list(std::as_const(data).node_ids.span<std::int64_t>()), (std::vector<std::int64_t>{10, 15, 20, 30}));
  EXPECT_EQ(classes_of(data), (Classes{0, 1, 0, -1}));
  EXPECT_EQ(list(data.graph.offsets()), (std::vector<EdgeId>{0, 0, 0, 1, 2}));
  EXPECT_EQ(list(data.graph.cols()), (Nodes{0, 2}));
  data = named();
  attach(data, {.features = "identity", .labels = file("y.csv", "node,label\ndora,x\nann,x\nbob,y\n")});
  validate(data);
  EXPECT_EQ(names_of(data.node_names), (std::vector<std::string>{"ann", "bob", "cleo", "dora"}));
  EXPECT_EQ(classes_of(data), (Classes{0, 1, -1, 0}));
  EXPECT_EQ(data.num_features(), 4);
}

TEST_F(attached, no_node_is_added_to_a_dataset_that_has_parts_of_its_own) {
  expect_refused(open_dataset("karate"), {.labels = file("y.csv", "node,label\n0,0\n34,1\n")},
                 {"line 3", "'34'", "does not have"});
}

TEST_F(attached, a_part_that_is_refused_leaves_the_dataset_as_it_was) {
  Dataset data = ids();
  features(data, "degree");
  const std::vector<float> before = reals(data.features);
  expect_file_error(
      [&] {
        attach(data, {.features = "identity",
                      .labels = file("y.csv", "node,label\n10,0\n15,1\n20,0\n"),
                      .masks = file("m.csv", "node,split\n10,val\n20,test\n")});
      },
      folder_ / "m.csv", ErrorCode::invalid_file, {"no node to train on"});
  validate(data);
  EXPECT_EQ(data.num_nodes(), 3);
  EXPECT_EQ(list(std::as_const(data).node_ids.span<std::int64_t>()), (std::vector<std::int64_t>{10, 20, 30}));
  EXPECT_EQ(reals(data.features), before);
  EXPECT_FALSE(data.sparse_features);
  EXPECT_FALSE(data.labels);
  EXPECT_FALSE(data.val);
}

TEST_F(attached, features_that_are_nearly_a_word_are_answered_with_it) {
  Dataset data = numbered();
  expect_file_error([&] { features(data, "identiy"); }, "", ErrorCode::invalid_argument,
                    {"'identiy'", "did you mean identity?", "degree, constant"});
  expect_file_error([&] { features(data, "Degree"); }, "", ErrorCode::invalid_argument, {"did you mean degree?"});
}

TEST_F(attached, folders_in_the_place_of_files_are_refused) {
  std::filesystem::create_directory(folder_ / "parts");
  Dataset data = numbered();
  expect_file_error([&] { attach(data, {.labels = folder_ / "parts"}); }, folder_ / "parts", ErrorCode::io,
                    {"it is a folder: expected the path of a file"});
}

TEST_F(attached, nothing_to_a_dataset_stays_as_it_is) {
  Dataset data = open_dataset("karate");
  EXPECT_TRUE(attach(data, {}).empty());
  EXPECT_EQ(nodes_of(data.train), (Nodes{0, 33}));
  EXPECT_FALSE(data.has_features());
}

TEST_F(attached, parts_are_of_graphs_with_one_set_of_nodes) {
  put(folder_ / "wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n");
  Dataset data = read_dataset(folder_ / "wide.mtx");
  expect_file_error([&] { attach(data, {.features = "identity"}); }, "", ErrorCode::invalid_argument,
                    {"2 rows and 3 columns"});
}

}  // namespace
}  // namespace weft::test
