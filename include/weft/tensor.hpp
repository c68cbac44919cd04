// Dense row-major arrays of up to three dimensions [rows, heads, width]. A leading dimension lets a view be a slice of
// columns of a wider tensor.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weft/error.hpp"
#include "weft/types.hpp"

struct CUstream_st;  // a CUDA stream, without CUDA's headers

#if defined(__has_cpp_attribute) && defined(__clang__)
#if __has_cpp_attribute(clang::lifetimebound)
#define WEFT_LIFETIME_BOUND [[clang::lifetimebound]]
#endif
#endif
#ifndef WEFT_LIFETIME_BOUND
#define WEFT_LIFETIME_BOUND
#endif

namespace weft {

/// The sizes of a tensor. `rank` is the number of dimensions that the caller gave, which decides how two shapes
/// broadcast: [n] has one scalar per row, [n, width] one vector, [n, heads, width] one vector per head. A dimension
/// that was not given is 1.
struct Shape {
  std::int64_t rows = 0;
  std::int64_t heads = 1;
  std::int64_t width = 1;
  int rank = 1;

  Shape() = default;
  explicit Shape(std::int64_t n) : rows(n) {}
  Shape(std::int64_t n, std::int64_t w) : rows(n), width(w), rank(2) {}
  Shape(std::int64_t n, std::int64_t h, std::int64_t w) : rows(n), heads(h), width(w), rank(3) {}

  std::int64_t row_size() const { return product(heads, width); }
  std::int64_t size() const { return product(rows, row_size()); }
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  // Wraps around without undefined behaviour; every use of a tensor refuses sizes beyond 2^63.
  static std::int64_t product(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
};

/// Gives "[5]", "[5, 16]" or "[5, 4, 16]".
std::string to_string(const Shape& shape);

/// Memory that the caller owns and weft only reads. A default-constructed view means "none given".
struct ConstTensorView {
  const void* data = nullptr;
  Dtype dtype = Dtype::f32;
  Device device;
  Shape shape;
  std::int64_t ld = 0;  // elements from one row to the next; at least shape.row_size()
  bool given = false;   // true for an empty tensor, too

  ConstTensorView() = default;
  ConstTensorView(const void* memory, Dtype type, Shape size, Device where = {})
      : data(memory), dtype(type), device(where), shape(size), ld(size.row_size()), given(true) {}
  template <class T>
  ConstTensorView(std::span<const T> values, Shape size) : ConstTensorView(values.data(), dtype_of<T>, size) {}

  explicit operator bool() const { return given; }
  /// The elements as T; an Error if the tensor's dtype is another.
  template <class T>
  const T* as() const {
    check_dtype(dtype_of<T>);
    return static_cast<const T*>(data);
  }

 protected:
  void check_dtype(Dtype wanted) const;
};

/// A writable ConstTensorView.
struct TensorView : ConstTensorView {
  TensorView() = default;
  TensorView(void* memory, Dtype type, Shape size, Device where = {}) : ConstTensorView(memory, type, size, where) {}
  template <class T>
  TensorView(std::span<T> values, Shape size) : TensorView(values.data(), dtype_of<T>, size) {}

  void* mutable_data() const { return const_cast<void*>(data); }
  template <class T>
  T* as() const {
    check_dtype(dtype_of<T>);
    return static_cast<T*>(mutable_data());
  }
};

/// A view of `width` columns starting at `first` of a two-dimensional tensor.
ConstTensorView columns(ConstTensorView view, std::int64_t first, std::int64_t width);
TensorView columns(TensorView view, std::int64_t first, std::int64_t width);
/// A view of the same memory with one scalar per head: [n, H] -> [n, H, 1].
ConstTensorView per_head(ConstTensorView view);
TensorView per_head(TensorView view);

/// Memory that weft owns. It can be moved; only `clone` copies.
class Tensor {
 public:
  Tensor() = default;
  /// An uninitialised tensor. `what` names it in the error if allocation fails. GPU memory is allocated and freed in
  /// the order of `stream`: the caller orders other streams that use it with that one.
  static Tensor empty(Shape shape, Dtype dtype, std::string_view what = "tensor", Device device = {},
                      CUstream_st* stream = nullptr);
  static Tensor zeros(Shape shape, Dtype dtype, std::string_view what = "tensor", Device device = {},
                      CUstream_st* stream = nullptr);
  /// A copy of `values`, converted to `dtype` with one rounding.
  static Tensor from(std::span<const float> values, Shape shape, Dtype dtype = Dtype::f32);
  static Tensor from(std::span<const double> values, Shape shape, Dtype dtype = Dtype::f64);

  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor();

  Tensor clone() const;
  /// Keeps the first `rows` rows; the memory of the others stays allocated.
  void truncate(std::int64_t rows);
  /// A copy in another storage type, rounded once. For tensors on the CPU.
  Tensor to(Dtype dtype) const;
  /// A copy on another device (or the same one), ordered by `stream`. If either side is the host, the copy is done on
  /// return.
  Tensor to(Device device, CUstream_st* stream = nullptr) const;

  const Shape& shape() const { return view_.shape; }
  Dtype dtype() const { return view_.dtype; }
  Device device() const { return view_.device; }
  std::size_t bytes() const { return static_cast<std::size_t>(shape().size()) * size_of(dtype()); }
  explicit operator bool() const { return view_.given; }

  // Views of a temporary would dangle, so these are deleted for temporaries. The conversion is not, for arguments:
  // spmm(context, graph, Tensor::from(...)) is safe. C++ cannot tell an argument from a variable there; Clang can, and
  // warns about `ConstTensorView x = Tensor::from(...)`.
  TensorView view() & { return view_; }
  ConstTensorView view() const& { return view_; }
  ConstTensorView view() const&& = delete;
  operator TensorView() & { return view_; }
  operator ConstTensorView() const WEFT_LIFETIME_BOUND { return view_; }
  /// The elements of a tensor in host memory.
  template <class T>
  std::span<T> span() & {
    check_host();
    return {view_.as<T>(), static_cast<std::size_t>(shape().size())};
  }
  template <class T>
  std::span<const T> span() const& {
    check_host();
    return {view_.as<T>(), static_cast<std::size_t>(shape().size())};
  }
  template <class T>
  std::span<const T> span() const&& = delete;

 private:
  void check_host() const;

  TensorView view_;
  CUstream_st* stream_ = nullptr;
};

}  // namespace weft

#undef WEFT_LIFETIME_BOUND
