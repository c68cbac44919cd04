// What every operator checks before it runs: devices, dtypes, shapes, broadcasting, plans. All messages
// name the argument as ops.hpp spells it.
#pragma once

#include <initializer_list>
#include <string_view>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "core/names.hpp"
#include "kernels/signatures.hpp"
#include "weft/ops.hpp"

namespace weft {

/// The dimensions of a tensor behind its rows.
struct Features {
  std::int64_t heads = 1, width = 1;
  int rank = 1;  // of the whole tensor

  static Features of(const Shape& shape) { return {shape.heads, shape.width, shape.rank}; }
  Shape with_rows(std::int64_t rows) const {
    return rank == 1 ? Shape(rows) : rank == 2 ? Shape(rows, width) : Shape(rows, heads, width);
  }
  bool same_size(const Features& other) const { return heads == other.heads && width == other.width; }
};

/// A tensor that must be there, on the context's device, floating, with `rows` rows of sane layout.
/// `per` says what a row stands for.
void check_tensor(const Context& context, ConstTensorView tensor, std::string_view name, std::int64_t rows,
                  std::string_view per);
/// The same with exact features.
void check_tensor(const Context& context, ConstTensorView tensor, std::string_view name, std::int64_t rows,
                  std::string_view per, Features features);
void check_dtype(ConstTensorView tensor, std::string_view name, Dtype wanted, std::string_view because);

/// An output holds the storage type, or the type it is accumulated in.
void check_out_dtype(ConstTensorView out, Dtype storage);

/// NumPy's broadcasting of the dimensions behind the rows; an Error names both tensors.
Features broadcast(ConstTensorView a, std::string_view a_name, ConstTensorView b, std::string_view b_name);

/// The same tensor with all three dimensions spelled, whatever the caller spelled.
ConstTensorView spelled(ConstTensorView tensor);

/// The tensor as a kernel reads it under `features`.
Operand operand(ConstTensorView tensor, Features features);
/// A tensor of which every row holds one value: row scales and the like.
Operand operand(ConstTensorView tensor);
Result result(TensorView tensor);

/// A context of the same device, threads and stream for one call without a plan of the caller's: its scratch goes with
/// it, and the caller's workspace stays for runs by plans.
Context with_own_workspace(const Context& context, std::size_t bytes);

/// The plan fits the graph, the context and what is about to run.
void check_plan(const Context& context, const Plan& plan, std::uint64_t graph, const OpDesc& desc);
/// A plan that only says whom it is for: the device, the graph and the operator, and no way to run.
Plan planned_for(const Context& context, const Graph& graph, const OpDesc& desc);
/// check_plan of such a one.
void check_planned_for(const Context& context, const Plan& plan, std::uint64_t graph, const OpDesc& desc);
/// An Error where edges are to be sampled: `op` does not.
void check_unsampled(const std::optional<EdgeSample>& sample, std::string_view op);

/// A row or column scale, where one is given: one value of dtype `acc` a row.
void check_scale(const Context& context, ConstTensorView scale, std::string_view name, std::int64_t rows,
                 std::string_view per, Dtype acc);

/// Winners of max or min: `wanted` (i32 or i64), shaped like the output, without padding.
void check_winners(const Context& context, ConstTensorView arg, std::string_view name, Dtype wanted, std::int64_t rows,
                   Features features);

/// Where a gradient goes: a view like the tensor `of` where the plan has that gradient, and none where it has not.
void check_gradient_view(const Context& context, bool planned, TensorView view, std::string_view name,
                         ConstTensorView of, std::string_view of_name);

struct NamedTensor {
  ConstTensorView tensor;
  std::string_view name;
};
/// No tensor that is written overlaps another that is written or one that is read, in memory.
void check_apart(std::initializer_list<NamedTensor> written, std::initializer_list<NamedTensor> read);

/// The type values of this storage type are accumulated in.
constexpr Dtype accumulator(Dtype dtype) { return dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

}  // namespace weft
