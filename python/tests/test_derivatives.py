"""Derivatives of derivatives."""

import pytest
import torch
from torch.autograd import gradgradcheck

import weft
from conftest import random_edges

SHAPES = [((), ()), ((3,), (1,)), ((1,), (3,)), ((2, 2), (2, 1)), ((2, 2), (2, 2)), ((2, 2), ()), ((1, 2), (2, 1))]
SIZES = {"u": 3, "v": 5, "e": 8}


@pytest.fixture
def graph(device):
    return weft.Graph.from_edge_index(random_edges(3, 5, 8).to(device), size=(3, 5))


def values(rows, features, device, seed):
    made = torch.rand(rows, *features, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.5
    return made.to(device).requires_grad_()


def checked(call, *tensors):
    """gradgradcheck of call(*tensors), of which some are None."""
    given = [t for t in tensors if t is not None]

    def of_given(*inputs):
        left = iter(inputs)
        return call(*(None if t is None else next(left) for t in tensors))

    return gradgradcheck(of_given, given, fast_mode=True)


@pytest.mark.parametrize("reduce", ["sum", "mean"])
@pytest.mark.parametrize("op", ["copy_u", "copy_e", "u_add_e", "u_sub_e", "u_mul_e", "u_div_e"])
@pytest.mark.parametrize("shape_x, shape_e", SHAPES)
def test_second_derivatives_of_sums_and_means(graph, op, reduce, shape_x, shape_e):
    x = None if op == "copy_e" else values(3, shape_x, graph.device, 1)
    edge = None if op == "copy_u" else values(8, shape_e, graph.device, 2)
    assert checked(lambda x, edge: weft.spmm(graph, x, edge, op=op, reduce=reduce), x, edge)


@pytest.mark.parametrize("op", ["dot", "add", "sub", "mul", "div", "copy_lhs", "copy_rhs"])
@pytest.mark.parametrize("left, right", [("u", "v"), ("v", "u"), ("u", "u"), ("e", "v"), ("u", "e"), ("e", "e")])
def test_second_derivatives_of_results_for_edges(graph, op, left, right):
    for shape_l, shape_r in SHAPES:
        lhs = None if op == "copy_rhs" else values(SIZES[left], shape_l, graph.device, 1)
        rhs = None if op == "copy_lhs" else values(SIZES[right], shape_r, graph.device, 2)
        assert checked(lambda a, b: weft.sddmm(graph, a, b, op=op, lhs_target=left, rhs_target=right), lhs, rhs)


def test_second_derivatives_of_softmax(graph):
    for features in ((), (2, 1)):
        scores = values(8, features, graph.device, 1)
        assert checked(lambda s: weft.edge_softmax(graph, s), scores)
        assert checked(lambda s: torch.ops.weft.edge_softmax(*graph._arguments, s), scores)


@pytest.mark.parametrize("wanted", [(True, False), (False, True), (True, True)])
def test_second_derivatives_of_the_operators_themselves(graph, wanted):
    x, edge = values(3, (2, 2), graph.device, 1), values(8, (2, 1), graph.device, 2)
    lhs, rhs = values(3, (2, 2), graph.device, 3), values(5, (2, 2), graph.device, 4)
    for op in ("u_mul_e", "u_div_e", "u_sub_e"):
        for tensor, is_wanted in zip((x, edge), wanted):
            tensor.requires_grad_(is_wanted)
        assert checked(lambda x, edge: torch.ops.weft.spmm(*graph._arguments, x, edge, op, "mean")[0], x, edge)
    for op in ("dot", "div"):
        assert checked(lambda a, b: torch.ops.weft.sddmm(*graph._arguments, a, b, op, "u", "v"), lhs, rhs)


def test_gradients_that_may_be_differentiated_again_are_those_of_the_backward_operators(graph):
    x, edge = values(3, (2, 2), graph.device, 1), values(8, (2, 1), graph.device, 2)
    lhs, rhs = values(3, (2, 2), graph.device, 3), values(5, (2, 2), graph.device, 4)
    scores = values(8, (), graph.device, 5)
    for out, inputs in (
        (weft.spmm(graph, x, edge, op="u_div_e", reduce="mean"), (x, edge)),
        (weft.sddmm(graph, lhs, rhs), (lhs, rhs)),
        (weft.edge_softmax(graph, scores), (scores,)),
    ):
        grad = torch.randn_like(out)
        want = torch.autograd.grad(out, inputs, grad, retain_graph=True)
        got = torch.autograd.grad(out, inputs, grad, create_graph=True)
        for a, b in zip(got, want):
            assert a.requires_grad
            torch.testing.assert_close(a, b)


def test_means_of_more_edges_than_a_half_can_count_have_gradients(device):
    edges = 70000
    graph = weft.Graph.from_edge_index(
        torch.stack([torch.arange(edges), torch.zeros(edges, dtype=torch.int64)]).to(device), size=(edges, 1)
    )
    x = torch.ones(edges, 1, dtype=torch.float16, device=device, requires_grad=True)
    grad = torch.full((1, 1), 1000.0, dtype=torch.float16, device=device)
    (got,) = torch.autograd.grad(weft.spmm(graph, x, reduce="mean"), x, grad, create_graph=True)
    (want,) = torch.autograd.grad(weft.spmm(graph, x, reduce="mean"), x, grad)
    torch.testing.assert_close(got, want)
    assert want.min() > 0


def test_torch_func_differentiates_as_often_as_it_is_asked(graph):
    x, edge = values(3, (2,), graph.device, 1).detach(), values(8, (), graph.device, 2).detach()

    def energy(x):
        return weft.sddmm(graph, x, weft.spmm(graph, x, edge, reduce="mean")).pow(3).sum()

    tracked = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(energy(tracked), tracked, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), tracked, create_graph=True)
    (third,) = torch.autograd.grad(second.square().sum(), tracked)
    grad = torch.func.grad
    torch.testing.assert_close(grad(energy)(x), first)
    torch.testing.assert_close(grad(lambda t: grad(energy)(t).square().sum())(x), second)
    twice = grad(lambda t: grad(lambda s: grad(energy)(s).square().sum())(t).square().sum())
    torch.testing.assert_close(twice(x), third)


def test_where_there_are_no_second_derivatives_that_is_said(device):
    graph = weft.Graph.from_edge_index(random_edges(7, 9, 40).to(device), size=(7, 9))
    x = torch.randn(7, 4, device=device, requires_grad=True)
    value = torch.randn(7, 2, 3, device=device, requires_grad=True)
    src, dst = torch.randn(7, 2, 1, device=device), torch.randn(9, 2, 1, device=device)
    arguments = graph._arguments
    for call, leaf in (
        (lambda: weft.spmm(graph, x, reduce="max"), x),
        (lambda: torch.ops.weft.spmm(*arguments, x, None, "copy_u", "max")[0], x),
        (lambda: weft.attention(graph, value, src, dst), value),
    ):
        (first,) = torch.autograd.grad(call().square().sum(), leaf, create_graph=True)
        with pytest.raises(NotImplementedError, match="weft has no second derivatives of (max|attention)"):
            torch.autograd.grad(first.square().sum(), leaf)


def test_compiled_training_takes_the_backward_operators(graph):
    seen = []

    def inspect(module, inputs):
        seen.extend(str(node.target) for node in module.graph.nodes if node.op == "call_function")
        return module.forward

    from torch._dynamo.backends.common import aot_autograd

    x = torch.randn(3, 4, device=graph.device, requires_grad=True)
    compiled = torch.compile(lambda t: weft.spmm(graph, t), backend=aot_autograd(fw_compiler=inspect), fullgraph=True)
    compiled(x).sum().backward()
    assert "weft.spmm.default" in seen and "weft.spmm_backward.default" in seen
