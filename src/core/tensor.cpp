#include "weft/tensor.hpp"

#include <utility>

#include "core/device.hpp"
#include "core/dispatch.hpp"
#include "core/memory.hpp"

namespace weft {
namespace {

void check_shape(const Shape& shape, std::string_view what) {
  const auto fits = [](std::int64_t a, std::int64_t b) {
    std::int64_t product;
    return !__builtin_mul_overflow(a, b, &product);
  };
  WEFT_CHECK(shape.rows >= 0 && shape.heads >= 0 && shape.width >= 0, invalid_argument,
             "{} has shape {}: no dimension may be negative", what, to_string(shape));
  WEFT_CHECK(fits(shape.heads, shape.width) && fits(shape.rows, shape.heads * shape.width), invalid_argument,
             "{} has shape {}: the number of elements passes 2^63", what, to_string(shape));
}

std::size_t checked_bytes(const Shape& shape, Dtype dtype, std::string_view what) {
  std::int64_t bytes;
  WEFT_CHECK(!__builtin_mul_overflow(shape.size(), static_cast<std::int64_t>(size_of(dtype)), &bytes), out_of_memory,
             "cannot allocate {} of shape {}: more than the address space holds", what, to_string(shape));
  return static_cast<std::size_t>(bytes);
}

template <class T>
Tensor copied(std::span<const T> values, Shape shape, Dtype dtype) {
  check_shape(shape, "tensor");
  WEFT_CHECK(static_cast<std::int64_t>(values.size()) == shape.size(), invalid_argument,
             "values has {} elements, but shape {} holds {}", values.size(), to_string(shape), shape.size());
  Tensor result = Tensor::empty(shape, dtype);
  with_any_dtype(dtype, [&](auto tag) {
    using To = typename decltype(tag)::type;
    To* out = result.span<To>().data();
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = convert<To>(values[i]);
  });
  return result;
}

}  // namespace

std::string to_string(const Shape& shape) {
  if (shape.rank <= 1) return fmt::format("[{}]", shape.rows);
  if (shape.rank == 2) return fmt::format("[{}, {}]", shape.rows, shape.width);
  return fmt::format("[{}, {}, {}]", shape.rows, shape.heads, shape.width);
}

void ConstTensorView::check_dtype(Dtype wanted) const {
  WEFT_CHECK(dtype == wanted, invalid_argument, "tensor {} holds {}, but was read as {}", to_string(shape), name(dtype),
             name(wanted));
}

ConstTensorView columns(ConstTensorView view, std::int64_t first, std::int64_t width) {
  WEFT_CHECK(view.shape.rank == 2, invalid_argument, "columns of a tensor {}: expected two dimensions",
             to_string(view.shape));
  WEFT_CHECK(first >= 0 && width >= 0 && first <= view.shape.width - width, invalid_argument,
             "columns from {}, {} of them, of a tensor {}: outside it", first, width, to_string(view.shape));
  view.data = static_cast<const std::byte*>(view.data) + first * static_cast<std::int64_t>(size_of(view.dtype));
  view.shape.width = width;
  return view;
}

TensorView columns(TensorView view, std::int64_t first, std::int64_t width) {
  static_cast<ConstTensorView&>(view) = columns(static_cast<const ConstTensorView&>(view), first, width);
  return view;
}

ConstTensorView per_head(ConstTensorView view) {
  WEFT_CHECK(view.shape.rank <= 2, invalid_argument, "per_head of a tensor {}: expected [n] or [n, heads]",
             to_string(view.shape));
  view.shape = Shape(view.shape.rows, view.shape.width, 1);
  return view;
}

TensorView per_head(TensorView view) {
  static_cast<ConstTensorView&>(view) = per_head(static_cast<const ConstTensorView&>(view));
  return view;
}

void Tensor::check_host() const {
  WEFT_CHECK(device().kind == DeviceKind::cpu, invalid_argument,
             "tensor {} is on {}, where the host cannot read it: copy it with to(Device{{}}) first", to_string(shape()),
             to_string(device()));
}

Tensor Tensor::empty(Shape shape, Dtype dtype, std::string_view what, Device device, CUstream_st* stream) {
  check_shape(shape, what);
  Tensor tensor;
  void* memory = device.kind == DeviceKind::cpu ? allocate(static_cast<std::size_t>(shape.size()), size_of(dtype), what)
                                                : allocate_on(device, stream, checked_bytes(shape, dtype, what), what);
  tensor.view_ = TensorView(memory, dtype, shape, device);
  tensor.stream_ = stream;
  return tensor;
}

Tensor Tensor::zeros(Shape shape, Dtype dtype, std::string_view what, Device device, CUstream_st* stream) {
  Tensor tensor = empty(shape, dtype, what, device, stream);
  zero_bytes(device, tensor.view_.mutable_data(), tensor.bytes(), stream);
  return tensor;
}

Tensor Tensor::from(std::span<const float> values, Shape shape, Dtype dtype) { return copied(values, shape, dtype); }
Tensor Tensor::from(std::span<const double> values, Shape shape, Dtype dtype) { return copied(values, shape, dtype); }

Tensor::Tensor(Tensor&& other) noexcept : view_(std::exchange(other.view_, {})), stream_(other.stream_) {}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this != &other) {
    deallocate_on(device(), stream_, view_.mutable_data());
    view_ = std::exchange(other.view_, {});
    stream_ = other.stream_;
  }
  return *this;
}

Tensor::~Tensor() { deallocate_on(device(), stream_, view_.mutable_data()); }

void Tensor::truncate(std::int64_t rows) {
  WEFT_CHECK(rows >= 0 && rows <= shape().rows, invalid_argument, "rows is {}: expected 0 to {}, which tensor {} has",
             rows, shape().rows, to_string(shape()));
  view_.shape.rows = rows;
}

Tensor Tensor::clone() const { return to(device(), stream_); }

Tensor Tensor::to(Device where, CUstream_st* stream) const {
  if (!*this) return {};
  Tensor copy = empty(shape(), dtype(), "a copy of a tensor", where, stream);
  copy_bytes(where, copy.view_.mutable_data(), device(), view_.data, bytes(), stream);
  return copy;
}

Tensor Tensor::to(Dtype wanted) const {
  check_host();
  if (wanted == dtype()) return clone();
  Tensor result = empty(shape(), wanted, "a converted tensor");
  const std::int64_t count = shape().size();
  with_any_dtype(dtype(), [&](auto from_tag) {
    with_any_dtype(wanted, [&](auto to_tag) {
      using From = typename decltype(from_tag)::type;
      using To = typename decltype(to_tag)::type;
      const From* in = view_.as<From>();
      To* out = result.view_.as<To>();
      for (std::int64_t i = 0; i < count; ++i) out[i] = convert<To>(in[i]);
    });
  });
  return result;
}

}  // namespace weft
