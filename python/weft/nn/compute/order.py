"""Whether sums come before a linear map or after it."""

from __future__ import annotations

import torch
from torch import Tensor


# PyG's is named, so that it need not be there.
_PLAIN = (
    ("weft.nn.layers.linear", "Linear"), ("torch_geometric.nn.dense.linear", "Linear"),
    ("torch.nn.modules.linear", "Linear"),
)


def _input_is_less(width_in: int, width_out: int, x: Tensor) -> bool:
    """Whether sums of the input are cheaper. They have no backward where x wants no gradient, as in a first layer."""
    backward = torch.is_grad_enabled() and not x.requires_grad
    return width_in < (2 * width_out if backward else width_out)


def is_plain(lin) -> bool:
    """Whether the module is x W^T + b and nothing else, so that W can be used without it."""
    kind = type(lin)
    return (
        (kind.__module__, kind.__name__) in _PLAIN
        and "forward" not in vars(lin)
        and not (lin._forward_hooks or lin._forward_pre_hooks or lin._backward_hooks or lin._backward_pre_hooks)
    )


def sums_first(lin, x: Tensor) -> bool:
    """Whether lin(sums of x) is the cheaper order, where it is the same."""
    return is_plain(lin) and lin.bias is None and _input_is_less(x.shape[-1], lin.weight.shape[0], x)


def maps_first(lin, x: Tensor) -> bool:
    """Whether sums of W x are the cheaper order, where they are the same."""
    return is_plain(lin) and not _input_is_less(x.shape[-1], lin.weight.shape[0], x)
