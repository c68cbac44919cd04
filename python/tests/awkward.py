"""Graphs with everything that layers stumble over, and comparisons of layers that share their parameters."""

import torch


def awkward_edges(num_sources=9, num_targets=9, num_edges=40, seed=0, loops=(2, 4, 4)):
    """In no order, with edges that occur twice, self-loops, nodes that nothing arrives at and nodes that nothing
    leaves."""
    generator = torch.Generator().manual_seed(seed)
    sources = torch.randint(1, num_sources, (num_edges,), generator=generator)
    targets = torch.randint(num_targets - 2, (num_edges,), generator=generator)
    pairs = torch.stack([sources, targets])[:, sources != targets]
    pairs = torch.cat([pairs, pairs[:, :5], torch.tensor([loops, loops], dtype=torch.int64)], dim=1)
    return pairs[:, torch.randperm(pairs.size(1), generator=generator)]


def features(*shape, seed=1, dtype=torch.float32, device="cpu"):
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.to(dtype).to(device).requires_grad_()


def randomised(layer, seed=2):
    """Parameters with nothing at zero, where a mistake would hide."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in layer.parameters():
        parameter.data.copy_(torch.randn(parameter.shape, generator=generator))
    return layer


def magnitude(tensors):
    return max((t.detach().abs().max().item() for t in tensors if t is not None and t.numel()), default=0.0)


def assert_near(got, want, bound):
    assert got.shape == want.shape and got.dtype == want.dtype
    torch.testing.assert_close(got, want, rtol=0, atol=bound)


def results(layer, tensors, call):
    """The result, and the gradients of tensors and parameters."""
    out = call(layer)
    grad = torch.randn(out.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64).to(out)
    leaves = [*tensors, *layer.parameters()]
    return out, torch.autograd.grad(out, leaves, grad, allow_unused=True)


def assert_same_layer(got_layer, want_layer, tensors, call_got, call_want=None, relative=1e-5, want_tensors=None):
    """Results within so much of their largest magnitude, and gradients of theirs: some of these are 0 but for rounding,
    as that of the keys' bias, which a softmax does not see. ``want_tensors``, of a wider type, make a reference whose own
    rounding does not count."""
    got, got_grads = results(got_layer, tensors, call_got)
    want, want_grads = results(want_layer, want_tensors or tensors, call_want or call_got)
    if want_tensors:
        want, want_grads = want.to(got.dtype), [g if g is None else g.to(got.dtype) for g in want_grads]
    assert_near(got, want, relative * magnitude([want]))
    bound = relative * magnitude(want_grads)
    for a, b in zip(got_grads, want_grads):
        assert (a is None or not a.any()) if b is None else a is not None
        if b is not None:
            assert_near(a, b, bound)
