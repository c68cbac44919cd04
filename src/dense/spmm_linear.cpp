// spmm_linear (include/weft/dense.hpp): arguments are checked, and one kernel or several do the work.
#include <algorithm>

#include "core/check.hpp"
#include "dense/checks.hpp"
#include "dense/fuses.hpp"
#include "dense/passes.hpp"
#include "graph/graph_internals.hpp"
#include "ops/elementwise.hpp"
#include "ops/operands.hpp"
#include "weft/dense.hpp"

namespace weft {
namespace {

using dense::Transposed;

/// A dense tensor with so many numbers of this type.
void check_numbers(const Context& context, ConstTensorView view, const char* name, std::int64_t count, Dtype dtype) {
  dense::check_dense(context, view, name);
  WEFT_CHECK(view.shape.size() == count && view.dtype == dtype, invalid_argument, "{} is {} {}: expected {} [{}]", name,
             weft::name(view.dtype), to_string(view.shape), weft::name(dtype), count);
}
void check_matrix(const Context& context, ConstTensorView view, const char* name, std::int64_t rows,
                  std::int64_t columns, Dtype dtype) {
  dense::check_dense(context, view, name);
  WEFT_CHECK(view.shape.rows == rows && view.shape.row_size() == columns && view.dtype == dtype, invalid_argument,
             "{} is {} {}: expected {} [{}, {}]", name, weft::name(view.dtype), to_string(view.shape),
             weft::name(dtype), rows, columns);
}

/// On a GPU rows are read and written 16 bytes at a time.
void check_aligned(std::initializer_list<NamedTensor> tensors) {
  for (const auto& [tensor, name] : tensors)
    WEFT_CHECK(!tensor.given || tensor.device.kind == DeviceKind::cpu ||
                   reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0,
               invalid_argument, "{} begins at an address that is no multiple of 16: clone it first", name);
}

const void* data_of(ConstTensorView view) { return view.given ? view.data : nullptr; }

/// Sums over a graph that meet weights, one way or the other.
struct Direction {
  Graph graph;
  Plan plan;    // of the sums where they run by themselves
  Tensor rows;  // of the sums, where the caller keeps none and they must stand somewhere
  bool fused = false;
};

}  // namespace

struct SpmmLinear::State {
  State(Context& given, const Graph& graph, const SpmmLinearDesc& of)
      : context(given), desc(of), gemm(given), forward(direction(graph, of.in, of.out, of.reduce, false)) {
    if (!forward.fused) forward.rows = empty(graph.num_rows(), of.in);
    if (!of.backward) return;
    backward = direction(graph.transpose(), of.out, of.in, Reduce::sum, true);  // weights' gradient needs sums alone
    backward.rows = empty(graph.num_cols(), of.out);
    if (of.reduce == Reduce::mean) {
      for (Tensor* const norms : {&inverse, &scales})
        *norms = Tensor::empty(Shape(graph.num_rows()), accumulator(of.dtype), "scales of gradients", context.device(),
                               context.stream());
      row_norms(context, graph, {}, inverse);
    }
    if (owns_outer()) gemm.reserve(of.dtype, graph.num_cols(), of.in, of.out);
  }

  /// `alone`: sums run by themselves even where they are fused.
  Direction direction(const Graph& graph, std::int64_t in, std::int64_t out, Reduce reduce, bool alone) {
    // What the backward sums up is stored: the weights' gradient needs it. What else a run will say is not known yet.
    const dense::FusedSums sums{.scaled = desc.weighted || (alone && desc.reduce == Reduce::mean), .stored = alone};
    Direction made{graph, {}, {}, dense::fuses(gemm, graph, desc.dtype, in, out, sums, desc.fuse)};
    if (desc.weighted) made.graph.view();  // which ids of edges may have to be made for
    if (made.fused && !alone) return made;
    made.plan = make_plan(context, graph, {OpKind::spmm, desc.dtype, 1, in, reduce, desc.weighted});
    context.reserve(made.plan.workspace_bytes);
    return made;
  }
  Tensor empty(std::int64_t rows, std::int64_t columns) const {
    return Tensor::empty(Shape(rows, columns), desc.dtype, "sums over neighbours", context.device(), context.stream());
  }
  bool owns_outer() const { return gemm.own(desc.dtype, forward.graph.num_cols(), desc.in, desc.out); }

  /// out = finish(rows of `options` weight); reads nothing of options but what rows are made by.
  void run(Direction& by, ConstTensorView x, ConstTensorView edge, ConstTensorView weight, Transposed as,
           TensorView out, const SpmmLinearOptions& options, Reduce reduce, TensorView kept,
           const dense::Finish& finish) {
    if (by.graph.num_rows() == 0) return;
    if (by.fused) {
      dense::NeighbourRows rows;
      rows.graph = edge.given ? by.graph.view() : GraphInternals::view_without_ids(by.graph);
      rows.x = x.data;
      rows.edge = data_of(edge);
      if (edge.given) rows.edge_dtype = edge.dtype;
      rows.mean = reduce == Reduce::mean;
      rows.row_scale = data_of(options.rows.row_scale);
      rows.col_scale = data_of(options.rows.col_scale);
      rows.adds_self = options.add_self;
      rows.eps = data_of(options.eps);
      rows.bias = data_of(options.rows.bias);
      rows.relu = options.rows.relu;
      rows.saturates = options.rows.saturate;
      if (kept.given) rows.kept = kept.mutable_data();
      return gemm.multiply(rows, weight, as, out, finish);
    }
    const TensorView rows = kept.given ? kept : by.rows.view();
    sum(by, x, edge, options, reduce, rows);
    multiply(rows, weight, as, out, finish);
  }

  void sum(const Direction& by, ConstTensorView x, ConstTensorView edge, const SpmmLinearOptions& options,
           Reduce reduce, TensorView rows) {
    SpmmOptions sums;
    sums.op = edge.given ? SpmmOp::u_mul_e : SpmmOp::copy_u;
    sums.reduce = reduce;
    sums.epilogue = options.rows;
    if (!options.add_self) return spmm(context, by.plan, by.graph, x, edge, rows, sums);
    // What stands behind the self term in the sum waits for it.
    sums.epilogue.bias = {};
    sums.epilogue.relu = sums.epilogue.saturate = false;
    spmm(context, by.plan, by.graph, x, edge, rows, sums);
    const std::int64_t width = rows.shape.row_size(), both = std::min(by.graph.num_rows(), by.graph.num_cols());
    const Epilogue& e = options.rows;
    if (!e.bias.given && !e.relu && !e.saturate)
      return dense::run(
          context, dense::AddSelfArgs{desc.dtype, both * width, x.data, data_of(options.eps), rows.mutable_data()});
    const auto pass = [&](std::int64_t begin, std::int64_t end, const void* self) {
      if (begin == end) return;
      void* const at =
          static_cast<std::byte*>(rows.mutable_data()) + static_cast<std::size_t>(begin * width) * size_of(desc.dtype);
      dense::ActivateArgs args{desc.dtype, end - begin,     width,
                               at,         data_of(e.bias), e.relu ? Activation::relu : Activation::none};
      args.out = at;
      args.added = self;
      args.added_eps = data_of(options.eps);
      dense::run(context, args);
    };
    pass(0, both, x.data);
    pass(both, by.graph.num_rows(), nullptr);
  }

  void multiply(ConstTensorView rows, ConstTensorView weight, Transposed as, TensorView out,
                const dense::Finish& finish) {
    if (gemm.own(desc.dtype, rows.shape.rows, desc.in, desc.out)) return gemm.multiply(rows, weight, as, out, finish);
    gemm(rows, Transposed::no, weight, as, out);
    if (finish.bias.given || finish.relu) {
      dense::ActivateArgs args{out.dtype, out.shape.rows,       out.shape.row_size(),
                               out.data,  data_of(finish.bias), finish.relu ? Activation::relu : Activation::none};
      args.out = out.mutable_data();
      dense::run(context, args);
    } else if (finish.saturates) {
      dense::saturate(context, out);
    }
  }

  void check(ConstTensorView x, ConstTensorView edge, ConstTensorView weight, const SpmmLinearOptions& options) const {
    const Graph& graph = forward.graph;
    const Dtype acc = accumulator(desc.dtype);
    check_matrix(context, x, "x", graph.num_cols(), desc.in, desc.dtype);
    const bool turned = options.transpose_weight;
    check_matrix(context, weight, "weight", turned ? desc.out : desc.in, turned ? desc.in : desc.out, desc.dtype);
    WEFT_CHECK(edge.given == desc.weighted, invalid_argument,
               "edge is {}: the desc says that edges have {}; make another SpmmLinear for it",
               edge.given ? "given" : "missing", desc.weighted ? "values" : "none");
    if (edge.given) check_numbers(context, edge, "edge", graph.num_edges(), edge.dtype == acc ? acc : desc.dtype);
    const Epilogue& e = options.rows;
    if (e.row_scale.given) check_numbers(context, e.row_scale, "row_scale", graph.num_rows(), acc);
    if (e.col_scale.given) check_numbers(context, e.col_scale, "col_scale", graph.num_cols(), acc);
    WEFT_CHECK(!e.self_scale.given, unsupported,
               "self_scale is given: SpmmLinear adds x's own rows by add_self and eps");
    if (e.bias.given) check_numbers(context, e.bias, "the bias of rows", desc.in, acc);
    if (options.eps.given) check_numbers(context, options.eps, "eps", 1, acc);
    if (options.bias.given) check_numbers(context, options.bias, "bias", desc.out, acc);
  }

  Context& context;
  SpmmLinearDesc desc;
  dense::Gemm gemm;
  Direction forward, backward;
  Tensor inverse, scales;  // of means: 1 / degree, and a row scale over the degree
};

SpmmLinear::SpmmLinear(Context& context, const Graph& graph, const SpmmLinearDesc& desc) {
  WEFT_CHECK(is_floating(desc.dtype), invalid_argument, "dtype is {}: expected f32, f16, bf16 or f64",
             name(desc.dtype));
  WEFT_CHECK(desc.in >= 1 && desc.out >= 1, invalid_argument,
             "weights are [{}, {}]: expected at least one row and column", desc.in, desc.out);
  WEFT_CHECK(desc.reduce == Reduce::sum || desc.reduce == Reduce::mean, invalid_argument,
             "reduce is {}: expected sum or mean; take spmm and a MatrixProduct for it", name(desc.reduce));
  WEFT_CHECK(graph.device() == context.device(), invalid_argument,
             "the graph is on {} and the context on {}: copy it there first", to_string(graph.device()),
             to_string(context.device()));
  state_ = std::make_unique<State>(context, graph, desc);
}
SpmmLinear::~SpmmLinear() = default;
SpmmLinear::SpmmLinear(SpmmLinear&&) noexcept = default;
SpmmLinear& SpmmLinear::operator=(SpmmLinear&&) noexcept = default;

bool SpmmLinear::fused() const { return state_->forward.fused; }
bool SpmmLinear::fused_backward() const { return state_->backward.fused; }

void SpmmLinear::operator()(ConstTensorView x, ConstTensorView edge, ConstTensorView weight, TensorView out,
                            const SpmmLinearOptions& options) {
  State& s = *state_;
  s.check(x, edge, weight, options);
  const std::int64_t rows = s.forward.graph.num_rows();
  check_matrix(s.context, out, "out", rows, s.desc.out,
               out.dtype == accumulator(s.desc.dtype) ? out.dtype : s.desc.dtype);
  if (options.kept.given) check_matrix(s.context, options.kept, "kept", rows, s.desc.in, s.desc.dtype);
  check_apart({{out, "out"}, {options.kept, "kept"}}, {{x, "x"}, {edge, "edge"}, {weight, "weight"}});
  check_aligned({{x, "x"}, {out, "out"}, {options.kept, "kept"}});
  dense::Finish finish;
  finish.bias = options.bias;
  finish.relu = options.relu;
  finish.saturates = options.saturate;
  s.run(s.forward, x, edge, weight, options.transpose_weight ? Transposed::yes : Transposed::no, out, options,
        s.desc.reduce, options.kept, finish);
}

void SpmmLinear::backward(ConstTensorView x, ConstTensorView edge, ConstTensorView weight, ConstTensorView out_grad,
                          const SpmmLinearGradients& into, const SpmmLinearOptions& options) {
  State& s = *state_;
  WEFT_CHECK(s.desc.backward, invalid_argument, "gradients are asked for: expected a desc that says backward");
  s.check(x, edge, weight, options);
  WEFT_CHECK(!options.rows.bias.given && !options.rows.relu, invalid_argument,
             "rows have a bias or relu: expected neither in backward; take their gradient through it first");
  const Graph& graph = s.forward.graph;
  const Dtype acc = accumulator(s.desc.dtype);
  check_matrix(s.context, out_grad, "out_grad", graph.num_rows(), s.desc.out, s.desc.dtype);
  if (into.x.given) check_matrix(s.context, into.x, "the gradient of x", graph.num_cols(), s.desc.in, s.desc.dtype);
  const bool turned = options.transpose_weight;
  if (into.weight.given)
    check_matrix(s.context, into.weight, "the gradient of weight", weight.shape.rows, weight.shape.row_size(), acc);
  if (!into.x.given && !into.weight.given) return;
  check_aligned({{x, "x"}, {out_grad, "out_grad"}, {into.x, "the gradient of x"}});
  check_apart({{into.x, "the gradient of x"}, {into.weight, "the gradient of weight"}},
              {{x, "x"}, {edge, "edge"}, {weight, "weight"}, {out_grad, "out_grad"}});

  // Against the edges what scaled rows scales columns, and the other way round; a mean is divided before.
  SpmmLinearOptions against;
  against.rows.row_scale = options.rows.col_scale;
  against.rows.col_scale = options.rows.row_scale;
  against.add_self = options.add_self;
  against.eps = options.eps;
  if (s.inverse) {
    against.rows.col_scale = s.inverse;
    if (options.rows.row_scale.given) {
      row_norms(s.context, graph, options.rows.row_scale, s.scales);
      against.rows.col_scale = s.scales;
    }
  }
  const TensorView sums = s.backward.rows.view();
  if (into.x.given) {
    s.run(s.backward, out_grad, edge, weight, turned ? Transposed::no : Transposed::yes, into.x, against, Reduce::sum,
          sums, {});
  } else {
    s.sum(s.backward, out_grad, edge, against, Reduce::sum, sums);
  }
  if (!into.weight.given) return;
  if (turned) return s.gemm(sums, Transposed::yes, x, Transposed::no, into.weight);
  if (s.owns_outer()) return s.gemm.outer(x, sums, into.weight, {});
  s.gemm(x, Transposed::yes, sums, Transposed::no, into.weight);
}

Tensor spmm_linear(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                   ConstTensorView weight, const SpmmLinearOptions& options, Reduce reduce) {
  WEFT_CHECK(x.given && weight.given, invalid_argument, "{} is missing: expected a tensor", x.given ? "weight" : "x");
  const bool turned = options.transpose_weight;
  SpmmLinearDesc desc;
  desc.dtype = x.dtype;
  desc.in = turned ? weight.shape.row_size() : weight.shape.rows;
  desc.out = turned ? weight.shape.rows : weight.shape.row_size();
  desc.reduce = reduce;
  desc.weighted = edge.given;
  SpmmLinear planned(context, graph, desc);
  Tensor out = Tensor::empty(Shape(graph.num_rows(), desc.out), desc.dtype, "the output of spmm_linear",
                             context.device(), context.stream());
  planned(x, edge, weight, out, options);
  return out;
}

}  // namespace weft
