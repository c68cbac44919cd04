// Conversion between torch's tensors and weft's views.
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
/// An Error names the tensor if weft has no such type.
Dtype dtype_of(const Tensor& tensor, std::string_view name);
torch::headeronly::ScalarType scalar_type(Dtype dtype);
/// Takes one to three dimensions; an Error names a tensor of others.
Shape shape_of(const Tensor& tensor, std::string_view name);

/// A tensor that an operator reads, and its view. Rows that are dense are read in place with their stride, such as
/// columns of a wider tensor; other tensors are copied.
class Input {
 public:
  Input() = default;
  Input(const Tensor& tensor, std::string_view name);
  Input(const std::optional<Tensor>& tensor, std::string_view name);
  /// For one-dimensional tensors that must be contiguous.
  static Input in_a_row(const Tensor& tensor, std::string_view name);
  static Input in_a_row(const std::optional<Tensor>& tensor, std::string_view name);
  /// For GPU kernels that load whole packs: contiguous rows, aligned to 16 bytes.
  static Input aligned(const Tensor& tensor, std::string_view name);
  /// For a tensor of which only shape and type are used: nothing is copied, and nothing may be read.
  static Input of_kind(const Tensor& tensor, std::string_view name);
  static Input of_kind(const std::optional<Tensor>& tensor, std::string_view name);
  /// The same shape and type with another number of rows; nothing may be read.
  Input with_rows(std::int64_t rows) const;
  operator ConstTensorView() const { return view_; }  // NOLINT: implicit by design
  const ConstTensorView& view() const { return view_; }

 private:
  Input(const void* data, const Tensor& tensor, std::string_view name);

  std::optional<Tensor> held_;
  ConstTensorView view_;
};

/// A new uninitialised tensor on the device of `like`.
Tensor empty(const Shape& shape, Dtype dtype, const Tensor& like);
/// A tensor without elements, for results that are not wanted.
Tensor nothing(Dtype dtype, const Tensor& like);
/// A one-dimensional tensor over weft's memory, which the keeper owns while the tensor lives; on the device of `like`.
Tensor lent(const ConstTensorView& array, std::shared_ptr<const void> keeper, const Tensor& like);
/// A writable view of a tensor that was made here.
TensorView writable(const Tensor& tensor);
/// For options that are results of a forward and inputs of its backward.
TensorView read_only(const ConstTensorView& view);

}  // namespace weft::pytorch
