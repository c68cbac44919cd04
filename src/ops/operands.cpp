#include "ops/operands.hpp"

#include <algorithm>
#include <functional>

#include "core/memory.hpp"
#include "plan/plan_view.hpp"

namespace weft {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 59;  // of 8 bytes each

std::string describe(const Features& f) {
  return f.rank <= 1   ? "[rows]"
         : f.rank == 2 ? fmt::format("[rows, {}]", f.width)
                       : fmt::format("[rows, {}, {}]", f.heads, f.width);
}

std::string edges_a_row(const OpDesc& desc) {
  return desc.sample_width > 0 ? fmt::format("at most {}", desc.sample_width) : "all";
}

std::int64_t joined(std::int64_t a, std::int64_t b, std::string_view dimension, ConstTensorView a_tensor,
                    std::string_view a_name, ConstTensorView b_tensor, std::string_view b_name) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  // The usual mistake: one value per head without the trailing dimension of 1.
  const bool heads_as_width = dimension == "width" && a_tensor.shape.rank == 3 && b_tensor.shape.rank == 2 &&
                              b_tensor.shape.width == a_tensor.shape.heads;
  fail(ErrorCode::invalid_argument, "{} {} and {} {} do not broadcast: their {} is {} and {}, expected equal or 1{}",
       a_name, to_string(a_tensor.shape), b_name, to_string(b_tensor.shape), dimension, a, b,
       heads_as_width ? fmt::format("; one value per head is [rows, heads, 1]: wrap {} in per_head()", b_name) : "");
}

bool apart(ConstTensorView a, ConstTensorView b) {
  if (!a.given || !b.given || a.shape.size() == 0 || b.shape.size() == 0) return true;
  const auto end = [](ConstTensorView t) {
    return static_cast<const std::byte*>(t.data) +
           ((t.shape.rows - 1) * t.ld + t.shape.row_size()) * static_cast<std::int64_t>(size_of(t.dtype));
  };
  const std::less<const void*> before;
  if (!before(a.data, end(b)) || !before(b.data, end(a))) return true;
  // Different columns of one matrix do not overlap although their address ranges do.
  const auto element = static_cast<std::ptrdiff_t>(size_of(a.dtype));
  const std::ptrdiff_t distance = static_cast<const std::byte*>(a.data) - static_cast<const std::byte*>(b.data);
  const std::int64_t pitch = a.ld * element, first = ((distance % pitch) + pitch) % pitch;
  return a.ld == b.ld && element == static_cast<std::ptrdiff_t>(size_of(b.dtype)) &&
         first >= b.shape.row_size() * element && first + a.shape.row_size() * element <= pitch;
}

}  // namespace

void check_tensor(const Context& context, ConstTensorView tensor, std::string_view name, std::int64_t rows,
                  std::string_view per) {
  WEFT_CHECK(tensor.given, invalid_argument, "{} is missing: expected a tensor with one row for each {}", name, per);
  WEFT_CHECK(tensor.device == context.device(), invalid_argument, "{} is on {}, but the context runs on {}", name,
             to_string(tensor.device), to_string(context.device()));
  WEFT_CHECK(is_floating(tensor.dtype), invalid_argument, "{} has dtype {}: expected f32, f16, bf16 or f64", name,
             weft::name(tensor.dtype));
  WEFT_CHECK(tensor.shape.rows == rows, invalid_argument, "{} has shape {}: expected {} rows, one for each {}", name,
             to_string(tensor.shape), rows, per);
  WEFT_CHECK(tensor.shape.heads >= 0 && tensor.shape.width >= 0, invalid_argument,
             "{} has shape {}: no dimension may be negative", name, to_string(tensor.shape));
  std::int64_t size = 0;
  WEFT_CHECK(!__builtin_mul_overflow(tensor.shape.heads, tensor.shape.width, &size) &&
                 !__builtin_mul_overflow(tensor.shape.rows, std::max(tensor.ld, size), &size) && size <= most_elements,
             invalid_argument, "{} has shape {} with leading dimension {}: more elements than memory can hold", name,
             to_string(tensor.shape), tensor.ld);
  WEFT_CHECK(tensor.ld >= tensor.shape.row_size(), invalid_argument,
             "{} has leading dimension {}: expected at least {}, the size of a row of {}", name, tensor.ld,
             tensor.shape.row_size(), to_string(tensor.shape));
  WEFT_CHECK(tensor.data != nullptr || tensor.shape.size() == 0, invalid_argument,
             "{} has shape {} but no memory (null data)", name, to_string(tensor.shape));
}

void check_tensor(const Context& context, ConstTensorView tensor, std::string_view name, std::int64_t rows,
                  std::string_view per, Features features) {
  check_tensor(context, tensor, name, rows, per);
  WEFT_CHECK(Features::of(tensor.shape).same_size(features), invalid_argument,
             "{} has shape {}: expected {} with {} rows", name, to_string(tensor.shape), describe(features), rows);
}

void check_dtype(ConstTensorView tensor, std::string_view name, Dtype wanted, std::string_view because) {
  WEFT_CHECK(tensor.dtype == wanted, invalid_argument, "{} has dtype {}: expected {}, {}", name,
             weft::name(tensor.dtype), weft::name(wanted), because);
}

void check_out_dtype(ConstTensorView out, Dtype storage) {
  WEFT_CHECK(out.dtype == storage || out.dtype == accumulator(storage), invalid_argument,
             "out has dtype {}: expected {}{}", name(out.dtype), name(storage),
             storage != accumulator(storage) ? " or f32" : "");
}

ConstTensorView spelled(ConstTensorView tensor) {
  tensor.shape.rank = 3;
  return tensor;
}

Features broadcast(ConstTensorView a, std::string_view a_name, ConstTensorView b, std::string_view b_name) {
  const int rank = a.shape.rank > b.shape.rank ? a.shape.rank : b.shape.rank;
  const std::int64_t heads = joined(a.shape.heads, b.shape.heads, "number of heads", a, a_name, b, b_name);
  return {heads, joined(a.shape.width, b.shape.width, "width", a, a_name, b, b_name), rank};
}

Operand operand(ConstTensorView tensor, Features features) {
  if (!tensor.given) return {};
  static const double nothing = 0;  // so that an empty tensor counts as given
  Operand o;
  o.data = tensor.data != nullptr ? tensor.data : &nothing;
  o.dtype = tensor.dtype;
  o.row_stride = tensor.ld;
  o.head_stride = tensor.shape.heads == 1 && features.heads != 1 ? 0 : tensor.shape.width;
  o.feature_stride = tensor.shape.width == 1 && features.width != 1 ? 0 : 1;
  if (features.heads == 1) o.head_stride = tensor.shape.width;
  return o;
}

Operand operand(ConstTensorView tensor) {
  Operand o = operand(tensor, Features{});
  o.head_stride = o.feature_stride = 0;
  return o;
}

Result result(TensorView tensor) { return {tensor.mutable_data(), tensor.dtype, tensor.ld}; }

void check_plan(const Context& context, const Plan& plan, std::uint64_t graph, const OpDesc& desc) {
  const auto* cpu = std::get_if<CpuPlan>(&plan.how);
  WEFT_CHECK(cpu == nullptr || plan.backing.partition != nullptr, invalid_argument,
             "plan is empty: make one with make_plan");
  check_planned_for(context, plan, graph, desc);
}

Context with_own_workspace(const Context& context, std::size_t bytes) {
  Context own = or_out_of_memory("a context", [&] {
    return context.device().kind == DeviceKind::cpu ? Context::cpu(context.threads())
                                                    : Context::cuda(context.device().index, context.stream());
  });
  own.reserve(bytes);
  return own;
}

Plan planned_for(const Context& context, const Graph& graph, const OpDesc& desc) {
  Plan plan;
  plan.desc = desc;
  plan.device = context.device();
  plan.backing.graph = graph.identity();
  if (context.device().kind == DeviceKind::cuda)
    plan.how = CudaPlan{};
  else
    plan.cpu().threads = context.threads();
  return plan;
}

void check_unsampled(const std::optional<EdgeSample>& sample, std::string_view op) {
  WEFT_CHECK(!sample, unsupported,
             "sample is given, but {} takes all edges of its graph: expected none; take the graph that sample_edges() "
             "gives",
             op);
}

void check_planned_for(const Context& context, const Plan& plan, std::uint64_t graph, const OpDesc& desc) {
  WEFT_CHECK(plan.backing.graph == graph, invalid_argument,
             "plan was made for another graph: make one for this graph with make_plan");
  WEFT_CHECK(plan.device == context.device(), invalid_argument, "plan was made for {}, but the context runs on {}",
             to_string(plan.device), to_string(context.device()));
  if (const auto* cpu = std::get_if<CpuPlan>(&plan.how))
    WEFT_CHECK(cpu->threads == context.threads(), invalid_argument,
               "plan was made for {} threads, but the context runs with {}", cpu->threads, context.threads());
  const OpDesc& p = plan.desc;
  WEFT_CHECK(p.kind == desc.kind && p.dtype == desc.dtype && p.heads * p.width == desc.heads * desc.width &&
                 p.heads == desc.heads && is_extremum(p.reduce) == is_extremum(desc.reduce),
             invalid_argument, "plan is for {} {} {}x{} {}, but {} {} {}x{} {} was called: make a plan for it",
             name(p.kind), name(p.dtype), p.heads, p.width, name(p.reduce), name(desc.kind), name(desc.dtype),
             desc.heads, desc.width, name(desc.reduce));
  WEFT_CHECK(p.sample_width == desc.sample_width, invalid_argument,
             "plan is of {} edges per row, but {} of {} was called: make a plan whose sample_width is the sample's",
             edges_a_row(p), name(desc.kind), edges_a_row(desc));
  if (const auto* cuda = std::get_if<CudaPlan>(&plan.how))
    WEFT_CHECK(cuda->head_width == 0 || desc.widens, invalid_argument,
               "plan runs heads of {} with {} features, which only scores of gat allow: make a plan for this call",
               p.width, cuda->head_width);
  WEFT_CHECK(reads_ids(p) || !reads_ids(desc), invalid_argument,
             "plan is for {} without values of edges, but there are some: make a plan with weighted = true",
             name(desc.kind));
}

void check_gradient_view(const Context& context, bool planned, TensorView view, std::string_view name,
                         ConstTensorView of, std::string_view of_name) {
  WEFT_CHECK(planned || !view.given, invalid_argument,
             "{} is given, but the plan is without the gradient of {}: leave it out, or plan with it", name, of_name);
  if (!planned) return;
  check_tensor(context, view, name, of.shape.rows, "row", Features::of(of.shape));
  if (view.dtype != of.dtype) check_dtype(view, name, of.dtype, fmt::format("as {} has", of_name));
}

void check_scale(const Context& context, ConstTensorView scale, std::string_view name, std::int64_t rows,
                 std::string_view per, Dtype acc) {
  if (!scale.given) return;
  check_tensor(context, scale, name, rows, per, Features{});
  check_dtype(scale, name, acc, "the type sums are accumulated in");
  WEFT_CHECK(scale.ld == 1, invalid_argument, "{} has leading dimension {}: expected its values side by side", name,
             scale.ld);
}

void check_winners(const Context& context, ConstTensorView arg, std::string_view arg_name, Dtype wanted,
                   std::int64_t rows, Features features) {
  check_dtype(arg, arg_name, wanted, wanted == Dtype::i32 ? "a node id" : "an edge id");
  WEFT_CHECK(arg.device == context.device(), invalid_argument, "{} is on {}, but the context runs on {}", arg_name,
             to_string(arg.device), to_string(context.device()));
  WEFT_CHECK(arg.shape.rows == rows && Features::of(arg.shape).same_size(features) && arg.ld == arg.shape.row_size(),
             invalid_argument, "{} has shape {}: expected that of the output, {}, without padding", arg_name,
             to_string(arg.shape), to_string(features.with_rows(rows)));
  WEFT_CHECK(arg.data != nullptr || arg.shape.size() == 0, invalid_argument, "{} has no memory (null data)", arg_name);
}

void check_apart(std::initializer_list<NamedTensor> written, std::initializer_list<NamedTensor> read) {
  const auto check = [](const NamedTensor& a, const NamedTensor& b) {
    WEFT_CHECK(apart(a.tensor, b.tensor), invalid_argument, "{} overlaps {} in memory: give it memory of its own",
               a.name, b.name);
  };
  for (const NamedTensor* a = written.begin(); a != written.end(); ++a) {
    for (const NamedTensor* b = a + 1; b != written.end(); ++b) check(*a, *b);
    for (const NamedTensor& b : read) check(*a, b);
  }
}

}  // namespace weft
