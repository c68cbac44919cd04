// weft_cells GRAPH...: times of operators on a GPU, one line a cell, to compare two builds by runs in turns. Nothing is
// checked here (weft_bits compares the bits, the tests the values), and all inputs are zeros: a cell takes
// milliseconds.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>

#include "weft/io.hpp"
#include "weft/ops.hpp"
#include "weft/plan.hpp"

namespace weft::test {
namespace {

const Device gpu{DeviceKind::cuda, 0};

Tensor zeros(Shape shape, Dtype dtype) { return Tensor::zeros(shape, dtype, "operand", gpu); }

class Cells {
 public:
  Cells(std::string name, const Graph& graph) : name_(std::move(name)), graph_(graph.to(gpu)) {}

  void measure_all() {
    for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
      for (const std::int64_t width : {16, 32, 64, 128, 256}) spmm_cell(dtype, width, SpmmOp::u_mul_e, Reduce::sum);
      for (const std::int64_t width : {1, 4, 30, 47, 64, 100}) spmm_cell(dtype, width, SpmmOp::copy_u, Reduce::sum);
      for (const std::int64_t width : {32, 64, 128})
        if (graph_.num_rows() == graph_.num_cols()) normalised_cell(dtype, width);
      spmm_cell(dtype, 64, SpmmOp::copy_u, Reduce::mean);
      spmm_cell(dtype, 64, SpmmOp::copy_u, Reduce::max);
      spmm_cell(dtype, 47, SpmmOp::copy_u, Reduce::mean);
      spmm_cell(dtype, 30, SpmmOp::copy_u, Reduce::max);
      spmm_cell(dtype, 64, SpmmOp::u_add_e, Reduce::sum);
      spmm_cell(dtype, 64, SpmmOp::u_add_e, Reduce::max);
      for (const std::int64_t width : {16, 30, 64, 128}) sddmm_cell(dtype, width);
      softmax_cell(dtype, 4);
      attention_cells(dtype, Score::gat, 1, 64, true);
      attention_cells(dtype, Score::gat, 4, 16, true);
      attention_cells(dtype, Score::gat, 8, 32, true);
      attention_cells(dtype, Score::gat, 8, 8, true);
      attention_cells(dtype, Score::gat, 1, 7, true);
      attention_cells(dtype, Score::gat, 4, 30, true);
      attention_cells(dtype, Score::gatv2, 1, 64, false);
      attention_cells(dtype, Score::dot, 4, 16, false);
    }
  }

 private:
  void spmm_cell(Dtype dtype, std::int64_t width, SpmmOp op, Reduce reduce) {
    SpmmOptions options;
    options.op = op;
    options.reduce = reduce;
    const bool weighted = uses_edge(op);
    const Tensor x = zeros(Shape(graph_.num_cols(), width), dtype), edge = zeros(Shape(graph_.num_edges()), dtype);
    Tensor out = zeros(Shape(graph_.num_rows(), width), dtype);
    const Plan plan = planned({OpKind::spmm, dtype, 1, width, reduce, weighted});
    report(fmt::format("spmm {} {} {} {}", name(op), name(reduce), name(dtype), width), [&] {
      spmm(context_, plan, graph_, x, weighted ? ConstTensorView(edge) : ConstTensorView{}, out, options);
    });
  }
  /// As GCN sums: with factors of sources and targets and each node's own features.
  void normalised_cell(Dtype dtype, std::int64_t width) {
    const Tensor x = zeros(Shape(graph_.num_cols(), width), dtype), scale = zeros(Shape(graph_.num_rows()), Dtype::f32);
    Tensor out = zeros(Shape(graph_.num_rows(), width), dtype);
    SpmmOptions options;
    options.epilogue.row_scale = scale;
    options.epilogue.self_scale = scale;
    options.epilogue.col_scale = scale;
    options.op = SpmmOp::copy_u;
    const Plan plan = planned({OpKind::spmm, dtype, 1, width, Reduce::sum, false});
    report(fmt::format("spmm copy_u normalised {} {}", name(dtype), width),
           [&] { spmm(context_, plan, graph_, x, {}, out, options); });
  }
  void sddmm_cell(Dtype dtype, std::int64_t width) {
    const Tensor u = zeros(Shape(graph_.num_cols(), width), dtype), v = zeros(Shape(graph_.num_rows(), width), dtype);
    Tensor out = zeros(Shape(graph_.num_edges()), dtype);
    const Plan plan = planned({OpKind::sddmm, dtype, 1, width, Reduce::sum, false});
    report(fmt::format("sddmm dot {} {}", name(dtype), width), [&] { sddmm(context_, plan, graph_, u, v, out); });
  }
  void softmax_cell(Dtype dtype, std::int64_t heads) {
    const Tensor scores = zeros(Shape(graph_.num_edges(), heads, 1), dtype);
    Tensor out = zeros(Shape(graph_.num_edges(), heads, 1), dtype);
    const Plan plan = planned({OpKind::softmax, dtype, heads, 1, Reduce::sum, true});
    report(fmt::format("softmax {} {} heads", name(dtype), heads),
           [&] { edge_softmax(context_, plan, graph_, scores, out); });
  }
  void attention_cells(Dtype dtype, Score score, std::int64_t heads, std::int64_t width, bool backward) {
    const std::int64_t depth = score == Score::gat ? 1 : width;
    const Tensor value = zeros(Shape(graph_.num_cols(), heads, width), dtype),
                 src = zeros(Shape(graph_.num_cols(), heads, depth), dtype),
                 dst = zeros(Shape(graph_.num_rows(), heads, depth), dtype),
                 attn = zeros(Shape(1, heads, depth), dtype);
    AttentionInputs inputs;
    inputs.score = score;
    inputs.value = value;
    inputs.src = src;
    inputs.dst = dst;
    if (score == Score::gatv2) inputs.attn = attn;
    AttentionResult result;
    result.out = zeros(Shape(graph_.num_rows(), heads, width), dtype);
    result.row_max = zeros(Shape(graph_.num_rows(), heads, 1), Dtype::f32);
    result.row_sum = zeros(Shape(graph_.num_rows(), heads, 1), Dtype::f32);
    const std::string what = fmt::format("{} {} {}x{}", name(score), name(dtype), heads, width);
    const Plan plan = planned({OpKind::attention, dtype, heads, width, Reduce::sum, true});
    report("attention " + what,
           [&] { attention(context_, plan, graph_, inputs, result.out, result.row_max, result.row_sum); });
    if (!backward) return;
    const Tensor out_grad = zeros(result.out.shape(), dtype);
    Tensor value_grad = zeros(value.shape(), dtype), src_grad = zeros(src.shape(), dtype),
           dst_grad = zeros(dst.shape(), dtype);
    const AttentionBackwardPlan back = plan_attention_backward(context_, graph_, inputs);
    context_.reserve(back.workspace_bytes);
    AttentionGradientViews into;
    into.value = value_grad;
    into.src = src_grad;
    into.dst = dst_grad;
    report("attention backward " + what,
           [&] { attention_backward(context_, back, graph_, inputs, result, out_grad, into); });
  }

  Plan planned(const OpDesc& desc) {
    Plan plan = make_plan(context_, graph_, desc);
    context_.reserve(plan.workspace_bytes);
    return plan;
  }
  /// The least of five stretches of calls, each at least 5 ms long, divided by their number.
  template <class Run>
  void report(const std::string& cell, const Run& run) {
    using Clock = std::chrono::steady_clock;
    const auto stretch = [&](int calls) {
      const auto begin = Clock::now();
      for (int i = 0; i < calls; ++i) run();
      context_.synchronise();
      return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    };
    for (int i = 0; i < 3; ++i) run();
    context_.synchronise();
    const int calls = std::clamp(static_cast<int>(5000 / std::max(stretch(2) / 2, 1.0)), 2, 1000);
    double least = stretch(calls);
    for (int i = 0; i < 4; ++i) least = std::min(least, stretch(calls));
    fmt::print("{}\t{}\t{:.3f}\n", name_, cell, least / calls);
  }

  std::string name_;
  Graph graph_;
  Context context_ = Context::cuda();
};

}  // namespace
}  // namespace weft::test

int main(int count, char** arguments) {
  try {
    for (int i = 1; i < count; ++i) {
      const weft::GraphFile file = weft::open_graph(arguments[i]);
      weft::test::Cells(file.name, file.graph).measure_all();
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft_cells: {}\n", error.what());
    return 1;
  }
  return 0;
}
