"""Sums, means, maxima and minima over neighbours."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

from weft.graph import Graph
from weft.ops.derivatives import spmm_gradients
from weft.ops.graph_op import GraphOp, broadcast, choice, kind, like
from weft.ops.sampled import EdgeSample, spmm_sampled

OPS = ("copy_u", "copy_e", "u_add_e", "u_sub_e", "u_mul_e", "u_div_e")
REDUCERS = ("sum", "mean", "max", "min")


def _fake(rows, key, num_sources, x, edge, op, reduce):
    typed = x if x is not None else edge
    shape = [rows[0].shape[0] - 1, *broadcast(x, edge)]
    return typed.new_empty(shape), typed.new_empty(shape if reduce in ("max", "min") else [0], dtype=torch.int64)


def _fake_backward(rows, key, num_sources, x, edge, winners, out_grad, op, reduce, want_x, want_edge):
    features = out_grad.shape[1:]  # those of a missing operand
    if want_x and x is None:
        x = out_grad.new_empty([num_sources, *features])
    if want_edge and edge is None:
        edge = out_grad.new_empty([rows[1].shape[0], *features])
    return like(want_x, x, out_grad), like(want_edge, edge, out_grad)


def _read_by_backward(tensors, out, options, wanted):
    """The backward of a sum or mean reads x and edge only as a factor of the other's gradient; elsewhere shape and
    dtype suffice."""
    (x, edge), (op, reduce) = tensors, options
    if reduce in ("max", "min"):
        return x, edge
    if op in ("copy_u", "copy_e"):
        return None, None
    multiplies = op in ("u_mul_e", "u_div_e")
    return x if multiplies and wanted[1] else kind(x, out), edge if multiplies else kind(edge, out)


_CODES = {(op, reduce): (i, j) for i, op in enumerate(OPS) for j, reduce in enumerate(REDUCERS)}  # C++ enumerators


_spmm = GraphOp(
    "spmm", 2, fake=_fake, fake_backward=_fake_backward, keeps=[1], chooses=True, reads=_read_by_backward,
    derive=spmm_gradients, codes=_CODES,
)


def spmm(
    graph: Graph, x: Optional[Tensor] = None, edge: Optional[Tensor] = None, *, op: Optional[str] = None,
    reduce: str = "sum", sample: Optional[EdgeSample] = None,
) -> Tensor:
    """Reduces (``sum``, ``mean``, ``max``, ``min``) the messages that arrive at each target.

    ``op`` makes a message from ``x[source]`` and the edge's value: ``copy_u`` (the default without ``edge``),
    ``u_mul_e`` (the default with it), ``u_add_e``, ``u_sub_e``, ``u_div_e``, or ``copy_e`` (the default without ``x``).
    ``x`` is [sources], [sources, features] or [sources, heads, features], ``edge`` the same by edge id; trailing
    dimensions of 1 broadcast. Targets without edges get 0. Results and gradients are bitwise the same in every run.
    With a ``sample`` only the edges that it keeps count; without gradients they are selected as the operator runs.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> weft.spmm(graph, torch.tensor([[1.0], [10.0], [100.0]]), torch.tensor([0.5, 2.0, 1.0]))
    tensor([[  0.0000],
            [100.5000],
            [ 20.0000]])
    """
    if x is None and edge is None:
        raise ValueError("x and edge are missing: expected at least one of them")
    if op is None:
        op = "copy_e" if x is None else "copy_u" if edge is None else "u_mul_e"
    options = op, reduce
    if options not in _CODES:
        choice("op", op, OPS), choice("reduce", reduce, REDUCERS)
    if sample is not None:
        return spmm_sampled(spmm, graph, x, edge, op, reduce, sample)
    return _spmm(graph, (x, edge), options)
