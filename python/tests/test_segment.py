import pytest
import torch

import weft

OFFSETS = [0, 3, 3, 10, 11, 20, 20]


def segments(shape, dtype, device, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(20, *shape, generator=generator, dtype=torch.float64).to(dtype).to(device)
    return x.requires_grad_(), torch.tensor(OFFSETS, device=device)


def expected(x, reduce):
    """Segment by segment, in the type of x."""
    rows = []
    for begin, end in zip(OFFSETS, OFFSETS[1:]):
        part = x[begin:end]
        if end == begin:
            rows.append(x.new_zeros(x.shape[1:]))
        elif reduce in ("sum", "mean"):
            rows.append(getattr(part, reduce)(0))
        else:
            rows.append(getattr(part, f"a{reduce}")(0))
    return torch.stack(rows)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_results_and_gradients_are_those_of_each_segment(device, reduce, shape):
    x, offsets = segments(shape, torch.float64, device)
    for trusted in (False, True):
        got, want = weft.segment_reduce(x, offsets, reduce, trusted=trusted), expected(x, reduce)
        torch.testing.assert_close(got, want)
        grad = torch.randn(want.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64).to(device)
        got, want = (torch.autograd.grad(out, x, grad)[0] for out in (got, want))
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_halves_are_added_up_in_float32(device, dtype):
    x = torch.full((4096, 2), 7.0, dtype=dtype, device=device)
    out = weft.segment_reduce(x, torch.tensor([0, 4096], device=device), "mean")
    assert out.dtype is dtype and torch.equal(out, x[:1])


def test_sums_and_means_have_second_derivatives_and_maxima_refuse_them(device):
    x, offsets = segments((2,), torch.float64, device)
    for reduce in ("sum", "mean"):
        assert torch.autograd.gradcheck(lambda t: weft.segment_reduce(t, offsets, reduce), x)
        assert torch.autograd.gradgradcheck(lambda t: weft.segment_reduce(t, offsets, reduce).square(), x)
    assert torch.autograd.gradcheck(lambda t: weft.segment_reduce(t, offsets, "max"), x)
    (first,) = torch.autograd.grad(weft.segment_reduce(x, offsets, "max").square().sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="second derivatives"):
        torch.autograd.grad(first.square().sum(), x)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max"])
def test_op_passes_opcheck(device, reduce):
    for shape in ((), (3,), (2, 3)):
        x, offsets = segments(shape, torch.float32, device)
        torch.library.opcheck(torch.ops.weft.segment_reduce.default, (x, offsets, reduce, False))
        out_grad = torch.randn(6, *shape, device=device)
        torch.library.opcheck(torch.ops.weft.segment_reduce_backward.default, (x.detach(), offsets, out_grad, reduce))


def test_sums_keep_no_x_for_their_gradients(device):
    x, offsets = segments((64,), torch.float32, device)
    kept = []
    keep = lambda t: kept.append(t.untyped_storage().nbytes()) or t  # noqa: E731
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        out = weft.segment_reduce(x, offsets)
    assert sum(kept) <= offsets.numel() * 8 + 64
    out.sum().backward()
    torch.testing.assert_close(x.grad, torch.ones_like(x))


def test_is_compiled_whole(device):
    x, offsets = segments((3,), torch.float32, device)
    compiled = torch.compile(lambda t: weft.segment_reduce(t, offsets, "mean") * 2, backend="aot_eager", fullgraph=True)
    want = weft.segment_reduce(x, offsets, "mean") * 2
    torch.testing.assert_close(compiled(x), want)
    got, want = (torch.autograd.grad(out.sum(), x)[0] for out in (compiled(x), want))
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize(
    "offsets, names",
    [
        ([0, 3, 2, 20], r"offsets\[2\] is 2, less than offsets\[1\] = 3"),
        ([1, 20], r"offsets\[0\] is 1: expected 0"),
        ([0, 19], r"x has shape \[20, 2\]: expected 19"),
        ([], "offsets is empty"),
    ],
)
def test_offsets_that_fit_nothing_are_named(offsets, names):
    with pytest.raises(RuntimeError, match=names):
        weft.segment_reduce(torch.randn(20, 2), torch.tensor(offsets, dtype=torch.int64))


def test_other_types_and_reducers_are_named():
    x, offsets = segments((2,), torch.float32, "cpu")
    with pytest.raises(RuntimeError, match="offsets has dtype i32"):
        weft.segment_reduce(x, offsets.int())
    with pytest.raises(ValueError, match="reduce is 'median'"):
        weft.segment_reduce(x, offsets, "median")


def test_spmv_is_the_product_with_the_matrix_of_edges(edge_index):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    x = torch.randn(7, dtype=torch.float64, device=edge_index.device, requires_grad=True)
    edge = torch.randn(40, dtype=torch.float64, device=edge_index.device, requires_grad=True)
    matrix = torch.zeros(9, 7, dtype=torch.float64, device=edge_index.device)
    matrix = matrix.index_put((edge_index[1], edge_index[0]), edge, accumulate=True)
    got, want = weft.spmv(graph, x, edge), matrix @ x
    torch.testing.assert_close(got, want)
    for a, b in zip(torch.autograd.grad(got.sum(), (x, edge)), torch.autograd.grad(want.sum(), (x, edge))):
        torch.testing.assert_close(a, b)
    torch.testing.assert_close(weft.spmv(graph, x), weft.spmv(graph, x, torch.ones_like(edge)))
    with pytest.raises(ValueError, match=r"x has shape \[7, 1\]"):
        weft.spmv(graph, x.unsqueeze(1))
