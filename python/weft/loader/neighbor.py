"""GraphSAGE's batches: some nodes, some of their neighbours, some of those, and so on."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

import torch
from torch import Tensor

from weft.graph import Graph
from weft.loader.batch import nodes_of
from weft.loader.loader import Loader

_MOST_NEIGHBOURS = 4096  # the most that are drawn without replacement; -1 takes all


class NeighborLoader(Loader):
    """Batches of ``batch_size`` nodes with sampled neighbours, one hop per entry of ``num_neighbors``: each node that
    the hop before found gets at most that many (1 to 4096, or -1 for all), without replacement.

    ``data`` is PyG's Data, or anything that ``Graph.from_any`` takes, with attributes for the batches in ``node_attrs``
    and ``edge_attrs``, by name. ``input_nodes``, ids or a mask (by default all nodes), are taken in order, or in random
    order with ``shuffle``. ``transform`` is called with every batch; ``prefetch`` batches are drawn ahead in a thread.

    A batch is PyG's Data if ``data`` is, else a :class:`weft.loader.Batch`, with the attributes of PyG's own loader:
    ``edge_index`` in the batch's node numbers, of which the first ``batch_size`` are the input nodes; ``n_id``,
    ``e_id`` and ``input_id`` (positions in ``input_nodes``); ``num_sampled_nodes`` and ``num_sampled_edges`` by hop;
    all node and edge attributes; and ``graph``, its weft.Graph. On a GPU, drawing a batch waits for the number of its
    nodes.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[1, 2, 3, 0], [0, 0, 1, 3]]))
    >>> loader = weft.loader.NeighborLoader(graph, num_neighbors=[2, 2], batch_size=2)
    >>> [(batch.n_id.tolist(), batch.batch_size) for batch in loader]
    [([0, 1, 2, 3], 2), ([2, 3, 0, 1], 2)]
    """

    def __init__(
        self, data: Any, num_neighbors: Sequence[int], input_nodes: Optional[Tensor] = None, *, batch_size: int = 1,
        shuffle: bool = False, drop_last: bool = False, seed: int = 0, **more: Any,
    ):
        super().__init__(data, seed=seed, **more)
        self.num_neighbors, self.batch_size = [int(k) for k in num_neighbors], int(batch_size)
        self.shuffle, self.drop_last = bool(shuffle), bool(drop_last)
        if not self.num_neighbors or not all(k == -1 or 1 <= k <= _MOST_NEIGHBOURS for k in self.num_neighbors):
            raise ValueError(
                f"num_neighbors is {list(num_neighbors)}: expected for every hop 1 to {_MOST_NEIGHBOURS}, or -1 for all"
            )
        if self.batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}: expected 1 or more")
        self.input_nodes = nodes_of("input_nodes", input_nodes, self.graph)
        self._places = torch.arange(self.input_nodes.numel(), dtype=torch.int32, device=self.graph.device)

    def __len__(self) -> int:
        count = self.input_nodes.numel()
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def _draw(self, epoch: int, index: int) -> Any:
        first = index * self.batch_size
        count = min(self.batch_size, self.input_nodes.numel() - first)
        places = self._places[first : first + count]
        if self.shuffle:
            places = torch.ops.weft.shuffle_nodes(self._places, first, count, self.seed, epoch)
        seeds, step = self.input_nodes[places], epoch * len(self) + index
        offsets: List[Tensor] = [torch.zeros(1, dtype=torch.int64, device=seeds.device)]
        nodes, cols, edges = [seeds], [], []
        total = count
        with self._numbers() as numbers:
            numbers[seeds] = self._number(count)
            for hop, fanout in enumerate(self.num_neighbors):
                rows, of_rows, at, found = torch.ops.weft.draw_neighbours(
                    *self.graph._arguments, nodes[-1], fanout, self.seed, step, hop, total, numbers
                )
                offsets.append(rows[1:] + offsets[-1][-1])
                cols.append(of_rows)
                edges.append(at)
                nodes.append(found)
                total += found.numel()
            all_nodes = torch.cat(nodes)
            numbers[all_nodes] = -1
        # Nodes found by the last hop have no neighbours here.
        offsets.append(offsets[-1][-1:].expand(nodes[-1].numel()))
        more = {
            "input_id": places.long(), "batch_size": count,
            "num_sampled_nodes": [n.numel() for n in nodes], "num_sampled_edges": [e.numel() for e in edges],
        }
        graph = Graph(torch.cat(offsets), torch.cat(cols), total)
        return self.whole.part(graph, all_nodes.long(), self._edge_ids(torch.cat(edges)), more)

    def _number(self, count: int) -> Tensor:
        return torch.arange(count, dtype=torch.int32, device=self.graph.device)
