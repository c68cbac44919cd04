"""What converted layers make of calls that PyG refuses or computes in another way."""

import pytest
import torch

import weft
from awkward import awkward_edges, features

pyg = pytest.importorskip("torch_geometric.nn")
EDGE_INDEX, X = torch.tensor([[0, 1, 2], [1, 2, 1]]), torch.randn(3, 4)


def test_a_graph_of_another_size_is_an_error():
    with pytest.raises(ValueError, match=r"x has \[5, 5\] rows: expected \[3, 3\]"):
        weft.convert(pyg.GCNConv(4, 2))(torch.randn(5, 4), weft.Graph.from_edge_index(EDGE_INDEX))


def test_values_of_another_number_of_edges_are_pygs_matter():
    for layer in (pyg.GCNConv(4, 2, normalize=False), pyg.GraphConv(4, 2)):
        want = layer(X, EDGE_INDEX, torch.full((1,), 0.5))
        got = weft.convert(layer)
        torch.testing.assert_close(got(X, EDGE_INDEX, torch.full((1,), 0.5)), want)
        assert "for 3 edges" in str(weft.explain(got))
    with pytest.raises(Exception):
        weft.convert(pyg.GCNConv(4, 2))(X, EDGE_INDEX, torch.rand(1))
    layer = weft.convert(pyg.TransformerConv(4, 2, edge_dim=3))
    with pytest.raises(Exception, match="edge_attr has shape"):
        layer(X, EDGE_INDEX, torch.rand(3, 1))


def test_a_cached_layer_changes_its_type():
    layer = weft.convert(pyg.GCNConv(4, 2, cached=True))
    want = layer(X, EDGE_INDEX)
    for dtype, tolerance in ((torch.float64, 1e-5), (torch.float16, 5e-3)):
        got = layer.to(dtype)(X.to(dtype), EDGE_INDEX)
        assert got.dtype is dtype
        torch.testing.assert_close(got.float(), want, rtol=tolerance, atol=tolerance)


def test_maps_that_were_replaced_by_ones_with_a_bias():
    x, edges = features(9, 6).detach(), awkward_edges()
    for layer, name, width in (
        (pyg.GCNConv(6, 4), "lin", 4), (pyg.GCNConv(6, 20), "lin", 20), (pyg.GraphConv(6, 4), "lin_root", 4),
        (pyg.GraphConv(6, 20), "lin_root", 20), (pyg.SAGEConv(6, 4), "lin_r", 4), (pyg.SAGEConv(6, 20), "lin_r", 20),
    ):
        setattr(layer, name, torch.nn.Linear(6, width))
        want = layer(x, edges)
        converted = weft.convert(layer)
        got = converted(x, edges)
        assert converted._weft_reason is None
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
        got.sum().backward()
        assert getattr(converted, name).bias.grad.abs().sum() > 0


def test_a_learned_alpha():
    x, edges = features(9, 6).detach(), awkward_edges()
    layer = pyg.APPNP(3, 0.1)
    layer.alpha = torch.nn.Parameter(torch.tensor(0.3))
    want = layer(x, edges)
    (want_grad,) = torch.autograd.grad(want.square().sum(), layer.alpha)
    got = weft.convert(layer)(x, edges)
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(torch.autograd.grad(got.square().sum(), layer.alpha)[0], want_grad, rtol=1e-4, atol=1e-4)


def test_half_features_of_a_float_gin_are_promoted_as_pyg_promotes_them():
    x, edges, layer = features(9, 6).detach().half(), awkward_edges(), pyg.GINConv(torch.nn.Linear(6, 4))
    want = layer(x, edges)
    got = weft.convert(layer)(x, edges)
    assert got.dtype is want.dtype is torch.float32
    torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2)


def test_gin_runs_in_ensembles_of_vmap():
    x, edges = features(9, 6).detach(), awkward_edges()
    graph = weft.Graph.from_edge_index(edges, size=9)
    for trained in (False, True):
        models = [weft.nn.GINConv(torch.nn.Linear(6, 4), eps=0.1 * i, train_eps=trained) for i in range(3)]
        parameters, buffers = torch.func.stack_module_state(models)
        base = models[0]

        def call(parameters, buffers):
            return torch.func.functional_call(base, (parameters, buffers), (x, graph))

        got = torch.func.vmap(call)(parameters, buffers)
        for model, out in zip(models, got):
            torch.testing.assert_close(out, model(x, graph))
