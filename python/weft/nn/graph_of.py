"""Gets the graph for a layer's argument, made once per tensor."""

from __future__ import annotations

import weakref
from typing import Callable, Dict, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor

from weft.graph import NO_KEY, Graph, bare, is_traced

Edges = Union[Graph, Tensor]
Counts = Tuple[int, int]


class _Made(NamedTuple):
    """The graphs of one tensor, by numbers of nodes (None: those that the tensor gives), and the tensor's stamp when
    they were made."""

    tensor: weakref.ref
    stamp: Tuple
    graphs: Dict[Optional[Counts], Graph]


_MOST_GRAPHS = 4  # per tensor, with different numbers of nodes

# Keyed by the tensor's id; an entry is removed when its tensor is freed. (A WeakTensorKeyDictionary takes longer to find an
# entry than a small operator takes.)
_graphs: Dict[int, _Made] = {}


def stamp_of(tensor: Tensor) -> Optional[Tuple]:
    """A value that changes when the tensor does; None for tensors that do not track changes."""
    if tensor.is_inference():
        return None
    if tensor.layout is not torch.strided:
        return tensor._version, tensor.layout, tuple(tensor.shape)
    return tensor._version, tensor.data_ptr(), tensor.shape, tensor.stride()


def remembered(tensor: Tensor, counts: Optional[Counts], make: Callable[[], Graph]) -> Graph:
    tensor = bare(tensor, "the tensor of edges")
    stamp = None if torch._C._len_torch_dispatch_stack() > 0 else stamp_of(tensor)
    if stamp is None:
        return make()
    key = id(tensor)
    made = _graphs.get(key)
    if made is None or made.stamp != stamp or made.tensor() is not tensor:
        made = _graphs[key] = _Made(weakref.ref(tensor, lambda _: _graphs.pop(key, None)), stamp, {})
    graph = made.graphs.get(counts)
    if graph is None:
        if len(made.graphs) == _MOST_GRAPHS:
            del made.graphs[next(iter(made.graphs))]
        graph = made.graphs[counts] = make()
    return graph


def _of_edge_index(edge_index: Tensor, counts: Counts) -> Graph:
    """The one place where layers make a graph from an ``edge_index``. A compiled program makes it anew in every run."""
    if is_traced():
        return Graph.from_edge_index(edge_index, size=counts)
    return remembered(edge_index, counts, lambda: Graph.from_edge_index(edge_index, size=counts))


def graph_of(edge_index: Edges, num_sources: int, num_targets: int) -> Graph:
    """The given graph, or that of an ``edge_index``, made in the first call with a tensor and cached until the tensor
    is freed or changed."""
    if isinstance(edge_index, Graph):
        return edge_index
    if hasattr(edge_index, "as_tensor"):  # PyG's EdgeIndex
        edge_index = edge_index.as_tensor()
    if not isinstance(edge_index, Tensor) or edge_index.layout is not torch.strided:
        raise ValueError(f"edge_index is {_described(edge_index)}: expected a weft.Graph or a tensor [2, edges]")
    return _of_edge_index(edge_index, (num_sources, num_targets))


def _described(value: object) -> str:
    return f"a tensor of {value.layout}" if isinstance(value, Tensor) else f"of type {type(value).__name__}"


@torch.compiler.disable
def graph_and_values_of(adj_t: Tensor) -> Tuple[Graph, Tensor]:
    """The graph and edge values of a sparse torch matrix [targets, sources]. The graph is cached like that of an
    ``edge_index``; values are read in every call, and have gradients."""
    if adj_t.layout is torch.sparse_coo:
        held = adj_t.coalesce()
        return remembered(adj_t, None, lambda: _of_pairs(held.detach())), held.values()
    return remembered(adj_t, None, lambda: _of_compressed(adj_t.detach())), adj_t.values()


def _of_pairs(adj_t: Tensor) -> Graph:
    targets, sources = adj_t.indices()
    return Graph.from_edge_index(torch.stack([sources, targets]), size=(adj_t.size(1), adj_t.size(0)))


def _of_compressed(adj_t: Tensor) -> Graph:
    if adj_t.layout is torch.sparse_csr:
        return Graph.from_csr(adj_t.crow_indices(), adj_t.col_indices(), adj_t.size(1))
    return Graph.from_csr(adj_t.ccol_indices(), adj_t.row_indices(), adj_t.size(0)).transpose()


def graph_of_rows(rowptr: Tensor, col: Tensor, num_sources: int, edge_ids: Optional[Tensor]) -> Graph:
    """A graph from rows that the caller has made. Inside a program that torch traces it is not registered: operators
    adopt its rows."""
    if is_traced():
        rows = [rowptr, col] if edge_ids is None else [rowptr, col, edge_ids]
        return Graph._of_arguments(rows, NO_KEY, num_sources)
    return Graph(rowptr, col, num_sources, edge_ids)
