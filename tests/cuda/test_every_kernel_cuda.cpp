// Every instantiation once, on a graph small enough for the sanitizers: each message, reduction and storage type with
// each number of elements per load and of lanes per row.
#include <span>

#include "battery/sweep.hpp"
#include "cuda/attention_on_gpu.hpp"
#include "support/attention_case.hpp"

namespace weft::test {
namespace {

// One pack, two, three, ... a warp's worth of packs, two and four steps of it, and more than one tile.
constexpr std::int64_t all_widths[] = {1,  2,  3,  4,  5,  6,  8,  9,   10,  12,  16,  17,  18,  20,  24,  32,  33,  34,
                                       36, 40, 48, 64, 65, 66, 68, 128, 129, 130, 132, 256, 260, 512, 516, 520, 1032};
constexpr int parts = 5;  // of the widths, so that sanitizers can run beside one another

class cuda_every_kernel : public GpuTest, public ::testing::WithParamInterface<std::tuple<Dtype, int>> {
 protected:
  static Dtype dtype() { return std::get<0>(GetParam()); }
  static std::span<const std::int64_t> widths() { return of_part(std::get<1>(GetParam())); }

 public:
  static std::span<const std::int64_t> of_part(int part) {
    constexpr std::size_t size = std::size(all_widths) / parts;
    static_assert(size * parts == std::size(all_widths));
    return std::span(all_widths).subspan(static_cast<std::size_t>(part) * size, size);
  }
};
INSTANTIATE_TEST_SUITE_P(storage, cuda_every_kernel,
                         ::testing::Combine(::testing::Values(Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64),
                                            ::testing::Range(0, parts)),
                         [](const auto& tested) {
                           const auto widths = cuda_every_kernel::of_part(std::get<1>(tested.param));
                           return fmt::format("{}_widths_{}_to_{}", name(std::get<0>(tested.param)), widths.front(),
                                              widths.back());
                         });

// Columns of a tensor that many wider, from there on: what one load may move then differs.
constexpr std::int64_t befores[] = {0, 1, 2, 4};

/// The same columns of a random tensor on the host and on the GPU.
struct Columns {
  Tensor all, all_there;
  ConstTensorView here, there;

  Columns(std::int64_t rows, std::int64_t before, std::int64_t width, Dtype dtype, std::uint64_t seed)
      : all(random_tensor(Shape(rows, before + width), dtype, seed)),
        all_there(all.to(gpu)),
        here(columns(all.view(), before, width)),
        there(columns(all_there.view(), before, width)) {}
};

Graph small_graph() {
  std::vector<NodeId> destinations, sources;
  Random random(12);
  for (int k = 0; k < 700; ++k) {
    // A hub, rows of a few edges, and rows of none.
    destinations.push_back(k < 400 ? 3 : static_cast<NodeId>(random.next() % 50));
    sources.push_back(static_cast<NodeId>(random.next() % 60));
  }
  return Graph::from_edges(60, {.sources = sources, .destinations = destinations});
}

struct Call {
  SpmmOp op;
  ConstTensorView edge, edge_there;
  Reduce reduce;
  bool winners = false;
  std::string policy;
};

void check_spmm(Context& context, const Graph& graph, const Graph& there, const Columns& x, std::int64_t before,
                const Call& call) {
  const Dtype dtype = x.all.dtype();
  const std::int64_t width = x.here.shape.width;
  SpmmOptions options;
  options.op = call.op;
  options.reduce = call.reduce;
  const bool takes_x = call.op != SpmmOp::copy_e;
  const SpmmExpected expected = expected_spmm(graph, takes_x ? x.here : ConstTensorView{}, call.edge, options);
  Tensor arg_u, arg_e;
  if (call.winners) {
    arg_u = Tensor::empty(expected.shape, Dtype::i32, "arg_u", gpu);
    arg_e = Tensor::empty(expected.shape, Dtype::i64, "arg_e", gpu);
    options.arg_u = arg_u;
    options.arg_e = arg_e;
  }
  const Plan plan =
      make_plan(context, there, {OpKind::spmm, dtype, 1, width, call.reduce, true}, parse_policy(call.policy));
  context.reserve(plan.workspace_bytes);
  Tensor out = Tensor::zeros(Shape(graph.num_rows(), before + width), dtype, "out", gpu);
  spmm(context, plan, there, takes_x ? x.there : ConstTensorView{}, call.edge_there, columns(out.view(), before, width),
       options);
  const Tensor back = out.to(Device{});
  const std::string what = fmt::format("{} {} {} width {} from {} policy '{}'", name(dtype), name(call.op),
                                       name(call.reduce), width, before, call.policy);
  expect_within_bound(columns(back.view(), before, width), expected, what);
  if (!call.winners) return;
  const Tensor won = arg_e.to(Device{});
  for (std::size_t i = 0; i < expected.arg_e.size(); ++i)
    ASSERT_EQ(won.span<EdgeId>()[i], expected.arg_e[i]) << what << " element " << i;
}

TEST_P(cuda_every_kernel, of_spmm_agrees_with_the_reference) {
  Context context = Context::cuda();
  const Graph given = small_graph();
  // The policy changes the tasks, not the kernel: each takes its turn.
  constexpr const char* policies[] = {"edges=8", "edges=16,join=no", "edges=64,order=columns", "schedule=rows,edges=16",
                                      "edges=24,order=clusters"};
  std::size_t turn = 0;
  // With ids and without: values in the order of the edges are read another way.
  for (const Graph& graph : {given, in_stored_order(given).graph}) {
    const Graph there = graph.to(gpu);
    for (const std::int64_t width : widths()) {
      for (const std::int64_t before : befores) {
        const Columns x(graph.num_cols(), before, width, dtype(), 21),
            vector(graph.num_edges(), before, width, dtype(), 22);
        const Tensor scalar = random_tensor(Shape(graph.num_edges()), dtype(), 23), scalar_there = scalar.to(gpu);
        for (const auto& [reduce, winners] :
             {std::pair{Reduce::sum, false}, {Reduce::mean, false}, {Reduce::min, false}, {Reduce::min, true}}) {
          const auto check = [&](SpmmOp op, ConstTensorView edge, ConstTensorView edge_there) {
            const std::string policy = policies[turn++ % std::size(policies)];
            check_spmm(context, graph, there, x, before, {op, edge, edge_there, reduce, winners, policy});
            // Small graphs would be given smaller packs.
            if (size_of(dtype()) == 2 && width % 8 == 0)
              check_spmm(context, graph, there, x, before,
                         {op, edge, edge_there, reduce, winners, policy + ",vector=8"});
          };
          check(SpmmOp::copy_u, {}, {});
          check(SpmmOp::u_mul_e, scalar, scalar_there);
          check(SpmmOp::u_add_e, vector.here, vector.there);
          if (!winners) check(SpmmOp::copy_e, vector.here, vector.there);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(cuda_every_kernel, of_sddmm_agrees_with_the_reference) {
  Context context = Context::cuda();
  const Graph graph = small_graph();
  const Graph there = graph.to(gpu);
  for (const std::int64_t width : widths()) {
    for (const std::int64_t before : befores) {
      const Columns u(graph.num_cols(), before, width, dtype(), 31), v(graph.num_rows(), before, width, dtype(), 32),
          e(graph.num_edges(), before, width, dtype(), 33);
      for (const SddmmOp op : {SddmmOp::dot, SddmmOp::add}) {
        for (const char* policy : {"edges=8", "edges=32,order=columns", "edges=16,order=clusters", "vector=8"}) {
          for (const bool on_edge : {false, true}) {
            const SddmmOptions options{op, Target::u, on_edge ? Target::e : Target::v};
            const Columns& other = on_edge ? e : v;
            const Expected expected = expected_sddmm(graph, u.here, other.here, options);
            const Plan plan =
                make_plan(context, there, {OpKind::sddmm, dtype(), 1, width, Reduce::sum, false}, parse_policy(policy));
            context.reserve(plan.workspace_bytes);
            Tensor out = Tensor::zeros(expected.shape, dtype(), "out", gpu);
            sddmm(context, plan, there, u.there, other.there, out, options);
            expect_within_bound(
                out.to(Device{}), expected,
                fmt::format("{} {} width {} from {} policy '{}'", name(dtype()), name(op), width, before, policy));
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

/// Heads that cover `features` together: one, and several that lie evenly in the lanes of a row or do not.
std::vector<std::int64_t> head_counts(std::int64_t features) {
  std::vector<std::int64_t> counts;
  for (const std::int64_t heads : {1, 2, 3, 4, 8})
    if (features % heads == 0) counts.push_back(heads);
  return counts;
}

TEST_P(cuda_every_kernel, of_attention_agrees_with_the_reference) {
  Context context = Context::cuda(), cpu = Context::cpu();
  const Graph graph = small_graph();
  const Graph there = graph.to(gpu);
  const double tolerance = dtype() == Dtype::f64   ? 1e-9
                           : dtype() == Dtype::f32 ? 1e-3
                           : dtype() == Dtype::f16 ? 2e-2
                                                   : 1.5e-1;
  std::uint64_t seed = 60;
  for (const std::int64_t features : widths()) {
    for (const std::int64_t heads : head_counts(features)) {
      for (const Score score : score_kinds) {
        const std::int64_t width = features / heads;
        AttentionCase inputs(graph, score, dtype(), heads, width, width, std::nullopt, seed += 10);
        inputs.scale /= 4;
        if (inputs.attn) inputs.attn = random_tensor(inputs.attn.shape(), dtype(), seed + 6, -0.1, 0.1);
        const std::string what = fmt::format("{} {} heads of {} seed {}", name(score), heads, width, seed);
        const AttentionCase exact = inputs.to(Dtype::f64), moved = inputs.to(gpu);
        const AttentionExpected expected = expected_attention(graph, inputs.views(), inputs.largest_score);
        expect_within_bound(attention_on_gpu(context, there, moved.views(), "edges=16").out, expected.out, what);
        // Gradients: every value of value's, which all kernels of the backward have a part in.
        const Tensor grad = random_tensor(Shape(graph.num_rows(), heads, width), dtype(), seed + 7);
        const AttentionGradients by_cpu =
            attention_backward(cpu, graph, exact.views(), attention(cpu, graph, exact.views()), grad.to(Dtype::f64));
        const AttentionGradients by_gpu =
            attention_backward(context, there, moved.views(), attention(context, there, moved.views()), grad.to(gpu));
        expect_near(by_gpu.value.to(Device{}), doubles(by_cpu.value), tolerance, what + ": gradient of value");
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
