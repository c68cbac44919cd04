// Sampled edges: sums over the edges that a sample keeps, and the graph of those edges.
#include "weft/sample.hpp"

#include "call.hpp"
#include "core/names.hpp"
#include "ops/spmm_inputs.hpp"
#include "sample.hpp"

namespace weft::pytorch {

EdgeSample sample_of(const std::string& method, std::int64_t width, std::int64_t seed, std::int64_t step) {
  EdgeSample sample;
  sample.method = parse_edge_sampling(method);
  sample.width = width;
  sample.seed = static_cast<std::uint64_t>(seed);
  sample.step = step;
  return sample;
}

std::tuple<std::int64_t, Rows, Tensor> graph_sampled(Rows rows, std::int64_t key, std::int64_t num_sources,
                                                     std::string method, std::int64_t width, std::int64_t seed,
                                                     std::int64_t step) {
  const Tensor& offsets = offsets_of(rows);
  const EdgeSample sample = sample_of(method, width, seed, step);
  Derived kept = sample_edges(graph_of(rows, key, num_sources)->graph(), sample, context_of(offsets).stream());
  Rows of_kept = rows_of(kept.graph, offsets);
  const std::int64_t kept_key = hold_graph(kept.graph, of_kept, num_sources);
  const auto origin = std::make_shared<const EdgeOrigin>(std::move(kept.origin));
  return {kept_key, std::move(of_kept), lent(origin->ids_view(), origin, offsets)};
}

Tensor spmm_sampled(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor x, MaybeTensor edge,
                    std::string op, std::string reduce, std::string method, std::int64_t width, std::int64_t seed,
                    std::int64_t step, bool scaled) {
  Call call(rows, key, num_sources);
  const Input sources(x, "x"), values(edge, "edge");
  SpmmOptions options;
  options.op = parse_spmm_op(op);
  options.reduce = parse_reduce(reduce);
  options.sample = sample_of(method, width, seed, step);
  options.sample->norm = scaled ? SampleNorm::scaled : SampleNorm::none;
  const SpmmShape shape = resolve(call.context, call.graph(), sources, values, options);
  const auto of = call.key(OpKind::spmm, {&sources.view(), &values.view()},
                           {number(options.op), number(options.reduce), width, number(options.sample->method), scaled});
  const auto plan = call.held->plan<Plan>(of, [&] { return make_plan(call.context, call.graph(), shape.desc); });
  const Tensor out = empty(shape.features.with_rows(call.graph().num_rows()), shape.desc.dtype, call.like);
  const Workspace workspace(call.context, plan->workspace_bytes, call.like);
  weft::spmm(call.context, *plan, call.graph(), sources, values, writable(out), options);
  return out;
}

}  // namespace weft::pytorch
