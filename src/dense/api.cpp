// The public face of dense products and activations (include/weft/dense.hpp): arguments are checked here, and the
// products and passes that layers use do the work.
#include "core/check.hpp"
#include "core/device_room.hpp"
#include "dense/checks.hpp"
#include "dense/gemm.hpp"
#include "dense/passes.hpp"
#include "weft/dense.hpp"

namespace weft {
namespace {

Dtype accumulator_of(Dtype dtype) { return dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

/// One number per column, in what activations are accumulated in.
void check_columns(const Context& context, ConstTensorView view, const char* name, ConstTensorView x) {
  dense::check_dense(context, view, name);
  WEFT_CHECK(view.shape.size() == x.shape.row_size() && view.dtype == accumulator_of(x.dtype), invalid_argument,
             "{} is {} {}: expected {} [{}], one number for each column", name, weft::name(view.dtype),
             to_string(view.shape), weft::name(accumulator_of(x.dtype)), x.shape.row_size());
}

}  // namespace

// ---- Products --------------------------------------------------------------------------------

struct MatrixProduct::State {
  State(const Context& context, bool tf32) : device(context.device()), gemm(context, tf32) {}
  Device device;
  dense::Gemm gemm;
};

MatrixProduct::MatrixProduct(const Context& context, bool tf32) : state_(std::make_unique<State>(context, tf32)) {}
MatrixProduct::~MatrixProduct() = default;
MatrixProduct::MatrixProduct(MatrixProduct&&) noexcept = default;
MatrixProduct& MatrixProduct::operator=(MatrixProduct&&) noexcept = default;

void MatrixProduct::operator()(ConstTensorView a, ConstTensorView b, TensorView c, const ProductOptions& options) {
  const auto check = [&](ConstTensorView view, const char* name) {
    WEFT_CHECK(view.given && is_floating(view.dtype) && view.shape.rank == 2, invalid_argument,
               "{} is {} {}: expected a floating matrix of two dimensions", name, weft::name(view.dtype),
               to_string(view.shape));
    WEFT_CHECK(view.device == state_->device, invalid_argument, "{} is on {}: expected {}, where the products run",
               name, to_string(view.device), to_string(state_->device));
    WEFT_CHECK(view.ld >= view.shape.row_size(), invalid_argument,
               "{} has a leading dimension of {}: expected at least its {} columns", name, view.ld,
               view.shape.row_size());
  };
  check(a, "a");
  check(b, "b");
  check(c, "c");
  WEFT_CHECK(a.dtype == b.dtype && (c.dtype == a.dtype || c.dtype == accumulator_of(a.dtype)), invalid_argument,
             "a is {}, b {} and c {}: expected one storage type, or f32 for c", weft::name(a.dtype),
             weft::name(b.dtype), weft::name(c.dtype));
  const auto [m, k] =
      options.transpose_a ? std::pair(a.shape.width, a.shape.rows) : std::pair(a.shape.rows, a.shape.width);
  const auto [k_of_b, n] =
      options.transpose_b ? std::pair(b.shape.width, b.shape.rows) : std::pair(b.shape.rows, b.shape.width);
  WEFT_CHECK(k == k_of_b && c.shape.rows == m && c.shape.width == n, invalid_argument,
             "a is {}{}, b {}{} and c {}: expected [m, k], [k, n] and [m, n]", to_string(a.shape),
             options.transpose_a ? " transposed" : "", to_string(b.shape), options.transpose_b ? " transposed" : "",
             to_string(c.shape));
  const auto as = [](bool transposed) { return transposed ? dense::Transposed::yes : dense::Transposed::no; };
  state_->gemm(a, as(options.transpose_a), b, as(options.transpose_b), c, options.accumulate);
}

// ---- Activations -----------------------------------------------------------------------------

void activate(const Context& context, ConstTensorView x, ConstTensorView bias, Activation activation, TensorView out) {
  dense::check_dense(context, x, "x");
  dense::check_like(context, out, "out", x, "x");
  if (bias.given) check_columns(context, bias, "bias", x);
  dense::ActivateArgs args;
  args.dtype = x.dtype;
  args.rows = x.shape.rows;
  args.width = x.shape.row_size();
  args.x = x.data;
  args.bias = bias.given ? bias.data : nullptr;
  args.activation = activation;
  args.out = out.mutable_data();
  if (x.shape.size() > 0) dense::run(context, args);
}

void activate_backward(const Context& context, ConstTensorView out, ConstTensorView out_grad, Activation activation,
                       TensorView grad, TensorView bias_grad) {
  dense::check_dense(context, out, "out");
  dense::check_like(context, out_grad, "out_grad", out, "out");
  dense::check_like(context, grad, "grad", out, "out");
  dense::ActivateBackwardArgs args;
  args.dtype = out.dtype;
  args.rows = out.shape.rows;
  args.width = out.shape.row_size();
  args.out = out.data;
  args.out_grad = out_grad.data;
  args.activation = activation;
  args.grad = grad.mutable_data();
  // The pass sums over rows whether or not anybody wants the sum.
  Tensor scratch = room_for<std::byte>(context, static_cast<std::int64_t>(loops::fold_bytes(args.rows, args.width, 1)),
                                       "partial sums of a bias");
  args.scratch = scratch.view().mutable_data();
  if (bias_grad.given) {
    check_columns(context, bias_grad, "bias_grad", out);
    args.bias_grad = bias_grad.mutable_data();
  }
  dense::run(context, args);
}

}  // namespace weft
