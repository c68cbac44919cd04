"""Decides whether a sum over neighbours comes before a linear map or after it."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor
from torch.nn.functional import linear

from weft.nn.constant import is_constant


# Classes are given by name, so that PyG need not be installed.
_PLAIN = frozenset((
    ("weft.nn.layers.linear", "Linear"), ("torch_geometric.nn.dense.linear", "Linear"),
    ("torch.nn.modules.linear", "Linear"),
))


def _input_is_less(width_in: int, width_out: int, x: Tensor) -> bool:
    """Whether summing the input is cheaper. The sum has no backward if x needs no gradient, as in a first layer, and is
    cached if x is constant."""
    if is_constant(x):
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
    """lin(x) + bias, for a linear map without a bias of its own: one GEMM if the map is plain and the dtype of the result
    is the same. Under autocast the result takes the dtype of the bias."""
    if not is_plain(lin):
        return lin(x) if bias is None else lin(x) + bias
    if bias is None or (bias.dtype is x.dtype and not torch.is_autocast_enabled(x.device.type)):
        return linear(x, lin.weight, bias)
    return linear(x, lin.weight) + bias


def sums_first(lin, x: Tensor) -> bool:
    """Whether lin(sum of x) equals the sum of lin(x) and is the cheaper order."""
    return is_plain(lin) and lin.bias is None and _input_is_less(x.shape[-1], lin.weight.shape[0], x)


def maps_first(lin, x: Tensor) -> bool:
    """Whether the sum of W x is exact and the cheaper order."""
    return is_plain(lin) and not _input_is_less(x.shape[-1], lin.weight.shape[0], x)
