"""Reduces the rows between consecutive offsets to one row."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd import forward_ad

from weft._library import naming_what_is_out_of_memory
from weft._unrecorded import unrecorded
from weft.graph import Graph
from weft.ops import autocast
from weft.ops.functions import refuse_tangents
from weft.ops.graph_op import choice, placeholder
from weft.ops.spmm import REDUCERS, spmm

_OF_THE_LARGEST = ("max", "min")


def _fake(x, offsets, reduce, trusted):
    return x.new_empty([offsets.shape[0] - 1, *x.shape[1:]])


def _fake_backward(x, offsets, out_grad, reduce):
    return out_grad.new_empty(x.shape)


def _setup(ctx, inputs, output):
    x, offsets, reduce, _ = inputs
    ctx.set_materialize_grads(False)
    # The gradient of a sum or mean reads only the shape of x.
    ctx.save_for_backward(x if reduce in _OF_THE_LARGEST else placeholder(x), offsets)
    ctx.reduce = reduce


def _backward(ctx, out_grad):
    if out_grad is None:
        return None, None, None, None
    x, offsets = ctx.saved_tensors
    with naming_what_is_out_of_memory():
        return torch.ops.weft.segment_reduce_backward(x, offsets, out_grad, ctx.reduce), None, None, None


def _setup_of_backward(ctx, inputs, output):
    _, offsets, _, reduce = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(offsets)
    ctx.reduce = reduce


def _backward_of_backward(ctx, grad):
    """Sums and means are linear: the gradient of their gradient is their forward."""
    if ctx.reduce in _OF_THE_LARGEST:
        raise NotImplementedError(f"weft has no second derivatives of segment_reduce by {ctx.reduce}")
    if grad is None:
        return None, None, None, None
    (offsets,) = ctx.saved_tensors
    with torch.autocast(grad.device.type, enabled=False):  # gradients already have the forward's dtypes
        return None, None, torch.ops.weft.segment_reduce(grad, offsets, ctx.reduce, True), None


_segment_reduce = torch.ops.weft.segment_reduce.default
_looking = unrecorded(_segment_reduce)
for op in (_segment_reduce, _looking):
    torch.library.register_fake(op, _fake)
    autocast.register(op, None, 1)
    torch.library.register_autograd(op, _backward, setup_context=_setup)
torch.library.register_fake("weft::segment_reduce_backward", _fake_backward)
torch.library.register_autograd(
    "weft::segment_reduce_backward", _backward_of_backward, setup_context=_setup_of_backward
)


def segment_reduce(x: Tensor, offsets: Tensor, reduce: str = "sum", *, trusted: bool = False) -> Tensor:
    """Reduces rows ``offsets[i]`` to ``offsets[i + 1] - 1`` of ``x`` to row i: their ``sum``, ``mean``, ``max`` or
    ``min``, and 0 for an empty segment.

    ``offsets``, int64 on the device of ``x``, runs from 0 to the number of rows of ``x`` and never decreases. Unless
    ``trusted`` that is checked, which waits for a GPU. ``x`` is [rows], [rows, features] or [rows, heads, features];
    half precision accumulates in float32.

    >>> import torch, weft
    >>> weft.segment_reduce(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 2, 2, 3]))
    tensor([3., 0., 4.])
    """
    choice("reduce", reduce, REDUCERS)
    if forward_ad._current_level >= 0:
        refuse_tangents("segment_reduce", (x,))
    if torch._C._are_functorch_transforms_active():  # spmm has gradients for torch.func: rows of x are sources
        rows = Graph.from_csr(offsets, torch.arange(x.size(0), device=x.device), x.size(0), trusted=trusted)
        return spmm(rows, x, reduce=reduce)
    if torch.compiler.is_compiling():
        return (_segment_reduce if trusted else _looking)(x, offsets, reduce, trusted)
    with naming_what_is_out_of_memory():
        return _segment_reduce(x, offsets, reduce, trusted)
