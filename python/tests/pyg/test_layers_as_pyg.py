"""weft.nn's layers beside PyG's of the same names: parameters, their initialisation, results and gradients."""

import inspect

import pytest
import torch

pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")

from awkward import assert_same_layer, awkward_edges, features, randomised
from cases import ATTENTION, EDGE_ATTRIBUTES, EDGE_DIM, IN, OUT, PLAIN, WEIGHTED, make
from torch_geometric import EdgeIndex
from torch_geometric import nn as pyg

import weft

ALL = {**WEIGHTED, **PLAIN, **ATTENTION}


def twins(case, device="cpu", dtype=torch.float32, **more):
    want = randomised(make(case, **more)).to(device, dtype)
    got = make(case, weft.nn, **more).to(device, dtype)
    got.load_state_dict(want.state_dict())
    return got, want


@pytest.mark.parametrize("name", {**ALL, **{f"{n} with edges": c for n, c in EDGE_ATTRIBUTES.items()}})
def test_states_go_both_ways_and_start_the_same(name):
    case, more = (ALL.get(name), {}) if name in ALL else (EDGE_ATTRIBUTES[name[:-11]], {"edge_dim": EDGE_DIM})
    torch.manual_seed(5)
    want = make(case, **more)
    torch.manual_seed(5)
    got = make(case, weft.nn, **more)
    assert list(got.state_dict()) == list(want.state_dict())
    for a, b in zip(got.state_dict().values(), want.state_dict().values()):
        assert torch.equal(a, b)
    make(case, **more).load_state_dict(got.state_dict())
    got.load_state_dict(randomised(want).state_dict())
    assert all(torch.equal(a, b) for a, b in zip(got.parameters(), want.parameters()))


@pytest.mark.parametrize("name", weft.nn.__all__)
def test_arguments_are_those_of_pyg(name):
    def arguments(classes):
        parameters = inspect.signature(getattr(classes, name)).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is not p.VAR_KEYWORD}

    got, want = arguments(weft.nn), arguments(pyg)
    assert {n: d for n, d in got.items() if n != "mean_scale"} == want
    assert repr(make(next(c for c in ALL.values() if c[0] == name), weft.nn)).startswith(f"{name}(")


@pytest.mark.parametrize("name", ALL)
def test_a_layer_over_a_graph_and_an_edge_index(name, device):
    edge_index, x = awkward_edges().to(device), features(9, IN, device=device)
    got, want = twins(ALL[name], device)
    for edges in (edge_index, weft.Graph.from_edge_index(edge_index, size=9), EdgeIndex(edge_index)):
        assert_same_layer(got, want, [x], lambda layer: layer(x, edges), lambda layer: layer(x, edge_index))


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_layer_with_edge_weights(name, device):
    edge_index, x = awkward_edges(loops=(2, 4)).to(device), features(9, IN, device=device)
    weight = (features(edge_index.size(1), device=device).detach().abs() + 0.1).requires_grad_()
    assert_same_layer(*twins(WEIGHTED[name], device), [x, weight], lambda layer: layer(x, edge_index, weight))


@pytest.mark.parametrize("name", EDGE_ATTRIBUTES)
def test_a_layer_with_edge_attributes(name, device):
    edge_index, x = awkward_edges().to(device), features(9, IN, device=device)
    attributes = features(edge_index.size(1), EDGE_DIM, device=device)
    got, want = twins(EDGE_ATTRIBUTES[name], device, edge_dim=EDGE_DIM)
    assert_same_layer(got, want, [x, attributes], lambda layer: layer(x, edge_index, attributes))


@pytest.mark.parametrize("case", [("SAGEConv", ((IN, 7), OUT), {}), ("GATConv", ((IN, 7), OUT), {"heads": 2}),
                                  ("GATv2Conv", ((IN, 7), OUT), {}), ("TransformerConv", ((IN, 7), OUT), {})])
def test_a_layer_over_a_bipartite_graph(case, device):
    edge_index = awkward_edges(9, 12).to(device)
    x, y = features(9, IN, device=device), features(12, 7, seed=5, device=device)
    assert_same_layer(*twins(case, device), [x, y], lambda layer: layer((x, y), edge_index))


@pytest.mark.parametrize("name", ["gcn", "sgc", "appnp"])
def test_a_cached_layer(name):
    x, y, first, other = features(9, IN), features(9, IN, seed=8), awkward_edges(), awkward_edges(seed=4)
    got, want = twins(WEIGHTED[name], cached=True)
    for layer in (got, want):
        layer(x, first)
    torch.testing.assert_close(got(y, other), want(y, other), rtol=1e-5, atol=1e-5)


def test_lazy_layers_are_saved_loaded_and_settled():
    for name in ("GCNConv", "SAGEConv", "GATConv", "TransformerConv"):
        settled = make((name, (IN, OUT), {}), weft.nn)
        lazy = make((name, (-1, OUT), {}), weft.nn)
        lazy.load_state_dict(settled.state_dict())
        x, edge_index = features(9, IN), awkward_edges()
        assert torch.equal(lazy(x, edge_index), settled(x, edge_index))
        waiting = make((name, (-1, OUT), {}), weft.nn)
        make((name, (-1, OUT), {})).load_state_dict(waiting.state_dict())
        settled.load_state_dict(waiting.state_dict())
        settled(features(9, 3), edge_index)
