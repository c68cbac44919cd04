// Every instantiation once, on a graph small enough for the sanitizers: each message, reduction and storage type with
// each number of elements a load and of lanes a row.
#include "battery/sweep.hpp"
#include "cuda/gpu.hpp"

namespace weft::test {
namespace {

class cuda_every_kernel : public GpuTest {};

/// Columns of a wider tensor: how far in they begin and how far rows are apart decide what one load may move.
struct Placing {
  std::int64_t before, after;
};
constexpr Placing placings[] = {{0, 0}, {2, 0}, {1, 0}};

Tensor padded(std::int64_t rows, std::int64_t width, Placing placing, Dtype dtype, std::uint64_t seed) {
  return random_tensor(Shape(rows, placing.before + width + placing.after), dtype, seed);
}

// One pack, two, three, ... a warp's worth of packs, two and four steps of it, and more than one tile.
constexpr std::int64_t widths[] = {1,  2,  3,  4,  5,  6,  8,  9,   10,  12,  16,  17,  18,  20,  32,
                                   33, 34, 36, 64, 65, 66, 68, 128, 129, 130, 132, 256, 260, 512, 516};

Graph small_graph() {
  std::vector<NodeId> destinations, sources;
  Random random(12);
  for (int k = 0; k < 700; ++k) {
    // A hub, rows of a few edges, and rows of none.
    destinations.push_back(k < 400 ? 3 : static_cast<NodeId>(random.next() % 50));
    sources.push_back(static_cast<NodeId>(random.next() % 60));
  }
  return Graph::from_coo(60, 60, destinations, sources);
}

TEST_F(cuda_every_kernel, of_spmm_agrees_with_the_reference) {
  Context context = Context::cuda();
  const Graph given = small_graph();
  constexpr const char* policies[] = {"edges=8", "edges=16,join=no", "edges=64,order=columns"};
  std::size_t turn = 0;
  // With ids and without: values in the order of the edges are read another way.
  for (const Graph& graph : {given, in_stored_order(given).graph}) {
    const Graph there = graph.to(gpu);
    for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
      for (const std::int64_t width : widths) {
        for (const Placing& placing : placings) {
          const Tensor x = padded(graph.num_cols(), width, placing, dtype, 21), x_there = x.to(gpu);
          const Tensor scalar = random_tensor(Shape(graph.num_edges()), dtype, 22), scalar_there = scalar.to(gpu);
          const Tensor vector = padded(graph.num_edges(), width, placing, dtype, 23), vector_there = vector.to(gpu);
          const ConstTensorView xs = columns(x.view(), placing.before, width);
          const ConstTensorView xs_there = columns(x_there.view(), placing.before, width);
          struct Sent {
            SpmmOp op;
            ConstTensorView here, there;
          };
          const Sent messages[] = {
              {SpmmOp::copy_u, {}, {}},
              {SpmmOp::u_mul_e, scalar, scalar_there},
              {SpmmOp::u_add_e, columns(vector.view(), placing.before, width),
               columns(vector_there.view(), placing.before, width)},
          };
          for (const Sent& sent : messages) {
            for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::min}) {
              for (const bool winners : {false, true}) {
                if (winners && reduce != Reduce::min) continue;
                // The policy changes the tasks, not the kernel: each takes its turn.
                const char* const policy = policies[turn++ % std::size(policies)];
                SpmmOptions options;
                options.op = sent.op;
                options.reduce = reduce;
                const SpmmExpected expected = expected_spmm(graph, xs, sent.here, options);
                Tensor arg_u, arg_e;
                if (winners) {
                  arg_u = Tensor::empty(expected.shape, Dtype::i32, "arg_u", gpu);
                  arg_e = Tensor::empty(expected.shape, Dtype::i64, "arg_e", gpu);
                  options.arg_u = arg_u;
                  options.arg_e = arg_e;
                }
                const Plan plan =
                    make_plan(context, there, {OpKind::spmm, dtype, 1, width, reduce, true}, parse_policy(policy));
                context.reserve(plan.workspace_bytes);
                Tensor out = Tensor::zeros(Shape(graph.num_rows(), placing.before + width), dtype, "out", gpu);
                spmm(context, plan, there, xs_there, sent.there, columns(out.view(), placing.before, width), options);
                const Tensor back = out.to(Device{});
                expect_within_bound(columns(back.view(), placing.before, width), expected,
                                    fmt::format("{} {} {} width {} from {} policy '{}'", name(dtype), name(sent.op),
                                                name(reduce), width, placing.before, policy));
                if (winners) {
                  const Tensor won = arg_e.to(Device{});
                  for (std::size_t i = 0; i < expected.arg_e.size(); ++i)
                    ASSERT_EQ(won.span<EdgeId>()[i], expected.arg_e[i]) << "width " << width << " element " << i;
                }
                if (HasFailure()) return;
              }
            }
          }
        }
      }
    }
  }
}

TEST_F(cuda_every_kernel, of_sddmm_agrees_with_the_reference) {
  Context context = Context::cuda();
  const Graph graph = small_graph();
  const Graph there = graph.to(gpu);
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    for (const std::int64_t width : widths) {
      for (const Placing& placing : placings) {
        const Tensor u = padded(graph.num_cols(), width, placing, dtype, 31), u_there = u.to(gpu);
        const Tensor v = padded(graph.num_rows(), width, placing, dtype, 32), v_there = v.to(gpu);
        const Tensor e = padded(graph.num_edges(), width, placing, dtype, 33), e_there = e.to(gpu);
        const auto part = [&](const Tensor& tensor) { return columns(tensor.view(), placing.before, width); };
        for (const SddmmOp op : {SddmmOp::dot, SddmmOp::add}) {
          for (const bool with_edge : {false, true}) {
            for (const char* policy : {"edges=8", "edges=32,order=columns", "edges=16,order=clusters"}) {
              const SddmmOptions options{op, Target::u, with_edge ? Target::e : Target::v};
              const Expected expected = expected_sddmm(graph, part(u), with_edge ? part(e) : part(v), options);
              const Plan plan =
                  make_plan(context, there, {OpKind::sddmm, dtype, 1, width, Reduce::sum, false}, parse_policy(policy));
              context.reserve(plan.workspace_bytes);
              Tensor out = Tensor::zeros(expected.shape, dtype, "out", gpu);
              sddmm(context, plan, there, part(u_there), with_edge ? part(e_there) : part(v_there), out, options);
              expect_within_bound(out.to(Device{}), expected,
                                  fmt::format("{} {} width {} from {} policy '{}'", name(dtype), name(op), width,
                                              placing.before, policy));
              if (HasFailure()) return;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
