// A benchmark never shows a time for a wrong result; timing takes turns; the floor reads what it says.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/reference.hpp"
#include "bench/run_case.hpp"
#include "bench/timing.hpp"
#include "markup.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

using namespace weft::tool;

/// Gives what it is told to: right, wrong, or right only the first few times.
class FakeWorkload final : public Workload {
 public:
  FakeWorkload(const Graph& graph, bool right, int same_runs)
      : graph_(graph), right_(right), same_runs_(same_runs), out_(Tensor::zeros(Shape(graph.num_rows()), Dtype::f32)) {}

  void run() override {
    ++runs_;
    for (float& value : out_.span<float>()) value = runs_ <= same_runs_ ? 1.0f : 2.0f;
  }
  Reference reference(const Sample& sample) const override {
    Reference expected = by_row_reference(sample, 1);
    for (double& value : expected.values.span<double>()) value = right_ ? 1 : 5;
    return expected;
  }
  Tensor& result() override { return out_; }
  std::int64_t features_an_edge() const override { return 1; }
  double flops() const override { return 1000; }
  FloorJob floor() const override {
    FloorJob job;
    job.graph = graph_.view();
    job.written_bytes = 16;
    return job;
  }
  int runs() const { return runs_; }

 private:
  const Graph& graph_;
  bool right_;
  int same_runs_, runs_ = 0;
  Tensor out_;
};

struct Measured {
  Record record;
  int runs = 0;
};
Measured measure_fake(bool right, int same_runs) {
  const Graph graph = generate(GridSpec{.side = 5});
  Context context = Context::cpu(1);
  FakeWorkload workload(graph, right, same_runs);
  CaseOptions options;
  options.repeat = 4;
  Measured measured;
  measured.record = measure(context, graph, Setup{}, workload, options);
  measured.runs = workload.runs();
  return measured;
}

TEST(measure, a_right_result_is_timed) {
  const Measured measured = measure_fake(true, 1000);
  EXPECT_TRUE(measured.record.right());
  EXPECT_EQ(measured.record.repeat, 4);
  EXPECT_GT(measured.record.median_us, 0);
}

TEST(measure, a_wrong_result_is_never_timed_and_its_record_has_no_time) {
  const Measured measured = measure_fake(false, 1000);
  EXPECT_FALSE(measured.record.right());
  EXPECT_EQ(measured.runs, 1);
  const auto json = to_json(RunInfo{}, {measured.record})["results"][0];
  EXPECT_EQ(json["verified"]["right"], false);
  EXPECT_EQ(json["verified"]["first_wrong"].get<std::string>().find("row 0, element 0 is 1 and should be 5"), 0u);
  for (const char* key : {"median_us", "min_us", "gflops"}) EXPECT_FALSE(json.contains(key)) << key;
  EXPECT_NE(to_html(RunInfo{}, {measured.record}).find("WRONG"), std::string::npos);
}

TEST(measure, a_report_warns_of_a_busy_machine_in_the_terminals_words) {
  RunInfo quiet;
  quiet.threads = 8;
  quiet.load = 1;
  EXPECT_EQ(busy_note(quiet), "");
  RunInfo busy = quiet;
  busy.load = 6.25;
  EXPECT_EQ(busy_note(busy), "this machine is busy (load 6.2 before weft started): expect noisy times");
  const Record record = measure_fake(true, 1000).record;
  EXPECT_EQ(to_html(quiet, {record}).find("busy"), std::string::npos);
  const std::string page = to_html(busy, {record}, {"a <note>"});
  EXPECT_NE(page.find(busy_note(busy)), std::string::npos);
  EXPECT_NE(page.find("note: a &lt;note&gt;"), std::string::npos);
  EXPECT_EQ(unbalanced(page), "");
}

TEST(measure, other_bits_in_a_later_run_make_it_wrong) {
  const Measured measured = measure_fake(true, 3);
  EXPECT_FALSE(measured.record.right());
  EXPECT_FALSE(to_json(RunInfo{}, {measured.record})["results"][0].contains("median_us"));
}

TEST(measure, a_gradient_that_is_off_in_one_element_of_a_sampled_row_is_wrong) {
  const Graph graph = in_stored_order(generate(UniformSpec{.nodes = 300, .edges = 4000})).graph;
  Context context = Context::cpu(2);
  for (const Score score : {Score::gat, Score::gatv2, Score::dot}) {
    SCOPED_TRACE(name(score));
    tool::Setup setup;
    setup.desc = {OpKind::attention, Dtype::f32, 2, 4, Reduce::sum, true};
    setup.score = score;
    setup.backward = true;
    const auto workload = make_workload(context, graph, setup);
    for (const double work : {1e9, 1e4}) {  // all rows, and some
      const Sample sample = Sample::of(workload->reduced_over(graph), workload->features_an_edge(), work, work);
      EXPECT_EQ(sample.everything(), work > 1e8);
      const Reference reference = workload->reference(sample);
      workload->run();
      EXPECT_TRUE(reference.compare(context, workload->result()).right);
      const std::int64_t row = sample.row(sample.num_rows() / 2);
      workload->result().span<float>()[static_cast<std::size_t>(row * 8 + 5)] += 1e-3f;
      const Verification off = reference.compare(context, workload->result());
      EXPECT_FALSE(off.right);
      EXPECT_EQ(off.first_wrong.find("row " + std::to_string(row) + ", element 5 is "), 0u) << off.first_wrong;
    }
  }
}

TEST(timing, contestants_take_turns_and_the_first_rotates) {
  const Context context = Context::cpu(1);
  std::string order;
  std::vector<Contestant> contestants{{[&] { order += 'a'; }, {}}, {[&] { order += 'b'; }, {}}};
  TimingOptions options;
  options.repeat = 3;
  time_in_turns(*make_timer(context), contestants, options);
  EXPECT_EQ(order,
            "aabb"
            "ab"
            "ba"
            "ab");
  for (const Contestant& contestant : contestants) EXPECT_EQ(contestant.microseconds.size(), 3u);
}

TEST(timing, short_runs_may_warm_the_cache_for_themselves) {
  const Context context = Context::cpu(1);
  std::string order;
  std::vector<Contestant> contestants{{[&] { order += 'a'; }, {}}, {[&] { order += 'b'; }, {}}};
  TimingOptions options;
  options.repeat = 2;
  options.warm_below_us = 1e9;
  time_in_turns(*make_timer(context), contestants, options);
  EXPECT_EQ(order,
            "aabb"
            "aabb"
            "bbaa");
  for (const Contestant& contestant : contestants) EXPECT_EQ(contestant.microseconds.size(), 2u);
}

TEST(timing, short_runs_are_repeated_at_least_twenty_times) {
  const Context context = Context::cpu(1);
  std::vector<Contestant> contestants{{[] {}, {}}};
  TimingOptions options;
  options.fill_seconds = 0.001;
  time_in_turns(*make_timer(context), contestants, options);
  EXPECT_GE(contestants[0].microseconds.size(), 20u);
}

TEST(timing, long_runs_stop_early_but_never_under_five) {
  const Context context = Context::cpu(1);
  std::vector<Contestant> contestants{{[] {}, {}}};
  TimingOptions options;
  options.limit_seconds = 0;
  time_in_turns(*make_timer(context), contestants, options);
  EXPECT_EQ(contestants[0].microseconds.size(), 5u);
}

TEST(timing, median_and_quantiles_are_of_the_values) {
  EXPECT_EQ(median_of({5, 1, 3}), 3);
  EXPECT_EQ(median_of({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(quantile_of({5, 1, 3}, 0), 1);
  EXPECT_EQ(quantile_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.9), 9);
  EXPECT_EQ(quantile_of({7}, 0.9), 7);
  EXPECT_DOUBLE_EQ(geometric_mean_of({2, 8}), 4);
  EXPECT_DOUBLE_EQ(geometric_mean_of({1e-3, 1, 1e3}), 1);
  EXPECT_EQ(geometric_mean_of({}), 0);
}

TEST(gather_floor, counts_what_it_gathers_and_runs_for_any_row_size) {
  const Graph graph = generate(UniformSpec{.nodes = 300, .edges = 2500});
  for (const std::int64_t bytes : {1, 2, 4, 6, 16, 18, 64, 82, 94, 256, 300}) {
    SCOPED_TRACE(bytes);
    const std::vector<std::byte> rows(
        static_cast<std::size_t>(300 * bytes));  // exact: a sanitizer sees a read beyond it
    FloorJob job;
    job.graph = graph.view();
    job.gathered.push_back({rows.data(), bytes});
    job.streamed.push_back({rows.data(), static_cast<std::int64_t>(rows.size())});
    job.written_bytes = 1000;
    EXPECT_EQ(job.gathered_bytes(), 2500.0 * static_cast<double>(bytes));
    const Context context = Context::cpu(2);
    make_gather_floor(context, job)->run();
  }
}

}  // namespace
}  // namespace weft::test
