"""What torch.autocast does to operators over graphs."""

import pytest
import torch

import weft
from conftest import random_edges

HALVES = [torch.float16, torch.bfloat16]


@pytest.fixture
def graph(edge_index):
    return weft.Graph.from_edge_index(edge_index, size=(7, 9))


def made(*shape, device, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).to(dtype).to(device).requires_grad_()


def operations(graph):
    """Names, functions, the same by torch.ops.weft, and their operands."""
    g, device = graph._arguments, graph.device
    x, y = made(7, 4, device=device), made(9, 4, device=device, seed=1)
    edge = made(40, 1, device=device, seed=2)
    value, src, dst = made(7, 2, 3, device=device), made(7, 2, 1, device=device), made(9, 2, 1, device=device, seed=3)
    return {
        "spmm": (
            lambda *t: weft.spmm(graph, *t, reduce="mean"),
            lambda *t: torch.ops.weft.spmm(*g, *t, "u_mul_e", "mean")[0],
            (x, edge),
        ),
        "max": (
            lambda *t: weft.spmm(graph, *t, reduce="max"),
            lambda *t: torch.ops.weft.spmm(*g, *t, None, "copy_u", "max")[0],
            (x,),
        ),
        "sddmm": (
            lambda *t: weft.sddmm(graph, *t), lambda *t: torch.ops.weft.sddmm(*g, *t, "dot", "u", "v"), (x, y),
        ),
        "attention": (lambda *t: weft.attention(graph, *t), None, (value, src, dst)),
    }


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ["spmm", "max", "sddmm", "attention"])
@pytest.mark.parametrize("way", ["function", "operator", "compiled"])
def test_operands_are_cast_and_gradients_are_in_their_own_type(graph, name, dtype, way):
    function, operator, operands = operations(graph)[name]
    if way == "operator" and operator is None:
        pytest.skip("that operator is called by its function alone")
    cast = [t.detach().to(dtype).requires_grad_() for t in operands]
    want = function(*cast)
    grad = torch.randn(want.shape, generator=torch.Generator().manual_seed(9)).to(want)
    wanted = torch.autograd.grad(want, cast, grad)
    call = {"function": function, "operator": operator}.get(way)
    if way == "compiled":
        torch._dynamo.reset()
        call = torch.compile(function, backend="aot_eager", fullgraph=True)
    with torch.autocast(graph.device.type, dtype=dtype):
        got = call(*operands)
    assert got.dtype is dtype
    assert torch.equal(got, want)
    for gradient, of_cast, tensor in zip(torch.autograd.grad(got, operands, grad), wanted, operands):
        assert gradient.dtype is torch.float32
        torch.testing.assert_close(gradient, of_cast.float())


@pytest.mark.parametrize("dtype", HALVES)
def test_softmax_is_in_float32(graph, dtype):
    scores = made(40, device=graph.device, dtype=dtype)
    compiled = torch.compile(lambda s: weft.edge_softmax(graph, s), backend="aot_eager", fullgraph=True)
    want = weft.edge_softmax(graph, scores.float())
    with torch.autocast(graph.device.type, dtype=dtype):
        results = [
            weft.edge_softmax(graph, scores), torch.ops.weft.edge_softmax(*graph._arguments, scores), compiled(scores)
        ]
    for got in results:
        assert got.dtype is torch.float32
        assert torch.equal(got, want)
        assert torch.autograd.grad(got.square().sum(), scores, retain_graph=True)[0].dtype is dtype


def test_float64_stays_and_so_does_everything_without_autocast(graph):
    x = made(7, 4, device=graph.device)
    with torch.autocast(graph.device.type, dtype=torch.bfloat16):
        assert weft.spmm(graph, x.double()).dtype is torch.float64
        assert torch.ops.weft.spmm(*graph._arguments, x.double(), None, "copy_u", "sum")[0].dtype is torch.float64
        with torch.autocast(graph.device.type, enabled=False):
            assert weft.spmm(graph, x).dtype is torch.float32
    assert weft.spmm(graph, x).dtype is torch.float32


def test_operands_of_several_types_are_one_under_autocast_and_refused_outside(graph):
    x, y = made(7, 4, device=graph.device), made(9, 4, device=graph.device, dtype=torch.float16)
    with pytest.raises(RuntimeError, match="rhs has dtype f16: expected f32"):
        weft.sddmm(graph, x, y)
    with torch.autocast(graph.device.type, dtype=torch.bfloat16):
        assert weft.sddmm(graph, x, y).dtype is torch.bfloat16


def test_second_derivatives_inside_of_autocast_keep_its_types(graph):
    x, scores = made(7, 4, device=graph.device), made(40, device=graph.device)
    with torch.autocast(graph.device.type, dtype=torch.bfloat16):
        out = weft.spmm(graph, x, weft.edge_softmax(graph, scores))
        (first,) = torch.autograd.grad(out.float().square().sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), scores)
    assert out.dtype is torch.bfloat16
    assert first.dtype is second.dtype is torch.float32
    want = weft.spmm(graph, x, weft.edge_softmax(graph, scores))
    (want,) = torch.autograd.grad(want.square().sum(), x, create_graph=True)
    (want,) = torch.autograd.grad(want.square().sum(), scores)
    assert (second - want).norm() < 0.03 * want.norm()


def test_a_model_in_autocast_trains_and_scales(device):
    graph = weft.Graph.from_edge_index(random_edges(50, 50, 400).to(device), size=50)
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(8, 8, device=device), torch.randn(50, 8, device=device)
    with torch.autocast(device, dtype=torch.bfloat16):
        loss = weft.spmm(graph, layer(x), reduce="mean").float().square().mean()
    loss.backward()
    assert layer.weight.grad.dtype is torch.float32
    want = layer(x)
    want = weft.spmm(graph, want, reduce="mean").square().mean()
    torch.testing.assert_close(loss, want, rtol=2e-2, atol=0)


def test_second_derivatives_of_segments_are_in_the_type_of_the_forward(device):
    x, offsets = torch.randn(7, 4, device=device, requires_grad=True), torch.tensor([0, 3, 7], device=device)

    def twice():
        out = weft.segment_reduce(x, offsets)
        with torch.autocast(device, torch.bfloat16):
            (first,) = torch.autograd.grad(out.pow(3).sum(), x, create_graph=True)
            return torch.autograd.grad(first.square().sum(), x)[0]

    got = twice()
    with torch.autocast(device, enabled=False):
        (first,) = torch.autograd.grad(weft.segment_reduce(x, offsets).pow(3).sum(), x, create_graph=True)
        torch.testing.assert_close(got, torch.autograd.grad(first.square().sum(), x)[0], rtol=1e-6, atol=1e-6)


def test_samples_under_autocast_compile_whole(device):
    graph = weft.Graph.from_edge_index(random_edges(7, 9, 40).to(device), size=(7, 9))
    x, sample = torch.randn(7, 4, device=device), weft.EdgeSample(2)
    torch._dynamo.reset()
    compiled = torch.compile(lambda: weft.spmm(graph, x, sample=sample), backend="aot_eager", fullgraph=True)
    with torch.autocast(device, torch.bfloat16):
        got = compiled()
    assert got.dtype is torch.bfloat16
    torch.testing.assert_close(got, weft.spmm(graph, x.bfloat16(), sample=sample))


def test_segments_and_scaled_samples_follow_autocast(device):
    graph = weft.Graph.from_edge_index(random_edges(7, 9, 40).to(device), size=(7, 9))
    x = torch.randn(7, 4, device=device, requires_grad=True)
    offsets, sample = torch.tensor([0, 3, 7], device=device), weft.EdgeSample(2, norm="scaled")
    for call in (
        lambda: weft.segment_reduce(x, offsets),
        lambda: weft.spmm(graph, x, sample=sample),
        lambda: weft.spmm(graph, x.detach(), sample=sample),
    ):
        want = call()
        with torch.autocast(device, torch.bfloat16):
            got = call()
        assert got.dtype is torch.bfloat16
        torch.testing.assert_close(got.float(), want, rtol=2e-2, atol=2e-2)
        if got.requires_grad:
            assert torch.autograd.grad(got.sum(), x)[0].dtype is torch.float32
