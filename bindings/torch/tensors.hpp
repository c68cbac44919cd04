// Between torch's tensors and weft's views of them.
#pragma once

#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <memory>
#include <optional>
#include <string_view>

#include "weft/tensor.hpp"

namespace weft::pytorch {

using torch::stable::Tensor;

weft::Device device_of(const Tensor& tensor);
/// An Error that names the tensor where weft has no such type.
Dtype dtype_of(const Tensor& tensor, std::string_view name);
torch::headeronly::ScalarType scalar_type(Dtype dtype);
/// Of one to three dimensions; an Error names the tensor.
Shape shape_of(const Tensor& tensor, std::string_view name);

/// A tensor that an operator reads, and the view of it. Columns of something wider are read where they stand; what lies
/// apart in another way is copied.
class Input {
 public:
  Input() = default;
  Input(const Tensor& tensor, std::string_view name);
  Input(const std::optional<Tensor>& tensor, std::string_view name);
  /// Of numbers that must stand side by side.
  static Input in_a_row(const Tensor& tensor, std::string_view name);
  static Input in_a_row(const std::optional<Tensor>& tensor, std::string_view name);
  /// For kernels of a GPU that move whole packs: rows one behind the other, from an address of 16 bytes on.
  static Input aligned(const Tensor& tensor, std::string_view name);
  /// Of a tensor whose shape and type alone count: nothing is copied, and nothing may be read.
  static Input of_kind(const Tensor& tensor, std::string_view name);
  static Input of_kind(const std::optional<Tensor>& tensor, std::string_view name);
  /// The kind of a tensor that has other rows, of which nothing may be read.
  Input with_rows(std::int64_t rows) const;
  operator ConstTensorView() const { return view_; }  // NOLINT: implicit by design
  const ConstTensorView& view() const { return view_; }

 private:
  Input(const void* data, const Tensor& tensor, std::string_view name);

  std::optional<Tensor> held_;
  ConstTensorView view_;
};

/// A new tensor, not initialised, where `like` is.
Tensor empty(const Shape& shape, Dtype dtype, const Tensor& like);
/// One without elements, for results that were not wanted.
Tensor nothing(Dtype dtype, const Tensor& like);
/// One dimension in memory of weft's, whose keeper lives as long as the tensor does; on the device of `like`.
Tensor lent(const ConstTensorView& array, std::shared_ptr<const void> keeper, const Tensor& like);
/// Of a tensor that was made here.
TensorView writable(const Tensor& tensor);
/// For options that are results of a forward and operands of its backward.
TensorView read_only(const ConstTensorView& view);

}  // namespace weft::pytorch
