"""Why a PyG layer cannot run on weft, whatever its arguments are."""

from __future__ import annotations

from typing import Optional

import torch
from torch_geometric.nn import aggr
from torch_geometric.nn.conv import MessagePassing

_REDUCTIONS = {
    aggr.SumAggregation: "sum", aggr.MeanAggregation: "mean", aggr.MaxAggregation: "max", aggr.MinAggregation: "min",
}
_HOOKS = tuple(
    f"_{step}_forward_{when}"
    for step in ("propagate", "message", "aggregate", "message_and_aggregate", "edge_update")
    for when in ("pre_hooks", "hooks")
)
_STEPS = ("propagate", "message", "aggregate", "message_and_aggregate", "edge_update", "update")


def reduction_of(layer: MessagePassing) -> Optional[str]:
    """weft's name for the layer's aggregation; None if weft does not have it."""
    return _REDUCTIONS.get(type(layer.aggr_module))


def _is_pygs(layer: MessagePassing, step) -> bool:
    """Whether a replaced step is PyG's own method: turning explain or decomposed_layers on and off leaves one."""
    function = getattr(step, "__func__", step)  # a function, which compiled code can compare by `is`
    return any(function is getattr(type(layer), name, None) for name in ("_jinja_propagate", "_orig_propagate"))


def standing_reason(layer: MessagePassing, reductions) -> Optional[str]:
    if layer._explain:
        return "explain is on: PyG weighs messages one by one"
    if layer._decomposed_layers != 1:
        return f"decomposed_layers is {layer._decomposed_layers}: weft takes all features at once"
    if reduction_of(layer) not in reductions:
        return f"its aggregation is {layer.aggr}: weft has {', '.join(reductions)}"
    if layer.node_dim not in (0, -2):
        return f"node_dim is {layer.node_dim}: weft takes [nodes, features]"
    own = vars(layer)
    for name in _HOOKS:
        if own[name]:
            return f"it has hooks of {name[1:].split('_forward')[0]}, which weft does not run"
    for name in _STEPS:
        if name in own and not _is_pygs(layer, own[name]):
            return f"its {name} was replaced"
    if torch.jit.is_tracing():
        return "torch.jit traces it"
    return None
