#include "kernels/cuda/spmm/call.hpp"

#include "core/check.hpp"
#include "kernels/cuda/gather/common.hpp"
#include "kernels/semantics.hpp"
#include "plan/built_kernels.hpp"
#include "plan/gather_shape.hpp"

namespace weft::cuda {
namespace {

/// Whether one value per edge (or none) and the sources, side by side, are all there is.
bool by_scalar(const SpmmArgs& args) {
  const bool scalar = args.edge.feature_stride == 0 || args.width == 1;
  return args.heads == 1 && (args.x.feature_stride != 0 || args.width == 1) &&
         (args.op == SpmmOp::copy_u || (args.op == SpmmOp::u_mul_e && scalar));
}

}  // namespace

template <class Storage>
RowEpilogue<Storage> row_epilogue(const SpmmArgs& args) {
  using Acc = AccumulatorOf<Storage>;
  RowEpilogue<Storage> epilogue = plain_epilogue<Storage>(args.out, "out");
  epilogue.mean = semantics::divides_by_edges(args.reduce);
  epilogue.relu = args.relu;
  if (args.saturate) epilogue.largest = static_cast<Acc>(largest_value(args.out.dtype));
  epilogue.negated = semantics::negates_messages(args.reduce);
  epilogue.row_scale = static_cast<const Acc*>(args.row_scale.data);
  if (args.self_scale.given()) {
    epilogue.self_scale = static_cast<const Acc*>(args.self_scale.data);
    epilogue.self = static_cast<const Storage*>(args.x.data);
    epilogue.self_pitch_bytes = pitch_bytes<Storage>("x", args.x.row_stride);
  }
  epilogue.bias = maybe_wide<Storage>(args.bias.data, args.bias.dtype);
  epilogue.arg_u = args.arg_u;
  epilogue.arg_e = args.arg_e;
  epilogue.note_what_is_applied();
  return epilogue;
}

template <class Storage>
SpmmCall<Storage> spmm_call(const SpmmArgs& args, const Plan& plan, Arena arena, bool by_edges) {
  using Acc = AccumulatorOf<Storage>;
  SpmmCall<Storage> call;
  const bool extremum = is_extremum(args.reduce);
  GatherCommon<Storage>& common = call.common;
  common = gather_common<Storage>(plan, args.graph, arena, args.heads * args.width, args.x, by_edges ? "edge" : "x");
  common.epilogue = row_epilogue<Storage>(args);
  if (!uses_node(args.op)) common.x = nullptr;
  if (args.edge_places != nullptr) {
    WEFT_CHECK(args.arg_e == nullptr, internal, "arg_e would be places of edges, where ids are expected");
    common.split.ids = args.edge_places;
    common.split.id_shift = 0;
    common.split.graph.edge_ids = nullptr;
  }
  // (Samples have been drawn with the ids that the call reads.)
  WEFT_CHECK(!walks_clusters(plan) || plan.backing.draws_sample || common.split.ids != nullptr ||
                 (!uses_edge(args.op) && !extremum),
             invalid_argument,
             "plan is of a sum without values of edges, in the order {}: expected one made with weighted = true and "
             "the call's reducer",
             name(plan.cuda().order));
  if (by_edges) common.split.graph.cols = nullptr;

  auto& operands = call.operands;
  operands.heads = static_cast<int>(args.heads);
  operands.width = static_cast<int>(args.width);
  operands.x_head = args.x.head_stride;
  operands.op = args.op;
  if (uses_edge(args.op)) operands.edge = maybe_wide<Storage>(args.edge.data, args.edge.dtype);
  operands.edge_pitch = args.edge.row_stride;
  operands.edge_head = args.edge.head_stride;
  operands.x_vector = args.x.feature_stride != 0;
  operands.edge_vector = args.edge.feature_stride != 0 && args.width > 1;  // of one feature: a value per edge and head
  operands.col_scale = static_cast<const Acc*>(args.col_scale.data);

  const RowEpilogue<Storage>& epilogue = common.epilogue;
  SpmmTraits& traits = call.traits;
  traits.features = common.features;
  traits.one_value_an_edge = by_scalar(args);
  traits.weighted = operands.edge.given();
  traits.values_in_order = common.split.graph.edge_ids == nullptr && operands.edge_pitch == 1;
  traits.scaled_sources = operands.col_scale != nullptr;
  traits.mean = epilogue.mean;
  traits.epilogue = !epilogue.none_but_mean;
  traits.wide_out = epilogue.wide;
  traits.wide_edges = operands.edge.wide;
  traits.extremum = extremum;
  traits.winners = args.arg_u != nullptr || args.arg_e != nullptr;
  return call;
}

#define WEFT_CALL(STORAGE)                                              \
  template RowEpilogue<STORAGE> row_epilogue<STORAGE>(const SpmmArgs&); \
  template SpmmCall<STORAGE> spmm_call<STORAGE>(const SpmmArgs&, const Plan&, Arena, bool);
WEFT_FOR_STORAGES(WEFT_CALL)

}  // namespace weft::cuda
