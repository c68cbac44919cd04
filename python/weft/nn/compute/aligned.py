"""Linear maps to rows that a GPU loads in packs of 16 bytes."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor
from torch.nn.functional import linear, pad

from weft.graph import Graph, is_traced

# With few edges the extra operators' host time is more than the sums save; between 2.5 and 124 million, where that turns
# was not measured.
_FROM_EDGES = 1 << 22
_FROM_FEATURES = 12  # per head; what zeros at the end of narrower rows cost and save was not measured


def _missing_features(graph: Graph, width: int, x: Tensor) -> int:
    """How many features a row of ``width`` lacks to be whole packs, where that makes sums over the graph faster."""
    # Traced programs are the same for all sizes.
    if not x.is_cuda or is_traced() or width < _FROM_FEATURES or graph.col.shape[0] < _FROM_EDGES:
        return 0
    dtype = x.dtype
    if torch.is_autocast_enabled("cuda") and dtype is not torch.float64:
        dtype = torch.get_autocast_dtype("cuda")
    return -width % (16 // dtype.itemsize)


def linear_in_packs(graph: Graph, x: Tensor, weight: Tensor, bias: Optional[Tensor] = None, heads: int = 1) -> Tensor:
    """x W^T + b for sums over the graph. Where that is faster W gets rows of zeros, so that each head has features of
    zeros at its end: sums of them are to be :func:`cut`."""
    missing = _missing_features(graph, weight.shape[0] // heads, x)
    if missing > 0:
        weight = pad(weight.unflatten(0, (heads, -1)), (0, 0, 0, missing)).flatten(0, 1)
        if bias is not None:
            bias = pad(bias.unflatten(0, (heads, -1)), (0, missing)).flatten()
    return linear(x, weight, bias)


def cut(sums: Tensor, width: int) -> Tensor:
    """The sums without features that :func:`linear_in_packs` added."""
    return sums if sums.shape[-1] == width else sums[..., :width]
