import pytest
import torch
from torch.nn.functional import leaky_relu

import weft
from conftest import random_edges


def softmax(edge_index, scores, num_targets):
    index = edge_index[1].view(-1, *[1] * (scores.dim() - 1)).expand_as(scores)
    top = scores.new_full((num_targets, *scores.shape[1:]), -torch.inf)
    top = top.scatter_reduce(0, index, scores.detach(), "amax")
    weights = (scores - top[edge_index[1]]).exp()
    return weights / weights.new_zeros(top.shape).scatter_add(0, index, weights)[edge_index[1]]


def scores_of(edge_index, t, score, slope, scale):
    u, v = edge_index
    both = t["src"][u] + t["dst"][v] + (0 if t.get("edge") is None else t["edge"])
    if score == "gat":
        return leaky_relu(both, slope)
    if score == "gatv2":
        return (t["attn"] * leaky_relu(both, slope)).sum(-1, keepdim=True)
    return scale * (t["src"][u] * t["dst"][v]).sum(-1, keepdim=True)


def expected(edge_index, num_targets, t, score, slope=0.2, scale=1.0):
    scores = scores_of(edge_index, t, score, slope, scale)
    if t.get("bias") is not None:
        scores = scores + t["bias"]
    message = softmax(edge_index, scores, num_targets) * t["value"][edge_index[0]]
    index = edge_index[1].view(-1, 1, 1).expand_as(message)
    return message.new_zeros(num_targets, *message.shape[1:]).scatter_add(0, index, message)


def tensors(score, heads, width, dtype, device, bias=False, depth=5, edge=False):
    generator = torch.Generator().manual_seed(6)

    def made(*shape):
        t = torch.randn(*shape, generator=generator, dtype=torch.float64)
        return t.to(dtype).to(device).requires_grad_()

    depth = 1 if score == "gat" else depth
    t = {"value": made(7, heads, width), "src": made(7, heads, depth), "dst": made(9, heads, depth)}
    t["attn"] = made(1, heads, depth) if score == "gatv2" else None
    t["bias"] = made(40, heads, 1) if bias else None
    t["edge"] = made(40, heads, depth) if edge and score != "dot" else None
    return t


@pytest.mark.parametrize("score", ["gat", "gatv2", "dot"])
@pytest.mark.parametrize("heads, width", [(1, 4), (3, 5)])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("edge", [False, True])
def test_results_and_gradients_are_those_of_messages(edge_index, score, heads, width, bias, edge):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    t = tensors(score, heads, width, torch.float64, edge_index.device, bias, edge=edge)
    got = weft.attention(graph, **t, score=score, slope=0.3, scale=0.7)
    want = expected(edge_index, 9, t, score, 0.3, 0.7)
    torch.testing.assert_close(got, want, rtol=1e-11, atol=1e-11)  # slope and scale, too, are in float64
    given = [x for x in t.values() if x is not None]
    grad = torch.randn(want.shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64).to(want.device)
    for a, b in zip(torch.autograd.grad(got, given, grad), torch.autograd.grad(want, given, grad)):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float16, 4e-3), (torch.bfloat16, 3e-2)])
@pytest.mark.parametrize("score", ["gat", "gatv2", "dot"])
def test_other_types_are_near_and_have_no_nan(edge_index, score, dtype, tolerance):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    t = tensors(score, 2, 8, dtype, edge_index.device, edge=True)
    out = weft.attention(graph, **t, score=score)
    assert out.dtype is dtype
    wide = {k: None if v is None else v.detach().double() for k, v in t.items()}
    torch.testing.assert_close(out.double(), expected(edge_index, 9, wide, score), atol=tolerance, rtol=tolerance)
    out.sum().backward()
    assert all(torch.isfinite(x.grad).all() for x in t.values() if x is not None)


def test_edge_softmax_and_its_gradient_are_those_of_exponentials(edge_index):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    for shape in ((40,), (40, 3, 1)):
        scores = torch.randn(shape, dtype=torch.float64, device=edge_index.device, requires_grad=True)
        got, want = weft.edge_softmax(graph, scores), softmax(edge_index, scores, 9)
        torch.testing.assert_close(got, want)
        grad = torch.randn_like(want)
        for a, b in zip(torch.autograd.grad(got, scores, grad), torch.autograd.grad(want, scores, grad)):
            torch.testing.assert_close(a, b)
    masked = weft.edge_softmax(graph, torch.full((40,), -torch.inf, device=edge_index.device))
    assert torch.equal(masked, torch.zeros_like(masked))


def test_dropout_keeps_the_mean_and_follows_its_seed(device):
    edge_index = torch.stack([torch.arange(4000), torch.zeros(4000, dtype=torch.int64)]).to(device)
    graph = weft.Graph.from_edge_index(edge_index, size=(4000, 1))
    value = torch.ones(4000, 1, 1, device=device)
    src, dst = torch.zeros(4000, 1, 1, device=device), torch.zeros(1, 1, 1, device=device)

    def run(**options):
        return weft.attention(graph, value, src, dst, dropout=0.5, **options)

    assert abs(float(run(seed=1)) - 1) < 0.1
    assert torch.equal(run(seed=1), run(seed=1))
    assert not torch.equal(run(seed=1), run(seed=2))
    torch.manual_seed(3)
    first = run()
    assert not torch.equal(first, run())
    torch.manual_seed(3)
    assert torch.equal(first, run())


def test_compiled_dropout_drops_others_every_time_and_follows_the_seed(device):
    edge_index = torch.stack([torch.arange(4000), torch.zeros(4000, dtype=torch.int64)]).to(device)
    graph = weft.Graph.from_edge_index(edge_index, size=(4000, 1))
    value = torch.ones(4000, 1, 1, device=device, requires_grad=True)
    src, dst = torch.zeros(4000, 1, 1, device=device), torch.zeros(1, 1, 1, device=device)
    run = torch.compile(lambda v: weft.attention(graph, v, src, dst, dropout=0.5), fullgraph=True)
    torch.manual_seed(3)
    first = run(value)
    assert not torch.equal(first, run(value))
    torch.manual_seed(3)
    again = run(value)
    assert torch.equal(first, again)
    (gradient,) = torch.autograd.grad(again, value)  # of the edges that the forward kept: 0 or 2 / 4000
    torch.testing.assert_close(gradient.sum(), again.sum())
    torch.testing.assert_close(gradient.unique(), gradient.new_tensor([0, 2 / 4000]))


def test_gradcheck_of_attention_with_dropout(edge_index):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    for score in ("gat", "gatv2", "dot"):
        t = tensors(score, 2, 3, torch.float64, edge_index.device, bias=True, edge=True)
        names = [k for k, v in t.items() if v is not None]

        def call(*given):
            return weft.attention(graph, **dict(zip(names, given)), score=score, dropout=0.3, seed=8)

        assert torch.autograd.gradcheck(call, [t[k] for k in names])


@pytest.mark.parametrize("score", ["gat", "gatv2", "dot"])
def test_ops_pass_opcheck(edge_index, score):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    t = tensors(score, 2, 3, torch.float32, edge_index.device, bias=True, edge=True)
    options = (score, 0.2, 1.0, 0.0, 0, None)
    torch.library.opcheck(torch.ops.weft.attention.default, (*graph._arguments, *t.values(), *options))
    scores = torch.randn(40, 2, 1, device=edge_index.device, requires_grad=True)
    torch.library.opcheck(torch.ops.weft.edge_softmax.default, (*graph._arguments, scores))


def test_what_does_not_fit_is_named():
    graph = weft.Graph.from_edge_index(random_edges(7, 9, 40), size=(7, 9))
    v, s, d = torch.ones(7, 2, 4), torch.ones(7, 2, 1), torch.ones(9, 2, 1)
    for call, names in (
        (lambda: weft.attention(graph, v[:6], s, d), "value has shape"),
        (lambda: weft.attention(graph, v, s, d[:7]), "dst has shape"),
        (lambda: weft.attention(graph, v, s, d, score="gatv2"), "attn"),
        (lambda: weft.attention(graph, v, s, d, score="cosine"), "score is 'cosine'"),
        (lambda: weft.attention(graph, v, s, d, dropout=1.0), "dropout is 1.0"),
        (lambda: weft.attention(graph, v[:, 0], s, d), "value has shape"),
        (lambda: weft.attention(graph, v, s.half(), d), "src has dtype"),
        (lambda: weft.attention(graph, v, s, d, edge=torch.ones(39, 2, 1)), "edge has shape"),
        (lambda: weft.attention(graph, v, v, torch.ones(9, 2, 4), edge=torch.ones(40, 2, 4), score="dot"), "edge"),
        (lambda: weft.edge_softmax(graph, torch.ones(40, 2)), "scores has shape"),
    ):
        with pytest.raises((RuntimeError, ValueError), match=names):
            call()
