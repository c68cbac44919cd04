"""What torch.func, torch.jit.trace, inference mode and modes of dispatch make of graphs and operators."""

import copy

import pytest
import torch
from torch._subclasses import FakeTensorMode

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
        with torch.autograd.forward_ad.dual_level():
            with pytest.raises(NotImplementedError, match=f"no forward-mode derivatives, and an input of {name} has"):
                call(torch.autograd.forward_ad.make_dual(x, torch.ones_like(x)))
    with torch.autograd.forward_ad.dual_level():  # without a tangent all is as ever
        torch.testing.assert_close(weft.spmm_scaled(graph, x, target_scale=scale), scale[:, None] * weft.spmm(graph, x))


def test_a_program_of_jit_trace_runs_over_the_edges_it_is_given(device, square):
    layer = weft.nn.SAGEConv(4, 3).to(device)
    x = torch.randn(9, 4, device=device)
    traced = torch.jit.trace(layer, (x, square), check_trace=False)
    other = random_edges(9, 9, 55, seed=3).to(device)
    torch.testing.assert_close(traced(x, other), layer(x, other))


def test_jit_trace_keeps_no_key_of_a_graph(device, square):
    graph = weft.Graph.from_edge_index(square, size=9)
    x = torch.randn(9, 4, device=device)
    traced = torch.jit.trace(lambda t: weft.spmm(graph, t), (x,))
    assert "_held" not in str(traced.graph)
    torch.testing.assert_close(traced(2 * x), weft.spmm(graph, 2 * x))
    rowptr, col = graph.rowptr, graph.col
    with pytest.raises(RuntimeError, match="torch.jit.trace records no graphs but those of an edge_index"):
        torch.jit.trace(lambda t: weft.spmm(weft.Graph(rowptr, col, 9), t), (x,))


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


def test_what_a_mode_made_is_not_kept(device, square):
    layer, graph = a_layer(device), weft.Graph.from_edge_index(square, size=9)
    x = torch.randn(9, 4, device=device)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert layer(mode.from_tensor(x), graph).shape == (9, 3)
    got = layer(x, graph)
    assert type(got) is torch.Tensor
    torch.testing.assert_close(got, layer(x, square))


def test_graphs_move_by_the_names_that_tensors_and_modules_have(device, square):
    graph = weft.Graph.from_edge_index(square, size=9)
    assert graph.cpu().device.type == "cpu"
    if device == "cuda":
        assert graph.cuda() is graph and graph.cuda(0) is graph and graph.cpu().cuda().device == graph.device
    else:
        assert graph.cpu() is graph
