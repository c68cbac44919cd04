"""Graphs that operators run over."""

from __future__ import annotations

import weakref
from typing import Optional, Tuple, Union

import torch
from torch import Tensor

Size = Union[int, Tuple[int, int], None]


def _counts(size: Size, num_sources: int, num_targets: int) -> Tuple[int, int]:
    if size is None:
        n = max(num_sources, num_targets)
        return n, n
    if isinstance(size, int):
        return size, size
    if len(size) != 2:
        raise ValueError(f"size is {size}: expected the number of nodes, or (sources, targets)")
    return int(size[0]), int(size[1])


class Graph:
    """A directed graph, stored by target: row v has the sources of the edges that arrive at v.

    Values of edges are indexed by edge id: of a graph from an ``edge_index`` that is the column of an edge there, and of
    one from compressed rows the place of the edge in them, unless ids are given. Graphs do not change; what is made of
    one for its calls (its transpose, plans) is kept as long as the graph is.

    >>> import torch, weft
    >>> edge_index = torch.tensor([[0, 1, 2], [1, 2, 1]])  # sources, targets
    >>> weft.Graph.from_edge_index(edge_index)
    weft.Graph(3 nodes, 3 edges, cpu)
    """

    def __init__(self, rowptr: Tensor, col: Tensor, num_sources: int, edge_ids: Optional[Tensor] = None):
        """Takes compressed rows as they are; :meth:`from_csr` looks at them first."""
        self.rowptr, self.col, self.edge_ids = rowptr, col, edge_ids
        self.num_sources, self.num_targets = int(num_sources), rowptr.numel() - 1
        self._rows = [rowptr, col] if edge_ids is None else [rowptr, col, edge_ids]
        self._key = torch.ops.weft.graph_hold(self._rows, [], self.num_sources)
        self._arguments = self._rows, [], self._key, self.num_sources  # as every operator takes a graph
        self._release = weakref.finalize(self, torch.ops.weft.graph_release, self._key)
        self._transposed: Optional[Graph] = None

    @classmethod
    def from_edge_index(cls, edge_index: Tensor, size: Size = None) -> Graph:
        """From PyG's ``edge_index`` [2, E]: sources and targets, int64 or int32, in any order. ``size`` is the number of
        nodes, or (sources, targets) of a bipartite graph; without it as many nodes as the largest id asks for."""
        if edge_index.dim() != 2 or edge_index.size(0) != 2:
            raise ValueError(f"edge_index has shape {list(edge_index.shape)}: expected [2, edges]")
        if edge_index.dtype not in (torch.int64, torch.int32):
            raise ValueError(f"edge_index has dtype {edge_index.dtype}: expected torch.int64 or torch.int32")
        if size is None:
            largest = int(edge_index.max()) + 1 if edge_index.numel() > 0 else 0
            size = largest
        num_sources, num_targets = _counts(size, 0, 0)
        edges = edge_index.contiguous()
        rows = torch.ops.weft.rows_from_edges(edges[0], edges[1], num_sources, num_targets)
        return cls(rows[0], rows[1], num_sources, rows[2] if len(rows) > 2 else None)

    @classmethod
    def from_csr(
        cls, rowptr: Tensor, col: Tensor, num_sources: Optional[int] = None, edge_ids: Optional[Tensor] = None,
        trusted: bool = False,
    ) -> Graph:
        """From compressed rows: those of target v are ``col[rowptr[v]:rowptr[v + 1]]``. Without ``num_sources`` there are
        as many sources as targets. ``trusted`` does not look at the indices, which on a GPU takes time and waits."""
        if num_sources is None:
            num_sources = rowptr.numel() - 1
        if not trusted:
            rows = [rowptr, col] if edge_ids is None else [rowptr, col, edge_ids]
            torch.ops.weft.check_rows(rows, num_sources)
        return cls(rowptr, col, num_sources, edge_ids)

    @classmethod
    def from_sparse(cls, adj_t: Tensor) -> Tuple[Graph, Tensor]:
        """From a sparse matrix of torch's [targets, sources] in any layout, as PyG's ``adj_t``: the graph, and the values
        of its edges."""
        if adj_t.layout is not torch.sparse_csr:
            adj_t = adj_t.to_sparse_csr()
        graph = cls.from_csr(adj_t.crow_indices(), adj_t.col_indices(), adj_t.size(1), trusted=True)
        return graph, adj_t.values()

    @property
    def num_edges(self) -> int:
        return self.col.numel()

    @property
    def num_nodes(self) -> int:
        """Of a graph that is not bipartite."""
        if self.num_sources != self.num_targets:
            raise ValueError(f"the graph has {self.num_sources} sources and {self.num_targets} targets, so no one number")
        return self.num_sources

    @property
    def device(self) -> torch.device:
        return self.col.device

    def transpose(self) -> Graph:
        """The same edges, reversed, with the same ids; made once and kept."""
        if self._transposed is None:
            rows = torch.ops.weft.transposed_rows(self._rows, self._key, self.num_sources)
            ids = rows[2] if len(rows) > 2 else None
            self._transposed = Graph(rows[0], rows[1], self.num_targets, ids)
        return self._transposed

    def edge_index(self) -> Tensor:
        """[2, E], int64, by edge id."""
        counts = self.rowptr[1:] - self.rowptr[:-1]
        targets = torch.repeat_interleave(torch.arange(self.num_targets, device=self.device), counts)
        stored = torch.stack([self.col.long(), targets])
        if self.edge_ids is None:
            return stored
        by_id = torch.empty_like(stored)
        by_id[:, self.edge_ids] = stored
        return by_id

    def to(self, device: Union[str, torch.device]) -> Graph:
        """This graph on another device; itself where it is there already."""
        if torch.device(device) == self.device:
            return self
        ids = None if self.edge_ids is None else self.edge_ids.to(device)
        return Graph(self.rowptr.to(device), self.col.to(device), self.num_sources, ids)

    def __reduce__(self):
        ids = None if self.edge_ids is None else self.edge_ids.clone()
        return Graph, (self.rowptr.clone(), self.col.clone(), self.num_sources, ids)

    def __repr__(self) -> str:
        square = self.num_sources == self.num_targets
        nodes = f"{self.num_sources} nodes" if square else f"{self.num_sources} sources, {self.num_targets} targets"
        return f"weft.Graph({nodes}, {self.num_edges} edges, {self.device})"
