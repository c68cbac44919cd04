// Memory for plain structs and bytes where a context runs, as tensors, which give it back.
#pragma once

#include <cstdint>

#include "core/device.hpp"
#include "weft/context.hpp"
#include "weft/tensor.hpp"

namespace weft {

/// Room for `count` of T, zeros, in words of 8 bytes.
template <class T>
Tensor room_for(const Context& context, std::int64_t count, const char* what) {
  const auto words = (count * static_cast<std::int64_t>(sizeof(T)) + 7) / 8;
  return Tensor::zeros(Shape(words), Dtype::i64, what, context.device(), context.stream());
}
/// That room as T, where the context runs.
template <class T>
T* as(Tensor& room) {
  return static_cast<T*>(room.view().mutable_data());
}
/// The host's bytes into it.
inline void put(const Context& context, Tensor& room, const void* from, std::size_t bytes) {
  copy_bytes(context.device(), room.view().mutable_data(), Device{}, from, bytes, context.stream());
}

}  // namespace weft
