// weft bench through the built command: every operator verified, records complete, peers beside it.
#include <cmath>

#include "command_runner.hpp"
#include "markup.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

const std::string small = "powerlaw:nodes=1500,edges=20000,seed=4";

nlohmann::json bench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "bench");
  for (const std::string more : {"--repeat", "3", "--json", "-"}) arguments.push_back(more);
  const Outcome outcome = run_weft(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("device: cpu"), std::string::npos) << outcome.err;
  return outcome.json();
}

void expect_verified(const nlohmann::json& result) {
  SCOPED_TRACE(result.dump());
  EXPECT_EQ(result["verified"]["right"], true);
  EXPECT_EQ(result["verified"]["how"], "all rows");
  EXPECT_LE(result["verified"]["max_error_over_bound"].get<double>(), 1.0);
  EXPECT_EQ(result["repeat"], 3);
  EXPECT_GT(result["median_us"].get<double>(), 0);
  EXPECT_LE(result["min_us"].get<double>(), result["median_us"].get<double>());
  EXPECT_GE(result["p90_us"].get<double>(), result["median_us"].get<double>());
  EXPECT_GT(result["gflops"].get<double>(), 0);
  EXPECT_GT(result["floor_us"].get<double>(), 0);
  EXPECT_NE(result["plan"], "");
}

TEST(bench_command, spmm_gives_a_record_for_every_width_and_type) {
  const auto json = bench({"spmm", small, "--width", "5,16", "--dtype", "f32,bf16"});
  for (const std::string key : {"weft", "commit", "date", "compiler", "command"}) EXPECT_NE(json[key], "") << key;
  EXPECT_EQ(json["device"]["kind"], "cpu");
  EXPECT_NE(json["device"]["target"], "");
  ASSERT_EQ(json["results"].size(), 4u);
  std::vector<std::pair<std::string, int>> seen;
  for (const auto& result : json["results"]) {
    expect_verified(result);
    EXPECT_EQ(result["graph"], small);
    EXPECT_EQ(result["nodes"], 1500);
    seen.emplace_back(result["dtype"], result["width"]);
  }
  const std::vector<std::pair<std::string, int>> wanted{{"f32", 5}, {"f32", 16}, {"bf16", 5}, {"bf16", 16}};
  EXPECT_EQ(seen, wanted);
}

TEST(bench_command, sampled_edges_are_timed_beside_all_and_verified_on_the_sampled_graph) {
  const auto json = bench({"spmm", small, "--width", "8", "--sample", "bucket", "--sample-width", "2,100000"});
  ASSERT_EQ(json["results"].size(), 5u);
  for (const auto& result : json["results"]) expect_verified(result);
  EXPECT_FALSE(json["results"][0].contains("sample"));
  EXPECT_EQ(json["results"][1]["sample"]["form"], "by the operator");
  EXPECT_EQ(json["results"][1]["edges"], json["results"][2]["edges"]);
  const auto &few = json["results"][2], &all = json["results"][4];
  EXPECT_EQ(few["sample"]["form"], "written out");
  EXPECT_EQ(few["sample"]["method"], "bucket");
  EXPECT_EQ(few["sample"]["width"], 2);
  EXPECT_NEAR(few["sample"]["rate"].get<double>(),
              few["edges"].get<double>() / json["results"][0]["edges"].get<double>(), 1e-12);
  EXPECT_GT(few["sample"]["sample_us"].get<double>(), 0);
  EXPECT_EQ(all["edges"], json["results"][0]["edges"]);
  EXPECT_EQ(all["sample"]["rate"], 1.0);
}

TEST(bench_command, sampled_edges_are_verified_with_values_and_in_attention_and_written_out_for_other_operators) {
  for (const char* weighted : {"", "--unweighted"}) {
    std::vector<std::string> words{"spmm", small, "--width", "7", "--reduce", "mean", "--sample-width", "3"};
    if (*weighted != 0) words.push_back(weighted);
    const auto json = bench(words);
    ASSERT_EQ(json["results"].size(), 3u);
    for (const auto& result : json["results"]) expect_verified(result);
  }
  const auto attention = bench({"attention", small, "--width", "8", "--heads", "2", "--sample-width", "3"});
  ASSERT_EQ(attention["results"].size(), 3u);
  for (const auto& result : attention["results"]) expect_verified(result);
  const auto dots = bench({"sddmm", small, "--width", "8", "--sample-width", "3"});
  ASSERT_EQ(dots["results"].size(), 2u);
  for (const auto& result : dots["results"]) expect_verified(result);
}

TEST(bench_command, every_operator_and_variant_is_verified) {
  const std::vector<std::vector<std::string>> cases{
      {"spmm", "--width", "7", "--unweighted"},
      {"spmm", "--width", "5", "--edge-vectors", "--op", "u_add_e"},
      {"spmm", "--width", "3", "--heads", "2", "--edge-vectors", "--reduce", "max"},
      {"spmm", "--width", "7", "--reduce", "mean"},
      {"spmm", "--width", "7", "--reduce", "max"},
      {"spmm", "--width", "7", "--op", "copy_e"},
      {"spmm", "--width", "7", "--op", "u_div_e", "--heads", "3"},
      {"spmm", "--width", "7", "--op", "u_add_e", "--dtype", "f16"},
      {"spmm", "--width", "7", "--dtype", "f64"},
      {"spmm", "--width", "16", "--linear", "same", "--unweighted"},
      {"spmm", "--width", "7", "--linear", "5", "--reduce", "mean", "--dtype", "f16"},
      {"spmm", "--width", "24", "--linear", "16", "--backward", "--dtype", "bf16"},
      {"spmv"},
      {"spmv", "--unweighted", "--dtype", "f64"},
      {"sddmm", "--width", "33"},
      {"sddmm", "--width", "33", "--op", "div", "--heads", "2"},
      {"sddmm", "--width", "64", "--dtype", "f16"},
      {"softmax"},
      {"softmax", "--heads", "4", "--dtype", "f16"},
      {"attention", "--width", "16", "--heads", "2"},
      {"attention", "--width", "16", "--heads", "2", "--op", "gatv2"},
      {"attention", "--width", "16", "--op", "dot", "--dtype", "bf16"},
      {"attention", "--width", "16", "--heads", "2", "--backward"},
      {"attention", "--width", "7", "--heads", "3", "--backward", "--dtype", "f16"},
      {"attention", "--width", "16", "--heads", "2", "--op", "gatv2", "--backward"},
      {"attention", "--width", "16", "--op", "dot", "--dtype", "bf16", "--backward"},
      {"attention", "--width", "16", "--op", "dot", "--dtype", "f64", "--backward"},
      {"segment", "--width", "9"},
      {"segment", "--width", "9", "--reduce", "max"},
  };
  for (std::vector<std::string> arguments : cases) {
    std::string line;
    for (const std::string& argument : arguments) line += argument + " ";
    SCOPED_TRACE(line);
    arguments.insert(arguments.begin() + 1, small);
    const auto json = bench(arguments);
    ASSERT_EQ(json["results"].size(), 1u);
    expect_verified(json["results"][0]);
  }
}

TEST(bench_command, odd_graphs_are_measured_like_others) {
  const Folder folder;
  write_text(folder / "none.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 0\n");
  write_text(folder / "wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 5 2\n1 5\n2 1\n");
  for (const std::string op : {"spmm", "sddmm", "attention", "segment"}) {
    SCOPED_TRACE(op);
    const Outcome outcome = run_weft({"bench", op, folder / "none.mtx", folder / "wide.mtx", "star:nodes=100",
                                      "--width", "8", "--repeat", "1", "--peers", "--json", "-"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.json()["results"].size(), 3u);
  }
}

TEST(bench_command, threads_are_the_ones_asked_for) {
  const auto json = bench({"spmm", small, "--width", "8", "--threads", "1"});
  EXPECT_EQ(json["device"]["threads"], 1);
  EXPECT_EQ(json["results"][0]["threads"], 1);
}

TEST(bench_command, peers_are_verified_and_timed_in_the_same_run) {
  const auto doctor = run_weft({"doctor", "--json"}).json();
  std::size_t on_cpu = 0;
  for (const auto& peer : doctor["peers"]) on_cpu += peer["device"] == "cpu" ? 1 : 0;
  if (on_cpu == 0) GTEST_SKIP() << "no peer is compiled into this build";
  for (const std::vector<std::string>& extra :
       std::vector<std::vector<std::string>>{{}, {"--unweighted"}, {"--dtype", "f64"}}) {
    std::vector<std::string> arguments{"spmm", small, "--width", "16", "--peers"};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    const auto json = bench(arguments);
    const auto& peers = json["results"][0]["peers"];
    ASSERT_EQ(peers.size(), on_cpu);
    for (const auto& peer : peers) {
      SCOPED_TRACE(peer.dump());
      EXPECT_EQ(peer["status"], "ok");
      EXPECT_GT(peer["median_us"].get<double>(), 0);
      EXPECT_NEAR(peer["speedup"].get<double>(),
                  peer["median_us"].get<double>() / json["results"][0]["median_us"].get<double>(), 1e-9);
    }
  }
}

TEST(bench_command, attention_is_also_measured_by_the_spmm_of_as_many_features) {
  const auto attention = bench({"attention", small, "--width", "8", "--heads", "2"})["results"][0];
  EXPECT_GT(attention["spmm_us"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(attention["spmm_ratio"].get<double>(),
                   attention["median_us"].get<double>() / attention["spmm_us"].get<double>());
  EXPECT_FALSE(bench({"spmm", small, "--width", "8"})["results"][0].contains("spmm_us"));
}

TEST(bench_command, sums_into_a_product_are_timed_beside_two_kernels) {
  const auto json = bench({"spmm", small, "--width", "16,24", "--linear", "same", "--backward"});
  EXPECT_NE(json["command"].get<std::string>().find(" --linear same --backward"), std::string::npos) << json["command"];
  ASSERT_EQ(json["results"].size(), 2u);
  for (const auto& result : json["results"]) {
    EXPECT_GT(result["two_kernels_us"].get<double>(), 0);
    EXPECT_DOUBLE_EQ(result["two_kernels_ratio"].get<double>(),
                     result["two_kernels_us"].get<double>() / result["median_us"].get<double>());
    EXPECT_NE(result["plan"].get<std::string>().find("one kernel"), std::string::npos) << result["plan"];
  }
  EXPECT_EQ(json["results"][1]["variant"], "u_mul_e.sum.linear24.backward");
  const Folder folder;
  write_text(folder / "none.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 0\n");
  write_text(folder / "wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 5 2\n1 5\n2 1\n");
  const Outcome odd = run_weft({"bench", "spmm", folder / "none.mtx", folder / "wide.mtx", "--width", "8", "--linear",
                                "4", "--repeat", "1", "--json", "-"});
  EXPECT_EQ(odd.status, 0) << odd.err;
  const Outcome table = run_weft({"bench", "spmm", small, "--width", "8", "--linear", "4", "--repeat", "1"});
  EXPECT_NE(table.out.find("as two us  speed-up"), std::string::npos) << table.out;
}

TEST(bench_command, the_backward_of_attention_has_a_record_of_its_own) {
  const auto json = bench({"attention", small, "--width", "8", "--heads", "2", "--backward"});
  EXPECT_NE(json["command"].get<std::string>().find(" --backward"), std::string::npos) << json["command"];
  const auto& backward = json["results"][0];
  expect_verified(backward);
  EXPECT_EQ(backward["op"], "attention");
  EXPECT_EQ(backward["variant"], "gat.backward");
  EXPECT_NE(backward["plan"].get<std::string>().find("attention f32 2x8 sum on cpu"), std::string::npos);
  EXPECT_GT(backward["spmm_us"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(backward["spmm_ratio"].get<double>(),
                   backward["median_us"].get<double>() / backward["spmm_us"].get<double>());
  EXPECT_EQ(bench({"attention", small, "--width", "8", "--heads", "2"})["results"][0]["variant"], "gat");
  const Outcome table =
      run_weft({"bench", "attention", small, "--width", "8", "--op", "gatv2", "--backward", "--repeat", "1"});
  EXPECT_EQ(table.status, 0) << table.err;
  for (const std::string part : {"attention gatv2.backward ", "x spmm"})
    EXPECT_NE(table.out.find(part), std::string::npos) << part << " in\n" << table.out;
}

TEST(bench_command, the_backward_runs_on_odd_graphs_too) {
  const Folder folder;
  write_text(folder / "none.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 0\n");
  write_text(folder / "wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 5 2\n1 5\n2 1\n");
  const Outcome outcome = run_weft({"bench", "attention", folder / "none.mtx", folder / "wide.mtx", "star:nodes=100",
                                    "--width", "8", "--backward", "--repeat", "1", "--peers", "--json", "-"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["results"].size(), 3u);
}

TEST(bench_command, a_peer_without_the_operator_is_left_out) {
  const auto json = bench({"attention", small, "--width", "8", "--peers"});
  for (const auto& peer : json["results"][0]["peers"]) {
    EXPECT_EQ(peer["status"], "not applicable");
    EXPECT_FALSE(peer.contains("median_us"));
  }
}

TEST(bench_command, table_and_files_say_the_same) {
  const Folder folder;
  const Outcome outcome = run_weft({"bench", "spmm", small, "--width", "16", "--repeat", "3", "--peers", "--json",
                                    folder / "out.json", "--report", folder / "out.html"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const std::string part : {"device: cpu", "median us", "GFLOP/s", "x floor", "verified", "yes"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
  const auto json = nlohmann::json::parse(text_of(folder / "out.json"));
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", json["results"][0]["median_us"].get<double>());
  const std::string median = text;
  EXPECT_NE(outcome.out.find(median), std::string::npos) << median;
  const std::string html = text_of(folder / "out.html");
  for (const std::string& part : std::vector<std::string>{"<!doctype html>", "<svg", "</html>", "gather floor", median})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  for (const std::string part : {"http://", "https://", "<script", "<link", "src="})
    EXPECT_EQ(html.find(part), std::string::npos) << part;
}

TEST(bench_command, every_policy_gives_a_row_and_only_the_first_has_peers) {
  const auto json = bench({"spmm", small, "--width", "8", "--peers", "--policy", "tasks=3", "--policy", "auto",
                           "--policy", "tasks=5,schedule=rows"});
  ASSERT_EQ(json["results"].size(), 3u);
  const std::vector<std::string> policies{"tasks=3", "", "tasks=5,schedule=rows"};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& result = json["results"][i];
    expect_verified(result);
    EXPECT_EQ(result["policy"], policies[i]);
    if (i > 0) {
      EXPECT_TRUE(result["peers"].empty());
    }
  }
  EXPECT_NE(json["results"][0]["plan"].get<std::string>().find("tasks: 3 "), std::string::npos);
  EXPECT_NE(json["results"][2]["plan"].get<std::string>().find("rows, tasks: 5 "), std::string::npos);
  EXPECT_NE(json["command"].get<std::string>().find("--policy tasks=3 --policy auto"), std::string::npos);
}

TEST(bench_command, a_policy_may_stand_before_the_graphs) {
  const Outcome outcome =
      run_weft({"bench", "spmm", "--policy", "tasks=3", small, "star:nodes=50", "--width", "8", "--repeat", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const std::string part : {"policy", "tasks=3", "powerlaw:nodes=15", "star:nodes=50"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
}

TEST(bench_command, a_batch_goes_on_where_one_graph_fails_and_keeps_its_records) {
  const Folder folder;
  const Outcome outcome = run_weft({"bench", "spmm", small, folder / "missing.csr", "star:nodes=50", "--width", "8",
                                    "--repeat", "1", "--json", folder / "out.json"});
  expect_complaint(outcome, 1, "1 of the measurements failed");
  EXPECT_NE(outcome.out.find("missing.csr failed"), std::string::npos) << outcome.out;
  const auto json = nlohmann::json::parse(text_of(folder / "out.json"));
  ASSERT_EQ(json["results"].size(), 2u);
  EXPECT_EQ(json["results"][1]["graph"], "star:nodes=50");
}

TEST(bench_command, a_policy_that_fails_costs_no_other_its_row) {
  const Folder folder;
  // Of a GPU: no plan on a CPU has it. Peers are timed beside the first policy that runs.
  for (const bool first : {true, false}) {
    SCOPED_TRACE(first);
    std::vector<std::string> arguments{
        "bench",    "spmm", small,    "star:nodes=50",     "--width",  "8",
        "--repeat", "1",    "--json", folder / "out.json", "--report", folder / "out.html"};
    const std::vector<std::string> refused{"--policy", "assignment=consecutive"},
        others{"--policy", "auto", "--policy", "tasks=3"};
    arguments.insert(arguments.end(), refused.begin(), refused.end());
    arguments.insert(first ? arguments.end() : arguments.end() - 2, others.begin(), others.end());
    const Outcome outcome = run_weft(arguments);
    expect_complaint(outcome, 1, "2 of the measurements failed");
    EXPECT_NE(outcome.out.find("note: star:nodes=50 width 8 f32 policy assignment=consecutive failed: policy"),
              std::string::npos)
        << outcome.out;
    const auto results = nlohmann::json::parse(text_of(folder / "out.json"))["results"];
    ASSERT_EQ(results.size(), 6u);
    std::size_t failed = 0;
    for (const auto& result : results) {
      if (result["policy"] == "assignment=consecutive") {
        ++failed;
        EXPECT_NE(result["error"].get<std::string>().find("assignment=consecutive is a GPU's"), std::string::npos);
        for (const char* key : {"median_us", "verified", "plan"}) EXPECT_FALSE(result.contains(key)) << key;
      } else {
        EXPECT_FALSE(result.contains("error"));
        EXPECT_EQ(result["verified"]["right"], true);
        EXPECT_GT(result["median_us"].get<double>(), 0);
      }
    }
    EXPECT_EQ(failed, 2u);
    const std::string page = text_of(folder / "out.html");
    EXPECT_EQ(unbalanced(page), "");
    EXPECT_EQ(count_of(page, ">failed: policy assignment=consecutive is a GPU's"), 2u);
    EXPECT_EQ(count_of(page, "<svg"), 4u);
  }
  expect_complaint(run_weft({"bench", "spmm", small, "--width", "8", "--policy", "assignment=consecutive"}), 1,
                   "assignment=consecutive is a GPU's");
}

TEST(bench_command, report_goes_to_standard_output_where_asked) {
  const Outcome outcome =
      run_weft({"bench", "spmm", "star:nodes=50", "--width", "8", "--repeat", "1", "--report", "-"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.rfind("<!doctype html>", 0), 0u) << outcome.out.substr(0, 100);
  EXPECT_EQ(unbalanced(outcome.out), "");
  EXPECT_NE(outcome.err.find("median us"), std::string::npos) << outcome.err;
  expect_complaint(run_weft({"bench", "spmm", small, "--width", "8", "--report", "-", "--json", "-"}), 2, "both '-'");
}

TEST(bench_command, says_why_there_is_no_gpu) {
  if (!cuda_devices().empty()) GTEST_SKIP() << "this machine has a GPU";
  expect_complaint(run_weft({"bench", "spmm", small, "--width", "8", "--device", "cuda:0"}), 1,
                   "--device is 'cuda:0', but this ");
}

TEST(bench_command, subgraphs_are_verified_and_their_means_belong_to_their_times) {
  const auto json = bench({"spmm", "powerlaw:nodes=6000,edges=60000,seed=4", "--width", "16", "--subgraphs", "4",
                           "--seed", "7", "--peers", "--policy", "auto", "--policy", "tasks=3"});
  EXPECT_TRUE(json["results"].empty());
  ASSERT_EQ(json["subgraphs"].size(), 1u);
  const auto& record = json["subgraphs"][0];
  EXPECT_EQ(record["wrong"], 0);
  EXPECT_EQ(record["seed"], 7);
  EXPECT_EQ(record["repeat"], 3);
  ASSERT_EQ(record["subgraphs"].size(), 4u);
  ASSERT_GE(record["methods"].size(), 2u);
  EXPECT_EQ(record["methods"][0]["name"], "weft");
  EXPECT_EQ(record["methods"][1]["name"], "weft tasks=3");
  double product = 1, ratios = 1;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& subgraph = record["subgraphs"][i];
    EXPECT_EQ(subgraph["sampler"], i % 2 == 0 ? "walk" : "node");
    EXPECT_GE(subgraph["nodes"], 1000);
    EXPECT_LE(subgraph["nodes"], 6000);
    product *= subgraph["weft_us"].get<double>();
    if (subgraph.contains("best_peer_us"))
      ratios *= subgraph["best_peer_us"].get<double>() / subgraph["weft_us"].get<double>();
  }
  const double mean = record["methods"][0]["fresh_us"];
  EXPECT_NEAR(std::pow(product, 0.25) / mean, 1, 1e-9);
  if (record["methods"].size() > 2) {
    EXPECT_NEAR(std::pow(ratios, 0.25) / record["speedup"].get<double>(), 1, 1e-9);
  }
}

TEST(bench_command, subgraphs_have_a_table_and_no_page) {
  const Outcome outcome = run_weft({"bench", "spmm", small, "--width", "8", "--subgraphs", "2", "--repeat", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const std::string part : {"method", "fresh us", "run us", "weft"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
  const Folder folder;
  expect_complaint(
      run_weft({"bench", "spmm", small, "--width", "8", "--subgraphs", "2", "--report", folder / "page.html"}), 2,
      "--report shows whole graphs");
  expect_complaint(run_weft({"bench", "spmm", small, "--width", "8", "--subgraphs", "many"}), 2, "--subgraphs");
}

TEST(bench_command, runs_a_file_as_well_as_a_spec) {
  const Folder folder;
  ASSERT_EQ(run_weft({"generate", small, "-o", folder / "mine.weft"}).status, 0);
  const auto json = bench({"spmm", folder / "mine.weft", "--width", "8"});
  EXPECT_EQ(json["results"][0]["graph"], "mine");
  expect_verified(json["results"][0]);
}

}  // namespace
}  // namespace weft::test
