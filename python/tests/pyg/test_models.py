"""Whole models: heterogeneous ones, PyG's own, training, the patch and the table."""

import copy

import pytest
import torch

pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")

from awkward import awkward_edges, features
from torch.nn.functional import cross_entropy, elu, relu
from torch_geometric import nn as pyg
from torch_geometric.nn import to_hetero

import weft

COUNTS = {"paper": 9, "author": 7}
RELATIONS = {
    ("author", "writes", "paper"): awkward_edges(7, 9, seed=1, loops=(2, 4)),
    ("paper", "cites", "paper"): awkward_edges(9, 9, seed=2),
    ("paper", "written_by", "author"): awkward_edges(9, 7, seed=3, loops=(2, 4)),
}
X = {kind: features(count, 6, seed=count).detach() for kind, count in COUNTS.items()}


def all_on_weft(model):
    report = weft.explain(model)
    return len(report.rows) > 0 and all(row.on_weft and row.reason is None for row in report.rows)


def test_a_heterogeneous_convolution():
    torch.manual_seed(0)
    make = {
        ("author", "writes", "paper"): pyg.SAGEConv((-1, -1), 5),
        ("paper", "cites", "paper"): pyg.GCNConv(-1, 5),
        ("paper", "written_by", "author"): pyg.GATConv((-1, -1), 5, add_self_loops=False),
    }
    model = pyg.HeteroConv(make, aggr="sum")
    want = model(X, RELATIONS)
    got = weft.convert(model)(X, RELATIONS)
    assert got.keys() == want.keys() and all_on_weft(model)
    for kind in want:
        torch.testing.assert_close(got[kind], want[kind], rtol=1e-5, atol=1e-5)


class TwoLayers(torch.nn.Module):
    def __init__(self, make):
        super().__init__()
        self.first, self.second = make(6, 5), make(5, 4)

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)


METADATA = list(COUNTS), list(RELATIONS)


@pytest.mark.parametrize(
    "make",
    [
        lambda i, o: pyg.SAGEConv((i, i), o), lambda i, o: pyg.GATConv((i, i), o, add_self_loops=False),
        lambda i, o: pyg.GraphConv((i, i), o), lambda i, o: pyg.TransformerConv((i, i), o),
    ],
)
def test_to_hetero_before_and_after_conversion(make):
    torch.manual_seed(0)
    model = to_hetero(TwoLayers(make), METADATA)
    want = model(X, RELATIONS)
    after = weft.convert(copy.deepcopy(model))
    before = to_hetero(weft.convert(TwoLayers(make)), METADATA)
    before.load_state_dict(model.state_dict())
    for converted in (after, before):
        got = converted(X, RELATIONS)
        assert all_on_weft(converted) and len(weft.explain(converted).rows) == 6
        for kind in want:
            torch.testing.assert_close(got[kind], want[kind], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [pyg.GCN, pyg.GraphSAGE, pyg.GIN, pyg.GAT])
def test_models_of_pyg(kind):
    torch.manual_seed(0)
    model = kind(6, 8, num_layers=3, out_channels=4, jk="cat").eval()
    x, edge_index = features(9, 6), awkward_edges()
    want = model(x, edge_index)
    got = weft.convert(model)(x, edge_index)
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
    assert all_on_weft(model)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pyg.GCNConv(6, 4), lambda: pyg.GCNConv(6, 20), lambda: pyg.SAGEConv(6, 4), lambda: pyg.SAGEConv(6, 20),
        lambda: pyg.GINConv(torch.nn.Linear(6, 4)), lambda: pyg.GraphConv(6, 4), lambda: pyg.GATConv(6, 4, heads=2),
        lambda: pyg.GATv2Conv(6, 4, heads=2), lambda: pyg.TransformerConv(6, 4, heads=2), lambda: pyg.SGConv(6, 4, K=2),
        lambda: pyg.APPNP(3, 0.1),
    ],
)
def test_layers_under_autocast_are_near(make, device):
    torch.manual_seed(0)
    layer, x, edge_index = make().to(device), features(9, 6, device=device), awkward_edges().to(device)
    want = layer(x, edge_index)
    weft.convert(layer)
    with torch.autocast(device, dtype=torch.bfloat16):
        got = layer(x, edge_index)
    torch.testing.assert_close(got.float(), want, rtol=5e-2, atol=5e-2)
    got.float().sum().backward()
    assert all_on_weft(torch.nn.ModuleList([layer])) and torch.isfinite(x.grad).all()


@pytest.mark.parametrize(
    "make, width",
    [
        (lambda i, o: pyg.GCNConv(i, o), 0), (lambda i, o: pyg.GraphConv(i, o), 0),
        (lambda i, o: pyg.GATConv(i, o, edge_dim=3), 3), (lambda i, o: pyg.GATv2Conv(i, o, edge_dim=3), 3),
        (lambda i, o: pyg.TransformerConv(i, o, edge_dim=3), 3), (lambda i, o: pyg.SAGEConv((i, i), o), None),
    ],
)
@pytest.mark.parametrize("is_half", [False, True])
def test_layers_under_autocast_take_operands_of_other_types(make, width, is_half, device):
    """As the second of two layers does: its features come in halves from the first, weights and attributes do not."""
    torch.manual_seed(0)
    # Without two self-loops of one node: on a GPU PyG takes the weight of either.
    layer, edge_index = make(6, 4).to(device), awkward_edges(loops=(2, 4)).to(device)
    x, edges = features(9, 6, device=device), edge_index.size(1)
    if width is None:
        arguments = lambda dtype: ((x, x.to(dtype))[:: -1 if is_half else 1], edge_index)  # noqa: E731
    else:
        values = features(edges, width, device=device) if width else features(edges, device=device).detach().abs()
        arguments = lambda dtype: (  # noqa: E731
            (x.to(dtype), edge_index, values) if is_half else (x, edge_index, values.to(dtype))
        )
    want = layer(*arguments(torch.float32))
    weft.convert(layer)
    with torch.autocast(device, dtype=torch.bfloat16):
        got = layer(*arguments(torch.bfloat16))
    torch.testing.assert_close(got.float(), want, rtol=5e-2, atol=5e-2)
    got.float().sum().backward()
    assert all_on_weft(torch.nn.ModuleList([layer])) and torch.isfinite(x.grad).all()


@pytest.mark.parametrize(
    "make", [lambda: pyg.GCNConv(6, 4), lambda: pyg.SAGEConv(6, 4), lambda: pyg.GATConv(6, 4, heads=2)]
)
def test_converted_layers_compile_whole_over_a_graph(make):
    torch._dynamo.reset()
    layer, x, graph = weft.convert(make()), features(9, 6), weft.Graph.from_edge_index(awkward_edges(), size=9)
    got = torch.compile(layer, backend="aot_eager", fullgraph=True)(x, graph)
    torch.testing.assert_close(got, layer(x, graph))


def losses_of(model, x, edge_index, labels, activation, steps=20):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        out = model[1](activation(model[0](x, edge_index)), edge_index)
        loss = cross_entropy(out, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize(
    "make, activation",
    [
        (lambda: [pyg.GCNConv(12, 16), pyg.GCNConv(16, 5)], relu),
        (lambda: [pyg.GATConv(12, 8, heads=4), pyg.GATConv(32, 5, heads=2, concat=False)], elu),
    ],
)
def test_training_takes_the_same_course(make, activation, device):
    torch.manual_seed(0)
    model = torch.nn.ModuleList(make()).to(device)
    x, edge_index = features(60, 12, device=device).detach(), awkward_edges(60, 60, 400).to(device)
    labels = (torch.arange(60) % 5).to(device)
    converted = weft.convert(copy.deepcopy(model))
    want = losses_of(model, x, edge_index, labels, activation)
    got = losses_of(converted, x, edge_index, labels, activation)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=0)
    assert want[-1] < 0.95 * want[0] and all_on_weft(converted)


def test_a_patch_converts_what_is_constructed_while_it_lasts():
    class Mine(pyg.GCNConv):
        def __init__(self):
            super().__init__(6, 4)
            self.seen = type(self)

    assert "[weft]" not in repr(pyg.GCNConv(6, 4))
    with weft.patch_pyg() as patch:
        assert repr(pyg.GCNConv(6, 4)) == "GCNConv(6, 4) [weft]" and repr(patch) == "weft.patch_pyg(True)"
        assert type(Mine()) is Mine and Mine().seen is Mine
        with weft.patch_pyg():
            pass
        assert "[weft]" in repr(pyg.GATConv(6, 4)) and isinstance(pyg.GATConv(6, 4), pyg.GATConv)
    assert "[weft]" not in repr(pyg.GCNConv(6, 4))
    patch = weft.patch_pyg()
    model = pyg.GCN(6, 8, num_layers=2)
    assert len(weft.explain(model).rows) == 2 and all(row.on_weft for row in weft.explain(model).rows)
    patch.undo()
    assert type(pyg.SAGEConv(6, 4)) is pyg.SAGEConv
    weft.patch_pyg()
    weft.patch_pyg(False)
    assert type(pyg.SAGEConv(6, 4)) is pyg.SAGEConv


def test_the_table_names_every_layer_and_why_it_does_not_run_on_weft():
    class Mine(pyg.GCNConv):
        pass

    model = torch.nn.ModuleList(
        [pyg.GCNConv(6, 4), pyg.SAGEConv(6, 4, aggr="median"), Mine(6, 4), pyg.ChebConv(6, 4, 2), weft.nn.GINConv(
            torch.nn.Linear(6, 4)), torch.nn.Linear(6, 4)]
    )
    assert weft.explain(model).rows[0].reason == "it is not converted: weft.convert(model)"
    weft.convert(model)
    x = features(2, 9, 6)
    model[0](x, awkward_edges())
    assert str(weft.explain(model)).splitlines() == [
        "layer  class     runs on  why",
        "0      GCNConv   weft     its last call ran on PyG: x has 3 dimensions: weft takes [nodes, features]",
        "1      SAGEConv  PyG      its aggregation is median: weft has sum, mean, max, min",
        "2      Mine      PyG      it is a subclass of GCNConv, which weft leaves alone",
        "3      ChebConv  PyG      weft has no ChebConv",
        "4      GINConv   weft",
    ]
    model[0](x[0], awkward_edges())
    assert weft.explain(model).rows[0].reason is None


def test_a_single_layer_is_converted_in_place():
    layer = pyg.SAGEConv(6, 4)
    assert weft.convert(layer) is layer and weft.explain(layer).rows[0].layer == "(model)"
    assert weft.convert(weft.convert(layer)) is layer
    assert type(weft.convert(layer, undo=True)) is pyg.SAGEConv
    with pytest.raises(ValueError, match="model is of type list"):
        weft.convert([layer])


def test_a_layer_is_saved_and_loaded_either_way():
    layer = pyg.GATConv(6, 4, heads=2)
    converted = weft.convert(copy.deepcopy(layer))
    pyg.GATConv(6, 4, heads=2).load_state_dict(converted.state_dict())
    weft.convert(pyg.GATConv(6, 4, heads=2)).load_state_dict(layer.state_dict())
