// What the planner expects of windows: the times that were measured, and nothing where nothing was.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plan/cuda/window_choice.hpp"
#include "plan/cuda/windows.hpp"
#include "plan/h200.hpp"

namespace weft::test {
namespace {

OpDesc desc_of(OpKind kind, std::int64_t features, bool weighted = true) {
  OpDesc desc{kind, Dtype::f16, 1, features, Reduce::sum, weighted};
  desc.fits_windows = true;
  return desc;
}

OpDesc gradients_of(std::int64_t features) {
  OpDesc desc = desc_of(OpKind::attention, features);
  desc.backward = true;
  return desc;
}

GraphView clusters() {
  GraphView graph;
  graph.num_rows = graph.num_cols = 120'000;
  graph.num_edges = 47'993'035;
  return graph;
}
/// Of its windows of 128 rows in sequence, counted.
WindowEstimate of_clusters(int threshold) {
  switch (threshold) {
    case 3: return {0.663, 49'350};
    case 5: return {0.576, 29'529};
    case 6: return {0.550, 25'622};
    case 8: return {0.501, 20'044};
  }
  ADD_FAILURE() << "not counted at " << threshold;
  return {};
}

/// A row of bench/records/h200/windows.json.
struct Measured {
  OpDesc desc;
  double cuda_us, tensor_us;
};
const Measured on_clusters[] = {{desc_of(OpKind::spmm, 64, false), 589.6, 401.6},
                                {desc_of(OpKind::spmm, 128, false), 1145.5, 745.7},
                                {desc_of(OpKind::spmm, 64), 665.4, 619.8},
                                {desc_of(OpKind::spmm, 128), 1218.9, 1090.0},
                                {desc_of(OpKind::sddmm, 64), 620.7, 668.8},
                                {desc_of(OpKind::sddmm, 128), 1228.5, 1112.6},
                                {desc_of(OpKind::attention, 64), 827.4, 701.3},
                                {desc_of(OpKind::attention, 128), 1562.8, 1267.7},
                                {gradients_of(64), 1801.9, 1388.0},
                                {gradients_of(128), 2834.3, 2418.2}};

double share_of_run(const OpDesc& desc, double run_us, const tuning::CudaRates& rates) {
  const tuning::WindowRates* const of = window_rates(desc, rates);
  if (of == nullptr) return 0;
  const WindowEstimate seen = of_clusters(usual_windows(desc).threshold);
  const double modelled_us = run_us / of->run_share;
  return window_run_us(desc, rates, *of, clusters(), seen, modelled_us) / modelled_us;
}

TEST(window_forecast, is_what_was_measured) {
  const tuning::CudaRates rates = tuning::cuda_rates(h200());
  for (const Measured& row : on_clusters)
    EXPECT_NEAR(share_of_run(row.desc, row.cuda_us, rates), row.tensor_us / row.cuda_us, 0.07)
        << name(row.desc.kind) << (row.desc.weighted ? " weighted" : "") << " of " << row.desc.width;
}

TEST(window_forecast, tells_which_were_slower) {
  const tuning::CudaRates rates = tuning::cuda_rates(h200());
  for (const Measured& row : on_clusters)
    EXPECT_EQ(share_of_run(row.desc, row.cuda_us, rates) < 1, row.tensor_us < row.cuda_us)
        << name(row.desc.kind) << " of " << row.desc.width;
}

TEST(window_forecast, knows_that_few_windows_leave_multiprocessors_idle) {
  // One small graph, a tenth of all pairs: 28 windows, whose tiles several blocks share in sums alone.
  GraphView dense;
  dense.num_rows = dense.num_cols = 3500;
  dense.num_edges = 1'198'856;
  const WindowEstimate seen{0.99, 1498};
  const tuning::CudaRates rates = tuning::cuda_rates(h200());
  const auto run_us = [&](const OpDesc& desc, double cuda_us) {
    return window_run_us(desc, rates, *window_rates(desc, rates), dense, seen, cuda_us);
  };
  EXPECT_LT(run_us(desc_of(OpKind::spmm, 64, false), 25.4), 25.4) << "13.6 us were measured";
  EXPECT_LT(run_us(desc_of(OpKind::spmm, 128), 44.5 / 0.7), 44.5 / 0.7) << "30.8 us";
  EXPECT_GT(run_us(desc_of(OpKind::attention, 64), 37.1), 37.1) << "64.0 us";
  EXPECT_GT(run_us(gradients_of(64), 73.3), 73.3) << "116.4 us";
}

TEST(window_forecast, looks_where_that_takes_nothing_of_the_runs) {
  const tuning::CudaRates rates = tuning::cuda_rates(h200());
  const auto looks = [&](const OpDesc& desc, EdgeId edges, std::int64_t runs, double cuda_us) {
    const tuning::WindowRates& of = *window_rates(desc, rates);
    return worth_a_look(rates, of, windows_made_us(rates, usual_windows(desc), edges), edges, runs, cuda_us);
  };
  const OpDesc sums = desc_of(OpKind::spmm, 64, false);
  EXPECT_TRUE(looks(sums, 47'993'035, 100, 830)) << "clusters";
  EXPECT_TRUE(looks(sums, 113'133'811, 100, 2'100)) << "reddit";
  EXPECT_FALSE(looks(sums, 47'993'035, 10, 830)) << "making them takes more than 10 runs";
  // arxiv: a look takes 0.1 ms, 1.7 % of 100 runs.
  EXPECT_FALSE(looks(sums, 2'483'107, 100, 64));
  EXPECT_TRUE(looks(sums, 2'483'107, 1000, 64));
  EXPECT_TRUE(looks(gradients_of(64), 47'993'035, 100, 895)) << "clusters";
}

TEST(window_forecast, never_counts_edges_beside_windows_for_more_than_a_run) {
  const tuning::CudaRates rates = tuning::cuda_rates(h200());
  for (const Measured& row : on_clusters) {
    const tuning::WindowRates& of = *window_rates(row.desc, rates);
    const double none = window_run_us(row.desc, rates, of, clusters(), {0, 0}, 1000);
    EXPECT_GE(none, 1000);
    EXPECT_LT(none, 1200) << "launches, and sums that are written and read";
  }
}

TEST(window_forecast, is_of_calls_that_are_known_to_fit) {
  const tuning::CudaRates rates = tuning::cuda_rates(h200());
  for (const OpKind kind : {OpKind::spmm, OpKind::sddmm, OpKind::attention}) {
    OpDesc desc = desc_of(kind, 64);
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
      desc.dtype = dtype;
      EXPECT_NE(window_rates(desc, rates), nullptr) << name(kind) << " " << name(dtype);
    }
    desc.dtype = Dtype::f32;
    EXPECT_EQ(window_rates(desc, rates), nullptr) << name(kind) << " f32";
    desc.dtype = Dtype::f16;
    desc.fits_windows = false;
    EXPECT_EQ(window_rates(desc, rates), nullptr) << name(kind) << ": not known to fit";
  }
  EXPECT_EQ(window_rates(desc_of(OpKind::softmax, 1), rates), nullptr);
  // What sums without values take is all that their description leaves open but the scale of sources.
  OpDesc sums = desc_of(OpKind::spmm, 64, false);
  sums.fits_windows = false;
  EXPECT_EQ(window_rates(sums, rates), &rates.sums);
  sums.dtype = Dtype::f32;
  EXPECT_EQ(window_rates(sums, rates), &rates.sums_f32);
}

TEST(window_forecast, is_of_gpus_that_were_measured) {
  CudaDevice other = h200();
  other.compute_capability = 100;
  const tuning::CudaRates unknown = tuning::cuda_rates(other);
  for (const Measured& row : on_clusters) EXPECT_EQ(window_rates(row.desc, unknown), nullptr);
  CudaDevice half = h200();
  half.multiprocessors /= 2;
  const tuning::CudaRates whole_rates = tuning::cuda_rates(h200()), half_rates = tuning::cuda_rates(half);
  EXPECT_DOUBLE_EQ(half_rates.gat.tile_ns, 2 * whole_rates.gat.tile_ns);
  EXPECT_DOUBLE_EQ(half_rates.dots.edge_ns, 2 * whole_rates.dots.edge_ns);
  EXPECT_DOUBLE_EQ(half_rates.weighted_sums.edge_step_ns, 2 * whole_rates.weighted_sums.edge_step_ns);
}

TEST(window_forecast, is_of_windows_with_lists_where_edges_have_values) {
  EXPECT_FALSE(usual_windows(desc_of(OpKind::spmm, 64, false)).edges);
  EXPECT_TRUE(usual_windows(desc_of(OpKind::spmm, 64)).edges);
  EXPECT_TRUE(usual_windows(desc_of(OpKind::sddmm, 64)).edges);
  EXPECT_FALSE(usual_windows(desc_of(OpKind::attention, 64)).edges);
  const tuning::CudaRates rates = tuning::cuda_rates(h200());
  EXPECT_GT(rates.listed_edge_ns, rates.window_edge_ns);
}

TEST(window_plan, is_another_and_says_so_where_windows_are_others) {
  Plan plan;
  plan.desc = desc_of(OpKind::spmm, 64);
  CudaPlan& cuda = plan.how.emplace<CudaPlan>();
  cuda.core = Core::tensor;
  cuda.window_rows = 128;
  cuda.window_threshold = 5;
  const auto other = [&](const auto& change) {
    Plan changed = plan;
    change(changed.cuda());
    EXPECT_NE(changed, plan);
    EXPECT_NE(to_string(changed), to_string(plan));
  };
  other([](CudaPlan& by) { by.core = Core::cuda; });
  other([](CudaPlan& by) { by.window_rows = 64; });
  other([](CudaPlan& by) { by.window_threshold = 3; });
  other([](CudaPlan& by) { by.window_layout = WindowLayout::clusters; });
  other([](CudaPlan& by) { by.window_select = WindowSelect::model; });
  other([](CudaPlan& by) { by.tf32 = true; });
}

TEST(window_scratch, counts_what_attention_keeps_of_nodes) {
  constexpr std::int64_t rows = 1024;
  const OpDesc sums = desc_of(OpKind::spmm, 128), dots = desc_of(OpKind::sddmm, 128);
  OpDesc gat = desc_of(OpKind::attention, 64);
  gat.heads = 2;
  EXPECT_EQ(WindowScratch::most_bytes(sums, rows), rows * 128 * sizeof(float));
  EXPECT_EQ(WindowScratch::most_bytes(gat, rows), rows * (128 + 2 * 4) * sizeof(float));
  EXPECT_EQ(WindowScratch::most_bytes(dots, rows), 0u);
  OpDesc f32 = desc_of(OpKind::spmm, 72, false);
  f32.dtype = Dtype::f32;
  EXPECT_EQ(WindowScratch::most_bytes(f32, rows), rows * (72 * sizeof(float) + 2 * 64 * 3 * 2)) << "pieces as well";
}

}  // namespace
}  // namespace weft::test
