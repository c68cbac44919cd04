// What a benchmark measures with on a GPU, and the command there.
#include <cmath>
#include <utility>

#include "bench/cuda/measure.hpp"
#include "bench/inputs.hpp"
#include "bench/reference.hpp"
#include "bench/timing.hpp"
#include "bench/workload.hpp"
#include "command_runner.hpp"
#include "cuda/gpu.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

using namespace weft::tool;

class BenchGpu : public GpuTest {};

Tensor counted(std::int64_t size) {
  Tensor tensor = Tensor::empty(Shape(size), Dtype::i32);
  for (std::int64_t i = 0; i < size; ++i)
    tensor.span<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
  return tensor;
}

TEST_F(BenchGpu, an_event_timer_times_the_call_and_nothing_before_it) {
  const Context context = Context::cuda();
  const auto timer = make_timer(context);
  timer->microseconds([] {});
  const double nothing = timer->microseconds([] {});
  EXPECT_GE(nothing, 0);
  EXPECT_LT(nothing, 30);  // the kernel before it waits about 50 us
  const Tensor from = counted(1 << 26).to(gpu);
  EXPECT_GT(timer->microseconds([&] { from.to(gpu); }), nothing + 50);  // 256 MiB read and written
}

TEST_F(BenchGpu, a_fingerprint_sees_one_byte_and_the_order) {
  const Context context = Context::cuda();
  Tensor bytes = counted(100'003);
  const auto of = [&] { return fingerprint(context, bytes.to(gpu)); };
  const std::uint64_t before = of();
  EXPECT_EQ(of(), before);
  bytes.span<std::int32_t>()[100'002] ^= 1 << 24;
  EXPECT_NE(of(), before);
  bytes.span<std::int32_t>()[100'002] ^= 1 << 24;
  std::swap(bytes.span<std::int32_t>()[7], bytes.span<std::int32_t>()[8]);
  EXPECT_NE(of(), before);
}

TEST_F(BenchGpu, an_unwritten_output_is_not_a_number) {
  const Context context = Context::cuda();
  const Tensor host = unwritten_tensor(context, Shape(33, 3), Dtype::f32, "out").to(Device{});
  for (const float value : host.span<float>()) EXPECT_TRUE(std::isnan(value));
}

TEST_F(BenchGpu, the_floor_runs_for_any_row_size_and_edge_count) {
  const Context context = Context::cuda();
  for (const std::int64_t edges : {1, 31, 2500}) {
    const Graph graph = generate(UniformSpec{.nodes = 300, .edges = edges}).to(gpu);
    for (const std::int64_t bytes : {2, 4, 6, 12, 16, 64, 82, 164, 400, 1024, 2408}) {
      SCOPED_TRACE(bytes);
      const Tensor rows = counted((300 * bytes + 3) / 4).to(gpu);
      FloorJob job;
      job.graph = graph.view();
      job.gathered.push_back({rows.view().data, bytes});
      job.streamed.push_back({rows.view().data, 300 * bytes});
      job.written_bytes = 1000;
      make_gather_floor(context, job)->run();
      context.synchronise();
    }
  }
}

TEST_F(BenchGpu, spmm_is_verified_beside_every_cusparse_algorithm) {
  const Outcome outcome = run_weft({"bench", "spmm", "powerlaw:nodes=1500,edges=20000,seed=4", "star:nodes=3000",
                                    "--width", "16,33", "--device", "cuda", "--peers", "--policy", "auto", "--policy",
                                    "edges=64,order=columns", "--repeat", "3", "--json", "-"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = outcome.json();
  EXPECT_NE(json["device"]["gpu"]["name"], "");
  EXPECT_GT(json["device"]["gpu"]["copy_gb_s"].get<double>(), 100);
  ASSERT_EQ(json["results"].size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    const auto& result = json["results"][i];
    SCOPED_TRACE(result.dump());
    EXPECT_EQ(result["verified"]["right"], true);
    EXPECT_GT(result["floor_us"].get<double>(), 0);
    EXPECT_EQ(result["policy"], i % 2 == 0 ? "" : "edges=64,order=columns");
    ASSERT_EQ(result["peers"].size(), i % 2 == 0 ? 8u : 0u);
    int right = 0;
    for (const auto& peer : result["peers"]) {
      EXPECT_NE(peer["status"], "wrong");
      EXPECT_NE(peer["status"], "failed");
      right += peer["status"] == "ok" ? 1 : 0;
    }
    if (i % 2 == 0) {
      EXPECT_GE(right, 4);
    }
  }
}

TEST_F(BenchGpu, ways_that_round_to_halves_are_held_to_their_own_roundings) {
  const Outcome outcome = run_weft({"bench", "spmm", "powerlaw:nodes=1500,edges=60000,seed=4", "--width", "64",
                                    "--dtype", "f16,bf16", "--device", "cuda", "--policy", "accumulate=half2",
                                    "--policy", "stage=128,flush=atomic", "--repeat", "3", "--json", "-"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = outcome.json();
  ASSERT_EQ(json["results"].size(), 4u);
  for (const auto& result : json["results"]) {
    EXPECT_EQ(result["verified"]["right"], true) << result.dump();
    EXPECT_GT(result["verified"]["max_error_over_bound"].get<double>(), 0.001) << "a bound that says nothing";
  }
}

TEST_F(BenchGpu, spmv_is_verified_beside_cusparse) {
  const Outcome outcome = run_weft({"bench", "spmv", "powerlaw:nodes=1500,edges=20000,seed=4", "--device", "cuda",
                                    "--peers", "--repeat", "3", "--json", "-"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = outcome.json();
  const auto& result = json["results"][0];
  EXPECT_EQ(result["verified"]["right"], true);
  ASSERT_EQ(result["peers"].size(), 5u);
  for (const auto& peer : result["peers"]) EXPECT_EQ(peer["status"], "ok") << peer.dump();
}

TEST_F(BenchGpu, subgraphs_count_planning_and_what_cusparse_does_once_a_matrix) {
  const Outcome outcome = run_weft({"bench", "spmm", "powerlaw:nodes=6000,edges=60000,seed=4", "--width", "64",
                                    "--device", "cuda", "--subgraphs", "4", "--peers", "--repeat", "3", "--json", "-"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = outcome.json();
  const auto& record = json["subgraphs"][0];
  ASSERT_EQ(record["methods"].size(), 9u);
  for (std::size_t i : {0, 1})  // weft, and cuSPARSE's own choice
    EXPECT_EQ(record["methods"][i]["subgraphs"], 4) << record["methods"][i].dump();
  EXPECT_GT(record["methods"][1]["fresh_us"].get<double>(), record["methods"][1]["run_us"].get<double>());
  EXPECT_GT(record["speedup"].get<double>(), 0);
}

TEST_F(BenchGpu, the_backward_of_attention_is_verified_and_planned_once) {
  std::vector<std::string> arguments{"bench", "attention", "powerlaw:nodes=1500,edges=20000,seed=4", "--backward"};
  for (const char* more : {"--width", "16", "--heads", "4", "--dtype", "f32,f16,bf16,f64", "--device", "cuda",
                           "--policy", "auto", "--policy", "edges=64,order=columns", "--repeat", "3", "--json", "-"})
    arguments.push_back(more);
  const Outcome outcome = run_weft(arguments);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = outcome.json();
  ASSERT_EQ(json["results"].size(), 8u);
  for (const auto& result : json["results"]) {
    SCOPED_TRACE(result.dump());
    EXPECT_EQ(result["variant"], "gat.backward");
    EXPECT_EQ(result["verified"]["right"], true);
    EXPECT_EQ(result["verified"]["repeatable"], true);
    EXPECT_GT(result["plan_us"].get<double>(), 0);
    EXPECT_NE(result["plan"], "planned inside the call");
    EXPECT_GT(result["spmm_us"].get<double>(), 0);
  }
}

TEST_F(BenchGpu, explain_shows_the_candidates_of_the_gpu) {
  const Outcome outcome = run_weft({"explain", "spmm", "star:nodes=3000", "--width", "64", "--device", "cuda"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const std::string part : {"device: cuda:0", "lanes", "->", "choice", "why"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
}

TEST_F(BenchGpu, explain_shows_the_plans_of_attention_forward_and_backward) {
  std::vector<std::string> arguments{"explain", "attention", "powerlaw:nodes=1500,edges=20000,seed=4"};
  for (const char* more : {"--width", "16", "--heads", "4", "--dtype", "f16", "--device", "cuda"})
    arguments.push_back(more);
  for (const bool backward : {false, true}) {
    if (backward) arguments.push_back("--backward");
    const Outcome outcome = run_weft(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    for (const std::string part : {"device: cuda:0", "->", "choice   attention f16 4x16 sum on cuda:0", "why"})
      EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
    EXPECT_EQ(outcome.out.find("transposed") != std::string::npos, backward) << outcome.out;
  }
}

TEST_F(BenchGpu, the_command_takes_the_gpu_unless_threads_are_asked_for) {
  const auto explained = [](std::vector<std::string> more) {
    std::vector<std::string> arguments{"explain", "attention",  "star:nodes=300", "--width",
                                       "8",       "--backward", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_weft(arguments, "", Gpus::always).json();
  };
  EXPECT_EQ(explained({})["device"], "cuda:0");
  EXPECT_EQ(explained({})["planned_op"], "attention");
  EXPECT_EQ(explained({"--threads", "2"})["device"], "cpu");
  EXPECT_NE(explained({"--heads", "3"})["about"].get<std::string>().find("several operators"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
