#include "tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "weft/error.hpp"

namespace weft::pytorch {
namespace {

using torch::headeronly::ScalarType;

constexpr std::pair<ScalarType, Dtype> types[] = {{ScalarType::Float, Dtype::f32},     {ScalarType::Half, Dtype::f16},
                                                  {ScalarType::BFloat16, Dtype::bf16}, {ScalarType::Double, Dtype::f64},
                                                  {ScalarType::Int, Dtype::i32},       {ScalarType::Long, Dtype::i64}};

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::invalid_argument, text); }

/// Whether the elements of every row are contiguous.
bool rows_are_dense(const Tensor& tensor) {
  std::int64_t stride = 1;
  for (std::int64_t d = tensor.dim() - 1; d > 0; --d) {
    if (tensor.size(d) > 1 && tensor.stride(d) != stride) return false;
    stride *= tensor.size(d);
  }
  return tensor.size(0) <= 1 || tensor.stride(0) >= stride;
}

Tensor contiguous_of(const Tensor& tensor, std::string_view name) {
  try {
    return torch::stable::contiguous(tensor);
  } catch (const std::exception&) {  // the message does not say why, but only memory can run out
    throw Error(ErrorCode::out_of_memory, fmt::format("out of memory: torch has no room for a copy of {}", name));
  }
}

std::array<std::int64_t, 3> sizes_of(const Shape& shape) {
  if (shape.rank == 1) return {shape.rows, 0, 0};
  if (shape.rank == 2) return {shape.rows, shape.width, 0};
  return {shape.rows, shape.heads, shape.width};
}

}  // namespace

weft::Device device_of(const Tensor& tensor) {
  if (tensor.is_cpu()) return {};
  if (!tensor.is_cuda()) refuse("a tensor is on a device that weft does not know: expected cpu or cuda");
  return {DeviceKind::cuda, tensor.get_device_index()};
}

Dtype dtype_of(const Tensor& tensor, std::string_view name) {
  for (const auto& [theirs, ours] : types)
    if (tensor.scalar_type() == theirs) return ours;
  refuse(fmt::format(
      "{} has a dtype that weft does not know: expected float32, float16, bfloat16, float64, int32 or int64", name));
}

ScalarType scalar_type(Dtype dtype) {
  for (const auto& [theirs, ours] : types)
    if (dtype == ours) return theirs;
  refuse("a dtype that torch does not know");
}

Shape shape_of(const Tensor& tensor, std::string_view name) {
  switch (tensor.dim()) {
    case 1: return Shape(tensor.size(0));
    case 2: return Shape(tensor.size(0), tensor.size(1));
    case 3: return Shape(tensor.size(0), tensor.size(1), tensor.size(2));
    default:
      refuse(fmt::format("{} has {} dimensions: expected [rows], [rows, features] or [rows, heads, features]", name,
                         tensor.dim()));
  }
}

Input::Input(const void* data, const Tensor& tensor, std::string_view name)
    : held_(tensor), view_(data, dtype_of(tensor, name), shape_of(tensor, name), device_of(tensor)) {}
Input Input::of_kind(const Tensor& tensor, std::string_view name) {
  // A placeholder holds one number; a view of the size in its shape would reach beyond it, so that results could seem
  // to overlap it. No memory is at this address.
  constexpr std::uintptr_t nowhere = std::uintptr_t{1} << 62;
  return {reinterpret_cast<const void*>(nowhere), tensor, name};
}
Input Input::of_kind(const std::optional<Tensor>& tensor, std::string_view name) {
  return tensor && tensor->defined() ? of_kind(*tensor, name) : Input();
}
Input::Input(const Tensor& tensor, std::string_view name)
    : held_(tensor.dim() == 0 || rows_are_dense(tensor) ? tensor : contiguous_of(tensor, name)) {
  *this = Input(held_->const_data_ptr(), *held_, name);
  if (view_.shape.rows > 1) view_.ld = held_->stride(0);
}
Input::Input(const std::optional<Tensor>& tensor, std::string_view name) {
  if (tensor && tensor->defined()) *this = Input(*tensor, name);
}

Input Input::in_a_row(const Tensor& tensor, std::string_view name) {
  return {tensor.dim() == 1 && tensor.size(0) > 1 && tensor.stride(0) != 1 ? contiguous_of(tensor, name) : tensor,
          name};
}
Input Input::in_a_row(const std::optional<Tensor>& tensor, std::string_view name) {
  return tensor && tensor->defined() ? in_a_row(*tensor, name) : Input();
}
Input Input::aligned(const Tensor& tensor, std::string_view name) {
  Input input(tensor, name);
  const ConstTensorView& view = input.view_;
  const bool begins = reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0;
  if (view.device.kind == DeviceKind::cpu || (begins && view.ld == view.shape.row_size())) return input;
  return {torch::stable::clone(contiguous_of(tensor, name)), name};
}

Input Input::with_rows(std::int64_t rows) const {
  Input other = *this;
  other.view_.shape.rows = rows;
  other.view_.ld = other.view_.shape.row_size();
  return other;
}

Tensor empty(const Shape& shape, Dtype dtype, const Tensor& like) {
  const std::array<std::int64_t, 3> sizes = sizes_of(shape);
  const std::array<std::int64_t, 3> strides{
      shape.rank < 3 ? std::max<std::int64_t>(shape.width, 1) : std::max<std::int64_t>(shape.row_size(), 1),
      shape.rank < 3 ? 1 : std::max<std::int64_t>(shape.width, 1), 1};
  std::int32_t device = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(like.get(), &device));
  const auto type = torch::stable::detail::to<std::int32_t>(torch::stable::detail::from(scalar_type(dtype)));
  AtenTensorHandle made = nullptr;
  // Bypasses torch's dispatcher, which takes longer than a small operator.
  if (aoti_torch_empty_strided(shape.rank, sizes.data(), strides.data(), type, device, like.get_device_index(),
                               &made) != AOTI_TORCH_SUCCESS)
    throw Error(ErrorCode::out_of_memory,
                fmt::format("out of memory: torch has no room for a tensor of shape {} and type {} on {}",
                            to_string(shape), name(dtype), to_string(device_of(like))));
  return Tensor(made);
}
Tensor nothing(Dtype dtype, const Tensor& like) { return empty(Shape(0), dtype, like); }

Tensor lent(const ConstTensorView& array, std::shared_ptr<const void> keeper, const Tensor& like) {
  const std::int64_t sizes[] = {array.shape.rows}, strides[] = {1};
  if (array.shape.rows == 0) return empty(Shape(0), array.dtype, like);
  return torch::stable::from_blob(const_cast<void*>(array.data), {sizes, 1}, {strides, 1}, like.device(),
                                  scalar_type(array.dtype), [keeper = std::move(keeper)](void*) {});
}

TensorView read_only(const ConstTensorView& view) {
  TensorView same(const_cast<void*>(view.data), view.dtype, view.shape, view.device);
  same.ld = view.ld;
  return same;
}

TensorView writable(const Tensor& tensor) {
  return {tensor.mutable_data_ptr(), dtype_of(tensor, "a result"), shape_of(tensor, "a result"), device_of(tensor)};
}

}  // namespace weft::pytorch
