"""Gradients of sums and per-edge results as compositions of the same operators, which can be differentiated again any
number of times. First-order gradients use the backward operators, which are faster."""

from __future__ import annotations

from typing import Optional, Tuple

import torch
from torch import Tensor

import weft


def _spelled(tensor: Tensor) -> Tensor:
    """The tensor in three dimensions, [rows, heads, features], as weft reads [rows] and [rows, features]."""
    if tensor.dim() == 1:
        return tensor[:, None, None]
    return tensor.unsqueeze(1) if tensor.dim() == 2 else tensor


def _fitted(tensor: Tensor, like: Tensor) -> Tensor:
    """Sums over the dimensions that were broadcast from `like`, and expands those that the forward summed."""
    over = [d for d in (1, 2) if like.shape[d] == 1 and tensor.shape[d] != 1]
    summed = tensor.sum(over, keepdim=True) if over else tensor
    return summed.expand(-1, *like.shape[1:])


def _at_node(graph, edge: Tensor, target: str) -> Tensor:
    """Sums edge values at each source (u) or target (v), or returns those of edges (e). The adjoint of sddmm's copy."""
    if target == "e":
        return edge
    return weft.spmm(graph if target == "v" else graph.transpose(), edge=edge, op="copy_e")


def _products(graph, lhs: Tensor, left: str, rhs: Tensor, right: str, like: Tensor) -> Tensor:
    """The products of both ends of each edge, in the feature shape of `like`; without a tensor of edges x features if
    `like` has one value per head."""
    if like.shape[2] == 1 and lhs.shape[1:] == rhs.shape[1:]:
        return _fitted(weft.sddmm(graph, lhs, rhs, lhs_target=left, rhs_target=right), like)
    return _fitted(weft.sddmm(graph, lhs, rhs, op="mul", lhs_target=left, rhs_target=right), like)


def _times(graph, edge: Tensor, other: Tensor, at: str, target: str, like: Tensor) -> Tensor:
    """Sums edge * other[at] over the edges of each `target`, in the feature shape of `like`."""
    if at == target:
        return _fitted(_at_node(graph, edge, target) * other, like)
    if target == "e":
        return _products(graph, edge, "e", other, at, like)
    if at == "e":
        return _at_node(graph, _fitted(edge * other, like), target)
    along = graph if target == "v" else graph.transpose()
    return _fitted(weft.spmm(along, other, edge, op="u_mul_e"), like)


def _means(graph, reduce: str, out_grad: Tensor) -> Tensor:
    """The gradient of the sum in a mean: out_grad divided by each target's number of edges."""
    if reduce == "sum":
        return out_grad
    degrees = (graph.rowptr[1:] - graph.rowptr[:-1]).clamp(min=1).view(-1, 1, 1)
    wide = torch.promote_types(out_grad.dtype, torch.float32)  # half precision cannot hold large degrees
    return (out_grad.to(wide) / degrees).to(out_grad.dtype)


def spmm_gradients(graph, tensors, kept, out_grad: Tensor, options: Tuple, wanted):
    """For sums and means of every op; None for maxima and minima, which have no second derivatives here."""
    op, reduce = options
    if reduce not in ("sum", "mean"):
        return None
    x, edge = tensors
    grad = _means(graph, reduce, _spelled(out_grad))
    # A missing operand has the features of out_grad.
    x_like, edge_like = (grad if t is None else _spelled(t) for t in (x, edge))
    x_grad = edge_grad = None
    if op in ("u_mul_e", "u_div_e"):
        factor = edge_like if op == "u_mul_e" else edge_like.reciprocal()
        if wanted[0]:
            x_grad = _fitted(weft.spmm(graph.transpose(), grad, factor, op="u_mul_e"), x_like)
        if wanted[1]:
            edge_grad = _products(graph, x_like, "u", grad, "v", edge_like)
            if op == "u_div_e":
                edge_grad = -edge_grad * factor * factor
    else:
        if wanted[0]:
            x_grad = weft.spmm(graph.transpose(), _fitted(grad, x_like), op="copy_u")
        if wanted[1]:
            edge_grad = weft.sddmm(graph, rhs=_fitted(grad, edge_like), op="copy_rhs")
            if op == "u_sub_e":
                edge_grad = -edge_grad
    return _shaped(x_grad, out_grad if x is None else x), _shaped(edge_grad, out_grad if edge is None else edge)


def sddmm_gradients(graph, tensors, kept, out_grad: Tensor, options: Tuple, wanted):
    """For every op."""
    op, left, right = options
    lhs, rhs = tensors
    l_like, r_like = (None if t is None else _spelled(t) for t in (lhs, rhs))
    grad = _spelled(out_grad)
    if op == "dot" and lhs.dim() > 1:
        grad = grad.view(grad.shape[0], -1, 1)  # one value per head
    l_grad = r_grad = None
    if op in ("dot", "mul", "div"):
        factor = r_like.reciprocal() if op == "div" else r_like
        if wanted[0]:
            l_grad = _times(graph, grad, factor, right, left, l_like)
        if wanted[1]:
            r_grad = _times(graph, grad, l_like, left, right, r_like)
            if op == "div":
                r_grad = -r_grad * factor * factor
    else:
        if wanted[0]:
            l_grad = _at_node(graph, _fitted(grad, l_like), left)
        if wanted[1]:
            r_grad = _at_node(graph, _fitted(grad, r_like), right)
            if op == "sub":
                r_grad = -r_grad
    return _shaped(l_grad, lhs), _shaped(r_grad, rhs)


def edge_softmax_gradients(graph, tensors, kept, alpha_grad: Tensor, options: Tuple, wanted):
    """alpha * (alpha_grad - the sum of alpha * alpha_grad at each target)."""
    (alpha,) = kept
    products = alpha * alpha_grad
    sums = weft.spmm(graph, edge=products, op="copy_e")
    return (products - alpha * weft.sddmm(graph, rhs=sums, op="copy_rhs"),)


def _shaped(gradient: Optional[Tensor], like: Optional[Tensor]) -> Optional[Tensor]:
    return None if gradient is None else gradient.reshape(-1, *like.shape[1:])
