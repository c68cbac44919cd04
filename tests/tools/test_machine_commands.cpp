// doctor and explain.
#include "command_runner.hpp"
#include "options.hpp"
#include "weft/context.hpp"

namespace weft::test {
namespace {

TEST(doctor, is_healthy_and_says_what_it_found) {
  const Outcome outcome = run_weft({"doctor"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  for (const std::string part :
       {"cores", "vectors", "memory", "huge pages", "cuda", "peers", "mtx", "self-test", "pass"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
  EXPECT_EQ(outcome.out.find("FAIL"), std::string::npos) << outcome.out;
}

TEST(doctor, json_carries_the_self_test) {
  const auto json = run_weft({"doctor", "--json"}).json();
  EXPECT_EQ(json["self_test"]["passed"], true);
  EXPECT_GE(json["self_test"]["checks"].size(), 8u);
  EXPECT_EQ(json["cpu"]["usable_threads"], available_threads());
  EXPECT_EQ(json["cuda"]["built"], built_with_cuda());
  if (!built_with_cuda()) {
    EXPECT_NE(json["cuda"]["why_none"], "");
  }
  EXPECT_GT(json["memory"]["bytes"].get<double>(), 0);
  EXPECT_GE(json["formats"].size(), 4u);
}

TEST(device_line, says_in_a_word_that_there_is_no_gpu_or_why_one_was_passed_over) {
  const CudaDevice gpu{.index = 0, .name = "H100"};
  EXPECT_EQ(tool::gpu_note(false, {}, false), "; no GPU");
  EXPECT_EQ(tool::gpu_note(true, {}, false), "; no GPU");
  EXPECT_EQ(tool::gpu_note(true, {}, true), "; no usable GPU (weft doctor says why)");
  EXPECT_EQ(tool::gpu_note(false, {}, true), "; a GPU is present, but this build has no CUDA");
  EXPECT_EQ(tool::gpu_note(true, {gpu}, true), "; a GPU is present (H100): --device cuda uses it");
}

TEST(explain, chooses_one_candidate_and_says_why) {
  const auto json =
      run_weft({"explain", "spmm", "powerlaw:nodes=5000,edges=60000,seed=1", "--width", "64", "--json"}).json();
  ASSERT_FALSE(json["candidates"].empty());
  int chosen = 0;
  double least = 1e300, taken = 0;
  for (const auto& candidate : json["candidates"]) {
    chosen += candidate["chosen"].get<bool>() ? 1 : 0;
    least = std::min(least, candidate["total_us"].get<double>());
    if (candidate["chosen"].get<bool>()) taken = candidate["total_us"];
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_DOUBLE_EQ(taken, least);
  EXPECT_NE(json["reason"], "");
  const Outcome by_itself = run_weft(
      {"explain", "spmm", "powerlaw:nodes=5000,edges=60000,seed=1", "--width", "64", "--json", "--policy", "auto"});
  EXPECT_EQ(by_itself.json()["candidates"], json["candidates"]) << "auto is no policy, as in weft bench";
}

TEST(explain, says_why_there_is_no_plan_for_a_gpu) {
  if (!cuda_devices().empty()) GTEST_SKIP() << "this machine has a GPU";
  const Outcome outcome = run_weft({"explain", "spmm", "star:nodes=300", "--width", "8", "--device", "cuda"});
  expect_complaint(outcome, 1, "--device is 'cuda', but this ");
  expect_complaint(outcome, 1, ": use --device cpu, or leave --device out");
}

TEST(explain, text_marks_the_choice_for_every_operator) {
  for (const std::string op : {"spmm", "sddmm", "spmv", "softmax", "attention", "segment"}) {
    SCOPED_TRACE(op);
    const Outcome outcome = run_weft({"explain", op, "star:nodes=300", "--width", "1", "--heads", "1"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    for (const std::string part : {"device: cpu", "graph    star:nodes=300", "->", "choice", "why"})
      EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
  }
}

std::string chosen_plan(const nlohmann::json& json) {
  for (const auto& candidate : json["candidates"])
    if (candidate["chosen"].get<bool>()) return candidate["plan"];
  return "nothing chosen";
}

TEST(explain, attention_is_planned_for_its_heads_width_type_and_policy) {
  const std::vector<std::string> arguments{"explain",   "attention", "powerlaw:nodes=5000,edges=60000,seed=1",
                                           "--width",   "16",        "--heads",
                                           "4",         "--dtype",   "f16",
                                           "--threads", "2",         "--json"};
  const auto json = run_weft(arguments).json();
  EXPECT_EQ(json["op"], "attention");
  EXPECT_EQ(json["heads"], 4);
  EXPECT_EQ(json["width"], 16);
  EXPECT_EQ(json["dtype"], "f16");
  EXPECT_EQ(json["backward"], false);
  EXPECT_GT(json["candidates"].size(), 1u);
  EXPECT_EQ(chosen_plan(json).find("attention f16 4x16 sum on cpu (threads: 2): "), 0u) << chosen_plan(json);
  for (const auto& candidate : json["candidates"]) EXPECT_GT(candidate["workspace_bytes"].get<double>(), 0);

  std::vector<std::string> fixed = arguments;
  fixed.insert(fixed.end(), {"--policy", "schedule=rows,tasks=7"});
  const auto by_policy = run_weft(fixed).json();
  ASSERT_EQ(by_policy["candidates"].size(), 1u);
  EXPECT_EQ(by_policy["candidates"][0]["schedule"], "rows");
  EXPECT_EQ(by_policy["candidates"][0]["tasks"], 7);
}

TEST(explain, plans_for_the_edges_that_a_sample_keeps) {
  const auto with = [](std::vector<std::string> list, std::size_t at, const char* value) {
    list[at] = value;
    return list;
  };
  const std::vector<std::string> plain{"explain", "spmm", "star:nodes=300", "--width", "8", "--sample-width", "10"};
  const Outcome text = run_weft(plain);
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("sample   at most 10 edges of a row: "), std::string::npos) << text.out;
  expect_complaint(run_weft(with(plain, 1, "sddmm")), 2, "sddmm does not sample edges; spmm and attention do");
  expect_complaint(run_weft(with(plain, 6, "0")), 2, "--sample-width");
}

TEST(explain, the_backward_of_attention_is_planned_over_the_transpose) {
  const Folder folder;
  write_text(folder / "wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 5 3\n1 5\n2 1\n1 1\n");
  const Outcome forward = run_weft({"explain", "attention", folder / "wide.mtx", "--width", "8"});
  const Outcome backward = run_weft({"explain", "attention", folder / "wide.mtx", "--width", "8", "--backward"});
  EXPECT_EQ(forward.status, 0) << forward.err;
  EXPECT_EQ(backward.status, 0) << backward.err;
  EXPECT_NE(forward.out.find("wide: 2 x 5, 3 edges; in-degree"), std::string::npos) << forward.out;
  for (const std::string part : {"wide, transposed: 5 x 2, 3 edges; out-degree",
                                 "the backward's one visit of the edges", "choice   attention f32 1x8 sum on cpu"})
    EXPECT_NE(backward.out.find(part), std::string::npos) << part << " in\n" << backward.out;
  std::vector<std::string> halves{"explain", "attention", folder / "wide.mtx", "--width", "8", "--backward"};
  halves.insert(halves.end(), {"--dtype", "f16"});
  const Outcome of_halves = run_weft(halves);
  for (const std::string part : {"the gradient of value", "choice   spmm f16 1x8 sum on cpu"})
    EXPECT_NE(of_halves.out.find(part), std::string::npos) << part << " in\n" << of_halves.out;
  halves.push_back("--json");
  const auto json = run_weft(halves).json();
  EXPECT_EQ(json["op"], "attention");
  EXPECT_EQ(json["planned_op"], "spmm");
  EXPECT_EQ(json["rows"], 5);
  EXPECT_EQ(json["cols"], 2);
  EXPECT_EQ(json["backward"], true);
  EXPECT_NE(json["about"], "");
}

TEST(explain, policy_is_obeyed) {
  const auto json =
      run_weft({"explain", "spmm", "grid:side=40", "--width", "8", "--policy", "schedule=rows,tasks=7", "--json"})
          .json();
  for (const auto& candidate : json["candidates"])
    if (candidate["chosen"].get<bool>()) {
      EXPECT_EQ(candidate["schedule"], "rows");
      EXPECT_EQ(candidate["tasks"], 7);
    }
}

}  // namespace
}  // namespace weft::test
