import pytest
import torch

import weft
from conftest import random_edges

OPS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "copy_lhs": lambda a, b: a,
    "copy_rhs": lambda a, b: b,
}
ROWS = {"u": 7, "v": 9, "e": 40}
SHAPES = [((), ()), ((5,), (5,)), ((5,), (1,)), ((2, 3), (2, 3)), ((2, 3), (2, 1))]


def at_edges(tensor, target, edge_index):
    return tensor if target == "e" or tensor is None else tensor[edge_index["uv".index(target)]]


def expected(edge_index, lhs, rhs, op, left, right):
    a, b = at_edges(lhs, left, edge_index), at_edges(rhs, right, edge_index)
    if op != "dot":
        return OPS[op](a, b)
    if a.dim() == 1:
        return a * b
    product = (a * b).sum(-1)
    return product if product.dim() == 1 else product.unsqueeze(-1)


def operands(op, left, right, shape_l, shape_r, dtype, device):
    generator = torch.Generator().manual_seed(4)
    lhs = torch.randn(ROWS[left], *shape_l, generator=generator, dtype=torch.float64)
    rhs = torch.rand(ROWS[right], *shape_r, generator=generator, dtype=torch.float64) + 0.5
    lhs, rhs = (t.to(dtype).to(device).requires_grad_() for t in (lhs, rhs))
    return (None if op == "copy_rhs" else lhs), (None if op == "copy_lhs" else rhs)


@pytest.mark.parametrize("op", ["dot", *OPS])
@pytest.mark.parametrize("left, right", [("u", "v"), ("v", "u"), ("u", "u"), ("e", "v"), ("u", "e")])
@pytest.mark.parametrize("shape_l, shape_r", SHAPES)
def test_results_and_gradients_are_those_of_gathered_rows(edge_index, op, left, right, shape_l, shape_r):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    lhs, rhs = operands(op, left, right, shape_l, shape_r, torch.float64, edge_index.device)
    got = weft.sddmm(graph, lhs, rhs, op=op, lhs_target=left, rhs_target=right)
    want = expected(edge_index, lhs, rhs, op, left, right)
    torch.testing.assert_close(got, want)
    given = [t for t in (lhs, rhs) if t is not None]
    grad = torch.randn(want.shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64).to(want.device)
    for a, b in zip(torch.autograd.grad(got, given, grad), torch.autograd.grad(want, given, grad)):
        torch.testing.assert_close(a, b)


def test_only_gradients_that_are_wanted_are_found(edge_index):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    lhs, rhs = operands("dot", "u", "v", (5,), (5,), torch.float32, edge_index.device)
    lhs.requires_grad_(False)
    weft.sddmm(graph, lhs, rhs).sum().backward()
    assert lhs.grad is None
    assert rhs.grad.shape == rhs.shape


@pytest.mark.parametrize("op", ["dot", "mul", "copy_lhs"])
def test_op_passes_opcheck(edge_index, op):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    lhs, rhs = operands(op, "u", "v", (2, 3), (2, 3), torch.float32, edge_index.device)
    torch.library.opcheck(torch.ops.weft.sddmm.default, (*graph._arguments, lhs, rhs, op, "u", "v"))


def test_what_does_not_fit_is_named():
    graph = weft.Graph.from_edge_index(random_edges(7, 9, 40), size=(7, 9))
    for call, names in (
        (lambda: weft.sddmm(graph, torch.ones(7, 2), torch.ones(7, 2)), "rhs has shape"),
        (lambda: weft.sddmm(graph, torch.ones(7, 2), torch.ones(9, 3)), "lhs|rhs"),
        (lambda: weft.sddmm(graph, torch.ones(7, 2), torch.ones(9, 2), op="pow"), "op is 'pow'"),
        (lambda: weft.sddmm(graph, torch.ones(7, 2), torch.ones(9, 2), lhs_target="x"), "lhs_target is 'x'"),
        (lambda: weft.sddmm(graph), "lhs and rhs are missing"),
    ):
        with pytest.raises((RuntimeError, ValueError), match=names):
            call()
