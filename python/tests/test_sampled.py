import pytest
import torch

import weft
from conftest import random_edges

METHODS = ["bucket", "fastrand", "strata", "fresh"]


def a_graph(device, seed=0):
    return weft.Graph.from_edge_index(random_edges(30, 20, 400, seed=seed).to(device), size=(30, 20))


def operands(device, dtype=torch.float32):
    generator = torch.Generator().manual_seed(5)
    x, edge = (torch.randn(n, 2, w, generator=generator, dtype=torch.float64) for n, w in ((30, 6), (400, 1)))
    return x.to(dtype).to(device), edge.to(dtype).to(device)


@pytest.mark.parametrize("method", METHODS)
def test_a_sampled_graph_has_edges_of_the_whole_one_and_at_most_so_many_a_target(device, method):
    graph = a_graph(device)
    kept, edge_ids = graph.sampled(weft.EdgeSample(5, method=method, seed=3, step=2))
    assert edge_ids.dtype is torch.int64 and edge_ids.unique().numel() == kept.num_edges
    assert torch.equal(kept.edge_index(), graph.edge_index()[:, edge_ids])
    degrees = torch.bincount(graph.edge_index()[1], minlength=20)
    assert torch.equal(torch.bincount(kept.edge_index()[1], minlength=20), degrees.clamp(max=5))
    assert (kept.num_sources, kept.num_targets) == (30, 20)


def test_fresh_samples_follow_from_seed_and_step(device):
    graph = a_graph(device)

    def ids(seed, step):
        return graph.sampled(weft.EdgeSample(5, method="fresh", seed=seed, step=step))[1]

    first = ids(1, 1)
    assert not torch.equal(ids(1, 2), first) and not torch.equal(ids(2, 1), first)
    assert torch.equal(ids(1, 1), first)
    assert torch.equal(ids(1, 1).cpu(), a_graph("cpu").sampled(weft.EdgeSample(5, method="fresh", seed=1, step=1))[1])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("norm", ["none", "scaled"])
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
def test_sums_with_gradients_are_those_without(device, dtype, norm, reduce):
    graph = a_graph(device)
    x, edge = operands(device, dtype)
    for method in METHODS:
        sample = weft.EdgeSample(5, method=method, seed=1, step=4, norm=norm)
        for given in ((x, None), (x, edge), (None, edge)):
            plain = weft.spmm(graph, *given, reduce=reduce, sample=sample)
            tracked = [None if t is None else t.clone().requires_grad_() for t in given]
            out = weft.spmm(graph, *tracked, reduce=reduce, sample=sample)
            assert out.requires_grad and out.dtype is dtype
            if device == "cpu":
                assert torch.equal(out, plain)
            torch.testing.assert_close(out.detach(), plain)


@pytest.mark.parametrize("norm", ["none", "scaled"])
def test_sums_and_their_gradients_are_those_of_the_kept_edges(device, norm):
    graph = a_graph(device)
    x, edge = (t.requires_grad_() for t in operands(device, torch.float64))
    sample = weft.EdgeSample(5, method="strata", norm=norm)
    out = weft.spmm(graph, x, edge, sample=sample)
    sources, targets = graph.edge_index()
    edge_ids = graph.sampled(sample)[1]
    want = torch.zeros(20, 2, 6, dtype=torch.float64, device=device)
    want = want.index_add(0, targets[edge_ids], x[sources[edge_ids]] * edge[edge_ids])
    if norm == "scaled":
        degrees = torch.bincount(targets, minlength=20)
        want = want * (degrees.double() / degrees.clamp(1, 5)).view(-1, 1, 1)
    torch.testing.assert_close(out, want)
    got, want = (torch.autograd.grad(result.square().sum(), (x, edge)) for result in (out, want))
    torch.testing.assert_close(got, want)


def test_scaled_fresh_samples_sum_to_the_whole_on_average(device):
    graph = a_graph(device)
    x = operands(device, torch.float64)[0]
    steps = [weft.spmm(graph, x, sample=weft.EdgeSample(8, "fresh", step=step, norm="scaled")) for step in range(3000)]
    mean, spread = torch.stack(steps).mean(0), torch.stack(steps).std(0) / 3000**0.5
    assert ((mean - weft.spmm(graph, x)).abs() <= 5 * spread + 1e-9).all()


@pytest.mark.parametrize("score", ["gat", "dot"])
def test_attention_is_over_the_kept_edges_with_and_without_gradients(device, score):
    graph = a_graph(device)
    depth = 1 if score == "gat" else 4
    generator = torch.Generator().manual_seed(7)
    shapes = [(30, 2, 6), (30, 2, depth), (20, 2, depth), (400, 2, 1)]
    value, src, dst, bias = (torch.randn(*s, generator=generator, dtype=torch.float64).to(device) for s in shapes)
    for method in METHODS:
        sample = weft.EdgeSample(5, method=method, seed=2, step=1)
        for given in (None, bias):
            plain = weft.attention(graph, value, src, dst, bias=given, score=score, sample=sample)
            kept, edge_ids = graph.sampled(sample)
            of_kept = None if given is None else given[edge_ids]
            torch.testing.assert_close(plain, weft.attention(kept, value, src, dst, bias=of_kept, score=score))
            tracked = value.clone().requires_grad_()
            out = weft.attention(graph, tracked, src, dst, bias=given, score=score, sample=sample)
            torch.testing.assert_close(out.detach(), plain)
            (grad,) = torch.autograd.grad(out.square().sum(), tracked)
            want = weft.attention(kept, tracked, src, dst, bias=of_kept, score=score)
            torch.testing.assert_close(grad, torch.autograd.grad(want.square().sum(), tracked)[0])


def test_dropout_over_a_sample_is_the_same_with_and_without_gradients(device):
    graph = a_graph(device)
    value, term = torch.randn(30, 2, 6, device=device), torch.randn(30, 2, 1, device=device)
    sample = weft.EdgeSample(5)

    def call(tensor):
        return weft.attention(graph, tensor, term, term[:20], dropout=0.5, seed=9, sample=sample)

    torch.testing.assert_close(call(value.clone().requires_grad_()).detach(), call(value))


def test_samples_that_keep_all_edges_are_the_whole_graph(device):
    graph = a_graph(device)
    x, edge = operands(device)
    torch.testing.assert_close(weft.spmm(graph, x, edge, sample=weft.EdgeSample(1000)), weft.spmm(graph, x, edge))


def test_torch_func_grad_goes_over_the_kept_edges(device):
    graph = a_graph(device)
    x, sample = operands(device)[0], weft.EdgeSample(3)

    def loss(t):
        return weft.spmm(graph, t, sample=sample).square().sum()

    tracked = x.clone().requires_grad_()
    torch.testing.assert_close(torch.func.grad(loss)(x), torch.autograd.grad(loss(tracked), tracked)[0])


def test_ops_pass_opcheck(device):
    graph = a_graph(device)
    x, edge = operands(device)
    sample = ("fastrand", 5, 0, 0)
    arguments = (graph._rows, graph._key, graph.num_sources)
    for reduce in ("sum", "max"):
        spmm = (*arguments, x, edge, "u_mul_e", reduce, *sample, False)
        torch.library.opcheck(torch.ops.weft.spmm_sampled.default, spmm)
    term = torch.randn(30, 2, 1, device=device)
    attention = (*arguments, x, term, term[:20].clone(), None, None, None, "gat", 0.2, 1.0, *sample)
    torch.library.opcheck(torch.ops.weft.attention_sampled.default, attention)


def test_is_compiled_whole_without_gradients(device):
    graph = a_graph(device)
    x, sample = operands(device)[0], weft.EdgeSample(5)
    compiled = torch.compile(lambda t: weft.spmm(graph, t, sample=sample) + 1, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), weft.spmm(graph, x, sample=sample) + 1)


@pytest.mark.parametrize(
    "arguments, names",
    [
        ({"width": 0}, "width is 0: expected 1 or more"),
        ({"width": 2, "method": "best"}, "method is 'best'"),
        ({"width": 2, "norm": "half"}, "norm is 'half'"),
        ({"width": 2, "step": -1}, "step is -1"),
    ],
)
def test_samples_that_are_none_are_named(arguments, names):
    with pytest.raises(ValueError, match=names):
        weft.EdgeSample(**arguments)
