"""Decides whether a sum over neighbours comes before a linear map or after it."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor
from torch.nn.functional import linear


# Classes are given by name, so that PyG need not be installed.
_PLAIN = frozenset((
    ("weft.nn.layers.linear", "Linear"), ("torch_geometric.nn.dense.linear", "Linear"),
    ("torch.nn.modules.linear", "Linear"),
))


def _input_is_less(width_in: int, width_out: int, x: Tensor, cached: bool) -> bool:
    """Whether summing the input is cheaper: always if its sums are cached. The sum has no backward if x needs no
    gradient, as in a first layer."""
    if cached:
        return True
    backward = torch.is_grad_enabled() and not x.requires_grad
    return width_in < (2 * width_out if backward else width_out)


def is_plain(lin) -> bool:
    """Whether the module computes exactly x W^T + b, so that W can be used without it."""
    kind = type(lin)
    if (kind.__module__, kind.__name__) not in _PLAIN:
        return False
    own = vars(lin)
    return "forward" not in own and not (
        own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]
    )


def mapped(lin, x: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    """lin(x) + bias: one GEMM if the map is plain, has no bias of its own, and the dtype of the result is the same. Under
    autocast the result takes the dtype of the bias."""
    if not is_plain(lin):
        return lin(x) if bias is None else lin(x) + bias
    own = lin.bias
    if own is None and bias is not None and bias.dtype is x.dtype and not torch.is_autocast_enabled(x.device.type):
        own, bias = bias, None
    out = linear(x, lin.weight, own)
    return out if bias is None else out + bias


def sums_first(lin, x: Tensor, cached: bool) -> bool:
    """Whether lin(sum of x) equals the sum of lin(x) and is the cheaper order."""
    return is_plain(lin) and lin.bias is None and _input_is_less(x.shape[-1], lin.weight.shape[0], x, cached)


def maps_first(lin, x: Tensor, cached: bool) -> bool:
    """Whether W (sum of x) equals the sum of W x and the latter is the cheaper order."""
    return is_plain(lin) and not _input_is_less(x.shape[-1], lin.weight.shape[0], x, cached)
