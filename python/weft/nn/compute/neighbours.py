"""Layers that reduce over neighbours without normalisation: SAGE, GIN, GraphConv."""

from __future__ import annotations

from typing import Optional, Tuple

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn.functional import normalize

from weft.graph import Graph, is_traced
from weft.nn.compute.aligned import cut, linear_in_packs
from weft.nn.compute.edge_values import weights_of
from weft.nn.compute.order import mapped, maps_first
from weft.nn.constant import cached_as, kept_sums
from weft.ops import spmm, spmm_scaled

Pair = Tuple[Tensor, Optional[Tensor]]  # of sources and targets


def _with_root(lin, root, graph: Graph, x: Pair, weight: Optional[Tensor], reduce: str) -> Tensor:
    """lin(reduce over neighbours of the sources) + root(targets), the latter where there is such a map."""
    sources, targets = x
    if weight is not None:
        weight = weights_of(graph, weight).to(sources.dtype)
    name, bias = cached_as(sources, ("spmm", reduce) if weight is None else None), None
    if reduce in ("sum", "mean") and maps_first(lin, sources, name is not None):
        h, bias = linear_in_packs(graph, sources, lin.weight), lin.bias
        out = spmm(graph, h, None if weight is None else weight.to(h.dtype), reduce=reduce)
        out = cut(out, lin.weight.shape[0])
    else:
        out = lin(kept_sums(graph, sources, name, lambda: spmm(graph, sources, weight, reduce=reduce)))
    if bias is not None:
        bias = bias.to(out.dtype)
    if root is None or targets is None:
        return out.contiguous() if bias is None else out + bias
    return out + mapped(root, targets, bias)


def sage(layer, graph: Graph, x: Pair, reduce: str, weight: Optional[Tensor] = None) -> Tensor:
    sources, targets = x
    if layer.project:
        sources = layer.lin(sources).relu()
    root = layer.lin_r if layer.root_weight else None
    out = _with_root(layer.lin_l, root, graph, (sources, targets), weight, reduce)
    return normalize(out, p=2.0, dim=-1) if layer.normalize else out


def _is_number(eps: Tensor, x: Tensor) -> bool:
    """Whether eps is a plain number of x's dtype, so that (1 + eps) x can be a part of the sum, which has no derivative by
    it: not trained, not traced, not batched or differentiated by torch.func, and not promoting x to another dtype."""
    if eps.requires_grad or eps.dtype is not x.dtype or is_traced() or torch.is_autocast_enabled(x.device.type):
        return False
    return forward_ad._current_level < 0 and not torch._C._are_functorch_transforms_active()


def gin(
    layer, graph: Graph, x: Pair, reduce: str = "sum", weight: Optional[Tensor] = None, mean_scale: float = 0.0
) -> Tensor:
    """A nonzero ``mean_scale`` replaces the sum by that multiple of the mean."""
    sources, targets = x
    if weight is not None:
        weight = weights_of(graph, weight).to(sources.dtype)
    if mean_scale:
        reduce = "mean"
    name = cached_as(sources, ("spmm", reduce) if weight is None else None)
    if targets is sources and reduce == "sum" and name is None and _is_number(layer.eps, sources):
        wide = torch.promote_types(sources.dtype, torch.float32)
        own = (1 + layer.eps).to(wide).expand(sources.shape[0]).contiguous()
        return layer.nn(spmm_scaled(graph, sources, weight, self_scale=own))
    out = kept_sums(graph, sources, name, lambda: spmm(graph, sources, weight, reduce=reduce))
    if mean_scale and mean_scale != 1:
        out = out * mean_scale
    if targets is not None:
        out = out + (1 + layer.eps) * targets
    return layer.nn(out)


def graph_conv(layer, graph: Graph, x: Pair, reduce: str, weight: Optional[Tensor] = None) -> Tensor:
    return _with_root(layer.lin_rel, layer.lin_root, graph, x, weight, reduce)
