#include "graph/dataset/lookup.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "graph/dataset/known_names.hpp"
#include "graph/io/files.hpp"
#include "graph/io/format.hpp"
#include "support/errors.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

/// An environment variable for one scope; null takes it away.
class WithVariable {
 public:
  WithVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~WithVariable() { set(before_ ? before_->c_str() : nullptr); }
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;

 private:
  void set(const char* value) { value != nullptr ? ::setenv(name_, value, 1) : ::unsetenv(name_); }

  const char* name_;
  std::optional<std::string> before_;
};

constexpr const char* edges = "0 1\n1 2\n2 0\n";

/// Three places, all of them empty folders of the test's own.
class dataset_lookup : public ::testing::Test {
 protected:
  dataset_lookup() {
    for (const char* name : {"mine", "here/data", "cache/weft"}) fs::create_directories(folder_ / name);
    fs::current_path(folder_ / "here");
  }
  ~dataset_lookup() override { fs::current_path(before_); }

  /// A file below the test's folder, with what is above it.
  std::string put_edges(const std::string& path) {
    fs::create_directories(fs::path(folder_ / path).parent_path());
    put(folder_ / path, edges);
    return folder_ / path;
  }
  void expect_not_found(const std::string& name, const std::vector<std::string>& parts,
                        const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    expect_file_error([&] { open_dataset(name); }, name + ": no such file", ErrorCode::io, parts, file, line);
  }

  TempFolder folder_;
  std::string mine_ = folder_ / "mine";
  fs::path before_ = fs::current_path();
  WithVariable data_{"WEFT_DATA", mine_.c_str()};
  WithVariable cache_{"XDG_CACHE_HOME", (folder_ / "cache").c_str()};
};

TEST_F(dataset_lookup, goes_through_the_users_folder_the_projects_and_the_cache) {
  EXPECT_EQ(io::dataset_folders(), (std::vector<std::string>{mine_, "./data", folder_ / "cache/weft"}));
  put_edges("cache/weft/roads.txt");
  EXPECT_EQ(io::find_by_name("roads"), folder_ / "cache/weft/roads.txt");
  put_edges("here/data/roads.txt");
  EXPECT_EQ(io::find_by_name("roads"), "./data/roads.txt");
  put_edges("mine/roads.txt");
  EXPECT_EQ(io::find_by_name("roads"), mine_ + "/roads.txt");
}

TEST_F(dataset_lookup, leaves_out_places_that_are_not_set) {
  const WithVariable no_data("WEFT_DATA", nullptr);
  EXPECT_EQ(io::dataset_folders(), (std::vector<std::string>{"./data", folder_ / "cache/weft"}));
  const WithVariable relative("XDG_CACHE_HOME", "cache"), home("HOME", "/home/someone");
#ifdef __APPLE__
  EXPECT_EQ(io::dataset_folders().back(), "/home/someone/Library/Caches/weft");
#else
  EXPECT_EQ(io::dataset_folders().back(), "/home/someone/.cache/weft");
#endif
  const WithVariable homeless("HOME", nullptr), twice("WEFT_DATA", "./data/");
  EXPECT_EQ(io::dataset_folders(), (std::vector<std::string>{"./data"}));
}

TEST_F(dataset_lookup, opens_what_it_finds) {
  put_edges("mine/roads.txt");
  Dataset data = open_dataset("roads");
  EXPECT_EQ(data.graph.num_edges(), 3);
  EXPECT_EQ(data.format, "edge list");
  EXPECT_EQ(data.name, "roads");
  EXPECT_EQ(data.source, mine_ + "/roads.txt");
  write_dataset(folder_ / "mine/club.weft", open_dataset("karate"));
  data = open_dataset("Club");
  EXPECT_EQ(data.format, "weft");
  EXPECT_EQ(data.classes, 2);
  EXPECT_EQ(open_graph("club").graph.num_edges(), 156);
}

TEST_F(dataset_lookup, knows_every_layout_and_takes_them_in_this_order) {
  const std::vector<std::string> layouts{"cora",
                                         "cora.weft",
                                         "cora.npz",
                                         "planetoid-cora.npz",
                                         "cora.mtx",
                                         "cora.mtx.gz",
                                         "cora.txt",
                                         "cora.txt.gz",
                                         "cora/cora.txt",
                                         "ind.cora.graph",
                                         "planetoid/ind.cora.graph"};
  for (std::size_t i = layouts.size(); i-- > 0;) {
    SCOPED_TRACE(layouts[i]);
    if (layouts[i] == "cora") fs::remove_all(folder_ / "mine/cora");  // a folder until now
    put_edges("mine/" + layouts[i]);
    EXPECT_EQ(io::find_by_name("cora"), mine_ + "/" + layouts[i]);
  }
}

TEST_F(dataset_lookup, takes_any_case_and_hyphens_for_underscores) {
  put_edges("mine/My_Web-Graph.MTX");
  for (const char* name : {"my-web-graph", "My_Web-Graph", "MY_WEB_GRAPH", "my_web-graph.mtx"})
    EXPECT_EQ(io::find_by_name(name), mine_ + "/My_Web-Graph.MTX");
  put_edges("mine/Cora/raw/ind.cora.graph");
  EXPECT_EQ(io::find_by_name("CORA"), mine_ + "/Cora");
  put_edges("mine/Amazon_Electronics_Photo.txt");
  EXPECT_EQ(io::find_by_name("amazon-photo"), mine_ + "/Amazon_Electronics_Photo.txt");
}

TEST_F(dataset_lookup, takes_a_folder_whose_layout_a_reader_knows) {
  put_edges("mine/mutag/MUTAG_A.txt");
  put(folder_ / "mine/mutag/MUTAG_A.txt", "1, 2\n2, 1\n");
  put(folder_ / "mine/mutag/MUTAG_graph_indicator.txt", "1\n1\n");
  put(folder_ / "mine/mutag/MUTAG_graph_labels.txt", "1\n");
  EXPECT_EQ(io::find_by_name("MUTAG"), mine_ + "/mutag");
  put_edges("mine/planets/raw/ind.planets.graph");
  EXPECT_EQ(io::find_by_name("planets"), mine_ + "/planets");
}

TEST_F(dataset_lookup, passes_over_folders_it_cannot_read) {
  fs::create_directories(folder_ / "mine/roads");
  put_edges("here/data/roads.txt");
  EXPECT_EQ(io::find_by_name("roads"), "./data/roads.txt");
  fs::create_directory(folder_ / "mine/roads.weft");
  EXPECT_EQ(io::find_by_name("roads"), "./data/roads.txt");
}

TEST_F(dataset_lookup, a_path_and_what_is_built_in_come_first) {
  put_edges("mine/roads.txt");
  put(folder_ / "here/roads", "0 1\n");
  EXPECT_EQ(open_dataset("roads").graph.num_edges(), 1);
  put_edges("mine/karate.txt");
  EXPECT_EQ(open_dataset("karate").graph.num_edges(), 156);
  put(folder_ / "here/karate", "0 1\n");
  EXPECT_EQ(open_dataset("karate").graph.num_edges(), 156);
  EXPECT_EQ(open_dataset("./karate").graph.num_edges(), 1);
}

TEST_F(dataset_lookup, only_names_are_looked_for) {
  for (const char* text : {"cora", "ogbn-papers100M", "cora_full", "web.v2", "1"}) EXPECT_TRUE(io::may_be_name(text));
  for (const std::string text : {"", ".", "..", "a/b", "../cora", "cora ", "c:x", "a\nb", "cor\xc3\xa4"})
    EXPECT_FALSE(io::may_be_name(text)) << text;
  EXPECT_FALSE(io::may_be_name(std::string(101, 'a')));
  put_edges("mine/roads.txt");
  expect_error([] { open_dataset("nowhere/roads"); }, ErrorCode::io,
               [](const std::string& message) {
                 EXPECT_NE(message.find("nowhere/roads: no such file, and not a generator's SPEC"), message.npos);
               },
               "nowhere/roads", __FILE__, __LINE__);
}

TEST_F(dataset_lookup, says_where_it_looked_and_where_a_known_dataset_comes_from) {
  expect_not_found("cora", {mine_ + ", ./data, " + (folder_ / "cache/weft"),
                            "data/ind.cora.* of github.com/kimiyoung/planetoid into " + mine_ + "/planetoid",
                            "like:cora makes a synthetic stand-in"});
  expect_not_found("PubMed", {"ind.pubmed.*", "kimiyoung/planetoid"});
  expect_not_found("reddit", {"reddit.zip", "DGL and PyG", mine_ + "/reddit", "like:reddit"});
  expect_not_found("ogbn_arxiv", {"ogb.stanford.edu", mine_ + "/ogbn_arxiv", "like:arxiv"});
  expect_not_found("ogbn-papers100m", {"ogb.stanford.edu", mine_ + "/ogbn_papers100M"});
  expect_not_found("amazon-saint", {"folder 'amazon'", "github.com/GraphSAINT/GraphSAINT", mine_ + "/amazon-saint"});
  expect_not_found("flickr", {"GraphSAINT", mine_ + "/flickr"});
  expect_not_found("imdb-binary", {"IMDB-BINARY.zip of TUDataset (chrsmrrs.github.io/datasets)", "/IMDB-BINARY"});
  expect_not_found("web-google", {"web-Google.txt.gz of snap.stanford.edu/data into " + mine_});
  expect_not_found("com-orkut", {"com-orkut.ungraph.txt.gz of snap.stanford.edu/data"});
  expect_not_found("coauthor_cs", {"data/npz/ms_academic_cs.npz of github.com/shchur/gnn-benchmark into " + mine_});
  expect_not_found("corafull", {"did you mean ", "cora_full"});
}

TEST_F(dataset_lookup, stand_ins_of_other_data_are_not_offered) {
  for (const char* name : {"mutag", "proteins", "collab"}) {
    const std::string message = refusal_of([&] { open_dataset(name); });
    EXPECT_NE(message.find("TUDataset"), message.npos) << message;
    EXPECT_EQ(message.find("like:"), message.npos) << message;
  }
}

TEST_F(dataset_lookup, what_it_advises_is_then_found) {
  for (const std::string_view name : io::known_names()) {
    SCOPED_TRACE(name);
    const std::string advice = io::where_to_get(name, "X");
    EXPECT_NE(advice.find("download"), advice.npos);
    const std::string published(io::published_as(name));
    if (advice.find("snap.stanford.edu") != advice.npos || advice.find("gnn-benchmark") != advice.npos) {
      const std::string stem = published.empty() ? std::string(name) : published;
      const std::string put_there = put_edges("mine/" + stem + ".txt.gz");
      EXPECT_EQ(io::find_by_name(name), put_there);
      fs::remove(put_there);
    }
  }
}

TEST_F(dataset_lookup, an_unknown_name_is_answered_with_those_like_it) {
  expect_not_found("no-such-thing",
                   {"no dataset of that name is known", mine_, "built in: karate, citations", "rmat:"});
  EXPECT_EQ(refusal_of([] { open_dataset("no-such-thing"); }).find("did you mean"), std::string::npos);
  expect_not_found("karaet", {"did you mean karate (built in)?"});
  expect_not_found("Karate", {"did you mean karate (built in)?"});
  expect_not_found("citesear", {"did you mean citeseer?"});
  expect_not_found("ogbn-product", {"did you mean ogbn-products"});
  expect_not_found("roadnet", {"roadNet-CA", "roadNet-PA", "roadNet-TX"});
  expect_not_found("kron-21", {"did you mean like:kron-21 (a synthetic stand-in)?"});
}

TEST_F(dataset_lookup, lists_what_is_similar_in_the_folders) {
  put_edges("mine/roads_eu.txt");
  put_edges("here/data/planetoid-Roads2.npz");
  put_edges("mine/forests.txt");
  fs::create_directories(folder_ / "cache/weft/road");
  expect_not_found("roads",
                   {"similar there: ", mine_ + "/roads_eu.txt", "./data/planetoid-Roads2.npz", "cache/weft/road/"});
  EXPECT_EQ(refusal_of([] { open_dataset("roads"); }).find("forests"), std::string::npos);
  fs::create_directories(folder_ / "mine/cora");
  expect_not_found("cora", {"kimiyoung", mine_ + "/cora (in no layout weft knows)"});
}

TEST_F(dataset_lookup, folders_that_are_no_folders_hold_nothing) {
  const WithVariable file("WEFT_DATA", put_edges("plain.txt").c_str());
  expect_not_found("roads", {"plain.txt, ./data"});
  const WithVariable none("WEFT_DATA", "/no/such/folder");
  expect_not_found("cora", {"into /no/such/folder/planetoid"});
}

TEST_F(dataset_lookup, finds_real_files) {
  if (!fs::exists(WEFT_SHARED_DATA "/planetoid-cora.npz")) GTEST_SKIP() << "no real files here";
  const WithVariable real("WEFT_DATA", WEFT_SHARED_DATA);
  const Dataset data = open_dataset("cora");
  EXPECT_EQ(data.num_nodes(), 2'708);
  EXPECT_EQ(data.classes, 7);
  EXPECT_TRUE(data.source.ends_with("/planetoid-cora.npz"));
}

}  // namespace
}  // namespace weft::test
