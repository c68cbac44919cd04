"""Casts operands under torch.autocast, as for a linear layer, or to the dtype that an operator requires."""

from __future__ import annotations

from typing import Optional, Sequence, Tuple

import torch
from torch import Tensor

_KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}
_implementations = torch.library.Library("weft", "IMPL")  # registrations last as long as this object


def cast(tensors: Sequence[Optional[Tensor]], device_type: str, dtype: Optional[torch.dtype]) -> Tuple:
    """To ``dtype``, or to autocast's dtype; float64 is not cast, as in torch's operators."""
    wanted = torch.get_autocast_dtype(device_type) if dtype is None else dtype

    def of(tensor):
        is_cast = isinstance(tensor, Tensor) and tensor.is_floating_point() and tensor.dtype is not torch.float64
        return tensor.to(wanted) if is_cast and tensor.device.type == device_type else tensor

    return tuple(of(t) for t in tensors)


def register(op: torch._ops.OpOverload, dtype: Optional[torch.dtype], count: int) -> None:
    """Registers autocast for an operator whose first ``count`` arguments hold the operands."""
    name = op._schema.name.removeprefix("weft::")
    below = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
    below = below | torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)

    def implement(device_type: str) -> None:
        def run(*arguments):
            with torch._C._ExcludeDispatchKeyGuard(below):
                return op(*cast(arguments[:count], device_type, dtype), *arguments[count:])

        _implementations.impl(name, run, _KEYS[device_type])

    for device_type in _KEYS:
        implement(device_type)
