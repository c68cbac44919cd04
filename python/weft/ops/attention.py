"""Attention over the edges into each target, without a tensor of edges x features."""

from __future__ import annotations

from typing import Optional, Tuple

import torch
from torch import Tensor

from weft.graph import Graph, is_traced
from weft.ops.graph_op import GraphOp, choice, like
from weft.ops.sampled import EdgeSample, attention_sampled

SCORES = ("gat", "gatv2", "dot")


def _fake(rows, key, num_sources, value, src, dst, attn, bias, edge, score, slope, scale, dropout, seed, step):
    targets, heads, width = rows[0].shape[0] - 1, value.shape[1], value.shape[2]
    wide = torch.promote_types(value.dtype, torch.float32)
    statistics = [value.new_empty([targets, heads, 1], dtype=wide) for _ in range(2)]
    return value.new_empty([targets, heads, width]), *statistics


def _fake_backward(
    rows, key, num_sources, value, src, dst, attn, bias, edge, out, row_max, row_sum, out_grad, score, slope,
    scale, dropout, seed, step,
):
    return tuple(like(True, t, out_grad) for t in (value, src, dst, attn, bias, edge))


class _Codes:
    """Maps the score to its C++ enumerator; the other options are passed as they are."""

    def __getitem__(self, options):
        return SCORES.index(options[0]), *options[1:]


_attention = GraphOp("attention", 6, fake=_fake, fake_backward=_fake_backward, keeps=[0, 1, 2], codes=_Codes())


def attention(
    graph: Graph, value: Tensor, src: Tensor, dst: Tensor, attn: Optional[Tensor] = None,
    bias: Optional[Tensor] = None, *, edge: Optional[Tensor] = None, score: str = "gat", slope: float = 0.2,
    scale: float = 1.0, dropout: float = 0.0, seed: Optional[int] = None, sample: Optional[EdgeSample] = None,
) -> Tensor:
    """Sums ``value[source]`` over the edges of each target, per head, weighted by the softmax of the edges' scores.

    ====== =================================== ==================================================
    score  formula                             tensors
    ====== =================================== ==================================================
    gat    leaky_relu(src + dst + edge)        src [sources, heads, 1], dst [targets, heads, 1]
    gatv2  attn . leaky_relu(src + dst + edge) src, dst [.., heads, depth], attn [1, heads, depth]
    dot    scale * (src . dst)                 src (keys), dst (queries) [.., heads, depth]
    ====== =================================== ==================================================

    ``value`` is [sources, heads, features]. Edge terms are optional: ``edge``, [edges, heads, 1] for gat and [edges,
    heads, depth] for gatv2, and ``bias``, [edges, heads, 1], which is added to the scores. ``slope`` is the slope of
    leaky_relu. Weights are dropped after the softmax with probability ``dropout``; ``seed`` selects which, and is drawn
    from torch's generator if not given. With a ``sample`` the softmax is over the edges that a target keeps. Memory
    grows with nodes x features and edges x heads, not with edges x features.

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
    if sample is not None:
        return attention_sampled(
            attention, graph, value, src, dst, attn, bias, edge, sample, score=score, slope=slope, scale=scale,
            dropout=dropout, seed=seed,
        )
    seed, step = _which_are_dropped(value, dropout, seed)
    return _attention(
        graph, (value, src, dst, attn, bias, edge), (score, float(slope), float(scale), float(dropout), seed, step)
    )


def _which_are_dropped(value: Tensor, dropout: float, seed: Optional[int]) -> Tuple[int, Optional[Tensor]]:
    """The seed: an integer, or a tensor that kernels read, so that compiled code and CUDA graphs draw it anew per
    run."""
    if dropout == 0:
        return 0, None
    if seed is not None:
        return int(seed), None
    if value.is_cuda or is_traced():
        return 0, torch.randint(2**62, (1,), device=value.device)
    return int(torch.randint(2**62, ())), None
