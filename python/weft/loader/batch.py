"""What a loader reads and yields: PyG's Data, or a Batch with the same attributes."""

from __future__ import annotations

import copy
from typing import Any, Dict, Mapping, Optional

import torch
from torch import Tensor

from weft.graph import Graph


class Batch:
    """A part of a graph, from a loader over a graph that is not PyG's Data.

    ``graph`` is its weft.Graph, ``edge_index`` its edges in the batch's node numbers; ``n_id`` and ``e_id`` are the ids
    of its nodes and edges in the whole graph. A loader documents what else its batches have; node and edge attributes
    that it was given are included.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 3]]))
    >>> batch = next(iter(weft.loader.NeighborLoader(graph, [-1], [3], node_attrs={"x": torch.arange(4.0)})))
    >>> batch
    weft.loader.Batch(weft.Graph(2 nodes, 1 edges, cpu), x=[2])
    >>> batch.n_id, batch.edge_index, batch.x
    (tensor([3, 2]), tensor([[1],
            [0]]), tensor([3., 2.]))
    """

    def __init__(self, graph: Graph, **attributes: Any):
        self.graph = graph
        self._attributes = attributes.pop("_attributes", ())
        self.__dict__.update(attributes)

    @property
    def num_nodes(self) -> int:
        return self.graph.num_nodes

    def to(self, device: Any, non_blocking: bool = False) -> Batch:
        """This batch on another device."""
        moved = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (Tensor, Graph)):
                setattr(moved, name, value.to(device, non_blocking=non_blocking))
        return moved

    def __repr__(self) -> str:
        shapes = "".join(f", {name}={list(getattr(self, name).shape)}" for name in self._attributes)
        return f"weft.loader.Batch({self.graph}{shapes})"


# Names that batches use themselves, from any loader.
_OWN_NAMES = frozenset((
    "graph", "edge_index", "n_id", "e_id", "num_nodes", "to", "input_id", "batch_size", "num_sampled_nodes",
    "num_sampled_edges", "node_norm", "edge_norm",
))


def _check_attrs(argument: str, attrs: Mapping[str, Tensor], count: int) -> None:
    for name, value in attrs.items():
        if name in _OWN_NAMES:
            raise ValueError(f"{argument} has {name!r}: expected another name, as batches have a {name} of their own")
        if value.size(0) != count:
            of = argument.split("_")[0]
            raise ValueError(f"{name} has shape {list(value.shape)}: expected {count} rows, as many as {of}s")


def _rows(tensor: Tensor, ids: Tensor) -> Tensor:
    return tensor.index_select(0, ids.to(tensor.device))


class Whole:
    """What batches are taken from: a graph, and the attributes of its nodes and edges."""

    def __init__(
        self, source: Any, node_attrs: Optional[Mapping[str, Tensor]], edge_attrs: Optional[Mapping[str, Tensor]]
    ):
        is_data = hasattr(source, "is_node_attr") and hasattr(source, "is_edge_attr")
        self.data = source if is_data and not hasattr(source, "edge_types") else None
        self.graph, values = Graph.from_any(source)
        if self.graph.num_sources != self.graph.num_targets:
            raise ValueError(
                f"data has {self.graph.num_sources} sources and {self.graph.num_targets} targets: expected one kind of "
                "nodes"
            )
        self.node_attrs, self.edge_attrs = dict(node_attrs or {}), dict(edge_attrs or {})
        _check_attrs("node_attrs", self.node_attrs, self.graph.num_nodes)
        _check_attrs("edge_attrs", self.edge_attrs, self.graph.num_edges)
        if values is not None and (self.data is None or "edge_weight" not in self.data):
            self.edge_attrs.setdefault("edge_weight", values)
        both = self.node_attrs.keys() & self.edge_attrs.keys()
        if both:
            raise ValueError(f"{', '.join(sorted(both))} is an attribute of nodes and of edges: expected one of them")

    def part(self, graph: Graph, n_id: Tensor, e_id: Tensor, more: Dict[str, Any]) -> Any:
        """The batch of these nodes and edges, with their attributes."""
        attributes = {name: _rows(value, n_id) for name, value in self.node_attrs.items()}
        attributes.update({name: _rows(value, e_id) for name, value in self.edge_attrs.items()})
        own = {"edge_index": graph.edge_index(), "n_id": n_id, "e_id": e_id, **more}
        if self.data is None:
            return Batch(graph, **own, **attributes, _attributes=tuple(attributes))
        part = copy.copy(self.data)
        for name, value in self.data.to_dict().items():
            if name in ("edge_index", "adj_t"):
                del part[name]
            elif isinstance(value, Tensor) and self.data.is_node_attr(name):
                part[name] = _rows(value, n_id)
            elif isinstance(value, Tensor) and self.data.is_edge_attr(name):
                part[name] = _rows(value, e_id)
        for name, value in {**own, **attributes, "num_nodes": n_id.numel(), "graph": graph}.items():
            part[name] = value
        return part


def nodes_of(name: str, given: Optional[Tensor], graph: Graph) -> Tensor:
    """Node ids (int32, on the graph's device) from a mask, from ids, or of all nodes."""
    count = graph.num_nodes
    if given is None:
        return torch.arange(count, dtype=torch.int32, device=graph.device)
    nodes = torch.as_tensor(given)
    if nodes.dim() != 1:
        raise ValueError(f"{name} has shape {list(nodes.shape)}: expected ids of nodes, or a mask of all {count}")
    if nodes.dtype is torch.bool:
        if nodes.numel() != count:
            raise ValueError(f"{name} is a mask of {nodes.numel()}: expected one of the graph's {count} nodes")
        nodes = nodes.nonzero().view(-1)
    elif nodes.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"{name} has dtype {nodes.dtype}: expected torch.int64, torch.int32 or a mask")
    if nodes.numel() > 0 and not 0 <= int(nodes.min()) <= int(nodes.max()) < count:
        raise ValueError(f"{name} has ids from {int(nodes.min())} to {int(nodes.max())}: expected 0 to {count - 1}")
    if nodes.unique().numel() != nodes.numel():
        raise ValueError(f"{name} names a node twice: expected every id once")
    return nodes.to(graph.device, torch.int32)
