"""PyG's layers on weft, under PyG's names."""

from __future__ import annotations

from typing import Optional

from torch import Tensor
from torch_geometric import nn as pyg

from weft.nn import compute
from weft.pyg.converted.base import Converted
from weft.pyg.converted.edges import Edges
from weft.pyg.converted.reasons import reduction_of

# How PyG treats existing self-loops, for each form of edges.
_LOOPS = {"edge_index": "remaining", "sparse": "add", "torch_sparse": "replace"}


class _Normalised(Converted):
    """If ``cached``, keeps the edges and the norm of the first call; a fallback to PyG uses the same edges."""

    def _norm(self, edges: Edges, x: Tensor, edge_weight: Optional[Tensor]) -> compute.Norm:
        weight = edge_weight if edges.values is None else edges.values
        if not getattr(self, "normalize", True):
            return compute.weighted(edges.graph, weight)
        loops = _LOOPS[edges.form] if self.add_self_loops else None
        fill = 2.0 if getattr(self, "improved", False) else 1.0
        if weight is None and edges.form == "torch_sparse":  # PyG gives its edges weight 1 first
            weight = x.new_ones(edges.graph.num_edges)
        return compute.gcn_norm(edges.graph, weight, x.dtype, loops=loops, fill=fill)

    def _standing_reason(self) -> Optional[str]:
        cached = getattr(self, "_cached_edge_index", None), getattr(self, "_cached_adj_t", None)
        if self._weft_held is None and any(made is not None for made in cached):
            return "it is cached, and PyG ran it first: reset_parameters() forgets that"
        return super()._standing_reason()

    def _propagated(self, function, x, edge_index, edge_weight) -> Tensor:
        held = self._weft_held
        if held is not None:
            edge_index, edge_weight = held[0]
        edges = self._edges(x, edge_index, edge_weight=edge_weight)
        if edges.reason is None and not isinstance(x, Tensor):
            edges = edges._replace(reason="x is a pair")
        if edges.reason is not None:
            return self._fall_back(edges.reason, x, edge_index, edge_weight)
        norm = held[1] if held is not None else self._norm(edges, x, edge_weight)
        if held is None and self._keeps_norm():
            self._weft_held = (edge_index, edge_weight), norm
        return function(self, edges.graph, x, norm)

    def _keeps_norm(self) -> bool:
        return self.cached and self.normalize


class GCNConv(_Normalised, pyg.GCNConv):
    pyg = pyg.GCNConv

    def forward(self, x, edge_index, edge_weight=None):
        return self._propagated(compute.gcn, x, edge_index, edge_weight)


class SGConv(_Normalised, pyg.SGConv):
    pyg = pyg.SGConv

    def forward(self, x, edge_index, edge_weight=None):
        if self._cached_x is not None:
            return self.lin(self._cached_x.detach())
        return self._propagated(_sgc, x, edge_index, edge_weight)

    def _keeps_norm(self) -> bool:
        return False  # it caches its sums instead


class APPNP(_Normalised, pyg.APPNP):
    pyg = pyg.APPNP

    def forward(self, x, edge_index, edge_weight=None):
        return self._propagated(compute.appnp, x, edge_index, edge_weight)


def _sgc(layer, graph, x, norm) -> Tensor:
    x = compute.sgc(layer, graph, x, norm)
    if layer.cached:
        layer._cached_x = x
    return layer.lin(x)


def _values(layer, edges: Edges) -> Optional[Tensor]:
    """A sparse matrix's values if PyG multiplies by them, which only its fused kernel does."""
    return edges.values if layer.fuse and edges.form == "sparse" else None


def _two(x):
    return (x, x) if isinstance(x, Tensor) else tuple(x)


class _Neighbours(Converted):
    reductions = ("sum", "mean", "max", "min")


class SAGEConv(_Neighbours, pyg.SAGEConv):
    pyg = pyg.SAGEConv

    def forward(self, x, edge_index, size=None):
        edges = self._edges(x, edge_index, size)
        if edges.reason is not None:
            return self._fall_back(edges.reason, x, edge_index, size)
        return compute.sage(self, edges.graph, _two(x), reduction_of(self), _values(self, edges))


class GINConv(_Neighbours, pyg.GINConv):
    pyg = pyg.GINConv

    def forward(self, x, edge_index, size=None):
        edges = self._edges(x, edge_index, size)
        if edges.reason is not None:
            return self._fall_back(edges.reason, x, edge_index, size)
        return compute.gin(self, edges.graph, _two(x), reduction_of(self), _values(self, edges))


class GraphConv(_Neighbours, pyg.GraphConv):
    pyg = pyg.GraphConv

    def forward(self, x, edge_index, edge_weight=None, size=None):
        edges = self._edges(x, edge_index, size, edge_weight=edge_weight)
        if edges.reason is not None:
            return self._fall_back(edges.reason, x, edge_index, edge_weight, size)
        weight = edge_weight if edges.values is None else edges.values
        return compute.graph_conv(self, edges.graph, _two(x), reduction_of(self), weight)


class _Attention(Converted):
    needs_targets = True

    def _attended(self, x, edge_index, edge_attr, size, returns_weights) -> Edges:
        edges = self._edges(x, edge_index, size, edge_attr=edge_attr)
        reason = edges.reason
        if reason is None and returns_weights is not None:
            reason = "return_attention_weights is given: weft makes no tensor of weights"
        elif reason is None and self.needs_targets and _two(x)[1] is None:
            reason = "x has no features of targets"
        elif reason is None:
            reason = self._attribute_reason(edge_attr)
        return edges if reason is None else edges._replace(reason=reason)

    def _attribute_reason(self, edge_attr) -> Optional[str]:
        if edge_attr is None:
            return None
        if getattr(self, "add_self_loops", False) and isinstance(self.fill_value, str):
            if self.fill_value == "mul":
                return "fill_value is mul"
            if self.flow != "source_to_target":  # PyG reduces over the second row of edge_index for any flow
                return f"fill_value is {self.fill_value} and flow {self.flow}: weft fills by the edges that arrive"
        return "edge_attr is given and edge_dim is not" if self.lin_edge is None else None


class GATConv(_Attention, pyg.GATConv):
    pyg = pyg.GATConv
    needs_targets = False

    def forward(self, x, edge_index, edge_attr=None, size=None, return_attention_weights=None):
        edges = self._attended(x, edge_index, edge_attr, size, return_attention_weights)
        if edges.reason is not None:
            return self._fall_back(edges.reason, x, edge_index, edge_attr, size, return_attention_weights)
        return compute.gat(self, edges.graph, _two(x), edge_attr)


class GATv2Conv(_Attention, pyg.GATv2Conv):
    pyg = pyg.GATv2Conv

    def forward(self, x, edge_index, edge_attr=None, return_attention_weights=None):
        edges = self._attended(x, edge_index, edge_attr, None, return_attention_weights)
        if edges.reason is not None:
            return self._fall_back(edges.reason, x, edge_index, edge_attr, return_attention_weights)
        return compute.gatv2(self, edges.graph, _two(x), edge_attr)


class TransformerConv(_Attention, pyg.TransformerConv):
    pyg = pyg.TransformerConv

    def forward(self, x, edge_index, edge_attr=None, return_attention_weights=None):
        edges = self._attended(x, edge_index, edge_attr, None, return_attention_weights)
        if edges.reason is not None:
            return self._fall_back(edges.reason, x, edge_index, edge_attr, return_attention_weights)
        return compute.transformer(self, edges.graph, _two(x), edge_attr)

    def _attribute_reason(self, edge_attr) -> Optional[str]:
        if edge_attr is None and self.lin_edge is not None:
            return "edge_attr is missing"
        return super()._attribute_reason(edge_attr)


CONVERTED = (GCNConv, SGConv, APPNP, SAGEConv, GINConv, GraphConv, GATConv, GATv2Conv, TransformerConv)
