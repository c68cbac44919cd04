// generate, info and convert, and the way of a graph through all of them.
#include "command_runner.hpp"
#include "weft/generate.hpp"
#include "weft/io.hpp"

namespace weft::test {
namespace {

// 0 -> 1 twice (2 and 3), 1 -> 0 (5), a self-loop at 2 (7); row = destination, so row 2 of 1-based text
// holds 0 -> 1.
const char* const small_mtx =
    "%%MatrixMarket matrix coordinate real general\n"
    "3 3 4\n"
    "2 1 2.0\n"
    "2 1 3.0\n"
    "1 2 5.0\n"
    "3 3 7.0\n";

nlohmann::json info_of(const std::string& source) {
  const Outcome outcome = run_weft({"info", source, "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.json();
}

TEST(info, counts_loops_duplicates_and_values) {
  const Folder folder;
  write_text(folder / "small.mtx", small_mtx);
  const auto json = info_of(folder / "small.mtx");
  EXPECT_EQ(json["name"], "small");
  EXPECT_EQ(json["format"], "mtx");
  EXPECT_EQ(json["nodes"], 3);
  EXPECT_EQ(json["edges"], 4);
  EXPECT_EQ(json["self_loops"], 1);
  EXPECT_EQ(json["duplicates"], 1);
  EXPECT_EQ(json["symmetric"], true);
  EXPECT_EQ(json["sorted_columns"], true);
  EXPECT_EQ(json["degree"]["max"], 2);
  EXPECT_EQ(json["degree"]["empty_rows"], 0);
  EXPECT_DOUBLE_EQ(json["density"].get<double>(), 4.0 / 9);
  EXPECT_EQ(json["values"]["min"], 2);
  EXPECT_EQ(json["values"]["max"], 7);
}

TEST(info, histogram_holds_every_row_once) {
  const auto json = info_of("powerlaw:nodes=3000,edges=20000,seed=3");
  std::int64_t rows = 0;
  for (const auto& bucket : json["degree"]["histogram"]) rows += bucket["rows"].get<std::int64_t>();
  EXPECT_EQ(rows, json["rows"].get<std::int64_t>());
}

TEST(info, text_shows_what_a_person_asks_for) {
  const Outcome outcome = run_weft({"info", "star:nodes=1000"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const std::string part :
       {"nodes", "1,000", "edges", "in-degree", "median", "self-loops", "symmetric", "edge values", "histogram", "###"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
}

TEST(info, a_stand_in_says_that_it_is_one) {
  const Outcome outcome = run_weft({"info", "like:cora"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("synthetic stand-in"), std::string::npos) << outcome.out;
}

TEST(info, a_stand_in_says_so_from_every_file_as_well) {
  const Folder folder;
  std::string from = "like:cora";
  const std::string note = info_of(from)["note"];
  for (const std::string name : {"a.weft", "b.npz", "c.mtx", "d.mtx.gz"}) {
    SCOPED_TRACE(name);
    const Outcome made = name == "a.weft" ? run_weft({"generate", from, "-o", folder / name})
                                          : run_weft({"convert", from, folder / name});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(info_of(folder / name)["note"], note);
    EXPECT_NE(run_weft({"info", folder / name}).out.find("synthetic stand-in for cora"), std::string::npos);
    from = folder / name;
  }
  ASSERT_EQ(run_weft({"convert", from, folder / "e.weft", "--self-loops", "add"}).status, 0);
  EXPECT_EQ(info_of(folder / "e.weft")["note"], note + "; then self-loops added");
}

TEST(info, fast_tells_the_same_about_a_good_file) {
  const Folder folder;
  ASSERT_EQ(run_weft({"generate", "rmat:scale=8,edge_factor=8,seed=5", "-o", folder / "g.weft"}).status, 0);
  auto full = info_of(folder / "g.weft");
  auto fast = run_weft({"info", folder / "g.weft", "--json", "--fast"}).json();
  for (auto* json : {&full, &fast}) {
    json->erase("seconds");
    json->erase("read_seconds");
  }
  EXPECT_EQ(full, fast);
}

TEST(generate, list_names_every_generator_and_dataset) {
  const Outcome outcome = run_weft({"generate", "--list"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const std::string part : {"rmat:", "powerlaw:", "grid:", "molecules:", "uniform:", "star:", "like:"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  for (const KnownDataset& dataset : known_datasets())
    EXPECT_NE(outcome.out.find(std::string(dataset.name)), std::string::npos) << dataset.name;
}

TEST(generate, every_listed_form_is_what_the_library_makes_of_its_kind_alone) {
  const auto json = run_weft({"generate", "--list", "--json"}).json();
  ASSERT_FALSE(json["generators"].empty());
  for (const auto& generator : json["generators"]) {
    const std::string spec = generator["spec"];
    SCOPED_TRACE(spec);
    EXPECT_NE(generator["meaning"], "");
    if (spec == "like:NAME") continue;
    // What is left out takes the value shown; that of max_degree stands for one that depends on the nodes.
    const std::string kind = spec.substr(0, spec.find(':') + 1);
    EXPECT_EQ(generate(kind).description, generate(std::string_view(spec)).description);
    if (kind != "powerlaw:") {
      EXPECT_EQ(generate(kind).description, spec);
    }
  }
}

TEST(round_trip, a_generated_graph_stays_the_same_through_every_format) {
  const Folder folder;
  const std::string spec = "rmat:scale=9,edge_factor=6,seed=2";
  const auto made = run_weft({"generate", spec, "-o", folder / "g.weft", "--json"});
  ASSERT_EQ(made.status, 0) << made.err;
  const auto first = info_of(folder / "g.weft");
  EXPECT_EQ(first["edges"], made.json()["edges"]);
  EXPECT_EQ(first["edges"], info_of(spec)["edges"]);
  std::string from = folder / "g.weft";
  for (const std::string name : {"a.npz", "b.mtx", "c.mtx.gz", "d.weft"}) {
    SCOPED_TRACE(name);
    const std::string to = folder / name;
    const Outcome converted = run_weft({"convert", from, to, "--keep-duplicates"});
    ASSERT_EQ(converted.status, 0) << converted.err;
    const auto now = info_of(to);
    for (const std::string key : {"rows", "cols", "edges", "self_loops", "duplicates", "symmetric", "degree"})
      EXPECT_EQ(now[key], first[key]) << key;
    from = to;
  }
}

TEST(info, reads_a_plain_list_of_edges) {
  const std::vector<std::string> lists = {"0 1\n0 2\n3 10\n", "# Nodes: 11 Edges: 3\n# From\tTo\n0\t1\n0\t2\n3\t10",
                                          "0,1\r\n0,2\r\n3,10\r\n", "% bip\n\n 0 1 0.5\n 0 2 7\n 3 10 1\n"};
  for (const std::string& list : lists) {
    SCOPED_TRACE(list);
    const Folder folder;
    write_text(folder / "edges.txt", list);
    const auto info = info_of(folder / "edges.txt");
    EXPECT_EQ(info["edges"], 3);
    EXPECT_EQ(info["nodes"], 5);
    EXPECT_EQ(info["dataset"]["renumbered"], true);
  }
}

TEST(info, takes_adjacency_lists_for_what_they_are) {
  const Folder folder;
  write_text(folder / "k4.graph", "4 6\n2 3 4\n1 3 4\n1 2 4\n1 2 3\n");
  const auto info = info_of(folder / "k4.graph");
  EXPECT_EQ(info["format"], "metis");
  EXPECT_EQ(info["nodes"], 4);
  EXPECT_EQ(info["edges"], 12);
  write_text(folder / "k4.txt", "4 6\n2 3 4\n1 3 4\n1 2\n1 2 3\n");
  const Outcome refused = run_weft({"info", folder / "k4.txt"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("line 2: found '2 3 4': expected 2 columns"), std::string::npos) << refused.err;
}

TEST(convert, carries_weights_and_names_of_a_csv_file) {
  const Folder folder;
  write_text(folder / "edges.csv", "source,target,weight,since\nann,bob,0.5,1999\nbob,\"eve, old\",2,2001\n");
  const auto read = info_of(folder / "edges.csv");
  EXPECT_EQ(read["values"]["dtype"], "f32");
  EXPECT_EQ(read["values"]["min"], 0.5);
  EXPECT_EQ(read["values"]["max"], 2);
  EXPECT_EQ(read["dataset"]["named"], true);
  EXPECT_EQ(read["note"], "column 'since' is not read");
  for (const std::string name : {"g.weft", "g.npz", "g.mtx"}) {
    const Outcome outcome = run_weft({"convert", folder / "edges.csv", folder / name, "--json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.json()["values"], "f32");
    EXPECT_EQ(outcome.json()["left_out"], name == "g.weft" ? "" : "node names");
    EXPECT_EQ(info_of(folder / name)["values"]["max"], 2) << name;
  }
  EXPECT_EQ(info_of(folder / "g.weft")["dataset"]["named"], true);
}

TEST(info, knows_what_is_built_in) {
  const auto info = info_of("karate");
  EXPECT_EQ(info["nodes"], 34);
  EXPECT_EQ(info["edges"], 156);
  EXPECT_EQ(info["dataset"]["classes"], 2);
  const auto made = info_of("citations:nodes=200,seed=3");
  EXPECT_EQ(made["nodes"], 200);
  EXPECT_EQ(made["dataset"]["sparse"], true);
}

TEST(info, says_where_a_dataset_can_be_had_that_is_not_there) {
  const Outcome outcome = run_weft({"info", "Cora"});
  EXPECT_EQ(outcome.status, 1);
  for (const char* part : {"planetoid", "WEFT_DATA", "like:cora"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " in: " << outcome.err;
}

TEST(convert, keeps_the_ids_of_a_list_in_weft_and_says_who_does_not) {
  const Folder folder;
  write_text(folder / "edges.txt", "10 20\n20 30\n");
  const Outcome kept = run_weft({"convert", folder / "edges.txt", folder / "g.weft", "--json"});
  ASSERT_EQ(kept.status, 0) << kept.err;
  EXPECT_EQ(kept.json()["left_out"], "");
  EXPECT_EQ(info_of(folder / "g.weft")["dataset"]["renumbered"], true);
  const Outcome left = run_weft({"convert", folder / "g.weft", folder / "g.mtx"});
  ASSERT_EQ(left.status, 0) << left.err;
  EXPECT_NE(left.out.find("left out node ids: only .weft keeps them"), std::string::npos) << left.out;
}

TEST(convert, merges_duplicates_and_adds_their_values_up) {
  const Folder folder;
  write_text(folder / "small.mtx", small_mtx);
  const auto outcome = run_weft({"convert", folder / "small.mtx", folder / "out.weft", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["edges_read"], 4);
  EXPECT_EQ(outcome.json()["edges_written"], 3);
  const auto json = info_of(folder / "out.weft");
  EXPECT_EQ(json["duplicates"], 0);
  EXPECT_EQ(json["values"]["min"], 5);  // 2 + 3 beside 5 and 7
  EXPECT_EQ(json["values"]["max"], 7);
}

TEST(convert, keeps_duplicates_when_asked) {
  const Folder folder;
  write_text(folder / "small.mtx", small_mtx);
  ASSERT_EQ(run_weft({"convert", folder / "small.mtx", folder / "out.npz", "--keep-duplicates"}).status, 0);
  EXPECT_EQ(info_of(folder / "out.npz")["edges"], 4);
}

TEST(convert, self_loops_are_removed_or_added_as_asked) {
  const Folder folder;
  write_text(folder / "small.mtx", small_mtx);
  ASSERT_EQ(run_weft({"convert", folder / "small.mtx", folder / "none.weft", "--self-loops", "remove"}).status, 0);
  EXPECT_EQ(info_of(folder / "none.weft")["self_loops"], 0);
  EXPECT_EQ(info_of(folder / "none.weft")["edges"], 2);
  ASSERT_EQ(run_weft({"convert", folder / "small.mtx", folder / "all.weft", "--self-loops", "add"}).status, 0);
  const auto json = info_of(folder / "all.weft");
  EXPECT_EQ(json["self_loops"], 3);
  EXPECT_EQ(json["edges"], 5);
  EXPECT_EQ(json["values"]["min"], 1);  // a new loop's
}

TEST(convert, symmetric_gives_every_edge_its_reverse) {
  const Folder folder;
  ASSERT_EQ(run_weft({"convert", "star:nodes=10", folder / "out.mtx", "--symmetric"}).status, 0);
  const auto before = info_of("star:nodes=10"), after = info_of(folder / "out.mtx");
  EXPECT_EQ(before["symmetric"], false);
  EXPECT_EQ(after["symmetric"], true);
  EXPECT_EQ(after["duplicates"], 0);
  const auto loops = before["self_loops"].get<std::int64_t>();
  EXPECT_EQ(after["edges"], 2 * (before["edges"].get<std::int64_t>() - loops) + loops);
}

TEST(convert, symmetric_leaves_the_values_of_a_symmetric_graph_alone) {
  const Folder folder;
  write_text(folder / "sym.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1.5\n3 2 2.5\n");
  ASSERT_EQ(run_weft({"convert", folder / "sym.mtx", folder / "out.weft", "--symmetric"}).status, 0);
  const auto json = info_of(folder / "out.weft");
  EXPECT_EQ(json["edges"], 4);
  EXPECT_EQ(json["values"]["min"], 1.5);
  EXPECT_EQ(json["values"]["max"], 2.5);
}

TEST(convert, undirected_keeps_both_values_of_an_edge_listed_in_both_directions) {
  const Folder folder;
  write_text(folder / "both.txt", "0 1 2\n1 0 5\n1 2 7\n");
  ASSERT_EQ(run_weft({"convert", folder / "both.txt", folder / "both.mtx", "--undirected"}).status, 0);
  const std::string text = text_of(folder / "both.mtx");  // row = destination
  for (const char* line : {"\n2 1 2\n", "\n1 2 5\n", "\n3 2 7\n", "\n2 3 7\n"})
    EXPECT_NE(text.find(line), text.npos) << line << " in " << text;
}

TEST(convert, symmetric_refuses_a_bipartite_graph) {
  const Folder folder;
  write_text(folder / "wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 5 2\n1 5\n2 1\n");
  const Outcome outcome = run_weft({"convert", folder / "wide.mtx", folder / "out.weft", "--symmetric"});
  expect_complaint(outcome, 1, "2");
  EXPECT_FALSE(std::filesystem::exists(folder / "out.weft"));
}

TEST(convert, speaks_of_changes_only_where_edges_came_or_went) {
  const Folder folder;
  write_text(folder / "small.mtx", small_mtx);
  const std::string once = run_weft({"convert", folder / "small.mtx", folder / "once.weft"}).out;
  EXPECT_NE(once.find("change   duplicates merged: 4 -> 3 edges"), std::string::npos) << once;
  const std::string again = run_weft({"convert", folder / "once.weft", folder / "again.weft"}).out;
  EXPECT_EQ(again.find("change"), std::string::npos) << again;
}

TEST(convert, may_write_over_the_file_it_reads) {
  const Folder folder;
  ASSERT_EQ(run_weft({"generate", "uniform:nodes=500,edges=4000,seed=1", "-o", folder / "g.weft"}).status, 0);
  ASSERT_EQ(run_weft({"convert", folder / "g.weft", folder / "g.weft", "--self-loops", "add"}).status, 0);
  EXPECT_EQ(info_of(folder / "g.weft")["self_loops"], 500);
}

TEST(convert, reads_the_shared_citation_graph) {
  const std::string path = std::string(WEFT_SHARED_DATA) + "/graphs";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the shared data folder is not here";
  std::size_t seen = 0;
  const Folder folder;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".mtx") && !name.ends_with(".mtx.gz")) continue;
    SCOPED_TRACE(name);
    ++seen;
    const auto before = info_of(entry.path().string());
    const std::string to = folder / std::to_string(seen) + ".weft";
    ASSERT_EQ(run_weft({"convert", entry.path().string(), to, "--keep-duplicates"}).status, 0);
    const auto after = info_of(to);
    for (const std::string key : {"rows", "cols", "edges", "degree"}) EXPECT_EQ(after[key], before[key]) << key;
  }
  if (seen == 0) GTEST_SKIP() << "no Matrix Market file in the shared data folder";
}

}  // namespace
}  // namespace weft::test
