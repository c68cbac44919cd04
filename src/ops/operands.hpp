// The checks of every operator before it runs: devices, dtypes, shapes, broadcasting, plans. All messages name the
// argument as ops.hpp does.
#pragma once

#include <initializer_list>
#include <string_view>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "core/names.hpp"
#include "kernels/signatures.hpp"
#include "weft/ops.hpp"

namespace weft {

/// The dimensions of a tensor after its rows.
struct Features {
  std::int64_t heads = 1, width = 1;
  int rank = 1;  // of the whole tensor

  static Features of(const Shape& shape) { return {shape.heads, shape.width, shape.rank}; }
  Shape with_rows(std::int64_t rows) const {
    return rank == 1 ? Shape(rows) : rank == 2 ? Shape(rows, width) : Shape(rows, heads, width);
  }
  bool same_size(const Features& other) const { return heads == other.heads && width == other.width; }
};

/// Checks that a tensor is given, on the context's device, floating, and has `rows` rows with a valid layout. `per`
/// says what a row stands for.
void check_tensor(const Context& context, ConstTensorView tensor, std::string_view name, std::int64_t rows,
                  std::string_view per);
/// The same, with these exact features.
void check_tensor(const Context& context, ConstTensorView tensor, std::string_view name, std::int64_t rows,
                  std::string_view per, Features features);
void check_dtype(ConstTensorView tensor, std::string_view name, Dtype wanted, std::string_view because);

/// Checks that an output has the storage type or its accumulator type.
void check_out_dtype(ConstTensorView out, Dtype storage);

/// NumPy's broadcasting of the dimensions after the rows; an Error names both tensors.
Features broadcast(ConstTensorView a, std::string_view a_name, ConstTensorView b, std::string_view b_name);

/// The same tensor with rank 3, whatever rank the caller gave.
ConstTensorView spelled(ConstTensorView tensor);

/// The tensor as a kernel operand, broadcast to `features`.
Operand operand(ConstTensorView tensor, Features features);
/// An operand with one value per row, such as a row scale.
Operand operand(ConstTensorView tensor);
Result result(TensorView tensor);

/// A context with the same device, threads and stream, for one call without a plan: it owns its scratch memory, and the
/// caller's workspace stays as it is for planned runs.
Context with_own_workspace(const Context& context, std::size_t bytes);

/// Checks that the plan is for this graph, context and operator.
void check_plan(const Context& context, const Plan& plan, std::uint64_t graph, const OpDesc& desc);
/// A plan that has only the device, the graph and the operator, and cannot be run.
Plan planned_for(const Context& context, const Graph& graph, const OpDesc& desc);
/// check_plan for such a plan.
void check_planned_for(const Context& context, const Plan& plan, std::uint64_t graph, const OpDesc& desc);
/// Throws an Error if a sample is given, which `op` does not support.
void check_unsampled(const std::optional<EdgeSample>& sample, std::string_view op);

/// Checks a row or column scale, if given: one value of dtype `acc` per row.
void check_scale(const Context& context, ConstTensorView scale, std::string_view name, std::int64_t rows,
                 std::string_view per, Dtype acc);

/// Checks the winners of max or min: dtype `wanted` (i32 or i64), shaped like the output, without padding.
void check_winners(const Context& context, ConstTensorView arg, std::string_view name, Dtype wanted, std::int64_t rows,
                   Features features);

/// Checks a gradient's output: a view like the tensor `of` if the plan has that gradient, else none.
void check_gradient_view(const Context& context, bool planned, TensorView view, std::string_view name,
                         ConstTensorView of, std::string_view of_name);

struct NamedTensor {
  ConstTensorView tensor;
  std::string_view name;
};
/// Checks that no output overlaps another output or an input in memory.
void check_apart(std::initializer_list<NamedTensor> written, std::initializer_list<NamedTensor> read);

/// The accumulator type of a storage type.
constexpr Dtype accumulator(Dtype dtype) { return dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

}  // namespace weft
