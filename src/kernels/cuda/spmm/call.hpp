// One call of spmm as kernels see it: arguments of every message, and which message that is.
#pragma once

#include "kernels/cuda/messages/messages.hpp"
#include "kernels/signatures.hpp"

namespace weft::cuda {

/// The messages of messages.hpp; a call takes the first that can send what it asks for.
enum class MessageKind { source, averaged, weighted, scaled, edgewise };

template <class Storage>
struct SpmmCall {
  GatherCommon<Storage> common;
  typename Edgewise<Storage>::Args operands;  // has those of every other message
  MessageKind message = MessageKind::scaled;
  bool extremum = false;

  GatherArgs<Weighted<Storage>> weighted() const { return {common, {operands.edge, operands.edge_pitch}}; }
};

/// Fills in all but the message. `by_edges`: the rows that are gathered are edges' own.
template <class Storage>
SpmmCall<Storage> spmm_call(const SpmmArgs& args, const Plan& plan, Arena arena, bool by_edges);

template <class Storage>
MessageKind message_of(const SpmmArgs& args, const SpmmCall<Storage>& call);

/// Calls f(args) with the arguments of the message that the call sends. (f64 is for gradient checks: the general
/// messages serve for all.)
template <class Storage, class F>
void with_message(const SpmmCall<Storage>& call, const F& f) {
  const auto& o = call.operands;
  if (call.message == MessageKind::edgewise) return f(GatherArgs<Edgewise<Storage>>{call.common, o});
  if constexpr (sizeof(Storage) <= 4) {
    if (call.message == MessageKind::source) return f(GatherArgs<Source<Storage>>{call.common, {}});
    if (call.message == MessageKind::averaged) return f(GatherArgs<Averaged<Storage>>{call.common, {}});
    if (call.message == MessageKind::weighted) return f(call.weighted());
  }
  f(GatherArgs<Scaled<Storage>>{call.common, {o.edge, o.edge_pitch, o.col_scale}});
}

}  // namespace weft::cuda
