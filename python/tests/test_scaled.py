import pytest
import torch

import weft
from conftest import random_edges


def given(edge_index, dtype=torch.float64, heads=()):
    generator = torch.Generator().manual_seed(5)

    def made(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).to(edge_index.device)

    x, edge = made(7, *heads, 4).requires_grad_(), made(40, *(1 for _ in heads)).requires_grad_()
    wide = torch.float64 if dtype is torch.float64 else torch.float32
    return x, edge, made(9).abs().to(wide), made(7).abs().to(wide)


def expected(edge_index, x, edge, target_scale, source_scale):
    u, v = edge_index
    shape = (-1, *[1] * (x.dim() - 1))
    message = x[u]
    if source_scale is not None:
        message = message * source_scale[u].view(shape)
    if edge is not None:
        message = message * edge.view(shape)
    if target_scale is not None:
        message = message * target_scale[v].view(shape)
    return message.new_zeros(9, *x.shape[1:]).index_add(0, v, message)


@pytest.mark.parametrize("heads", [(), (3,)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scales", [(True, True), (True, False), (False, True), (False, False)])
def test_results_and_gradients_are_those_of_scaled_messages(edge_index, heads, weighted, scales):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    x, edge, *both = given(edge_index, heads=heads)
    edge = edge if weighted else None
    target_scale, source_scale = (s if is_given else None for s, is_given in zip(both, scales))
    got = weft.spmm_scaled(graph, x, edge, target_scale=target_scale, source_scale=source_scale)
    want = expected(edge_index, x, edge, target_scale, source_scale)
    torch.testing.assert_close(got, want)
    inputs = [t for t in (x, edge) if t is not None]
    grad = torch.randn(want.shape, generator=torch.Generator().manual_seed(7), dtype=want.dtype).to(want.device)
    for a, b in zip(torch.autograd.grad(got, inputs, grad), torch.autograd.grad(want, inputs, grad)):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("heads", [(), (3,)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_own_features_are_added_as_a_self_loop_would(device, heads, weighted, scaled):
    edge_index = random_edges(7, 7, 40).to(device)
    graph = weft.Graph.from_edge_index(edge_index, size=7)
    x, edge, _, scale = given(edge_index, heads=heads)
    own = torch.randn(7, generator=torch.Generator().manual_seed(8), dtype=torch.float64).to(device)
    edge, scale = edge if weighted else None, scale if scaled else None
    got = weft.spmm_scaled(graph, x, edge, target_scale=scale, source_scale=scale, self_scale=own)
    want = expected(edge_index, x, edge, scale, scale)[:7] + own.view(-1, *[1] * (x.dim() - 1)) * x
    torch.testing.assert_close(got, want)
    inputs = [t for t in (x, edge) if t is not None]
    grad = torch.randn(want.shape, generator=torch.Generator().manual_seed(7), dtype=want.dtype).to(device)
    for a, b in zip(torch.autograd.grad(got, inputs, grad), torch.autograd.grad(want, inputs, grad)):
        torch.testing.assert_close(a, b)

    def run(*tensors):
        return weft.spmm_scaled(graph, *tensors, target_scale=scale, source_scale=scale, self_scale=own)

    assert torch.autograd.gradcheck(run, inputs)
    assert torch.autograd.gradgradcheck(run, inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_own_features_are_added_before_the_one_rounding(device, dtype):
    generator = torch.Generator().manual_seed(9)
    edge_index = torch.stack([torch.randint(500, (5000,), generator=generator), torch.randint(500, (5000,), generator=generator)])
    graph = weft.Graph.from_edge_index(edge_index.to(device), size=500)
    own = torch.rand(500, generator=generator).to(device)
    for width in (1, 7, 16, 33, 64):
        x = torch.randn(500, width, generator=generator).to(device, dtype)
        got = weft.spmm_scaled(graph, x, self_scale=own)
        want = weft.spmm_scaled(graph, x.double(), self_scale=own.double())
        assert got.dtype is dtype
        torch.testing.assert_close(got.double(), want, rtol=torch.finfo(dtype).eps, atol=2e-5)


def test_gradients_can_be_differentiated_again(edge_index):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    x, edge, target_scale, source_scale = given(edge_index)

    def run(*tensors):
        return weft.spmm_scaled(graph, *tensors, target_scale=target_scale, source_scale=source_scale)

    for tensors in ((x,), (x, edge)):
        assert torch.autograd.gradcheck(run, tensors)
        assert torch.autograd.gradgradcheck(run, tensors)


def test_halves_are_scaled_before_they_are_rounded(device):
    edge_index = torch.stack([torch.arange(2000), torch.zeros(2000, dtype=torch.int64)]).to(device)
    graph = weft.Graph.from_edge_index(edge_index, size=(2000, 1))
    x = torch.full((2000, 8), 100.0, dtype=torch.float16, device=device)  # the sum is past what a half holds
    scale = torch.full((1,), 1 / 2000, device=device)
    out = weft.spmm_scaled(graph, x, target_scale=scale)
    assert out.dtype is torch.float16
    torch.testing.assert_close(out, torch.full_like(out, 100.0))
    with torch.autocast(device, dtype=torch.float16):
        torch.testing.assert_close(weft.spmm_scaled(graph, x.float(), target_scale=scale), out)


def test_op_passes_opcheck_and_compiles_whole(edge_index):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    x, edge, target_scale, source_scale = given(edge_index, torch.float32)
    for weights in (None, edge):
        arguments = (*graph._arguments, x, weights, target_scale, source_scale, None)
        torch.library.opcheck(torch.ops.weft.spmm_scaled.default, arguments)
    square = weft.Graph.from_edge_index(edge_index.clamp(max=6), size=7)
    arguments = (*square._arguments, x, None, None, source_scale, source_scale)
    torch.library.opcheck(torch.ops.weft.spmm_scaled.default, arguments)
    torch._dynamo.reset()

    def run(x, edge):
        return weft.spmm_scaled(graph, x, edge, target_scale=target_scale, source_scale=source_scale).relu()

    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, edge), run(x, edge))
    with torch.autocast(edge_index.device.type, dtype=torch.bfloat16):
        assert compiled(x, edge).dtype is torch.bfloat16


def test_what_does_not_fit_is_named():
    graph = weft.Graph.from_edge_index(random_edges(7, 9, 40), size=(7, 9))
    x = torch.ones(7, 4)
    for call, names in (
        (lambda: weft.spmm_scaled(graph, x, target_scale=torch.ones(9, requires_grad=True)), "target_scale requires"),
        (lambda: weft.spmm_scaled(graph, x, target_scale=torch.ones(8)), "row_scale has shape"),
        (lambda: weft.spmm_scaled(graph, x, source_scale=torch.ones(7).half()), "col_scale has dtype"),
        (lambda: weft.spmm_scaled(graph, x[:6]), "x has shape"),
        (lambda: weft.spmm_scaled(graph, x, self_scale=torch.ones(9)), "self_scale is given for a graph of 7 sources and 9"),
        (lambda: weft.spmm_scaled(graph, x, self_scale=torch.ones(9, requires_grad=True)), "self_scale requires"),
    ):
        with pytest.raises((RuntimeError, ValueError), match=names):
            call()


def test_a_scale_that_was_changed_before_the_backward_is_an_error():
    graph = weft.Graph.from_edge_index(random_edges(7, 9, 40), size=(7, 9))
    x, scale = torch.ones(7, 4, requires_grad=True), torch.ones(9)
    for run in (lambda: weft.spmm_scaled(graph, x, target_scale=scale),
                lambda: torch.ops.weft.spmm_scaled(*graph._arguments, x, None, scale, None, None)):
        out = run()
        scale.mul_(100)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()


def test_scales_may_be_columns_of_something_wider():
    graph = weft.Graph.from_edge_index(random_edges(7, 9, 40), size=(7, 9))
    x, wide = torch.randn(7, 4), torch.rand(9, 3)
    torch.testing.assert_close(
        weft.spmm_scaled(graph, x, target_scale=wide[:, 1]), weft.spmm_scaled(graph, x, target_scale=wide[:, 1].clone())
    )
