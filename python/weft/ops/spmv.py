"""Sums over neighbours of one number per node."""

from __future__ import annotations

from typing import Optional

from torch import Tensor

from weft.graph import Graph
from weft.ops.spmm import spmm


def spmv(graph: Graph, x: Tensor, edge: Optional[Tensor] = None) -> Tensor:
    """The sum over each target's edges of ``x[source]``, [sources], times the edge's value if ``edge``, [E], is given.

    This is :func:`weft.spmm` for vectors: the sparse matrix of the graph's edges times ``x``.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> weft.spmv(graph, torch.tensor([1.0, 10.0, 100.0]))
    tensor([  0., 101.,  10.])
    """
    for name, tensor in (("x", x), ("edge", edge)):
        if tensor is not None and tensor.dim() != 1:
            raise ValueError(f"{name} has shape {list(tensor.shape)}: expected one dimension; weft.spmm takes more")
    return spmm(graph, x, edge)
