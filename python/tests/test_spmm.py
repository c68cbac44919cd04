import pytest
import torch

import weft
from conftest import random_edges

MESSAGES = {
    "copy_u": lambda x, e: x,
    "copy_e": lambda x, e: e,
    "u_add_e": lambda x, e: x + e,
    "u_sub_e": lambda x, e: x - e,
    "u_mul_e": lambda x, e: x * e,
    "u_div_e": lambda x, e: x / e,
}


def expected(edge_index, num_targets, x, edge, op, reduce):
    """By scatter_reduce over messages, in the type of the inputs."""
    message = MESSAGES[op](None if x is None else x[edge_index[0]], edge)
    index = edge_index[1].view(-1, *[1] * (message.dim() - 1)).expand_as(message)
    out = message.new_zeros(num_targets, *message.shape[1:])
    kind = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    return out.scatter_reduce(0, index, message, kind, include_self=False)


def operands(op, shape_x, shape_e, dtype, device, edges=40, sources=7):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(sources, *shape_x, generator=generator, dtype=torch.float64)
    edge = torch.rand(edges, *shape_e, generator=generator, dtype=torch.float64) + 0.5
    x, edge = (t.to(dtype).to(device).requires_grad_() for t in (x, edge))
    return (None if op == "copy_e" else x), (None if op == "copy_u" else edge)


SHAPES = [((), ()), ((5,), (1,)), ((5,), (5,)), ((2, 3), (2, 1)), ((2, 3), (2, 3))]


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("op", MESSAGES)
@pytest.mark.parametrize("shape_x, shape_e", SHAPES)
def test_results_and_gradients_are_those_of_scattered_messages(edge_index, op, reduce, shape_x, shape_e):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    x, edge = operands(op, shape_x, shape_e, torch.float64, edge_index.device)
    got = weft.spmm(graph, x, edge, op=op, reduce=reduce)
    want = expected(edge_index, 9, x, edge, op, reduce)
    torch.testing.assert_close(got, want)
    given = [t for t in (x, edge) if t is not None]
    grad = torch.randn(want.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64).to(want.device)
    for a, b in zip(torch.autograd.grad(got, given, grad), torch.autograd.grad(want, given, grad)):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_halves_are_summed_in_float32_and_rounded_once(device, dtype):
    edge_index = torch.stack([torch.arange(2000), torch.zeros(2000, dtype=torch.int64)]).to(device)
    graph = weft.Graph.from_edge_index(edge_index, size=(2000, 1))
    x = torch.full((2000, 8), 60.0, dtype=dtype, device=device)
    out = weft.spmm(graph, x, reduce="mean")
    assert out.dtype is dtype
    want = torch.full((1, 8), 60.0, dtype=dtype, device=device)
    if dtype is torch.float32:  # of sums in another order than one after the other the last bit may differ
        torch.testing.assert_close(out, want, rtol=2e-7, atol=0)
    else:
        assert torch.equal(out, want)


def test_columns_of_a_wider_tensor_and_scattered_ones_are_read_right(edge_index):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    wide = torch.randn(7, 12, device=edge_index.device)
    for x in (wide[:, 2:7], wide[:, ::2], wide.t()[:7, :].contiguous().t()[:7], wide.expand(3, 7, 12)[1]):
        torch.testing.assert_close(weft.spmm(graph, x), weft.spmm(graph, x.clone()))


def test_a_target_without_edges_gets_zero_and_no_nan(edge_index):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    x = torch.full((7, 4), float("nan"), device=edge_index.device)
    for reduce in ("sum", "mean", "max", "min"):
        assert torch.equal(weft.spmm(graph, x, reduce=reduce)[8], torch.zeros(4, device=x.device))


@pytest.mark.parametrize("reduce", ["sum", "mean", "max"])
def test_op_passes_opcheck(edge_index, reduce):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    for op, shape_x, shape_e in (("u_mul_e", (3,), (1,)), ("copy_u", (2, 3), ()), ("copy_e", (), (3,))):
        x, edge = operands(op, shape_x, shape_e, torch.float32, edge_index.device)
        arguments = (graph._rows, graph._key, graph.num_sources, x, edge, op, reduce)
        torch.library.opcheck(torch.ops.weft.spmm.default, arguments)


@pytest.mark.parametrize("op", MESSAGES)
def test_the_operator_itself_has_the_gradients_of_the_function(edge_index, op):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    x, edge = operands(op, (2, 3), (2, 1), torch.float64, edge_index.device)
    given = [t for t in (x, edge) if t is not None]
    for reduce in ("sum", "mean", "max"):
        want = torch.autograd.grad(weft.spmm(graph, x, edge, op=op, reduce=reduce).square().sum(), given)
        out, _ = torch.ops.weft.spmm(*graph._arguments, x, edge, op, reduce)
        for wanted in (given, given[-1:]):  # all, or one alone
            got = torch.autograd.grad(out.square().sum(), wanted, retain_graph=True)
            for a, b in zip(got, want[-len(wanted) :]):
                torch.testing.assert_close(a, b)


@pytest.mark.parametrize("op", MESSAGES)
def test_gradcheck(edge_index, op):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    x, edge = operands(op, (2, 3), (2, 1), torch.float64, edge_index.device)
    for reduce in ("sum", "mean"):
        given = [t for t in (x, edge) if t is not None]

        def call(*tensors):
            it = iter(tensors)
            return weft.spmm(graph, None if x is None else next(it), None if edge is None else next(it), op=op, reduce=reduce)

        assert torch.autograd.gradcheck(call, given)


def test_results_are_the_same_bits_every_time_and_for_any_number_of_threads(device):
    edge_index = random_edges(300, 200, 20000, seed=3).to(device)
    graph = weft.Graph.from_edge_index(edge_index, size=(300, 200))
    x = torch.randn(300, 33, device=device)
    first = weft.spmm(graph, x)
    threads = torch.get_num_threads()
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            assert torch.equal(weft.spmm(graph, x), first)
    finally:
        torch.set_num_threads(threads)


def test_a_graph_that_is_gone_is_adopted_from_its_tensors(edge_index):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    x = torch.randn(7, 4, device=edge_index.device)
    want = weft.spmm(graph, x)
    got, _ = torch.ops.weft.spmm(graph._rows, -1, graph.num_sources, x, None, "copy_u", "sum")
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiles_whole_with_two_compilations_at_most_over_ten_graphs(dynamic):
    counter = torch._dynamo.testing.CompileCounter()

    @torch.compile(backend=counter, fullgraph=True, dynamic=dynamic or None)
    def layer(graph_rows, key, num_sources, x, weight):
        out, _ = torch.ops.weft.spmm(graph_rows, key, num_sources, x, None, "copy_u", "mean")
        return torch.relu(out @ weight)

    weight = torch.randn(4, 3)
    for n in range(10, 20):
        graph = weft.Graph.from_edge_index(random_edges(n, n, 5 * n, seed=n), size=n)
        x = torch.randn(n, 4)
        got = layer(graph._rows[:2], graph._key, n, x, weight)
        want, _ = torch.ops.weft.spmm(graph._rows[:2], graph._key, n, x, None, "copy_u", "mean")
        torch.testing.assert_close(got, torch.relu(want @ weight))
    assert counter.frame_count <= 2


@pytest.mark.parametrize(
    "call, names",
    [
        (lambda g, x: weft.spmm(g, x, op="u_pow_e"), "op is 'u_pow_e'"),
        (lambda g, x: weft.spmm(g, x, reduce="median"), "reduce is 'median'"),
        (lambda g, x: weft.spmm(g, x[:5]), r"x has shape \[5, 4\]: expected 7 rows"),
        (lambda g, x: weft.spmm(g, x, torch.ones(39)), r"edge has shape \[39\]: expected 40 rows"),
        (lambda g, x: weft.spmm(g, x, torch.ones(40, 3)), "edge"),
        (lambda g, x: weft.spmm(g, x.long()), "x has dtype i64"),
        (lambda g, x: weft.spmm(g, x.to(torch.complex64)), "x has a dtype that weft does not know"),
        (lambda g, x: weft.spmm(g, x.view(7, 1, 2, 2)), "x has 4 dimensions"),
        (lambda g, x: weft.spmm(g), "x and edge are missing"),
    ],
)
def test_what_does_not_fit_is_named(call, names):
    graph = weft.Graph.from_edge_index(random_edges(7, 9, 40), size=(7, 9))
    with pytest.raises((RuntimeError, ValueError), match=names):
        call(graph, torch.randn(7, 4))
