"""Common parts of all layers."""

from __future__ import annotations

from typing import Optional, Tuple, Union

import torch
from torch import Tensor

from weft.graph import Graph
from weft.nn.graph_of import Edges, graph_of

Channels = Union[int, Tuple[int, int]]
Features = Union[Tensor, Tuple[Tensor, Optional[Tensor]]]
Size = Optional[Tuple[int, int]]


def one(x: Tensor) -> Tensor:
    """The features of all nodes, for layers that take no pair."""
    if not isinstance(x, Tensor):
        raise ValueError(f"x is of type {type(x).__name__}: expected a tensor, as the layer takes no pair")
    return _rows(x, "x")


def pair(x: Features) -> Tuple[Tensor, Optional[Tensor]]:
    """Features of sources and targets."""
    if isinstance(x, Tensor):
        return _rows(x, "x"), x
    if len(x) != 2 or not isinstance(x[0], Tensor):
        raise ValueError("x is no tensor and no pair: expected [nodes, features], or those of sources and of targets")
    return _rows(x[0], "x[0]"), None if x[1] is None else _rows(x[1], "x[1]")


def _rows(x: Tensor, name: str) -> Tensor:
    if x.dim() != 2:
        raise ValueError(f"{name} has shape {list(x.shape)}: expected [nodes, features]")
    return x


def two(in_channels: Channels) -> Tuple[int, int]:
    return (in_channels, in_channels) if isinstance(in_channels, int) else in_channels


class Layer(torch.nn.Module):
    """A layer over a :class:`weft.Graph` or an ``edge_index``."""

    def _graph(self, edge_index: Edges, x: Tuple[Tensor, Optional[Tensor]], size: Size = None) -> Graph:
        num_sources = x[0].shape[0]
        if x[1] is not None:
            num_targets = x[1].shape[0]
        else:
            num_targets = num_sources if size is None else size[1]
        if size is not None and tuple(size) != (num_sources, num_targets):
            raise ValueError(f"size is {tuple(size)}: expected {(num_sources, num_targets)}, as x has rows")
        return graph_of(edge_index, num_sources, num_targets)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"
