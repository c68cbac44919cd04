"""What holds of layers without PyG."""

import copy
import gc
import pickle
import weakref

import pytest
import torch

import weft
from awkward import awkward_edges, features
from weft.nn.compute import gcn_norm
from weft.nn.graph_of import graph_of
from weft.nn.loops import looped


def test_the_graph_of_an_edge_index_is_made_once_and_goes_with_it(device):
    edge_index = awkward_edges().to(device)
    graph = graph_of(edge_index, 9, 9)
    assert graph_of(edge_index, 9, 9) is graph and graph_of(edge_index, 10, 9) is not graph
    assert graph_of(edge_index.clone(), 9, 9) is not graph
    gone = weakref.ref(graph)
    del graph, edge_index
    gc.collect()
    assert gone() is None


def test_what_layers_make_of_a_graph_goes_with_it(device):
    x = features(9, 6, device=device).detach()
    layers = [weft.nn.GATConv(6, 4).to(device), weft.nn.GCNConv(6, 4).to(device)]
    for loops in ((), (2, 4, 4)):
        graph = weft.Graph.from_edge_index(awkward_edges(loops=loops).to(device), size=9)
        for layer in layers:
            layer(x, graph)
        gone = weakref.ref(graph), weakref.ref(looped(graph).graph)
        gc.disable()
        try:
            del graph  # by counting references alone: there are no cycles
            assert gone[0]() is None and gone[1]() is None
        finally:
            gc.enable()


def test_an_edge_index_that_changes_is_another_graph():
    edge_index = awkward_edges()
    graph = graph_of(edge_index, 9, 9)
    edge_index[0, 0] = 0
    assert graph_of(edge_index, 9, 9) is not graph
    with torch.inference_mode():
        tensor = awkward_edges()
        assert graph_of(tensor, 9, 9) is not graph_of(tensor, 9, 9)  # it does not say when it changes


def test_what_is_made_in_inference_mode_serves_training():
    x, graph = features(9, 6), weft.Graph.from_edge_index(awkward_edges(), size=9)
    for layer in (weft.nn.GCNConv(6, 4), weft.nn.GATConv(6, 4)):
        with torch.inference_mode():
            layer(x, graph)
        layer(x, graph).sum().backward()


def by_target(edge_index):
    """Of such edges a graph needs no ids."""
    return edge_index[:, edge_index[1].argsort(stable=True)]


@pytest.mark.parametrize("loops", [(), (2, 4, 4)])
def test_a_graph_with_a_loop_at_every_node(loops, device):
    for num_sources, num_targets in ((9, 9), (9, 12), (12, 9)):
        edge_index = awkward_edges(num_sources, num_targets, loops=loops).to(device)
        for graph in (
            weft.Graph.from_edge_index(edge_index, size=(num_sources, num_targets)),
            weft.Graph.from_edge_index(by_target(edge_index), size=(num_sources, num_targets)),
        ):
            edges, count = graph.edge_index(), min(num_sources, num_targets)
            stays = edges[0] != edges[1]
            nodes = torch.arange(count, device=device)
            want = torch.cat([edges[:, stays], nodes.expand(2, count)], dim=1)
            made = looped(graph)
            assert torch.equal(made.graph.edge_index(), want)
            assert looped(graph) is made
            values = torch.arange(float(edges.size(1)), device=device)
            got = made.values(graph, values, 7.0)
            assert torch.equal(got, torch.cat([values[stays], torch.full((count,), 7.0, device=device)]))


def test_scaled_means_keep_gin_in_the_range_of_halves(device):
    edge_index = torch.stack([torch.arange(3000), torch.zeros(3000, dtype=torch.int64)]).to(device)
    x = torch.full((3000, 8), 60.0, dtype=torch.float16, device=device, requires_grad=True)
    sums = weft.nn.GINConv(torch.nn.Identity())
    scaled = weft.nn.GINConv(torch.nn.Identity(), mean_scale=0.1)
    for layer in (sums, scaled):
        layer.to(device, torch.float16)
    assert torch.isinf(sums(x, edge_index)).any()
    out = scaled(x, edge_index)
    torch.testing.assert_close(out[0], torch.full((8,), 66.0, dtype=torch.float16, device=device), rtol=1e-3, atol=0)
    out.float().sum().backward()
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("dtype, tolerance", [(torch.float16, 2e-2), (torch.bfloat16, 1e-1)])
def test_layers_in_halves_are_near(dtype, tolerance, device):
    edge_index, x = awkward_edges().to(device), features(9, 6, device=device).detach()
    for layer in (
        weft.nn.GCNConv(6, 4), weft.nn.SAGEConv(6, 4), weft.nn.GATConv(6, 4, heads=2), weft.nn.GATv2Conv(6, 4),
        weft.nn.TransformerConv(6, 4, edge_dim=None), weft.nn.SGConv(6, 4, K=2), weft.nn.APPNP(3, 0.1),
    ):
        want = layer.to(device)(x, edge_index)
        got = copy.deepcopy(layer).to(dtype)(x.to(dtype), edge_index)
        assert got.dtype is dtype
        torch.testing.assert_close(got.float(), want, rtol=tolerance, atol=tolerance)


def test_degrees_of_weights_are_not_rounded_under_autocast(device):
    graph = weft.Graph.from_edge_index(awkward_edges().to(device), size=9)
    weight = features(graph.num_edges, device=device).detach().abs()
    want = gcn_norm(graph, weight, torch.float32)
    with torch.autocast(device, dtype=torch.bfloat16):
        got = gcn_norm(graph, weight, torch.float32)
    assert torch.equal(got.scale, want.scale) and torch.equal(got.weight, want.weight)


def test_layers_are_copied_and_pickled():
    edge_index, x = awkward_edges(), features(9, 6)
    for layer in (weft.nn.GCNConv(6, 4, cached=True), weft.nn.GATConv(6, 4), weft.nn.GINConv(torch.nn.Linear(6, 4))):
        want = layer(x, edge_index)
        assert torch.equal(copy.deepcopy(layer)(x, edge_index), want)
        assert torch.equal(pickle.loads(pickle.dumps(layer))(x, edge_index), want)


@pytest.mark.parametrize(
    "call, names",
    [
        (lambda x, e: weft.nn.GCNConv(6, 4)((x, x), e), "x is of type tuple"),
        (lambda x, e: weft.nn.GCNConv(6, 4)(x[0], e), r"x has shape \[6\]"),
        (lambda x, e: weft.nn.SAGEConv(6, 4)((x, x[0]), e), r"x\[1\] has shape \[6\]"),
        (lambda x, e: weft.nn.SAGEConv(6, 4)(x, [[0], [1]]), "edge_index is of type list"),
        (lambda x, e: weft.nn.SAGEConv(6, 4)(x, torch.eye(9).to_sparse()), "edge_index is a tensor of"),
        (lambda x, e: weft.nn.SAGEConv(6, 4)(x, e, size=(9, 8)), r"size is \(9, 8\): expected \(9, 9\)"),
        (lambda x, e: weft.nn.SAGEConv(6, 4, aggr="lstm"), "aggr is 'lstm'"),
        (lambda x, e: weft.nn.SAGEConv(-1, 4, project=True), "in_channels is -1"),
        (lambda x, e: weft.nn.GCNConv(6, 4, add_self_loops=True, normalize=False), "add_self_loops is True"),
        (lambda x, e: weft.nn.GINConv(torch.nn.Identity(), mean_scale=-1.0), "mean_scale is -1.0"),
        (lambda x, e: weft.nn.GATv2Conv(6, 4)((x, None), e), r"x\[1\] is None"),
        (lambda x, e: weft.nn.TransformerConv(6, 4)((x, None), e), r"x\[1\] is None"),
        (lambda x, e: weft.nn.GATv2Conv(6, 4)(x, e, x), "edge_attr is given"),
        (lambda x, e: weft.nn.TransformerConv(6, 4, edge_dim=3)(x, e), "edge_attr is missing"),
        (lambda x, e: weft.nn.GATConv(6, 4, edge_dim=1, fill_value="mul")(x, e, torch.ones(e.size(1))), "fill_value is"),
    ],
)
def test_what_does_not_fit_is_named(call, names):
    with pytest.raises(ValueError, match=names):
        call(features(9, 6), awkward_edges())
