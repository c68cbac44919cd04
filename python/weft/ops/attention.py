"""Attention over the edges that arrive at each target, without a tensor of the edges."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

from weft.graph import Graph
from weft.ops.graph_op import GraphOp, choice, like

SCORES = ("gat", "gatv2", "dot")


def _fake(rows, key, num_sources, value, src, dst, attn, bias, score, slope, scale, dropout, seed):
    targets, heads, width = rows[0].shape[0] - 1, value.shape[1], value.shape[2]
    wide = torch.float64 if value.dtype is torch.float64 else torch.float32
    statistics = [value.new_empty([targets, heads, 1], dtype=wide) for _ in range(2)]
    return value.new_empty([targets, heads, width]), *statistics


def _fake_backward(
    rows, key, num_sources, value, src, dst, attn, bias, out, row_max, row_sum, out_grad, score, slope,
    scale, dropout, seed,
):
    return tuple(like(True, t, out_grad) for t in (value, src, dst, attn, bias))


_attention = GraphOp("attention", 5, fake=_fake, fake_backward=_fake_backward, keeps=[0, 1, 2])


def attention(
    graph: Graph, value: Tensor, src: Tensor, dst: Tensor, attn: Optional[Tensor] = None,
    bias: Optional[Tensor] = None, *, score: str = "gat", slope: float = 0.2, scale: float = 1.0, dropout: float = 0.0,
    seed: Optional[int] = None,
) -> Tensor:
    """For every target and head the sum of ``value[source]`` over its edges, weighted by the softmax of their scores.

    ====== =================================== ==================================================
    score  what it is                          tensors
    ====== =================================== ==================================================
    gat    leaky_relu(src + dst)               src [sources, heads, 1], dst [targets, heads, 1]
    gatv2  attn . leaky_relu(src + dst)        src, dst [.., heads, depth], attn [1, heads, depth]
    dot    scale * (src . dst)                 src (keys), dst (queries) [.., heads, depth]
    ====== =================================== ==================================================

    ``value`` is [sources, heads, features]; ``bias`` [edges, heads, 1] is added to the scores. ``slope`` is that of
    leaky_relu. Weights are dropped with probability ``dropout`` after the softmax, which ones by ``seed``: without one it
    is drawn from torch's generator. Memory grows with nodes x features and edges x heads, not with their product.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> value = torch.tensor([1.0, 10.0, 100.0]).view(3, 1, 1)
    >>> weft.attention(graph, value, torch.zeros(3, 1, 1), torch.zeros(3, 1, 1)).flatten()
    tensor([ 0.0000, 50.5000, 10.0000])
    """
    choice("score", score, SCORES)
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout is {dropout}: expected a probability in [0, 1)")
    if value.dim() != 3:
        raise ValueError(f"value has shape {list(value.shape)}: expected [sources, heads, features]")
    if dropout == 0:
        seed = 0
    elif seed is None:
        seed = int(torch.randint(2**62, ()))
    return _attention(
        graph, (value, src, dst, attn, bias), (score, float(slope), float(scale), float(dropout), int(seed))
    )
