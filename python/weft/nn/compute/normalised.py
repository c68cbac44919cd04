"""Sums over neighbours, normalised by the degrees of source and target: GCN, SGC, APPNP."""

from __future__ import annotations

from typing import NamedTuple, Optional

import torch
from torch import Tensor
from torch.nn.functional import dropout

from weft.graph import Graph
from weft.nn.compute.aligned import cut, linear_in_packs
from weft.nn.compute.edge_values import weights_of
from weft.nn.compute.order import is_plain, mapped, sums_first
from weft.nn.constant import cached_as, kept_sums
from weft.nn.kept import kept
from weft.nn.loops import loop_counts, loop_edges
from weft.ops import spmm, spmm_scaled


class Norm(NamedTuple):
    """The matrix S (A + L) S: A has the edge values, L and S are diagonal. The product is never stored, so a graph
    without weights needs no value per edge and self-loops need no edges."""

    weight: Optional[Tensor] = None  # A's values, by edge id; None: ones
    loop: Optional[Tensor] = None  # L; None: zeros
    scale: Optional[Tensor] = None  # S; None: ones
    own: Optional[Tensor] = None  # S L S, if it is already computed
    name: Optional[str] = None  # identifies a norm that depends only on the graph; None for others

    def times(self, graph: Graph, x: Tensor) -> Tensor:
        weight = None if self.weight is None else self.weight.to(x.dtype)
        if self.scale is None and self.loop is None:
            return spmm(graph, x, weight)
        scale, loop, own = self.scale, self.loop, self.own
        if (scale is not None and scale.requires_grad) or (loop is not None and loop.requires_grad):
            return self._with_gradients_of_scales(graph, x, weight)
        if own is None and loop is not None:
            own = _own(loop, scale)
        wide = torch.promote_types(x.dtype, torch.float32)
        if scale is not None and scale.dtype is not wide:  # a cached norm may be that of a model of another dtype
            scale = scale.to(wide)
        if own is not None and own.dtype is not wide:
            own = own.to(wide)
        return spmm_scaled(graph, x, weight, target_scale=scale, source_scale=scale, self_scale=own)

    def _with_gradients_of_scales(self, graph: Graph, x: Tensor, weight: Optional[Tensor]) -> Tensor:
        scale = None if self.scale is None else self.scale.to(x.dtype).unsqueeze(-1)
        scaled = x if scale is None else x * scale
        out = spmm(graph, scaled, weight)
        if self.loop is not None:
            out = torch.addcmul(out, scaled.to(out.dtype), self.loop.to(out.dtype).unsqueeze(-1))
        return out if scale is None else out * scale

    def dropped(self, graph: Graph, x: Tensor, p: float) -> Norm:
        """The norm with dropout of probability p on edges and loops."""
        weight = self.weight if self.weight is not None else x.new_ones(graph.col.shape[0])
        return Norm(dropout(weight, p), None if self.loop is None else dropout(self.loop, p), self.scale)


def _own(loop: Tensor, scale: Optional[Tensor]) -> Tensor:
    return loop if scale is None else loop * scale.square()


def weighted(graph: Graph, edge_weight: Optional[Tensor]) -> Norm:
    """The edge weights alone, without degrees and loops."""
    return Norm(weights_of(graph, edge_weight), name="ones" if edge_weight is None else None)


def gcn_norm(
    graph: Graph, edge_weight: Optional[Tensor], dtype: torch.dtype, *, loops: Optional[str] = "remaining",
    fill: float = 1.0,
) -> Norm:
    """GCN's normalisation. ``loops`` handles self-loops as PyG does: ``remaining`` adds one of weight ``fill`` to nodes
    without any, and keeps only the last of several (PyG's rule for an ``edge_index``); ``add`` adds one to every node
    (for a sparse torch matrix); ``replace`` replaces a node's loops by one (for torch_sparse); None adds none. Without
    edge weights every node has one loop of weight 1, as in PyG, whatever ``fill`` is and ``loops``, if not None."""
    wide = torch.promote_types(dtype, torch.float32)
    if edge_weight is None:
        return kept(graph, ("gcn_norm", loops is None, wide), lambda g: _of_degrees(g, loops is not None, wide))
    weight = weights_of(graph, edge_weight).to(wide)
    weight, loop = _loops_of(graph, weight, loops, fill)
    with torch.autocast(weight.device.type, enabled=False):  # half precision would round the weights
        degrees = spmm(graph, None, weight)
    if loop is None:
        return Norm(weight, scale=_inverse_root(degrees))
    return Norm(weight, loop, _inverse_root(degrees + loop))


def _of_degrees(graph: Graph, with_loops: bool, dtype: torch.dtype) -> Norm:
    degrees = graph.rowptr[1:] - graph.rowptr[:-1]
    if not with_loops:
        return Norm(scale=_inverse_root(degrees.to(dtype)), name="without loops")
    # The sum over all edges counts a node once per self-loop, but it must count once.
    missing = 1 - loop_counts(graph)
    loop, scale = missing.to(dtype), _inverse_root((degrees + missing).to(dtype))
    return Norm(loop=loop, scale=scale, own=_own(loop, scale), name="with loops")


def _loops_of(graph: Graph, weight: Tensor, loops: Optional[str], fill: float):
    if loops is None:
        return weight, None
    filled = weight.new_full((graph.rowptr.shape[0] - 1,), fill)
    if loops == "add":
        return weight, filled
    is_loop, last = loop_edges(graph)
    if loops == "remaining" and weight.shape[0] > 0:
        filled = torch.where(last < 0, filled, weight.index_select(0, last.clamp(min=0)))
    return weight.masked_fill(is_loop, 0), filled


def _inverse_root(degrees: Tensor) -> Tensor:
    roots = degrees.pow(-0.5)
    return roots.masked_fill(roots == torch.inf, 0)


def gcn(layer, graph: Graph, x: Tensor, norm: Norm) -> Tensor:
    """GCNConv: applies the linear map before or after the sum, whichever is cheaper."""
    name = cached_as(x, norm.name and ("gcn", norm.name))
    if sums_first(layer.lin, x, name is not None):
        sums = kept_sums(graph, x, name, lambda: norm.times(graph, x))
        return mapped(layer.lin, sums, layer.bias)
    if is_plain(layer.lin):
        weight = layer.lin.weight
        h = cut(norm.times(graph, linear_in_packs(graph, x, weight, layer.lin.bias)), weight.shape[0])
    else:
        h = norm.times(graph, layer.lin(x))
    return h.contiguous() if layer.bias is None else h + layer.bias


def sgc(layer, graph: Graph, x: Tensor, norm: Norm) -> Tensor:
    """SGConv, without its linear map."""

    def hops() -> Tensor:
        h = x
        for _ in range(layer.K):
            h = norm.times(graph, h)
        return h

    return kept_sums(graph, x, norm.name and ("sgc", layer.K, norm.name), hops)


def appnp(layer, graph: Graph, x: Tensor, norm: Norm) -> Tensor:
    start = layer.alpha * x
    for _ in range(layer.K):
        drops = layer.dropout > 0 and layer.training
        hop = norm.dropped(graph, x, layer.dropout) if drops else norm
        h = hop.times(graph, x)
        if isinstance(layer.alpha, Tensor):  # learned
            x = h * (1 - layer.alpha) + start
        else:
            x = torch.add(start, h, alpha=1 - layer.alpha)
    return x
