// Weighted sums over neighbours on the best device there is: planned once, run many times without allocating.
#include <cstdio>
#include <weft/weft.hpp>

int main() {
  weft::Context context = weft::Context::best();  // the first GPU, or all CPU cores

  // A synthetic graph of 10,000 nodes; any edge list will do (weft::Graph::from_edges, weft::read_graph).
  const weft::Graph on_host = weft::generate("powerlaw:nodes=10000,edges=200000,seed=1").graph;
  const std::int64_t nodes = on_host.num_rows(), width = 64;

  // Features of 1 and weights of 1 / in-degree: every node with neighbours gets their mean, which is 1.
  const weft::Tensor ones = weft::Tensor::from(std::vector<float>(nodes * width, 1.0f), weft::Shape(nodes, width));
  std::vector<float> weights(on_host.num_edges());
  const weft::GraphView edges = on_host.view();
  for (std::int64_t v = 0; v < nodes; ++v)
    for (weft::EdgeId k = edges.offsets[v]; k < edges.offsets[v + 1]; ++k)
      weights[edges.edge_id(k)] = 1.0f / static_cast<float>(edges.offsets[v + 1] - edges.offsets[v]);
  const weft::Tensor values = weft::Tensor::from(weights, weft::Shape(on_host.num_edges()));

  // Everything where the context runs.
  const weft::Graph graph = on_host.to(context.device(), context.stream());
  const weft::Tensor x = ones.to(context.device(), context.stream());
  const weft::Tensor w = values.to(context.device(), context.stream());
  weft::Tensor y =
      weft::Tensor::empty(weft::Shape(nodes, width), weft::Dtype::f32, "y", context.device(), context.stream());

  const weft::Plan plan =
      weft::make_plan(context, graph, {weft::OpKind::spmm, weft::Dtype::f32, 1, width, weft::Reduce::sum, true});
  context.reserve(plan.workspace_bytes);
  for (int run = 0; run < 10; ++run) weft::spmm(context, plan, graph, x, w, y);

  const weft::Tensor result = y.to(weft::Device{}, context.stream());
  std::int64_t with_neighbours = 0, right = 0;
  for (std::int64_t v = 0; v < nodes; ++v) {
    if (edges.offsets[v] == edges.offsets[v + 1]) continue;
    const float mean = result.span<float>()[v * width];
    ++with_neighbours;
    right += mean > 0.9999f && mean < 1.0001f ? 1 : 0;
  }
  std::printf("%s\n%lld nodes with neighbours, %lld means of 1\n", to_string(plan).c_str(),
              static_cast<long long>(with_neighbours), static_cast<long long>(right));
  return with_neighbours > 0 && right == with_neighbours ? 0 : 1;
}
