#include "graph/dataset/ogb_folders.hpp"

namespace weft::test {
namespace {

class ogb_splits : public OgbFolder {
 protected:
  void expect_refused_with(const std::string& file, const std::string& content, const std::vector<std::string>& parts,
                           const char* test = __builtin_FILE(), int line = __builtin_LINE()) {
    Files files = all_tables();
    files[file] = content;
    expect_refused_folder(write(files), parts, ErrorCode::invalid_file, test, line);
  }
};

TEST_F(ogb_splits, are_found_whatever_they_were_split_by) {
  for (const char* how : {"sales_ranking", "time", "species", "random", "by my own rule"}) {
    SCOPED_TRACE(how);
    Files files = graph_tables();
    files.merge(packed(split_tables(how)));
    files["split/readme.txt"] = "hello";
    files["split/old/split_dict.pt"] = "\x80\x02}q";
    files["split/" + std::string(how) + "/split_dict.pt"] = "\x80\x02}q";
    expect_the_splits(read_dataset(write(files)));
  }
}

TEST_F(ogb_splits, that_only_a_pickle_holds_are_not_read) {
  Files files = graph_tables();
  files["split/time/split_dict.pt"] = "\x80\x02}q";
  EXPECT_FALSE(read_dataset(write(files)).has_more_than_graph());
}

TEST_F(ogb_splits, may_be_empty) {
  Files files = all_tables();
  files["split/time/valid.csv"] = "";
  const Dataset data = read_dataset(write(files));
  ASSERT_TRUE(data.val);
  EXPECT_EQ(data.val.shape().rows, 0);
  EXPECT_EQ(data.train.shape().rows, 2);
}

TEST_F(ogb_splits, of_two_kinds_are_not_chosen_from) {
  Files files = all_tables();
  files.merge(split_tables("random"));
  expect_refused_folder(write(files), {"split: it holds the splits 'random' and 'time': expected one"},
                        ErrorCode::unsupported);
}

TEST_F(ogb_splits, that_lack_a_part_name_it) {
  for (const char* part : {"train", "valid", "test"}) {
    Files files = all_tables();
    files.erase("split/time/" + std::string(part) + ".csv");
    expect_refused_folder(write(files), {"split/time: it lacks the file " + std::string(part) + ".csv.gz", "found 't"});
  }
}

TEST_F(ogb_splits, with_nodes_that_are_not_in_the_graph_are_refused) {
  expect_refused_with("split/time/train.csv", "2\n4\n", {"split/time: train.csv: line 2: found 4: expected 0 to 3"});
  expect_refused_with("split/time/valid.csv", "-1\n", {"split/time: valid.csv: line 1: found -1: expected 0 to 3"});
  expect_refused_with("split/time/test.csv", "4294967297\n", {"test.csv: line 1: found 4294967297: expected 0 to 3"});
}

TEST_F(ogb_splits, with_a_node_twice_are_refused) {
  expect_refused_with("split/time/train.csv", "2\n0\n2\n", {"node 2 stands twice in the splits", "in train"});
  expect_refused_with("split/time/test.csv", "1\n3\n", {"node 3 stands twice in the splits", "in test"});
}

TEST_F(ogb_splits, that_are_no_nodes_are_refused) {
  for (const char* line : {"2,1", "two", "1.0", "nan", "0 1"})
    expect_refused_with("split/time/train.csv", "0\n" + std::string(line) + "\n",
                        {"split/time: train.csv: line 2: found '" + std::string(line) + "': expected a node"});
}

}  // namespace
}  // namespace weft::test
