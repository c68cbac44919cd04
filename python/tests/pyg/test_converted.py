"""Converted layers give the results and gradients of PyG's own, and run on weft while they do."""

import copy
import pickle

import pytest
import torch

pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")

from awkward import assert_same_layer, awkward_edges, features, randomised
from cases import ATTENTION, EDGE_ATTRIBUTES, EDGE_DIM, IN, OUT, PLAIN, PYG_ONLY, WEIGHTED, make
from torch_geometric import EdgeIndex
from torch_geometric import nn as pyg

import weft

ALL = {**WEIGHTED, **PLAIN, **ATTENTION, **PYG_ONLY}
by_name = pytest.mark.parametrize


def twins(case, device="cpu", dtype=torch.float32, **more):
    """PyG's layer, and the same one converted."""
    layer = randomised(make(case, **more)).to(device, dtype)
    return weft.convert(copy.deepcopy(layer)), layer


def positive(count):
    return features(count).detach().abs() + 0.1


def ran_on_weft(layer):
    return weft.explain(layer).rows[0].reason is None


def check(case, call, *tensors, device="cpu", relative=1e-5, dtype=torch.float32, **more):
    got, want = twins(case, device, dtype, **more)
    assert_same_layer(got, want, tensors, call, relative=relative)
    assert ran_on_weft(got), weft.explain(got)
    return got, want


@by_name("name", ALL)
def test_a_layer_over_an_edge_index(name, device):
    edge_index, x = awkward_edges().to(device), features(9, IN, device=device)
    check(ALL[name], lambda layer: layer(x, edge_index), x, device=device)


@by_name("name", ALL)
def test_a_layer_in_double_precision(name, device):
    edge_index, x = awkward_edges().to(device), features(9, IN, dtype=torch.float64, device=device)
    slope = {"negative_slope": 0.25} if name.startswith("gat") else {}  # the same in float32, in which weft takes it
    check(ALL[name], lambda layer: layer(x, edge_index), x, device=device, dtype=torch.float64, relative=1e-12, **slope)


@by_name("name", {**WEIGHTED, **PYG_ONLY})
def test_a_layer_with_edge_weights(name, device):
    edge_index, x = awkward_edges(loops=(2, 4)).to(device), features(9, IN, device=device)
    weight = positive(edge_index.size(1)).to(device).requires_grad_()
    check(ALL[name], lambda layer: layer(x, edge_index, weight), x, weight, device=device)


@by_name("name", WEIGHTED)
def test_of_several_weighted_loops_the_last_counts(name):
    edge_index, x = awkward_edges(), features(9, IN)
    weight = positive(edge_index.size(1)).requires_grad_()
    got, _ = check(WEIGHTED[name], lambda layer: layer(x, edge_index, weight.detach()), x)
    if got.add_self_loops and getattr(got, "normalize", True):
        # It alone has a gradient, too: in PyG torch's counts those that it wrote over.
        first = (edge_index == 4).all(0).nonzero().flatten()[0]
        assert torch.autograd.grad(got(x, edge_index, weight).sum(), weight)[0][first] == 0


@by_name("name", EDGE_ATTRIBUTES)
def test_a_layer_with_edge_attributes(name, device):
    edge_index, x = awkward_edges().to(device), features(9, IN, device=device)
    attributes = features(edge_index.size(1), EDGE_DIM, device=device)
    call = lambda layer: layer(x, edge_index, attributes)  # noqa: E731
    check(EDGE_ATTRIBUTES[name], call, x, attributes, device=device, edge_dim=EDGE_DIM)


def test_one_edge_attribute_may_be_a_vector():
    edge_index, x = awkward_edges(), features(9, IN)
    attributes = features(edge_index.size(1))
    for name in ("gat", "gatv2"):
        check(EDGE_ATTRIBUTES[name], lambda layer: layer(x, edge_index, attributes), x, attributes, edge_dim=1)


@by_name("name", [n for n in ALL if not n.startswith(("gcn", "sgc", "appnp"))])
@by_name("sources, targets", [(9, 12), (12, 9)])
def test_a_layer_over_a_bipartite_graph(name, sources, targets, device):
    edge_index = awkward_edges(sources, targets).to(device)
    x, y = features(sources, IN, device=device), features(targets, IN, seed=5, device=device)
    got, want = twins(ALL[name], device)
    wide = [t.detach().double().requires_grad_() for t in (x, y)]
    assert_same_layer(
        got, want.double(), [x, y], lambda layer: layer((x, y), edge_index),
        lambda layer: layer(tuple(wide), edge_index), want_tensors=wide,
    )
    assert ran_on_weft(got), weft.explain(got)


@by_name("case", [("SAGEConv", ((IN, 7), OUT), {}), ("GATConv", ((IN, 7), OUT), {"heads": 2}),
                  ("GATv2Conv", ((IN, 7), OUT), {"heads": 2}), ("TransformerConv", ((IN, 7), OUT), {"heads": 2}),
                  ("GraphConv", ((IN, 7), OUT), {}), ("SAGEConv", ((-1, -1), OUT), {}),
                  ("GATConv", ((-1, -1), OUT), {})])
def test_sources_and_targets_may_have_other_numbers_of_features(case):
    edge_index, x, y = awkward_edges(9, 12), features(9, IN), features(12, 7, seed=5)
    layer = make(case)
    layer((x, y), edge_index)  # settles widths of -1
    randomised(layer)
    got = weft.convert(copy.deepcopy(layer))
    assert_same_layer(got, layer, [x, y], lambda layer: layer((x, y), edge_index))
    assert ran_on_weft(got)


def test_lazy_layers_are_settled_by_their_first_call_on_weft():
    edge_index, x = awkward_edges(), features(9, IN)
    for case in (("GCNConv", (-1, OUT), {}), ("SAGEConv", (-1, OUT), {}), ("GATConv", (-1, OUT), {})):
        torch.manual_seed(0)
        want = make(case)(x, edge_index)
        torch.manual_seed(0)
        torch.testing.assert_close(weft.convert(make(case))(x, edge_index), want)


@by_name("name", ["sage", "sage max", "gin", "graph", "gat"])
def test_targets_without_features_and_a_size(name):
    edge_index, x = awkward_edges(9, 12), features(9, IN)
    check(ALL[name], lambda layer: layer((x, None), edge_index, size=(9, 12)), x)
    y = features(12, IN, seed=5)
    check(ALL[name], lambda layer: layer((x, y), edge_index, size=(9, 12)), x, y)


@by_name("name", ["gcn", "sage", "gin", "gat", "transformer", "sgc"])
def test_graphs_without_edges_and_isolated_nodes(name, device):
    x = features(5, IN, device=device)
    for edge_index in (torch.zeros(2, 0, dtype=torch.int64), torch.tensor([[0], [0]]), torch.tensor([[3], [1]])):
        edge_index = edge_index.to(device)
        check(ALL[name], lambda layer: layer(x, edge_index), x, device=device)


@by_name("name", ["gcn", "gcn to more", "sage", "sage max", "gin", "graph", "gat", "gatv2", "transformer", "appnp"])
def test_flow_against_the_edges(name):
    edge_index, x = awkward_edges(loops=(2, 4)), features(9, IN)
    check(ALL[name], lambda layer: layer(x, edge_index), x, flow="target_to_source")
    if name in ("gcn", "graph", "appnp"):
        weight = positive(edge_index.size(1)).requires_grad_()
        check(ALL[name], lambda layer: layer(x, edge_index, weight), x, weight, flow="target_to_source")


@by_name("fill", ["mean", "add", "max", "min", 0.5, torch.tensor([0.1, 0.2, 0.3])], ids=str)
@by_name("name", ["gat", "gatv2"])
def test_loops_are_filled_as_pyg_does_in_either_flow(name, fill):
    edge_index, x = awkward_edges(), features(9, IN)
    attributes = features(edge_index.size(1), EDGE_DIM)
    for flow in ("source_to_target", "target_to_source"):
        got, want = twins(EDGE_ATTRIBUTES[name], edge_dim=EDGE_DIM, fill_value=fill, flow=flow)
        assert_same_layer(got, want, [x, attributes], lambda layer: layer(x, edge_index, attributes))
        # PyG takes what a fill names of the edges' second row, which in that flow are not those that arrive.
        falls_back = flow == "target_to_source" and isinstance(fill, str)
        assert ran_on_weft(got) != falls_back, weft.explain(got)
        assert not falls_back or f"fill_value is {fill} and flow {flow}" in str(weft.explain(got))


@by_name("name, more", [("gcn", {}), ("sage", {}), ("gat", {}), ("gat", {"edge_dim": EDGE_DIM, "fill_value": 0.5})])
def test_flow_against_the_edges_compiles_whole(name, more):
    edge_index, x = awkward_edges(), features(9, IN)
    rest = [features(edge_index.size(1), EDGE_DIM)] if more else []
    layer, _ = twins(ALL[name], flow="target_to_source", **more)
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    call = lambda run: lambda _: run(x, edge_index, *rest)  # noqa: E731
    assert_same_layer(layer, layer, [x, *rest], call(compiled), call(layer))


def matrix(layout, weight=None, size=(9, 9)):
    """[targets, sources], without pairs that occur twice: those PyG adds up in some layers and not in others."""
    edge_index = torch.unique(awkward_edges(size[1], size[0]), dim=1)
    values = torch.ones(edge_index.size(1)) if weight is None else weight(edge_index.size(1))
    adj_t = torch.sparse_coo_tensor(edge_index.flip(0), values, size).coalesce()
    return {"coo": adj_t, "csr": adj_t.to_sparse_csr(), "csc": adj_t.to_sparse_csc()}[layout]


@by_name("layout", ["coo", "csr", "csc"])
@by_name("weight", [None, positive])
@by_name("name", ALL)
@pytest.mark.filterwarnings("ignore:Converting sparse tensor", "ignore:Sparse CS")
def test_a_layer_over_a_sparse_matrix(name, layout, weight):
    adj_t, x = matrix(layout, weight), features(9, IN)
    got, want = twins(ALL[name])
    try:
        with torch.no_grad():
            want(x, adj_t)
    except (NotImplementedError, ValueError):
        # PyG does not run all its layers over compressed columns; weft does, as over rows.
        assert layout == "csc"
        rows = matrix("csr", weight)
        assert_same_layer(got, want, [x], lambda layer: layer(x, adj_t), lambda layer: layer(x, rows))
    else:
        # In PyG minima and maxima over a sparse matrix have gradients of their own: of all that are equal.
        assert_same_layer(got, want, [x], lambda layer: layer(x, adj_t))
    assert ran_on_weft(got)


@by_name("name", ["sage", "gin", "gat without loops", "transformer", "graph"])
@pytest.mark.filterwarnings("ignore:Sparse CS")
def test_a_bipartite_sparse_matrix(name):
    adj_t, x, y = matrix("csr", size=(12, 9)), features(9, IN), features(12, IN, seed=5)
    check(ALL[name], lambda layer: layer((x, y), adj_t), x, y)


@pytest.mark.filterwarnings("ignore:Sparse CS")
def test_values_of_a_sparse_matrix_have_gradients_and_may_change():
    adj_t, x = matrix("csr", positive), features(9, IN)
    layer = weft.convert(randomised(pyg.GraphConv(IN, OUT)))
    values = adj_t.values().clone().requires_grad_()
    again = torch.sparse_csr_tensor(adj_t.crow_indices(), adj_t.col_indices(), values, (9, 9))
    layer(x, again).sum().backward()
    ids = torch.stack([adj_t.col_indices(), torch.repeat_interleave(torch.arange(9), adj_t.crow_indices().diff())])
    weight = adj_t.values().clone().requires_grad_()
    weft.revert(copy.deepcopy(layer))(x, ids, weight).sum().backward()
    torch.testing.assert_close(values.grad, weight.grad)
    first = layer(x, adj_t)
    adj_t.values().mul_(2)
    assert not torch.allclose(layer(x, adj_t), first)


@by_name("name", ALL)
def test_an_edge_index_of_pyg_and_a_graph_of_weft(name):
    edge_index, x = awkward_edges(), features(9, IN)
    want = twins(ALL[name])[1](x, edge_index)
    for edges in (
        EdgeIndex(edge_index), EdgeIndex(edge_index, sparse_size=(9, 9)), edge_index.int(),
        weft.Graph.from_edge_index(edge_index, size=9),
    ):
        got = twins(ALL[name])[0]
        torch.testing.assert_close(got(x, edges), want, rtol=1e-5, atol=1e-5)
        assert ran_on_weft(got)


@by_name("name", ALL)
def test_a_sorted_edge_index_of_pyg(name):
    edges, x = EdgeIndex(awkward_edges(), sparse_size=(9, 9)).sort_by("col")[0], features(9, IN)
    check(ALL[name], lambda layer: layer(x, edges), x)


def test_a_torch_sparse_matrix():
    SparseTensor = pytest.importorskip("torch_sparse", reason="torch_sparse is not installed").SparseTensor
    edge_index, x = torch.unique(awkward_edges(), dim=1), features(9, IN)
    for value in (None, positive(edge_index.size(1))):
        adj_t = SparseTensor(row=edge_index[1], col=edge_index[0], value=value, sparse_sizes=(9, 9))
        for name in ALL:
            check(ALL[name], lambda layer: layer(x, adj_t), x)


@by_name("name", ["gcn", "appnp", "sgc"])
def test_a_cached_layer_keeps_what_it_was_called_with_first(name):
    x, y, first, other = features(9, IN), features(9, IN, seed=8), awkward_edges(), awkward_edges(seed=4)
    weight = positive(first.size(1))
    got, want = twins(WEIGHTED[name], cached=True)
    for layer in (got, want):
        layer(x, first, weight)
    torch.testing.assert_close(got(y, other), want(y, other), rtol=1e-5, atol=1e-5)
    assert ran_on_weft(got)
    for layer in (got, want):
        layer.reset_parameters()
        randomised(layer)
    torch.testing.assert_close(got(y, other), want(y, other), rtol=1e-5, atol=1e-5)


@by_name("name", ["gat heads", "gatv2", "transformer"])
def test_dropout_of_attention_acts_in_training_alone(name):
    edge_index, x = awkward_edges(), features(9, IN)
    got, want = twins(ALL[name], dropout=0.5)
    torch.manual_seed(1)
    first = got(x, edge_index)
    assert not torch.allclose(first, got(x, edge_index))
    torch.manual_seed(1)
    assert torch.equal(first, got(x, edge_index))
    torch.testing.assert_close(got.eval()(x, edge_index), want.eval()(x, edge_index), rtol=1e-5, atol=1e-5)


def test_dropout_of_appnp_keeps_the_mean():
    edge_index, x = awkward_edges(), features(9, IN).detach()
    got, _ = twins(("APPNP", (1, 0.1), {"dropout": 0.5}))
    mean = torch.stack([got(x, edge_index) for _ in range(4000)]).mean(0)
    torch.testing.assert_close(mean, got.eval()(x, edge_index), rtol=0, atol=0.15)


def test_an_edge_index_that_changes_in_place_is_another_graph():
    edge_index, x = awkward_edges(), features(9, IN)
    got, want = twins(WEIGHTED["gcn"])
    got(x, edge_index)
    edge_index[:, :7] = edge_index[:, :7].flip(0).clone()
    torch.testing.assert_close(got(x, edge_index), want(x, edge_index), rtol=1e-5, atol=1e-5)


@by_name("name", ALL)
def test_a_converted_layer_is_copied_pickled_and_reverted(name):
    edge_index, x = awkward_edges(), features(9, IN)
    got, want = twins(ALL[name])
    expected = got(x, edge_index)
    for other in (copy.deepcopy(got), pickle.loads(pickle.dumps(got))):
        assert type(other) is type(got) and ran_on_weft(other)
        assert torch.equal(other(x, edge_index), expected)
    assert got.state_dict().keys() == want.state_dict().keys()
    assert repr(got) == f"{want!r} [weft]"
    assert weft.revert(got) is got
    assert type(got) is type(want) and vars(got).keys() == vars(want).keys()
    torch.testing.assert_close(got(x, edge_index), want(x, edge_index))


def test_aggregations_given_as_objects():
    edge_index, x = awkward_edges(), features(9, IN)
    for aggr in (pyg.MeanAggregation, pyg.SumAggregation, pyg.MaxAggregation, pyg.MinAggregation):
        check(("SAGEConv", (IN, OUT), {"aggr": aggr()}), lambda layer: layer(x, edge_index), x)
        adj_t = matrix("coo", positive)
        check(("SAGEConv", (IN, OUT), {"aggr": aggr()}), lambda layer: layer(x, adj_t), x)
