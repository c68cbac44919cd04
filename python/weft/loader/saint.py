"""GraphSAINT's batches: nodes are drawn, and a batch has all the edges between them."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import torch
from torch import Tensor

from weft.graph import Graph
from weft.loader.batch import nodes_of
from weft.loader.loader import Loader

_MOST_SAMPLES = 1_000_000  # counted for the norms at most


class _SubgraphSampler(Loader):
    """Common parts of the three samplers, which differ in how they draw nodes."""

    _method = ""

    def __init__(
        self, data: Any, batch_size: int, num_steps: int = 1, sample_coverage: int = 0, *, length: int = 0,
        roots: Optional[Tensor] = None, seed: int = 0, **more: Any,
    ):
        super().__init__(data, seed=seed, **more)
        for name, value, least in (
            ("batch_size", batch_size, 1), ("num_steps", num_steps, 1), ("sample_coverage", sample_coverage, 0),
        ):
            if value < least:
                raise ValueError(f"{name} is {value}: expected {least} or more")
        if self.graph.num_nodes == 0:
            raise ValueError("data has no nodes: expected some to draw from")
        self.batch_size, self.num_steps, self._length = int(batch_size), int(num_steps), int(length)
        self._roots = nodes_of("roots", roots, self.graph) if self._method == "walk" else None
        if self._roots is not None and self._roots.numel() == 0:
            raise ValueError("roots is empty: expected nodes to walk from")
        self._norms: Optional[Tuple[Tensor, Tensor]] = self._count(sample_coverage) if sample_coverage > 0 else None

    def __len__(self) -> int:
        return self.num_steps

    def _sample(self, step: int, counting: bool = False) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        """Nodes, the rows of the graph among them, and the positions of its edges in the whole graph's rows."""
        with self._numbers() as numbers:
            nodes, rowptr, col, places = torch.ops.weft.draw_subgraph(
                *self.graph._arguments, self._method, self.batch_size, self._length, self._roots, self.seed, step,
                counting, numbers,
            )
        return nodes.long(), rowptr, col, places

    def _draw(self, epoch: int, index: int) -> Any:
        n_id, rowptr, col, places = self._sample(epoch * self.num_steps + index)
        more = {}
        if self._norms is not None:
            node_norm, edge_norm = self._norms
            more = {"node_norm": node_norm[n_id], "edge_norm": edge_norm[places]}
        return self.whole.part(Graph(rowptr, col, n_id.numel()), n_id, self._edge_ids(places), more)

    def _count(self, coverage: int) -> Tuple[Tensor, Tensor]:
        """Norms from how often nodes and edges are drawn. One is added to each count, without which rarely drawn ones
        would weigh too much (weft's training counts in the same way)."""
        graph = self.graph
        node_counts = torch.zeros(graph.num_nodes, device=graph.device)
        edge_counts = torch.zeros(graph.num_edges, device=graph.device)
        samples = drawn = 0
        while drawn < coverage * graph.num_nodes:
            nodes, _, _, places = self._sample(samples, counting=True)
            node_counts[nodes] += 1
            edge_counts[places] += 1
            samples, drawn = samples + 1, drawn + nodes.numel()
            if coverage * graph.num_nodes > _MOST_SAMPLES * nodes.numel():
                raise ValueError(
                    f"sample_coverage is {coverage} and a batch has {nodes.numel()} of {graph.num_nodes} nodes: "
                    "expected larger batches or a smaller coverage"
                )
        degrees = graph.rowptr[1:] - graph.rowptr[:-1]
        by_target = torch.repeat_interleave(node_counts, degrees, output_size=graph.num_edges)
        return (samples + 1) / (node_counts + 1) / graph.num_nodes, (by_target + 1) / (edge_counts + 1)


class GraphSAINTNodeSampler(_SubgraphSampler):
    """Batches of the edges among ``batch_size`` nodes drawn with weight out-degree + 1, ``num_steps`` batches per
    epoch. A node that is drawn twice is there once.

    ``data`` and batches are as in :class:`NeighborLoader`: ``edge_index`` in the batch's node numbers, ``n_id``,
    ``e_id``, all node and edge attributes, and ``graph``, the weft.Graph.

    With a ``sample_coverage``, batches are drawn beforehand until every node was in that many on average. The batches
    of the epochs then have two factors, with which losses and sums equal those of the whole graph in expectation:
    multiply the losses of nodes by ``node_norm`` before summing them, and messages by ``edge_norm``.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> loader = weft.loader.GraphSAINTNodeSampler(graph, batch_size=3, num_steps=2, seed=1)
    >>> [batch.num_nodes <= 3 for batch in loader]
    [True, True]
    """

    _method = "node"


class GraphSAINTEdgeSampler(_SubgraphSampler):
    """Batches of the edges among the ends of ``batch_size`` edges, each drawn from the edges into a node drawn from all
    nodes. Otherwise as :class:`GraphSAINTNodeSampler`.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> [batch.num_nodes for batch in weft.loader.GraphSAINTEdgeSampler(graph, batch_size=1)]
    [2]
    """

    _method = "edge"

    def __init__(self, data: Any, batch_size: int, num_steps: int = 1, sample_coverage: int = 0, **more: Any):
        super().__init__(data, batch_size, num_steps, sample_coverage, length=1, **more)


class GraphSAINTRandomWalkSampler(_SubgraphSampler):
    """Batches of the edges among the nodes on ``batch_size`` random walks of ``walk_length`` steps, each against the
    direction of the edges from a node drawn from ``roots`` (ids or a mask; by default all nodes). Otherwise as
    :class:`GraphSAINTNodeSampler`.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> loader = weft.loader.GraphSAINTRandomWalkSampler(graph, batch_size=1, walk_length=2, roots=torch.tensor([3]))
    >>> [batch.n_id.tolist() for batch in loader]
    [[1, 2, 3]]
    """

    _method = "walk"

    def __init__(
        self, data: Any, batch_size: int, walk_length: int, num_steps: int = 1, sample_coverage: int = 0, *,
        roots: Optional[Tensor] = None, **more: Any,
    ):
        if not 1 <= walk_length <= 1000:
            raise ValueError(f"walk_length is {walk_length}: expected 1 to 1000 steps")
        super().__init__(data, batch_size, num_steps, sample_coverage, length=walk_length, roots=roots, **more)
