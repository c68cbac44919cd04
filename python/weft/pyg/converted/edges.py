"""Gets the graph for a converted layer's arguments, or the reason why there is none."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

import torch
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.typing import SparseTensor

from weft.graph import Graph, is_traced
from weft.nn.graph_of import graph_and_values_of, graph_of, remembered

Counts = Tuple[int, int]


class Edges(NamedTuple):
    """The graph, the edge values that came with it, and the form of the input, by which PyG treats self-loops; or a
    reason."""

    graph: Optional[Graph] = None
    values: Optional[Tensor] = None
    form: str = "edge_index"  # or sparse, torch_sparse
    reason: Optional[str] = None


def refused(reason: str) -> Edges:
    return Edges(reason=reason)


def agree(a: Tensor, b: Tensor) -> bool:
    """Whether one call can take both: they have one dtype, or autocast makes it so."""
    if a.dtype is b.dtype:
        return True
    casts = all(t.is_floating_point() and t.dtype is not torch.float64 for t in (a, b))
    return casts and torch.is_autocast_enabled(a.device.type)


def _features_reason(x) -> Optional[str]:
    """Why weft cannot take a tensor of features, or a pair of them; None if it can."""
    given = [x] if isinstance(x, Tensor) else list(x)
    if len(given) > 2 or not isinstance(given[0], Tensor):
        return "x is no tensor and no pair of them"
    for t in given:
        if t is None:
            continue
        if t.layout is not torch.strided or not t.is_floating_point():
            return f"x has layout {t.layout} and dtype {t.dtype}: weft takes dense floating point"
        if t.dim() != 2:
            return f"x has {t.dim()} dimensions: weft takes [nodes, features]"
        if not agree(given[0], t):
            return f"x has dtypes {given[0].dtype} and {t.dtype}"
    return None


def edges_of(flow: str, x, edge_index, size) -> Edges:
    reason = _features_reason(x)
    if reason is not None:
        return refused(reason)
    single = isinstance(x, Tensor)
    sources, targets = (x, x) if single else x
    counts = [sources.shape[0], None if targets is None else targets.shape[0]]
    if isinstance(edge_index, EdgeIndex):
        size, edge_index = edge_index.sparse_size(), edge_index.as_tensor()
    sparse = isinstance(edge_index, SparseTensor) or (
        isinstance(edge_index, Tensor) and edge_index.layout is not torch.strided
    )
    if sparse:
        size = edge_index.size(1), edge_index.size(0)
    elif isinstance(edge_index, Graph):
        size = edge_index.num_sources, edge_index.num_targets
        if flow != "source_to_target":
            size = size[::-1]
    if size is not None:
        # An unknown size is that of the features; PyG reports what is wrong with a given one.
        if counts[1] is None:
            counts[1] = size[1]
        if any(s is not None and s != c for s, c in zip(size, counts)):
            if isinstance(edge_index, Graph):
                raise ValueError(f"x has {counts} rows: expected {list(size)}, as {edge_index} has sources and targets")
            return refused(f"size is {tuple(size)} where x has {counts} rows")
    if counts[1] is None:
        counts[1] = counts[0]
    if flow != "source_to_target" and (sparse or not single):
        return refused(f"flow is {flow}: weft runs it for one x and an edge_index alone")
    return _graph(flow, edge_index, (counts[0], counts[1]))


def _graph(flow: str, edge_index, counts: Counts) -> Edges:
    if isinstance(edge_index, SparseTensor):
        graph, values = _of_torch_sparse(edge_index)
        return Edges(graph, values, "torch_sparse")
    if not isinstance(edge_index, (Graph, Tensor)):
        return refused(f"edge_index is of type {type(edge_index).__name__}")
    if isinstance(edge_index, Graph):
        graph = edge_index
    elif edge_index.layout is not torch.strided:
        if edge_index.layout not in (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo):
            return refused(f"edge_index has layout {edge_index.layout}")
        if edge_index.dim() != 2 or edge_index.dense_dim() != 0:
            return refused(f"edge_index has shape {tuple(edge_index.shape)}: weft takes one value per edge")
        return Edges(*graph_and_values_of(edge_index), "sparse")
    elif edge_index.dim() != 2 or edge_index.dtype not in (torch.int64, torch.int32):
        return refused(f"edge_index has shape {tuple(edge_index.shape)} and dtype {edge_index.dtype}")
    elif flow != "source_to_target" and is_traced():
        return Edges(graph_of(edge_index.flip(0), *counts[::-1]))  # torch cannot trace transpose()
    else:
        graph = graph_of(edge_index, *counts)
    return Edges(graph if flow == "source_to_target" else graph.transpose())


@torch.compiler.disable
def _of_torch_sparse(adj_t) -> Tuple[Graph, Optional[Tensor]]:
    rowptr, col, values = adj_t.csr()
    size = adj_t.size(1), adj_t.size(0)
    return remembered(col, size, lambda: Graph.from_csr(rowptr, col, size[0])), values
