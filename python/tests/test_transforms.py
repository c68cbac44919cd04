"""What torch.func, forward mode and inference mode make of graphs and operators."""

import copy

import pytest
import torch
from torch.autograd import forward_ad

import weft
from conftest import random_edges


def a_layer(device, **options):
    torch.manual_seed(0)
    return weft.nn.GCNConv(4, 3, **options).to(device)


@pytest.fixture
def square(device):
    return random_edges(9, 9, 40).to(device)


def test_gradients_by_torch_func_over_an_edge_index_are_autograds(device, square):
    for layer in (a_layer(device), weft.nn.GATConv(4, 2, heads=2).to(device), weft.nn.TransformerConv(4, 2).to(device)):
        x = torch.randn(9, 4, device=device)
        parameters = dict(layer.named_parameters())

        def loss(parameters, edge_index):
            return torch.func.functional_call(layer, parameters, (x, edge_index)).square().sum()

        want = torch.autograd.grad(layer(x, square).square().sum(), list(parameters.values()))
        for edge_index in (square.clone(), square):  # of a tensor that weft has not seen, and of one that it has
            got = torch.func.grad(loss)(parameters, edge_index)
            for a, b in zip(got.values(), want):
                torch.testing.assert_close(a, b)
        # What the transform made serves calls outside of it.
        torch.testing.assert_close(layer(x, square), layer(x, square.clone()))


def test_a_graph_that_a_transform_made_is_none_of_its_own(device, square):
    made = []

    def f(x):
        made.append(weft.Graph.from_edge_index(square, size=9))
        return weft.spmm(made[-1], x).square().sum()

    x = torch.randn(9, 4, device=device)
    torch.func.grad(f)(x)
    assert torch.equal(made[0].edge_index(), square)
    torch.testing.assert_close(weft.spmm(made[0], x), weft.spmm(weft.Graph.from_edge_index(square, 9), x))


def test_batches_of_vmap_are_refused_in_words(device, square):
    graph = weft.Graph.from_edge_index(square, size=9)
    many = torch.randn(3, 9, 4, device=device)
    with pytest.raises(NotImplementedError, match="no batches of torch.func.vmap, and an input of spmm is one"):
        torch.func.vmap(lambda x: weft.spmm(graph, x))(many)
    edges = torch.stack([square, square.flip(0)])
    with pytest.raises(NotImplementedError, match="edge_index is another one in every call of torch.func.vmap"):
        torch.func.vmap(lambda e: weft.spmm(weft.Graph.from_edge_index(e, size=9), many[0]))(edges)


def test_tangents_are_refused_by_every_operator_and_not_lost(device, square):
    graph = weft.Graph.from_edge_index(square, size=9)
    x, scale = torch.randn(9, 4, device=device), torch.rand(9, device=device)
    offsets = torch.tensor([0, 4, 9], device=device)
    calls = {
        "spmm": lambda t: weft.spmm(graph, t),
        "spmm_scaled": lambda t: weft.spmm_scaled(graph, x, target_scale=t[:, 0]),
        "segment_reduce": lambda t: weft.segment_reduce(t, offsets),
    }
    for name, call in calls.items():
        with pytest.raises(NotImplementedError, match=f"no forward-mode derivatives, and an input of {name} has"):
            torch.func.jvp(call, (x,), (torch.ones_like(x),))
        with forward_ad.dual_level():
            with pytest.raises(NotImplementedError, match=f"no forward-mode derivatives, and an input of {name} has"):
                call(forward_ad.make_dual(x, torch.ones_like(x)))
    with forward_ad.dual_level():  # without a tangent all is as ever
        torch.testing.assert_close(weft.spmm_scaled(graph, x, target_scale=scale), scale[:, None] * weft.spmm(graph, x))


def test_what_depends_on_no_input_has_no_tangent(device, square):
    graph, layer = weft.Graph.from_edge_index(square, size=9), a_layer(device)
    x, offsets = torch.randn(9, 4, device=device), torch.tensor([0, 4, 9], device=device)
    one = torch.ones(3, device=device)
    for call in (
        lambda w: layer(x.relu(), graph) * w,  # computed inside of the transform
        lambda w: weft.spmm(graph, (x * 2)[:, :3]) * w,
        lambda w: weft.segment_reduce((x * 2)[:, :3], offsets) * w,
    ):
        value, tangent = torch.func.jvp(call, (one,), (one,))
        torch.testing.assert_close(tangent, value)  # both are linear in w, at one


def test_tangents_behind_other_transforms_are_found(device, square):
    graph, x = weft.Graph.from_edge_index(square, size=9), torch.randn(9, 4, device=device)
    offsets, one = torch.tensor([0, 4, 9], device=device), torch.ones(4, device=device)
    calls = lambda t: weft.segment_reduce(t, offsets), lambda t: weft.spmm_scaled(graph, x, target_scale=t[:, 0])
    for call in calls:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones_like(x))
            with pytest.raises(NotImplementedError, match="has a tangent"):
                torch.func.grad(lambda w: (call(dual) * w).sum())(one)
        with pytest.raises(NotImplementedError, match="has a tangent"):
            inner = lambda t: torch.func.grad(lambda w: (call(t) * w).sum())(one)
            torch.func.jvp(inner, (x,), (torch.ones_like(x),))


def test_programs_lose_no_tangents_of_transforms_inside_of_them(device, square):
    graph, x = weft.Graph.from_edge_index(square, size=9), torch.randn(9, 4, device=device)
    offsets, sample = torch.tensor([0, 4, 9], device=device), weft.EdgeSample(2)
    for call in (
        lambda t: weft.spmm(graph, t), lambda t: weft.segment_reduce(t, offsets),
        lambda t: weft.spmm(graph, t, sample=sample),
    ):
        torch._dynamo.reset()
        forward = torch.compile(lambda t: torch.func.jvp(call, (t,), (torch.ones_like(t),)), backend="eager")
        with pytest.raises(NotImplementedError, match="has a tangent"):
            forward(x)
        compiled = torch.compile(call, backend="eager")
        compiled(x)
        with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="has a tangent"):
            compiled(forward_ad.make_dual(x, torch.ones_like(x)))


def test_gradients_of_samples_by_torch_func_are_none_of_a_programs(device, square):
    graph, x = weft.Graph.from_edge_index(square, size=9), torch.randn(9, 4, device=device)
    by_func = torch.func.grad(lambda t: weft.spmm(graph, t, sample=weft.EdgeSample(2)).square().sum())
    assert by_func(x).abs().sum() > 0
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="a sample inside of torch.func goes outside"):
        torch.compile(by_func, backend="eager", fullgraph=True)(x)


@pytest.mark.parametrize("trusted", [False, True])
def test_gradients_of_segments_by_torch_func_are_autograds(device, trusted):
    x, offsets = torch.randn(9, 4, device=device, requires_grad=True), torch.tensor([0, 4, 4, 9], device=device)
    for reduce in ("sum", "mean", "max", "min"):
        def loss(t):
            return weft.segment_reduce(t, offsets, reduce, trusted=trusted).pow(3).sum()

        torch.testing.assert_close(torch.func.grad(loss)(x.detach()), torch.autograd.grad(loss(x), x)[0])
    twice = torch.func.hessian(lambda t: weft.segment_reduce(t, offsets, trusted=trusted).pow(3).sum())
    with pytest.raises(NotImplementedError, match="no batches of torch.func.vmap|has a tangent"):
        twice(x.detach())


def test_batches_of_gradients_are_refused_in_words(device, square):
    graph, x = weft.Graph.from_edge_index(square, size=9), torch.randn(9, 4, device=device, requires_grad=True)
    out = weft.spmm(graph, x)
    with pytest.raises(NotImplementedError, match="no batches of torch.func.vmap, and an input of the gradient of spmm"):
        torch.autograd.grad(out, x, torch.ones(2, *out.shape, device=device), is_grads_batched=True)


def test_graphs_made_in_inference_mode_are_trained_over(device, square):
    with torch.inference_mode():
        graph = weft.Graph.from_edge_index(square, size=9)
        moved, copied = graph.transpose(), copy.deepcopy(graph)
    assert not any(t.is_inference() for g in (graph, moved, copied) for t in (g.rowptr, g.col))
    x = torch.randn(9, 4, device=device, requires_grad=True)
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: weft.spmm(graph, x), backend="aot_eager", fullgraph=True)
    (got,) = torch.autograd.grad(compiled(x).square().sum(), x)
    torch.testing.assert_close(got, torch.autograd.grad(weft.spmm(graph, x).square().sum(), x)[0])


def test_graphs_move_by_the_names_that_tensors_and_modules_have(device, square):
    graph = weft.Graph.from_edge_index(square, size=9)
    assert graph.cpu().device.type == "cpu"
    with pytest.raises(ValueError, match="device is cpu: expected a GPU"):
        graph.cuda("cpu")
    if device == "cuda":
        assert graph.cuda() is graph and graph.cuda(0) is graph and graph.cpu().cuda().device == graph.device
    else:
        assert graph.cpu() is graph
