// One call of spmm as kernels see it: arguments of every message, and what decides which one it takes.
#pragma once

#include "core/check.hpp"
#include "kernels/cuda/messages/messages.hpp"
#include "kernels/signatures.hpp"
#include "plan/cuda/select.hpp"

namespace weft::cuda {

template <class Storage>
struct SpmmCall {
  GatherCommon<Storage> common;
  typename Edgewise<Storage>::Args operands;  // has those of every other message
  SpmmTraits traits;                          // what decides the kernel

  GatherArgs<Weighted<Storage>> weighted() const { return {common, {operands.edge, operands.edge_pitch}}; }
};

/// What the call applies to reduced rows, and where they go.
template <class Storage>
RowEpilogue<Storage> row_epilogue(const SpmmArgs& args);
/// `by_edges`: the rows that are gathered are edges' own.
template <class Storage>
SpmmCall<Storage> spmm_call(const SpmmArgs& args, const Plan& plan, Arena arena, bool by_edges);

/// Calls f(args) with the arguments of that message. (f64 is for gradient checks: the general
/// messages serve for all.)
template <class Storage, class F>
void with_message(KernelMessage message, const SpmmCall<Storage>& call, const F& f) {
  const auto& o = call.operands;
  if (message == KernelMessage::edgewise) return f(GatherArgs<Edgewise<Storage>>{call.common, o});
  if constexpr (!StorageTraits<Storage>::is_double) {
    if (message == KernelMessage::source) return f(GatherArgs<Source<Storage>>{call.common, {}});
    if (message == KernelMessage::averaged) return f(GatherArgs<Averaged<Storage>>{call.common, {}});
    if (message == KernelMessage::weighted) return f(call.weighted());
  }
  WEFT_CHECK(message == KernelMessage::scaled, internal, "spmm in {} has no kernels of message {}",
             name(dtype_of<Storage>), static_cast<int>(message));
  f(GatherArgs<Scaled<Storage>>{call.common, {o.edge, o.edge_pitch, o.col_scale}});
}

}  // namespace weft::cuda
