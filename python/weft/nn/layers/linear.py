"""A linear map with PyG's initialisation."""

from __future__ import annotations

import math
from typing import Optional

import torch
from torch import Tensor
from torch.nn import Parameter, UninitializedParameter
from torch.nn.functional import linear


def glorot(*tensors: Optional[Tensor]) -> None:
    """Fills tensors uniformly from Glorot and Bengio's range."""
    for tensor in tensors:
        if tensor is not None:
            bound = math.sqrt(6.0 / (tensor.size(-2) + tensor.size(-1)))
            tensor.data.uniform_(-bound, bound)


def zeros(tensor: Optional[Tensor]) -> None:
    if tensor is not None:
        tensor.data.zero_()


class Linear(torch.nn.Module):
    """``x W^T + b``; the first input determines in_channels if it is -1.

    >>> import torch
    >>> from weft.nn.layers.linear import Linear
    >>> lin = Linear(-1, 3)
    >>> lin(torch.ones(2, 4)).shape, lin.weight.shape
    (torch.Size([2, 3]), torch.Size([3, 4]))
    """

    def __init__(
        self, in_channels: int, out_channels: int, bias: bool = True, weight_initializer: Optional[str] = None
    ):
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.weight_initializer = weight_initializer
        if in_channels > 0:
            self.weight = Parameter(torch.empty(out_channels, in_channels))
        else:
            self._await_input()
        self.register_parameter("bias", Parameter(torch.empty(out_channels)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialises weight and bias; does nothing while in_channels waits for the first input."""
        if self.in_channels <= 0:
            return
        if self.weight_initializer == "glorot":
            glorot(self.weight)
        else:
            bound = 1 / math.sqrt(self.in_channels)
            self.weight.data.uniform_(-bound, bound)
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_channels)
            self.bias.data.uniform_(-bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        """Maps [..., in_channels] to [..., out_channels]."""
        return linear(x, self.weight, self.bias)

    def _await_input(self) -> None:
        self.in_channels = -1
        self.weight = UninitializedParameter()
        self._hook = self.register_forward_pre_hook(lambda _, inputs: self._settle(inputs[0].size(-1), reset=True))

    @torch.no_grad()
    def _settle(self, in_channels: int, reset: bool) -> None:
        self._hook.remove()
        del self._hook
        self.in_channels = in_channels
        self.weight.materialize((self.out_channels, in_channels))
        if reset:
            self.reset_parameters()

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        if not isinstance(self.weight, UninitializedParameter):
            return super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"] = self.weight
        if self.bias is not None:
            destination[prefix + "bias"] = self.bias if keep_vars else self.bias.detach()

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs):
        given = state_dict.get(prefix + "weight")
        if given is not None:
            waits = isinstance(self.weight, UninitializedParameter)
            if isinstance(given, UninitializedParameter) and not waits:
                self._await_input()
            elif waits and not isinstance(given, UninitializedParameter):
                self._settle(given.size(-1), reset=False)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def __repr__(self) -> str:
        return f"Linear({self.in_channels}, {self.out_channels}, bias={self.bias is not None})"
