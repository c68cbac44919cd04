"""Layers of odd widths over many edges, whose maps are to rows of whole 16-byte packs on a GPU."""

import pytest
import torch

import weft
from conftest import random_edges
from weft.nn.compute import aligned

NODES = 60


def replaced(layer, lin):
    layer.lin = lin
    return layer


LAYERS = {
    "GCN": lambda: weft.nn.GCNConv(40, 13),
    "GCN without bias": lambda: weft.nn.GCNConv(40, 13, bias=False),
    "SAGE": lambda: weft.nn.SAGEConv(40, 13),
    "SAGE without root": lambda: weft.nn.SAGEConv(40, 13, root_weight=False, bias=False),
    "GAT": lambda: weft.nn.GATConv(40, 13, heads=3),
    "GAT with its heads' mean": lambda: weft.nn.GATConv(40, 13, heads=3, concat=False),
    "GAT of one head": lambda: weft.nn.GATConv(40, 13),
    "GAT of one head without bias": lambda: weft.nn.GATConv(40, 13, bias=False),
    "GAT with a map of its own for targets": lambda: weft.nn.GATConv((40, 40), 13, heads=2, bias=False),
    "GCN whose map has a bias": lambda: replaced(weft.nn.GCNConv(40, 13), torch.nn.Linear(40, 13)),
}


def run(layer, x, graph, *given):
    x = x.clone().requires_grad_()
    layer.zero_grad()
    out = layer((x, x.flip(0)) if isinstance(getattr(layer, "in_channels", 0), tuple) else x, graph, *given)
    (out * torch.linspace(-1, 1, out.numel(), device=x.device).view_as(out)).sum().backward()
    return [out, x.grad, *(p.grad for p in layer.parameters())]


def prepared(name, device):
    torch.manual_seed(1)
    layer = LAYERS[name]().to(device)
    graph = weft.Graph.from_edge_index(random_edges(NODES, NODES, 700).to(device), size=NODES)
    return layer, torch.randn(NODES, 40).to(device), graph


@pytest.mark.parametrize("name", LAYERS)
def test_features_of_zeros_at_the_end_of_rows_do_not_show(name, device, monkeypatch):
    layer, x, graph = prepared(name, device)
    want = run(layer, x, graph)
    widths = []

    def missing(graph, width, x):
        widths.append(width)
        return -width % 8

    monkeypatch.setattr(aligned, "_missing_features", missing)
    got = run(layer, x, graph)
    assert widths == [13]
    for a, b in zip(got, want):
        assert a.is_contiguous() and a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["GCN", "GAT"])
def test_nor_do_they_with_values_of_edges(name, device, monkeypatch):
    torch.manual_seed(1)
    layer = (weft.nn.GCNConv(40, 13) if name == "GCN" else weft.nn.GATConv(40, 13, heads=2, edge_dim=5)).to(device)
    _, x, graph = prepared("GCN", device)
    given = torch.rand(700, device=device) if name == "GCN" else torch.randn(700, 5, device=device)
    want = run(layer, x, graph, given)
    monkeypatch.setattr(aligned, "_missing_features", lambda graph, width, x: -width % 8)
    for a, b in zip(run(layer, x, graph, given), want):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("dtype, width", [(torch.float32, 16), (torch.float16, 16), (torch.bfloat16, 16), (torch.float64, 14)])
def test_on_a_gpu_rows_become_whole_packs_where_there_are_many_edges(dtype, width, monkeypatch):
    _, x, graph = prepared("GCN", "cuda")
    x, weight = x.to(dtype), torch.randn(13, 40).to("cuda", dtype)
    assert aligned.linear_in_packs(graph, x, weight).shape == (NODES, 13)
    monkeypatch.setattr(aligned, "_FROM_EDGES", 700)
    rows = aligned.linear_in_packs(graph, x, weight)
    assert rows.shape == (NODES, width)
    assert rows[:, 13:].eq(0).all()
    torch.testing.assert_close(rows[:, :13], torch.nn.functional.linear(x, weight))
    assert aligned.linear_in_packs(graph, x, weight[:11]).shape == (NODES, 11)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_packs_are_of_the_dtype_that_autocast_gives(monkeypatch):
    _, x, graph = prepared("GCN", "cuda")
    monkeypatch.setattr(aligned, "_FROM_EDGES", 0)
    weight = torch.randn(20, 40, device="cuda")
    assert aligned.linear_in_packs(graph, x, weight).shape == (NODES, 20)
    with torch.autocast("cuda", dtype=torch.float16):
        assert aligned.linear_in_packs(graph, x, weight).shape == (NODES, 24)
