"""Graphs and operators in what torch compiles and exports."""

import gc

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

import weft
from conftest import random_edges


@pytest.fixture(autouse=True)
def afresh():
    torch._dynamo.reset()


class Layers(torch.nn.Module):
    """Two layers over one graph, given or made of an edge_index."""

    def __init__(self, device):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(4, 8, device=device), torch.nn.Linear(8, 3, device=device)

    def forward(self, adjacency, x):
        is_graph = isinstance(adjacency, weft.Graph)
        graph = adjacency if is_graph else weft.Graph.from_edge_index(adjacency, size=x.size(0))
        hidden = torch.relu(weft.spmm(graph, self.first(x), reduce="mean"))
        return weft.spmm(graph, self.second(hidden))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("given", ["edge_index", "graph"])
def test_two_compilations_at_most_over_ten_graphs_forward_and_backward(device, given, backend):
    model, counter = Layers(device), CompileCounterWithBackend(backend)
    compiled = torch.compile(model, backend=counter, fullgraph=True)
    for n in range(10, 20):
        edge_index = random_edges(n, n, 5 * n + n % 3, seed=n).to(device)
        graph = weft.Graph.from_edge_index(edge_index, size=n)
        x = torch.randn(n, 4, device=device, requires_grad=True)
        got, want = compiled(edge_index if given == "edge_index" else graph, x), model(graph, x)
        torch.testing.assert_close(got, want)
        leaves = [x, *model.parameters()]
        gradients = torch.autograd.grad(want.square().sum(), leaves)
        for a, b in zip(torch.autograd.grad(got.square().sum(), leaves), gradients):
            torch.testing.assert_close(a, b)
    assert counter.frame_count <= 2


def test_graphs_of_edges_in_sequence_and_of_two_kinds_of_nodes_are_made_in_compiled_functions(device):
    @torch.compile(backend="aot_eager", fullgraph=True)
    def f(edge_index, x, edge, targets: int):
        return weft.spmm(weft.Graph.from_edge_index(edge_index, size=(x.size(0), targets)), x, edge)

    sorted_edges = torch.tensor([[0, 2, 1, 0], [0, 0, 1, 3]], device=device)
    none = torch.zeros(2, 0, dtype=torch.int64, device=device)
    for edge_index in (sorted_edges, sorted_edges.int(), sorted_edges.flip(1), none):
        x = torch.randn(3, 2, device=device)
        edge = torch.rand(edge_index.size(1), device=device)
        want = weft.spmm(weft.Graph.from_edge_index(edge_index, size=(3, 5)), x, edge)
        assert torch.equal(f(edge_index, x, edge, 5), want)


def test_a_graph_without_a_size_is_made_in_a_graph_break(device):
    compiled = torch.compile(lambda e, x: weft.spmm(weft.Graph.from_edge_index(e), x) + 1, backend="eager")
    edge_index = random_edges(9, 9, 40).to(device)
    edge_index[:, 0] = 8
    x = torch.randn(9, 4, device=device)
    torch.testing.assert_close(compiled(edge_index, x), weft.spmm(weft.Graph.from_edge_index(edge_index), x) + 1)


def test_edges_out_of_range_are_named_in_compiled_functions_too(device):
    compiled = torch.compile(
        lambda e, x: weft.spmm(weft.Graph.from_edge_index(e, size=7), x), backend="eager", fullgraph=True
    )
    with pytest.raises(RuntimeError, match=r"destinations\[0\] is 7"):
        compiled(torch.tensor([[0], [7]], device=device), torch.randn(7, 4, device=device))


def transposed_at(rows, num_sources):
    """Where the transpose's arrays stand: of a graph that is held it is made once."""
    return torch.ops.weft.graph_transposed(rows, 0, num_sources)[1]


def test_a_handle_holds_the_graph_as_long_as_it_lives_and_no_copy_of_it_does(edge_index):
    rows = list(torch.ops.weft.graph_rows(edge_index, 7, 9))
    first, again = transposed_at(rows, 7), transposed_at(rows, 7)
    assert first[1].data_ptr() == again[1].data_ptr()
    anew = transposed_at([*rows[:3], rows[3].clone()], 7)
    assert anew[1].data_ptr() != first[1].data_ptr()
    others = list(torch.ops.weft.graph_rows(edge_index.flip(1), 7, 9))
    mixed = transposed_at([*others[:3], rows[3]], 7)  # the handle of another graph is not believed
    assert mixed[1].data_ptr() != first[1].data_ptr()
    x = torch.randn(7, 4, device=edge_index.device)
    want = weft.spmm(weft.Graph.from_edge_index(edge_index, size=(7, 9)), x)
    for handle in (rows[3], rows[3].clone(), others[3]):
        assert torch.equal(torch.ops.weft.spmm([*rows[:3], handle], 0, 7, x, None, "copy_u", "sum")[0], want)
    del rows, others
    gc.collect()
    assert torch.equal(again[0], anew[0])


def test_what_a_backward_keeps_of_a_graph_is_its_handle_too(edge_index):
    kept = []

    @torch.compile(backend="aot_eager", fullgraph=True)
    def f(edge_index, x):
        return weft.spmm(weft.Graph.from_edge_index(edge_index, size=(7, 9)), x)

    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        f(edge_index, torch.randn(7, 4, device=edge_index.device, requires_grad=True))
    assert any(t.device.type == "cpu" and t.dtype is torch.int64 and t.shape == (1,) for t in kept)


def test_rows_pass_opcheck(edge_index):
    for given in (edge_index, edge_index.int(), edge_index[:, edge_index[1].argsort(stable=True)]):
        torch.library.opcheck(torch.ops.weft.graph_rows.default, (given, 7, 9))


def test_modules_that_have_a_graph_or_take_an_edge_index_are_exported(device):
    class OverAGraph(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.graph = weft.Graph.from_edge_index(random_edges(7, 7, 40).to(device), size=7)

        def forward(self, x):
            return weft.spmm(self.graph, x, reduce="max")

    x = torch.randn(7, 4, device=device)
    module = OverAGraph()
    torch.testing.assert_close(torch.export.export(module, (x,)).module()(x), module(x))
    layers, nodes, edges = Layers(device), torch.export.Dim("nodes"), torch.export.Dim("edges")
    program = torch.export.export(
        layers, (random_edges(7, 7, 40).to(device), x), dynamic_shapes=({1: edges}, {0: nodes})
    )
    for n in (7, 12):
        edge_index, x = random_edges(n, n, 3 * n).to(device), torch.randn(n, 4, device=device)
        torch.testing.assert_close(program.module()(edge_index, x), layers(edge_index, x))


def programs_of(function, *arguments):
    """What torch traces of a function and of its backward: the operators of weft in them."""
    found = []

    def look(module, inputs):
        found.extend(n.target for n in module.graph.nodes if str(n.target).startswith("weft."))
        return torch._functorch.aot_autograd.make_boxed_func(module.forward)

    backend = torch._dynamo.backends.common.aot_autograd(fw_compiler=look, bw_compiler=look)
    torch.compile(function, backend=backend, fullgraph=True)(*arguments).square().sum().backward()
    return found


def is_recorded(op):
    return torch.Tag.cudagraph_unsafe not in op.tags


def test_cuda_graphs_leave_out_what_runs_over_a_graph_of_the_program(edge_index):
    x = torch.randn(7, 1, 4, device=edge_index.device, requires_grad=True)
    terms = torch.zeros(7, 1, 1, device=x.device), torch.zeros(9, 1, 1, device=x.device)

    def f(graph, x):
        return weft.attention(graph, x, *terms).sum() + weft.spmm(graph, x, reduce="max").sum()

    made = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    of_made = programs_of(lambda x: f(made, x), x)
    of_edges = programs_of(lambda e, x: f(weft.Graph.from_edge_index(e, size=(7, 9)), x), edge_index, x)
    assert len(of_made) == 4 and all(is_recorded(op) for op in of_made)
    assert len(of_edges) == 5 and not any(is_recorded(op) for op in of_edges)


def test_cuda_graphs_leave_out_what_runs_over_rows_that_the_program_makes(device):
    """Layers that add self-loops make rows of their own, without a handle behind them."""
    layer = weft.nn.GATConv(4, 3).to(device)
    found = programs_of(lambda x, e: layer(x, e), torch.randn(9, 4, device=device), random_edges(9, 9, 40).to(device))
    assert len(found) >= 2 and not any(is_recorded(op) for op in found)


def test_cuda_graphs_leave_out_samples_of_a_graph_of_the_program(edge_index):
    x = torch.randn(7, 1, 4, device=edge_index.device)
    terms = torch.zeros(7, 1, 1, device=x.device), torch.zeros(9, 1, 1, device=x.device)
    sample, bias = weft.EdgeSample(2), torch.ones(1, 1, 1, device=x.device, requires_grad=True)

    def f(graph, x, bias):
        sums = weft.spmm(graph, x, sample=sample).sum() + weft.attention(graph, x, *terms, sample=sample).sum()
        return sums * bias

    made = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    of_made = programs_of(lambda x, b: f(made, x, b), x, bias)
    of_edges = programs_of(lambda e, x, b: f(weft.Graph.from_edge_index(e, size=(7, 9)), x, b), edge_index, x, bias)
    assert of_made and all(is_recorded(op) for op in of_made)
    assert len(of_edges) == len(of_made) + 1 and not any(is_recorded(op) for op in of_edges)


def test_cuda_graphs_leave_out_segments_that_are_looked_at(device):
    x, offsets = torch.randn(4, 2, device=device, requires_grad=True), torch.tensor([0, 1, 4], device=device)
    for trusted in (True, False):
        torch._dynamo.reset()
        forward, backward = programs_of(lambda x, o: weft.segment_reduce(x, o, trusted=trusted), x, offsets)
        assert is_recorded(forward) == trusted and is_recorded(backward)


def test_cuda_graphs_take_the_memory_of_a_graph_as_it_is(edge_index):
    """A copy of it would be another graph, without plans."""
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    for array in (graph.rowptr, graph.col, graph.edge_ids):
        assert torch._dynamo.utils.get_static_address_type(array) == "unguarded"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("given", ["edge_index", "graph"])
def test_reduce_overhead_gives_the_same_numbers_in_every_run(given):
    model = Layers("cuda")
    compiled = torch.compile(model, mode="reduce-overhead", fullgraph=True)
    edge_index = random_edges(50, 50, 400).cuda()
    graph = weft.Graph.from_edge_index(edge_index, size=50)
    for _ in range(5):
        x = torch.randn(50, 4, device="cuda", requires_grad=True)
        torch.compiler.cudagraph_mark_step_begin()
        got = compiled(graph if given == "graph" else edge_index, x)
        (gradient,) = torch.autograd.grad(got.square().sum(), x)
        want = model(graph, x)
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(gradient, torch.autograd.grad(want.square().sum(), x)[0])
