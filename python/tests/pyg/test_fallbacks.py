"""What weft does not compute runs on PyG, with its result, and the table says why."""

import copy

import pytest
import torch

pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")

from awkward import assert_same_layer, awkward_edges, features, randomised
from cases import ATTENTION, EDGE_ATTRIBUTES, EDGE_DIM, IN, OUT, PLAIN, WEIGHTED, make
from torch_geometric import nn as pyg

import weft

EDGES = awkward_edges()
NUM_EDGES = EDGES.size(1)


def reason_of(layer):
    return weft.explain(layer).rows[0].reason


def check(layer, call, reason):
    """The same bits as PyG's layer, since it is PyG that ran."""
    randomised(layer)
    converted = weft.convert(copy.deepcopy(layer))
    want, got = call(layer), call(converted)
    torch.testing.assert_close(got, want, rtol=0, atol=0)
    assert reason in reason_of(converted), reason_of(converted)
    return converted


@pytest.mark.parametrize(
    "layer, reason",
    [
        (lambda: pyg.SAGEConv(IN, OUT, aggr=["mean", "max"]), "its aggregation is ['mean', 'max']"),
        (lambda: pyg.SAGEConv(IN, OUT, aggr="median"), "its aggregation is median"),
        (lambda: pyg.SAGEConv(IN, OUT, aggr=pyg.SoftmaxAggregation()), "its aggregation is SoftmaxAggregation"),
        (lambda: pyg.GCNConv(IN, OUT, aggr="max"), "its aggregation is max: weft has sum"),
        (lambda: pyg.GCNConv(IN, OUT, decomposed_layers=2), "decomposed_layers is 2"),
    ],
)
def test_layers_that_weft_cannot_run_are_named_before_any_call(layer, reason):
    layer, x = layer(), features(9, IN)
    assert reason in reason_of(weft.convert(copy.deepcopy(layer)))
    converted = check(layer, lambda layer: layer(x, EDGES), reason)
    assert not weft.explain(converted).rows[0].on_weft


def test_an_lstm_wants_edges_in_order():
    layer, x = pyg.SAGEConv(IN, OUT, aggr="lstm"), features(9, IN)
    check(layer, lambda layer: layer(x, EDGES[:, EDGES[1].argsort(stable=True)]), "its aggregation is lstm")


def test_hooks_of_messages_run():
    for register in (
        "register_propagate_forward_pre_hook", "register_propagate_forward_hook", "register_message_forward_pre_hook",
        "register_message_forward_hook", "register_aggregate_forward_pre_hook", "register_aggregate_forward_hook",
    ):
        layer, x, ran = weft.convert(pyg.SAGEConv(IN, OUT)), features(9, IN), []
        handle = getattr(layer, register)(lambda *_: ran.append(register))
        want = weft.revert(copy.deepcopy(layer))(x, EDGES)
        del ran[:]
        assert torch.equal(layer(x, EDGES), want) and ran == [register]
        assert "hooks of" in reason_of(layer)
        handle.remove()
        layer(x, EDGES)
        assert ran == [register] and reason_of(layer) is None


def test_hooks_of_the_module_run_on_weft():
    layer, x, ran = weft.convert(pyg.SAGEConv(IN, OUT)), features(9, IN), []
    layer.register_forward_hook(lambda *_: ran.append("layer"))
    layer.lin_l.register_forward_hook(lambda *_: ran.append("lin"))
    layer(x, EDGES)
    assert ran == ["lin", "layer"] and reason_of(layer) is None


def test_explain_mode_weighs_messages():
    def call(layer):
        layer.explain = True
        layer._edge_mask, layer._apply_sigmoid = torch.linspace(0, 1, NUM_EDGES), False
        return layer(x, EDGES)

    x = features(9, IN)
    layer = check(pyg.SAGEConv(IN, OUT), call, "explain is on")
    layer.explain = False
    torch.testing.assert_close(layer(x, EDGES), weft.revert(copy.deepcopy(layer))(x, EDGES), rtol=1e-5, atol=1e-5)
    assert reason_of(layer) is None
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, EDGES), layer(x, EDGES), rtol=1e-5, atol=1e-5)


def test_explain_mode_works_in_a_copy_too():
    x, layer = features(9, IN), copy.deepcopy(weft.convert(pyg.SAGEConv(IN, OUT)))
    layer.explain = True
    layer._edge_mask, layer._apply_sigmoid = torch.zeros(NUM_EDGES), False
    torch.testing.assert_close(layer(x, EDGES), layer.lin_l.bias + layer.lin_r(x))


def test_features_that_weft_does_not_take():
    still = features(2, 9, IN)
    for case in (WEIGHTED["gcn"], PLAIN["sage"], PLAIN["gin"], WEIGHTED["appnp"]):
        check(make(case), lambda layer: layer(still, EDGES), "x has 3 dimensions")
    sparse = torch.eye(9, IN).to_sparse()
    check(pyg.GCNConv(IN, OUT), lambda layer: layer(sparse, EDGES), "x has layout torch.sparse_coo")
    whole = torch.arange(9 * IN).view(9, IN)
    check(pyg.APPNP(2, 0.1, normalize=False), lambda layer: layer(whole, EDGES), "dtype torch.int64")


def test_weights_of_another_type():
    x, weight = features(9, IN), torch.rand(NUM_EDGES, dtype=torch.float64)
    layer = pyg.APPNP(2, 0.1)
    check(layer, lambda layer: layer(x, EDGES, weight), "edge_weight has dtype torch.float64")
    with torch.autocast("cpu", dtype=torch.bfloat16):  # which leaves float64 as it is
        check(layer, lambda layer: layer(x, EDGES, weight), "edge_weight has dtype torch.float64")


@pytest.mark.parametrize("name", ["gat heads", "gatv2", "transformer"])
def test_weights_of_attention_are_returned(name):
    x = features(9, IN)
    call = lambda layer: layer(x, EDGES, return_attention_weights=True)[0]  # noqa: E731
    check(make(ATTENTION[name]), call, "return_attention_weights")
    got = weft.convert(make(ATTENTION[name]))(x, EDGES, return_attention_weights=True)
    assert len(got) == 2 and got[1][1].shape[1] == 3


def test_a_fill_that_weft_does_not_have():
    x, attributes = features(9, IN), features(NUM_EDGES, EDGE_DIM)
    layer = pyg.GATConv(IN, OUT, edge_dim=EDGE_DIM, fill_value="mul")
    check(layer, lambda layer: layer(x, EDGES, attributes), "fill_value is mul")


def test_flow_against_the_edges_of_a_bipartite_graph():
    x, y = features(9, IN), features(9, IN, seed=5)
    layer = pyg.SAGEConv(IN, OUT, flow="target_to_source")
    check(layer, lambda layer: layer((x, y), EDGES), "flow is target_to_source")


def test_a_step_that_was_replaced_runs():
    x = features(9, IN)

    def call(layer):
        layer.message = lambda x_j: 2 * x_j
        return layer(x, EDGES)

    check(pyg.SAGEConv(IN, OUT), call, "its message was replaced")


def test_a_propagate_that_was_replaced_runs():
    x = features(9, IN)

    def call(layer):
        layer.propagate = lambda *_, **__: torch.zeros(9, IN)
        return layer(x, EDGES)

    check(pyg.SAGEConv(IN, OUT), call, "its propagate was replaced")


@pytest.mark.parametrize("case, part", [
    (PLAIN["sage"], "lin_l"), (PLAIN["sage to more"], "lin_l"), (WEIGHTED["gcn"], "lin"), (ATTENTION["gat"], "lin"),
    (EDGE_ATTRIBUTES["gat"], "lin_edge"), (EDGE_ATTRIBUTES["transformer"], "lin_edge"),
])
@pytest.mark.parametrize("how", ["forward", "hook"])
def test_a_linear_map_that_was_changed_runs_as_it_is(case, part, how):
    x, more, rest = features(9, IN), {}, ()
    if part == "lin_edge":
        more, rest = {"edge_dim": EDGE_DIM}, (features(NUM_EDGES, EDGE_DIM),)
    layer = randomised(make(case, **more))
    converted = weft.convert(copy.deepcopy(layer))
    for lin in (getattr(layer, part), getattr(converted, part)):
        if how == "hook":
            lin.register_forward_hook(lambda module, inputs, out: out.square())
        else:
            lin.forward = lambda t, lin=lin: torch.nn.functional.linear(t, lin.weight, lin.bias).square()
    assert_same_layer(converted, layer, [x, *rest], lambda layer: layer(x, EDGES, *rest))
    assert reason_of(converted) is None


def test_what_is_wrong_is_said_by_pyg():
    x, layer = features(9, IN), weft.convert(pyg.SAGEConv(IN, OUT))
    with pytest.raises(ValueError, match="expected size 5"):
        layer((x, x), EDGES, size=(5, 9))
    assert "size is (5, 9)" in reason_of(layer)
    with pytest.raises(ValueError, match="only supports integer tensors"):
        layer(x, [0, 1])
    with pytest.raises(ValueError, match="does not support bipartite"):
        weft.convert(pyg.GCNConv(IN, OUT))((x, x), EDGES)


def test_a_graph_of_weft_is_given_to_pyg_as_an_edge_index():
    x, graph = features(9, IN), weft.Graph.from_edge_index(EDGES, size=9)
    layer = weft.convert(pyg.SAGEConv(IN, OUT, aggr="median"))
    assert torch.equal(layer(x, graph), layer(x, EDGES))


def test_a_layer_that_pyg_cached_goes_on_with_that():
    x, other = features(9, IN), awkward_edges(seed=4)
    layer = pyg.GCNConv(IN, OUT, cached=True)
    layer(x, EDGES)
    check(layer, lambda layer: layer(x, other), "PyG ran it first")


def test_a_layer_that_weft_cached_falls_back_with_that():
    x, other = features(9, IN), awkward_edges(seed=4)
    layer = weft.convert(pyg.GCNConv(IN, OUT, cached=True))
    want = layer(x, EDGES)
    layer.register_propagate_forward_hook(lambda *_: None)
    torch.testing.assert_close(layer(x, other), want, rtol=1e-5, atol=1e-5)
    assert "hooks of propagate" in reason_of(layer)
