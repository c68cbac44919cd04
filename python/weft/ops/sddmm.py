"""One result per edge from the values at its ends."""

from __future__ import annotations

from typing import Optional

from torch import Tensor

from weft.graph import Graph
from weft.ops.derivatives import sddmm_gradients
from weft.ops.graph_op import GraphOp, broadcast, choice, like

OPS = ("dot", "add", "sub", "mul", "div", "copy_lhs", "copy_rhs")
TARGETS = ("u", "v", "e")


def _fake(rows, key, num_sources, lhs, rhs, op, left, right):
    typed = lhs if lhs is not None else rhs
    features = broadcast(lhs, rhs)
    if op == "dot":
        features = [*features[:-1], 1] if len(features) > 1 else []
    return typed.new_empty([rows[1].shape[0], *features])


def _fake_backward(
    rows, key, num_sources, lhs, rhs, out_grad, op, left, right, want_lhs, want_rhs
):
    return like(want_lhs, lhs, out_grad), like(want_rhs, rhs, out_grad)


_CODES = {  # enumerators of the C++ library
    (op, left, right): (i, j, k)
    for i, op in enumerate(OPS) for j, left in enumerate(TARGETS) for k, right in enumerate(TARGETS)
}
_sddmm = GraphOp(
    "sddmm", 2, fake=_fake, fake_backward=_fake_backward, chooses=True, derive=sddmm_gradients, codes=_CODES
)


def sddmm(
    graph: Graph, lhs: Optional[Tensor] = None, rhs: Optional[Tensor] = None, *, op: str = "dot", lhs_target: str = "u",
    rhs_target: str = "v",
) -> Tensor:
    """Computes ``op`` per edge, by edge id, of two tensors at the source (``u``), the target (``v``) or the edge
    (``e``).

    ``dot`` returns [edges], or [edges, heads, 1] for tensors with heads; ``add``, ``sub``, ``mul``, ``div``,
    ``copy_lhs`` and ``copy_rhs`` return the broadcast shape.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> weft.sddmm(graph, x, x)
    tensor([11., 39., 39.])
    """
    options = op, lhs_target, rhs_target
    if options not in _CODES:
        choice("op", op, OPS), choice("lhs_target", lhs_target, TARGETS), choice("rhs_target", rhs_target, TARGETS)
    if lhs is None and rhs is None:
        raise ValueError("lhs and rhs are missing: expected at least one of them")
    return _sddmm(graph, (lhs, rhs), options)
