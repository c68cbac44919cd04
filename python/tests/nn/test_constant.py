"""Layers over features that are marked as constant."""

import gc
import weakref

import pytest
import torch

import weft
from awkward import awkward_edges, features
from weft.nn.compute import neighbours, normalised

LAYERS = {
    "gcn": lambda: weft.nn.GCNConv(6, 4),
    "gcn to more": lambda: weft.nn.GCNConv(6, 20),
    "sage": lambda: weft.nn.SAGEConv(6, 4),
    "sage max": lambda: weft.nn.SAGEConv(6, 4, aggr="max"),
    "gin": lambda: weft.nn.GINConv(torch.nn.Linear(6, 4)),
    "gin mean": lambda: weft.nn.GINConv(torch.nn.Linear(6, 4), mean_scale=0.1),
    "sgc": lambda: weft.nn.SGConv(6, 4, K=3),
}


@pytest.fixture
def sums(monkeypatch):
    """Counts the sums that layers call."""
    calls = []

    def counted(module, name):
        function = getattr(module, name)

        def call(*arguments, **options):
            calls.append(name)
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, call)

    for module in (neighbours, normalised):
        counted(module, "spmm"), counted(module, "spmm_scaled")
    return calls


def loss_and_gradients(layer, x, edges):
    loss = layer(x, edges).square().sum()
    return loss, torch.autograd.grad(loss, list(layer.parameters()))


@pytest.mark.parametrize("name", LAYERS)
def test_sums_are_made_in_the_first_call_alone_and_give_the_same(name, device, sums):
    torch.manual_seed(1)
    graph = weft.Graph.from_edge_index(awkward_edges().to(device), size=9)
    layer, x = LAYERS[name]().to(device), features(9, 6, device=device).detach()
    want = loss_and_gradients(layer, x, graph)
    assert weft.constant(x) is x
    layer(x, graph)
    del sums[:]
    for _ in range(2):
        for got, expected in zip(loss_and_gradients(layer, x, graph), want):
            torch.testing.assert_close(got, expected)
    assert sums == []


def test_graphs_reductions_and_types_have_sums_of_their_own(device):
    x = weft.constant(features(9, 6, device=device).detach())
    graphs = [weft.Graph.from_edge_index(awkward_edges(loops=loops).to(device), size=9) for loops in ((), (2, 4, 4))]
    layers = [weft.nn.SAGEConv(6, 4, aggr=aggr).to(device) for aggr in ("mean", "sum", "max")]
    for _ in range(2):
        for graph in graphs:
            for layer in layers:
                torch.testing.assert_close(layer(x, graph), layer(x.clone(), graph))
            with torch.autocast(device, dtype=torch.bfloat16):
                out = layers[0](x, graph)
                assert out.dtype is torch.bfloat16
                torch.testing.assert_close(out, layers[0](x.clone(), graph), rtol=0.02, atol=0.02)


def test_weights_of_edges_are_read_in_every_call(device):
    edge_index = awkward_edges().to(device)
    x, layer = weft.constant(features(9, 6, device=device).detach()), weft.nn.GCNConv(6, 4).to(device)
    for seed in range(2):
        weight = torch.rand(edge_index.size(1), generator=torch.Generator().manual_seed(seed)).to(device)
        torch.testing.assert_close(layer(x, edge_index, weight), layer(x.clone(), edge_index, weight))


def test_a_change_in_place_undoes_the_mark(device):
    graph = weft.Graph.from_edge_index(awkward_edges().to(device), size=9)
    x, layer = weft.constant(features(9, 6, device=device).detach()), weft.nn.GCNConv(6, 4).to(device)
    layer(x, graph)
    x.add_(1)
    torch.testing.assert_close(layer(x, graph), layer(x.clone(), graph))
    weft.constant(x)
    torch.testing.assert_close(layer(x, graph), layer(x.clone(), graph))


def test_kept_sums_go_with_the_features_and_with_the_graph():
    from weft.nn.constant import _constants

    graph, layer = weft.Graph.from_edge_index(awkward_edges(), size=9), weft.nn.GCNConv(6, 4)
    x = weft.constant(features(9, 6).detach())
    layer(x, graph)
    of_x = _constants[x].sums
    assert len(of_x) == 1
    del graph
    gc.collect()
    assert len(of_x) == 0
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None and all(held.sums is not of_x for held in _constants.values())


def test_sums_of_inference_mode_serve_training():
    graph, layer = weft.Graph.from_edge_index(awkward_edges(), size=9), weft.nn.GCNConv(6, 4)
    x = weft.constant(features(9, 6).detach())
    with torch.inference_mode():
        layer(x, graph)
    layer(x, graph).sum().backward()
    assert layer.lin.weight.grad is not None


def test_compiled_layers_sum_in_every_run_and_are_not_compiled_again_for_a_mark():
    from torch._dynamo.testing import CompileCounterWithBackend

    graph, layer = weft.Graph.from_edge_index(awkward_edges(), size=9), weft.nn.GCNConv(6, 20)
    x = features(9, 6).detach()
    want = layer(x, graph)  # what depends on the graph alone is there when the program is made
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(layer, fullgraph=True, backend=counter)
    torch.testing.assert_close(compiled(x, graph), want)
    weft.constant(x)
    layer(x, graph)
    for _ in range(2):
        torch.testing.assert_close(compiled(x, graph), layer(x.clone(), graph))
        x.add_(1)
    assert counter.frame_count == 1


def test_a_tensor_that_is_marked_again_keeps_its_sums(sums):
    graph, layer = weft.Graph.from_edge_index(awkward_edges(), size=9), weft.nn.GCNConv(6, 4)
    x = weft.constant(features(9, 6).detach())
    layer(x, graph)
    del sums[:]
    layer(weft.constant(x), graph)
    assert sums == []


def test_sums_that_a_caller_changed_in_place_are_made_again():
    graph = weft.Graph.from_edge_index(awkward_edges(), size=9)
    x = weft.constant(features(9, 6).detach())
    layer = weft.nn.GINConv(torch.nn.Sequential(torch.nn.LeakyReLU(0.5, inplace=True), torch.nn.Linear(6, 4)))
    with torch.no_grad():
        want = layer((x.clone(), None), graph)
        for _ in range(3):
            torch.testing.assert_close(layer((x, None), graph), want)


def test_other_strides_are_another_tensor():
    graph, layer = weft.Graph.from_edge_index(awkward_edges(), size=9), weft.nn.GCNConv(9, 4)
    x = weft.constant(features(9, 9).detach())
    layer(x, graph)
    x.data = x.data.t()
    torch.testing.assert_close(layer(x, graph), layer(x.clone(), graph))


def test_torch_func_makes_sums_of_its_own_and_takes_those_that_are_there():
    graph, layer = weft.Graph.from_edge_index(awkward_edges(), size=9), weft.nn.GCNConv(6, 4)
    x = features(9, 6).detach()

    def loss(parameters, x):
        return torch.func.functional_call(layer, parameters, (x, graph)).square().sum()

    parameters = dict(layer.named_parameters())
    want = torch.func.grad(loss)(parameters, x)
    weft.constant(x)
    for _ in range(2):
        for name, got in torch.func.grad(loss)(parameters, x).items():
            torch.testing.assert_close(got, want[name])
        layer(x, graph)


def test_layers_with_edge_weights_keep_the_cheaper_order(monkeypatch):
    graph = weft.Graph.from_edge_index(awkward_edges(), size=9)
    weight, x, layer = torch.rand(graph.num_edges), weft.constant(features(9, 6).detach()), weft.nn.GCNConv(6, 1)
    widths = []

    def noted(graph, x, *rest, **options):
        widths.append(x.shape[1])
        return weft.spmm_scaled(graph, x, *rest, **options)

    monkeypatch.setattr(normalised, "spmm_scaled", noted)
    layer(x, graph, weight)
    assert widths == [1]  # W x, as no sums are cached
    layer(x, graph)
    assert widths == [1, 6]


def test_what_cannot_be_constant_is_named():
    with pytest.raises(ValueError, match="x requires a gradient"):
        weft.constant(torch.ones(2, 2, requires_grad=True))
    with pytest.raises(ValueError, match="x has layout torch.sparse_coo"):
        weft.constant(torch.eye(3).to_sparse())
    with pytest.raises(TypeError, match="x is of type list"):
        weft.constant([1.0])
    with torch.inference_mode(), pytest.raises(ValueError, match="inference mode"):
        weft.constant(torch.ones(2, 2))
