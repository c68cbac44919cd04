"""What torch.jit.trace, make_fx and modes of dispatch make of graphs and operators."""

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import weft
from conftest import random_edges


def a_layer(device):
    torch.manual_seed(0)
    return weft.nn.GCNConv(4, 3).to(device)


@pytest.fixture
def square(device):
    return random_edges(9, 9, 40).to(device)


def test_a_program_of_jit_trace_runs_over_the_edges_it_is_given(device, square):
    layer, x = weft.nn.SAGEConv(4, 3).to(device), torch.randn(9, 4, device=device)
    traced = torch.jit.trace(layer, (x, square), check_trace=False)
    other = random_edges(9, 9, 55, seed=3).to(device)
    torch.testing.assert_close(traced(x, other), layer(x, other))
    with pytest.raises(RuntimeError, match="12"):  # the numbers of nodes are those of the trace
        traced(torch.randn(12, 4, device=device), other)


def test_jit_trace_records_the_operator_over_the_rows(device, square):
    graph = weft.Graph.from_edge_index(square, size=9)
    x = torch.randn(9, 4, device=device)
    traced = torch.jit.trace(lambda t: weft.spmm(graph, t), (x,))
    assert "_held" not in str(traced.graph)
    torch.testing.assert_close(traced(2 * x), weft.spmm(graph, 2 * x))
    rowptr, col = graph.rowptr, graph.col
    with pytest.raises(RuntimeError, match="torch.jit.trace records no graphs but those of an edge_index"):
        torch.jit.trace(lambda t: weft.spmm(weft.Graph(rowptr, col, 9), t), (x,))


def test_a_trace_draws_what_is_dropped_anew_in_every_run(device, square):
    graph, terms = weft.Graph.from_edge_index(square, size=9), torch.zeros(9, 2, 1, device=device)
    value = torch.randn(9, 2, 8, device=device)
    traced = torch.jit.trace(
        lambda v: weft.attention(graph, v, terms, terms, dropout=0.5), (value,), check_trace=False
    )
    assert not torch.equal(traced(value), traced(value))


def test_what_a_mode_made_is_not_kept(device, square):
    layer, graph = a_layer(device), weft.Graph.from_edge_index(square, size=9)
    x = torch.randn(9, 4, device=device)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert layer(mode.from_tensor(x), graph).shape == (9, 3)
    got = layer(x, graph)
    assert type(got) is torch.Tensor
    torch.testing.assert_close(got, layer(x, square))


def test_layers_over_fake_edges_say_what_shape_they_give(device, square):
    layer = a_layer(device)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        x, edges = mode.from_tensor(torch.randn(9, 4, device=device)), mode.from_tensor(square)
        assert layer(x, edges).shape == (9, 3)


def test_a_program_of_make_fx_makes_its_graph_of_the_edges_it_is_given(device, square):
    layer, x = weft.nn.SAGEConv(4, 3).to(device), torch.randn(9, 4, device=device)
    program = make_fx(lambda x, e: layer(x, e))(x, square)
    other = random_edges(9, 9, 55, seed=3).to(device)
    torch.testing.assert_close(program(x, other), layer(x, other))
    assert "graph_from_edges" not in program.code  # which would keep a graph of every run
