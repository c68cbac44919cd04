#include "bench/inputs.hpp"

#include <cstring>

#include "bench/cuda/measure.hpp"
#include "core/dispatch.hpp"
#include "core/parallel.hpp"

namespace weft::tool {
namespace {

// splitmix64's output function over a counter.
double unit_random(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15u + (i + 1) * 0xd1342543de82ef95u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

}  // namespace

Tensor random_tensor(Shape shape, Dtype dtype, std::uint64_t seed, double low, double high, std::string_view what) {
  Tensor tensor = Tensor::empty(shape, dtype, what);
  with_floating(dtype, what, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* data = tensor.span<T>().data();
    parallel_ranges(default_threads(), shape.size(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        data[i] = convert<T>(low + (high - low) * unit_random(seed, static_cast<std::uint64_t>(i)));
    });
  });
  return tensor;
}

Input::Input(const Context& context, Tensor host) : host_(std::move(host)) {
  if (context.device().kind != DeviceKind::cpu) moved_ = host_.to(context.device(), context.stream());
}

ConstTensorView Input::there() const {
  if (!host_) return {};
  return moved_ ? moved_.view() : host_.view();
}

void forget(const Context& context, TensorView tensor) {
  const std::size_t bytes = static_cast<std::size_t>(tensor.shape.size()) * size_of(tensor.dtype);
  if (!tensor.given || bytes == 0) return;
  if (tensor.device.kind == DeviceKind::cpu)
    std::memset(tensor.mutable_data(), 0xff, bytes);
  else
    cuda_poison(tensor.device.index, context.stream(), tensor.mutable_data(), bytes);
}

Tensor unwritten_tensor(const Context& context, Shape shape, Dtype dtype, std::string_view what) {
  Tensor tensor = Tensor::empty(shape, dtype, what, context.device(), context.stream());
  forget(context, tensor);
  return tensor;
}

Operand operand(ConstTensorView view) {
  if (!view) return {};
  return {view.data, view.dtype, view.ld, view.shape.heads == 1 ? 0 : view.shape.width, view.shape.width == 1 ? 0 : 1};
}

}  // namespace weft::tool
