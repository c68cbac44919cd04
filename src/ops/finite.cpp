#include "ops/finite.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "graph/scan.hpp"
#include "kernels/cuda/elementwise/elementwise.hpp"

namespace weft {
namespace {

constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

/// The index of the first element that is not finite, counted row by row, and whether it is NaN.
struct Found {
  std::int64_t element = none;
  bool nan = false;
};

Found on_cuda(const Context& context, ConstTensorView tensor) {
  Tensor first = Tensor::empty(Shape(1), Dtype::i64, "the place of a value that is not finite");
  first.span<std::int64_t>()[0] = none;
  Tensor there = first.to(context.device(), context.stream());
  const Features row{1, tensor.shape.row_size(), 2};
  tensor.shape = row.with_rows(tensor.shape.rows);
  cuda::first_not_finite({tensor.shape.rows, row.width, operand(tensor, row), there.view().as<std::int64_t>()},
                         context.device(), context.stream());
  context.synchronise();
  const Tensor found = there.to(Device{});
  const std::int64_t code = found.span<std::int64_t>()[0];
  return code == none ? Found{} : Found{code / 2, code % 2 != 0};
}

Found on_cpu(ConstTensorView tensor) {
  const std::int64_t width = tensor.shape.row_size(), count = tensor.shape.rows * width, ld = tensor.ld;
  Found found;
  with_floating(tensor.dtype, "tensor", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto value = [data = tensor.as<T>(), width, ld](std::int64_t i) {
      return convert<double>(data[i / width * ld + i % width]);
    };
    const std::int64_t first = find_first(count, [&](std::int64_t i) { return !std::isfinite(value(i)); });
    if (first < count) found = {first, std::isnan(value(first))};
  });
  return found;
}

bool asked_for() {
  static const bool asked = [] {
    const char* const value = std::getenv("WEFT_CHECK_FINITE");
    return value != nullptr && std::string_view(value) != "" && std::string_view(value) != "0";
  }();
  return asked;
}

}  // namespace

void check_finite(const Context& context, ConstTensorView tensor, std::string_view name) {
  check_tensor(context, tensor, name, tensor.shape.rows, "node or edge");
  if (tensor.shape.size() == 0) return;
  WEFT_CHECK(tensor.shape.row_size() < (std::int64_t{1} << 31), unsupported,
             "{} has {} values per row: expected fewer than 2^31", name, tensor.shape.row_size());
  const Found found = context.device().kind == DeviceKind::cuda ? on_cuda(context, tensor) : on_cpu(tensor);
  if (found.element == none) return;
  const std::int64_t row = found.element / tensor.shape.row_size(), in_row = found.element % tensor.shape.row_size();
  const std::string where = tensor.shape.rank == 1   ? fmt::format("{}", row)
                            : tensor.shape.rank == 2 ? fmt::format("{}, {}", row, in_row)
                                                     : fmt::format("{}, {}, {}", row, in_row / tensor.shape.width,
                                                                   in_row % tensor.shape.width);
  fail(ErrorCode::invalid_argument,
       "{}[{}] is {}: expected finite values, which {} has up to {}; if sums of row {} pass that, scale them "
       "(row_scale, mean){}",
       name, where, found.nan ? "nan" : "infinite", weft::name(tensor.dtype), largest_value(tensor.dtype), row,
       size_of(tensor.dtype) == 2 ? ", saturate, or let the output be f32" : " or saturate");
}

void check_result(const Context& context, ConstTensorView out, std::string_view op) {
  if (!asked_for()) return;
  if (context.device().kind == DeviceKind::cuda && cuda::is_captured(context.device(), context.stream())) return;
  check_finite(context, out, fmt::format("out of {}", op));
}

}  // namespace weft
