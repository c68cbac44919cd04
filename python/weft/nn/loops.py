"""Self-loops: those of a graph, and graphs with one at every node."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor

from weft.graph import Graph, is_traced
from weft.nn.graph_of import graph_of_rows
from weft.nn.kept import kept
from weft.ops import spmm

Fill = Union[float, Tensor, str]
_REDUCERS = {"add": "sum", "sum": "sum", "mean": "mean", "max": "max", "min": "min"}


def _targets(graph: Graph) -> Tensor:
    """The targets of the edges, in stored order."""
    counts = graph.rowptr[1:] - graph.rowptr[:-1]
    everyone = torch.arange(graph.rowptr.shape[0] - 1, device=graph.col.device)
    return torch.repeat_interleave(everyone, counts, output_size=graph.col.shape[0])


def _by_id(graph: Graph, stored: Tensor) -> Tensor:
    if graph.edge_ids is None:
        return stored
    return torch.empty_like(stored).index_copy_(0, graph.edge_ids.long(), stored)


def _before_rows(graph: Graph, stored: Tensor) -> Tensor:
    """The number of marked edges stored before each row, and before the end."""
    running = torch.cumsum(stored, 0, dtype=torch.int64)
    return torch.cat([running.new_zeros(1), running])[graph.rowptr.long()]


def loop_counts(graph: Graph) -> Tensor:
    """The number of self-loops at each target."""

    def make(graph: Graph) -> Tensor:
        before = _before_rows(graph, graph.col == _targets(graph))
        return before[1:] - before[:-1]

    return kept(graph, "loop counts", make)


def loop_edges(graph: Graph) -> Tuple[Tensor, Tensor]:
    """A mask of the self-loops, by edge id, and for each target the id of its last one, or -1."""

    def make(graph: Graph) -> Tuple[Tensor, Tensor]:
        targets = _targets(graph)
        is_loop = _by_id(graph, graph.col == targets)
        ids = torch.arange(graph.col.shape[0], device=graph.col.device)
        last = torch.full((graph.rowptr.shape[0] - 1,), -1, dtype=torch.int64, device=ids.device)
        last = last.scatter_reduce(0, _by_id(graph, targets), torch.where(is_loop, ids, -1), "amax")
        return is_loop, last

    return kept(graph, "loop edges", make)


class Looped(NamedTuple):
    """A graph whose self-loops were removed and which has one at each of its first ``count`` nodes. Edge ids: the
    remaining edges come first, in their old order, then the loops, by node."""

    graph: Graph
    bare: Optional[Graph]  # without self-loops; None: the given graph has none
    stayed: Optional[Tensor]  # ids in the given graph of the remaining edges; None: all
    count: int

    def values(self, origin: Graph, given: Tensor, fill: Fill) -> Tensor:
        """Values of all edges, from those of the given graph's edges. Loops get ``fill``, or the reduction that it
        names (``mean``, ``add``, ``max``, ``min``) of the values of the edges into their node."""
        if self.stayed is not None:
            given = given.index_select(0, self.stayed)
        return torch.cat([given, self._of_loops(self.bare or origin, given, fill)])

    def _of_loops(self, bare: Graph, given: Tensor, fill: Fill) -> Tensor:
        shape = (self.count, *given.shape[1:])
        if isinstance(fill, str):
            if fill not in _REDUCERS:
                raise ValueError(f"fill_value is {fill!r}: expected a number, a tensor or {', '.join(_REDUCERS)}")
            return spmm(bare, None, given, op="copy_e", reduce=_REDUCERS[fill])[: self.count]
        if isinstance(fill, Tensor):
            fill = fill.to(given)
            return (fill if fill.dim() == given.dim() else fill.unsqueeze(0)).expand(shape)
        return given.new_full(shape, fill)


def looped(graph: Graph) -> Looped:
    """The graph with one self-loop at each node that is a source and a target, cached with the graph. Making it waits
    once for a GPU to count the existing self-loops."""
    return kept(graph, "looped", _make_looped)


def _make_looped(graph: Graph) -> Looped:
    bare, stayed = _without_loops(graph)
    count = min(graph.num_sources, graph.num_targets)
    # The given graph caches this, so this must hold no reference back to it.
    return Looped(_with_loops(bare, count), None if bare is graph else bare, stayed, count)


def _without_loops(graph: Graph) -> Tuple[Graph, Optional[Tensor]]:
    stays = graph.col != _targets(graph)
    places = stays.nonzero().flatten()
    if not is_traced() and places.shape[0] == graph.col.shape[0]:
        return graph, None
    rowptr, col = _before_rows(graph, stays), graph.col.index_select(0, places)
    if graph.edge_ids is None:
        return graph_of_rows(rowptr, col, graph.num_sources, None), places
    stays_by_id = _by_id(graph, stays)
    new_ids = torch.cumsum(stays_by_id, 0, dtype=torch.int64) - 1
    ids = new_ids.index_select(0, graph.edge_ids.long().index_select(0, places))
    # Old ids of the remaining edges, ascending; by sorting, so that a trace sees that there are as many as places.
    stayed = torch.sort(graph.edge_ids.long().index_select(0, places)).values
    return graph_of_rows(rowptr, col, graph.num_sources, ids), stayed


def _with_loops(graph: Graph, count: int) -> Graph:
    """Adds a loop at the end of each of the first ``count`` rows."""
    device, num_edges = graph.col.device, graph.col.shape[0]
    rows = torch.arange(graph.rowptr.shape[0], device=device)
    rowptr = graph.rowptr.long() + rows.clamp(max=count)
    nodes = rows[:count]
    at_edges = torch.arange(num_edges, device=device) + _targets(graph).clamp(max=count)
    at_loops = rowptr[1 : count + 1] - 1
    ids = torch.arange(num_edges, device=device) if graph.edge_ids is None else graph.edge_ids.long()

    def merged(of_edges: Tensor, of_loops: Tensor) -> Tensor:
        both = torch.cat([of_edges, of_loops])
        return torch.empty_like(both).index_copy_(0, torch.cat([at_edges, at_loops]), both)

    col = merged(graph.col, nodes.to(graph.col.dtype))
    return graph_of_rows(rowptr, col, graph.num_sources, merged(ids, nodes + num_edges))


def edges_as_sources(graph: Graph) -> Graph:
    """The graph's rows with edge ids in place of sources: sums over it are sums of values per edge."""

    def make(graph: Graph) -> Graph:
        num_edges = graph.col.shape[0]
        ids = torch.arange(num_edges, device=graph.col.device) if graph.edge_ids is None else graph.edge_ids
        return graph_of_rows(graph.rowptr, ids, num_edges, graph.edge_ids)

    return kept(graph, "edges as sources", make)
