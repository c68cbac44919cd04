"""Softmax over the edges that arrive at each target."""

from __future__ import annotations

import torch
from torch import Tensor

from weft.graph import Graph
from weft.ops.derivatives import edge_softmax_gradients
from weft.ops.graph_op import GraphOp


def _fake(rows, key, num_sources, scores):
    return torch.empty_like(scores, memory_format=torch.contiguous_format)


def _fake_backward(rows, key, num_sources, alpha, alpha_grad):
    return torch.empty_like(alpha, memory_format=torch.contiguous_format)


_edge_softmax = GraphOp(
    "edge_softmax", 1, fake=_fake, fake_backward=_fake_backward, keeps=[0], takes_tensors=False,
    derive=edge_softmax_gradients, casts_to=torch.float32, codes={(): ()},
)


def edge_softmax(graph: Graph, scores: Tensor) -> Tensor:
    """Softmax of ``scores``, [edges] or [edges, heads, 1] by edge id, over the edges of each target, per head. ``-inf``
    masks an edge; the result is 0 where all edges of a target are masked. Under autocast it is in float32.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> weft.edge_softmax(graph, torch.zeros(3))
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _edge_softmax(graph, (scores,))
