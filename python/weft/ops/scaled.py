"""Sums over neighbours with one factor per source and one per target, for normalisation by degrees, and one per node
for its own features, for self-loops."""

from __future__ import annotations

from typing import Optional

from torch import Tensor

from weft.graph import Graph
from weft.ops.derivatives import spmm_gradients
from weft.ops.graph_op import GraphOp, broadcast, kind, like


def _fake(rows, key, num_sources, x, edge, target_scale, source_scale, self_scale):
    return x.new_empty([rows[0].shape[0] - 1, *broadcast(x, edge)])


def _fake_backward(
    rows, key, num_sources, x, edge, out_grad, target_scale, source_scale, self_scale, want_x, want_edge
):
    if want_x and x is None:
        x = out_grad.new_empty([num_sources, *out_grad.shape[1:]])
    return like(want_x, x, out_grad), like(want_edge, edge, out_grad)


def _read_by_backward(tensors, out, options, wanted):
    x, edge = tensors
    return (x if edge is not None and wanted[1] else kind(x, out)), edge


def _at(scale: Optional[Tensor], tensor: Tensor) -> Tensor:
    return tensor if scale is None else (tensor * scale.view(-1, *[1] * (tensor.dim() - 1))).to(tensor.dtype)


def _derive(graph, tensors, kept, out_grad, options, wanted):
    """Composes the gradients of the sum between the two scalings, and of x's own rows."""
    (x, edge), (target_scale, source_scale, self_scale) = tensors, options
    op = "copy_u" if edge is None else "u_mul_e"
    scaled = x if x is None or not wanted[1] else _at(source_scale, x)
    of_x, of_edge = spmm_gradients(
        graph, (scaled, edge), (), _at(target_scale, out_grad), (op, "sum"), (wanted[0], wanted[1] and edge is not None)
    )
    if of_x is None:
        return None, of_edge
    of_x = _at(source_scale, of_x)
    return of_x if self_scale is None else of_x + _at(self_scale, out_grad), of_edge


class _Spelled:
    """Codes that equal the options."""

    def __getitem__(self, options):
        return options


_spmm_scaled = GraphOp(
    "spmm_scaled", 2, fake=_fake, fake_backward=_fake_backward, chooses=True, reads=_read_by_backward, derive=_derive,
    codes=_Spelled(),
)


def spmm_scaled(
    graph: Graph, x: Tensor, edge: Optional[Tensor] = None, *, target_scale: Optional[Tensor] = None,
    source_scale: Optional[Tensor] = None, self_scale: Optional[Tensor] = None,
) -> Tensor:
    """For each target, sums ``source_scale[source] * x[source]``, times the edge's value if ``edge`` is given,
    multiplies the sum by ``target_scale[target]`` and adds ``self_scale[target] * x[target]``, like a self-loop. The
    result is rounded once.

    ``target_scale`` is [targets], ``source_scale`` [sources], and ``self_scale`` [nodes], for graphs that are not
    bipartite; all are in float32 (float64 for float64 tensors) and have no gradients. Everything else is as in
    :func:`weft.spmm`.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> x = torch.tensor([[1.0], [10.0], [100.0]])
    >>> weft.spmm_scaled(graph, x, target_scale=torch.tensor([1.0, 2.0, 0.5]), source_scale=torch.tensor([3.0, 1.0, 0.1]))
    tensor([[ 0.],
            [26.],
            [ 5.]])
    """
    for name, scale in (("target_scale", target_scale), ("source_scale", source_scale), ("self_scale", self_scale)):
        if scale is not None and scale.requires_grad:
            raise ValueError(f"{name} requires a gradient: scales have none; multiply by it around weft.spmm")
    return _spmm_scaled(graph, (x, edge), (target_scale, source_scale, self_scale))
