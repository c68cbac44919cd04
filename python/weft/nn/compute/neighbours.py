"""Layers that reduce over neighbours as they are: SAGE, GIN, GraphConv."""

from __future__ import annotations

from typing import Optional, Tuple

from torch import Tensor
from torch.nn.functional import linear, normalize

from weft.graph import Graph
from weft.nn.compute.edge_values import weights_of
from weft.nn.compute.order import maps_first
from weft.ops import spmm

Pair = Tuple[Tensor, Optional[Tensor]]  # of sources and targets


def _mapped(lin, graph: Graph, x: Tensor, weight: Optional[Tensor], reduce: str) -> Tensor:
    """lin(reduce over neighbours of x)."""
    if weight is not None:
        weight = weights_of(graph, weight).to(x.dtype)
    if reduce in ("sum", "mean") and maps_first(lin, x):
        h = linear(x, lin.weight)
        out = spmm(graph, h, None if weight is None else weight.to(h.dtype), reduce=reduce)
        return out if lin.bias is None else out + lin.bias.to(out.dtype)
    return lin(spmm(graph, x, weight, reduce=reduce))


def sage(layer, graph: Graph, x: Pair, reduce: str, weight: Optional[Tensor] = None) -> Tensor:
    sources, targets = x
    if layer.project:
        sources = layer.lin(sources).relu()
    out = _mapped(layer.lin_l, graph, sources, weight, reduce)
    if layer.root_weight and targets is not None:
        out = out + layer.lin_r(targets)
    return normalize(out, p=2.0, dim=-1) if layer.normalize else out


def gin(
    layer, graph: Graph, x: Pair, reduce: str = "sum", weight: Optional[Tensor] = None, mean_scale: float = 0.0
) -> Tensor:
    """With ``mean_scale`` so many times the mean stands in place of the sum."""
    sources, targets = x
    if weight is not None:
        weight = weights_of(graph, weight).to(sources.dtype)
    out = spmm(graph, sources, weight, reduce="mean" if mean_scale else reduce)
    if mean_scale and mean_scale != 1:
        out = out * mean_scale
    if targets is not None:
        out = out + (1 + layer.eps) * targets
    return layer.nn(out)


def graph_conv(layer, graph: Graph, x: Pair, reduce: str, weight: Optional[Tensor] = None) -> Tensor:
    sources, targets = x
    out = _mapped(layer.lin_rel, graph, sources, weight, reduce)
    return out if targets is None else out + layer.lin_root(targets)
