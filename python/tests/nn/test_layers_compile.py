"""Layers under torch.compile, with graphs: what they make of one is there already, or is computed in the program."""

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

import weft
from awkward import awkward_edges, features

LAYERS = {
    "gcn": lambda: weft.nn.GCNConv(6, 4),
    "gcn to more": lambda: weft.nn.GCNConv(6, 8),
    "sage": lambda: weft.nn.SAGEConv(6, 4),
    "sage max": lambda: weft.nn.SAGEConv(6, 4, aggr="max"),
    "gin": lambda: weft.nn.GINConv(torch.nn.Linear(6, 4), train_eps=True),
    "gat": lambda: weft.nn.GATConv(6, 4, heads=2),
    "gatv2": lambda: weft.nn.GATv2Conv(6, 4, heads=2),
    "transformer": lambda: weft.nn.TransformerConv(6, 4, heads=2),
    "sgc": lambda: weft.nn.SGConv(6, 4, K=2),
    "appnp": lambda: weft.nn.APPNP(2, 0.1),
}
EDGES = {"transformer": lambda: weft.nn.TransformerConv(6, 4, heads=2, edge_dim=3), "gcn": LAYERS["gcn"]}


def graph_of_size(n):
    return weft.Graph.from_edge_index(awkward_edges(n, n, 5 * n, seed=n), size=n)


def check(layer, compiled, graph, x, *rest):
    got, want = compiled(x, graph, *rest), layer(x, graph, *rest)
    torch.testing.assert_close(got, want)
    parameters = [x, *(p for p in layer.parameters())]
    gradients = [torch.autograd.grad(out.square().sum(), parameters) for out in (got, want)]
    for a, b in zip(*gradients):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("name", EDGES)
def test_a_layer_with_values_of_edges_compiles_whole(name, prepared):
    torch._dynamo.reset()
    layer, graph, x = EDGES[name](), graph_of_size(9), features(9, 6)
    values = features(graph.num_edges, 3) if name == "transformer" else features(graph.num_edges).detach().abs()
    if prepared:
        layer(x, graph, values)
    check(layer, torch.compile(layer, backend="aot_eager", fullgraph=True), graph, x, values)


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_compiles_whole_and_twice_at_most_over_ten_sizes_of_graphs(name, prepared):
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    layer = LAYERS[name]()
    compiled = torch.compile(layer, backend=counter, fullgraph=True)
    for n in range(10, 20):
        graph, x = graph_of_size(n), features(n, 6)
        if prepared:
            layer(x, graph)
        check(layer, compiled, graph, x)
    assert counter.frame_count <= 2


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_compiles_whole_with_an_edge_index_and_twice_at_most_over_ten_sizes(name):
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    layer = LAYERS[name]()
    compiled = torch.compile(layer, backend=counter, fullgraph=True)
    for n in range(10, 20):
        check(layer, compiled, awkward_edges(n, n, 5 * n, seed=n), features(n, 6))
    assert counter.frame_count <= 2
