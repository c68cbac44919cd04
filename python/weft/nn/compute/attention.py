"""Layers that weight neighbours by a softmax: GAT, GATv2, TransformerConv."""

from __future__ import annotations

import math
from typing import Optional, Sequence, Tuple

import torch
from torch import Tensor
from torch.nn import functional

from weft.graph import Graph
from weft.nn.compute.aligned import cut, linear_in_packs
from weft.nn.compute.edge_values import features_of
from weft.nn.compute.order import is_plain
from weft.nn.loops import edges_as_sources, looped
from weft.ops import attention, edge_softmax, sddmm, spmm

Pair = Tuple[Tensor, Optional[Tensor]]  # of sources and targets


def _attended(layer, graph: Graph, edge_attr: Optional[Tensor]) -> Tuple[Graph, Optional[Tensor]]:
    """The graph for attention and its edge features: with a self-loop at every node if the layer adds them."""
    if edge_attr is not None:
        edge_attr = features_of(graph, edge_attr, layer.edge_dim)
    if not layer.add_self_loops:
        return graph, edge_attr
    made = looped(graph)
    return made.graph, None if edge_attr is None else made.values(graph, edge_attr, layer.fill_value)


def _finished(layer, out: Tensor, x: Optional[Tensor]) -> Tensor:
    out = out.flatten(1) if layer.concat else out.mean(dim=1)
    if layer.res is not None and x is not None:
        out = out + layer.res(x)
    return out.contiguous() if layer.bias is None else out + layer.bias


def _dropout(layer) -> float:
    return layer.dropout if layer.training else 0.0


def _with_edge(term: Optional[Tensor]) -> dict:
    return {} if term is None else {"edge": term}


def gat(layer, graph: Graph, x: Pair, edge_attr: Optional[Tensor] = None) -> Tensor:
    sources, targets = x
    of_sources, of_targets = (layer.lin, layer.lin) if layer.lin is not None else (layer.lin_src, layer.lin_dst)
    if _by_weight(of_sources):
        h = linear_in_packs(graph, sources, of_sources.weight, heads=layer.heads)
    else:
        h = of_sources(sources)
    h = h.unflatten(1, (layer.heads, -1))
    if targets is sources and of_targets is of_sources:
        source_term, target_term = _terms(layer, of_sources, sources, (layer.att_src, layer.att_dst), h)
    else:
        (source_term,) = _terms(layer, of_sources, sources, (layer.att_src,), h)
        if targets is None:
            target_term = source_term.new_zeros(graph.num_targets, layer.heads, 1)
        else:
            (target_term,) = _terms(layer, of_targets, targets, (layer.att_dst,))
    graph, edge_attr = _attended(layer, graph, edge_attr if layer.lin_edge is not None else None)
    edge = None if edge_attr is None else _terms(layer, layer.lin_edge, edge_attr, (layer.att_edge,))[0].to(h.dtype)
    out = attention(
        graph, h, source_term, target_term, score="gat", slope=layer.negative_slope, dropout=_dropout(layer),
        **_with_edge(edge),
    )
    return _finished(layer, cut(out, layer.out_channels), targets)


def _by_weight(lin) -> bool:
    """Whether lin(x) is x W^T."""
    return is_plain(lin) and lin.bias is None


def _terms(layer, lin, x: Tensor, atts: Sequence[Tensor], mapped: Optional[Tensor] = None) -> Tuple[Tensor, ...]:
    """att . lin(x), [rows of x, heads, 1], for each att. W and att are multiplied first, so that only x is read and
    lin(x), which for edges is a tensor of edges x features, is not needed. ``mapped`` is lin(x), if it exists
    already."""
    shape = layer.heads, layer.out_channels
    if _by_weight(lin):
        weight = lin.weight.view(*shape, -1)
        together = torch.cat([(weight * att.view(*shape, 1)).sum(1) for att in atts])
        return functional.linear(x, together).unsqueeze(-1).split(layer.heads, dim=1)
    h = lin(x).view(-1, *shape) if mapped is None else mapped
    return tuple((h * att).sum(-1, keepdim=True).to(h.dtype) for att in atts)


def gatv2(layer, graph: Graph, x: Pair, edge_attr: Optional[Tensor] = None) -> Tensor:
    sources, targets = x
    shape = layer.heads, layer.out_channels
    h = layer.lin_l(sources).view(-1, *shape)
    shared = layer.share_weights and targets is sources
    h_targets = h if shared else layer.lin_r(targets).view(-1, *shape)
    graph, edge_attr = _attended(layer, graph, edge_attr)
    edge = None if edge_attr is None else layer.lin_edge(edge_attr).view(-1, *shape).to(h.dtype)
    out = attention(
        graph, h, h, h_targets, layer.att.to(h.dtype), score="gatv2", slope=layer.negative_slope,
        dropout=_dropout(layer), **_with_edge(edge),
    )
    return _finished(layer, out, targets)


def transformer(layer, graph: Graph, x: Pair, edge_attr: Optional[Tensor] = None) -> Tensor:
    sources, targets = x
    shape = layer.heads, layer.out_channels
    query = layer.lin_query(targets).view(-1, *shape)
    key = layer.lin_key(sources).view(-1, *shape)
    value = layer.lin_value(sources).view(-1, *shape)
    scale = 1 / math.sqrt(layer.out_channels)
    if edge_attr is None:
        out = attention(graph, value, key, query, score="dot", scale=scale, dropout=_dropout(layer))
    else:
        out = _transformer_with_edges(layer, graph, query, key, value, features_of(graph, edge_attr, layer.edge_dim), scale)
    out = out.flatten(1) if layer.concat else out.mean(dim=1)
    if not layer.root_weight:
        return out
    root = layer.lin_skip(targets)
    if layer.lin_beta is None:
        return out + root
    beta = layer.lin_beta(torch.cat([out, root, out - root], dim=-1)).sigmoid()
    return beta * root + (1 - beta) * out


def _transformer_with_edges(layer, graph, query, key, value, edge_attr, scale) -> Tensor:
    """For edge features e: q . (k + W e) = q . k + (W^T q) . e, and the sum of alpha (v + W e) is the sum of alpha v
    plus W times the sum of alpha e. So W e, a tensor of edges x features, is not made if the map is W alone."""
    lin, shape, weight = layer.lin_edge, (layer.heads, layer.out_channels), None
    if _by_weight(lin):
        weight = lin.weight.view(*shape, -1).to(query.dtype)
        e, asked = edge_attr.to(query.dtype).unsqueeze(1), torch.einsum("nhc,hcd->nhd", query, weight)
    else:
        e, asked = lin(edge_attr).to(query.dtype).view(-1, *shape), query
    scores = sddmm(graph, key, query) + sddmm(graph, e, asked, lhs_target="e", rhs_target="v")
    alpha = functional.dropout(edge_softmax(graph, scores * scale), layer.dropout, layer.training)
    of_edges = spmm(edges_as_sources(graph), e, alpha)
    if weight is not None:
        of_edges = torch.einsum("nhd,hcd->nhc", of_edges, weight)
    return spmm(graph, value, alpha) + of_edges
