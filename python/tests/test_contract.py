"""What holds of graphs and operators whatever is done around them."""

import gc

import pytest
import torch
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

import weft
from conftest import random_edges


def a_graph(seed=0, device="cpu"):
    return weft.Graph.from_edge_index(random_edges(7, 9, 40, seed=seed).to(device), size=(7, 9))


def test_arrays_in_any_layout_are_read_right(device):
    rowptr = torch.tensor([0, 300], device=device)
    ones = torch.ones(1, dtype=torch.int32, device=device).expand(300)
    apart = torch.ones(300, 2, dtype=torch.int64, device=device)[:, 0]
    ids = torch.arange(600, device=device)[::2] // 2
    x = torch.tensor([[1.0], [2.0], [4.0]], device=device)
    for trusted in (False, True):
        for col in (ones, apart):
            for edge_ids in (None, ids):
                graph = weft.Graph.from_csr(rowptr, col, 3, edge_ids, trusted=trusted)
                assert weft.spmm(graph, x).item() == 600


def test_a_graph_from_csr_does_not_follow_its_arrays():
    rowptr, col = torch.tensor([0, 1, 2]), torch.tensor([1, 0], dtype=torch.int32)
    graph = weft.Graph.from_csr(rowptr, col)
    x = torch.tensor([1.0, 2.0])
    col[0] = 10**8
    rowptr.share_memory_()
    assert weft.spmm(graph, x).tolist() == [2.0, 1.0]
    graph.col.share_memory_(), graph.rowptr.share_memory_()
    assert weft.spmm(graph, x).tolist() == [2.0, 1.0]


def test_a_sparse_matrix_with_indices_out_of_range_is_refused():
    wrong = torch.sparse_csr_tensor([0, 1], [10**8], torch.ones(1), size=(1, 1), check_invariants=False)
    with pytest.raises(RuntimeError, match=r"cols\[0\] is 100000000"):
        weft.Graph.from_sparse(wrong)


def test_the_key_of_another_graph_is_not_believed(device):
    one, other = a_graph(1, device), a_graph(2, device)
    x = torch.randn(7, 4, device=device)
    for key in (other._key, -1, 10**9):
        got, _ = torch.ops.weft.spmm(one._rows, key, one.num_sources, x, None, "copy_u", "sum")
        torch.testing.assert_close(got, weft.spmm(one, x))


def test_an_exported_program_runs_over_its_own_graph():
    class Sums(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.graph = a_graph(3)

        def forward(self, x):
            return weft.spmm(self.graph, x)

    module, x = Sums(), torch.randn(7, 4)
    want = module(x)
    program = torch.export.export(module, (x,))
    module.graph = None
    gc.collect()
    others = [a_graph(seed) for seed in range(4, 8)]
    torch.testing.assert_close(program.module()(x), want)
    assert len(others) == 4


def test_deterministic_algorithms_are_what_weft_has_anyway(device, recwarn):
    edge_index = random_edges(200, 150, 5000, seed=5).to(device)
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(rows, 2, 8, generator=generator).to(device) for rows in (200, 150))
    src, dst = x[:, :, :1].contiguous(), y[:, :, :1].contiguous()

    def everything():
        graph = weft.Graph.from_edge_index(edge_index, size=(200, 150))
        results = []
        for call, tensors in (
            (lambda x: weft.spmm(graph, x, reduce="mean"), (x,)),
            (lambda x: weft.spmm(graph, x, reduce="max"), (x,)),
            (lambda x, y: weft.sddmm(graph, x, y), (x, y)),
            (lambda x, s, d: weft.attention(graph, x, s, d, dropout=0.3, seed=1), (x, src, dst)),
        ):
            tensors = [t.detach().requires_grad_() for t in tensors]
            out = call(*tensors)
            results += [out, *torch.autograd.grad(out.square().sum(), tensors)]
        return results

    usual = everything()
    torch.use_deterministic_algorithms(True)
    try:
        for _ in range(3):
            assert all(torch.equal(a, b) for a, b in zip(everything(), usual))
    finally:
        torch.use_deterministic_algorithms(False)
    assert not recwarn.list


def test_what_does_not_fit_into_memory_is_torchs_error_in_one_line(device):
    graph = weft.Graph.from_edge_index(random_edges(7, 9, 2**15).to(device), size=(7, 9))
    tall = torch.ones(7, 2**15, 1, dtype=torch.float64, device=device)
    wide = torch.ones(9, 1, 2**15, dtype=torch.float64, device=device)
    with pytest.raises(torch.OutOfMemoryError, match=r"no room for a tensor of shape \[32768, 32768") as raised:
        weft.sddmm(graph, tall, wide, op="mul")
    assert len(str(raised.value).splitlines()) == 1
    with pytest.raises(torch.OutOfMemoryError, match="no room for a tensor"):
        torch.func.grad(lambda t: weft.sddmm(graph, t, wide, op="mul").sum())(tall)
    small = torch.ones(7, 4, device=device)
    assert weft.spmm(graph, small).shape == (9, 4)


def test_errors_are_of_one_line_without_a_trace_of_calls(device):
    graph = a_graph(0, device)
    x = torch.randn(7, 4, device=device, requires_grad=True)
    for call in (
        lambda: weft.spmm(graph, x[:5]),
        lambda: weft.spmm(graph, x.detach()[:5]),
        lambda: weft.sddmm(graph, x, x),
        lambda: torch.ops.weft.spmm(*graph._arguments, x[:5], None, "copy_u", "sum"),
    ):
        with pytest.raises(RuntimeError, match="expected (7|9) rows") as raised:
            call()
        assert len(str(raised.value).splitlines()) == 1


def test_tracing_outside_of_compile_sees_the_operator_that_holds_no_key_of_its_own():
    graph, x = a_graph(), torch.randn(7, 4)
    traced = make_fx(lambda t: weft.spmm(graph, t))(x)
    assert "torch.ops.weft.spmm.default" in traced.code
    torch.testing.assert_close(traced(x), weft.spmm(graph, x))
    with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fake = mode.from_tensor(x)
        assert weft.spmm(graph, fake).shape == (9, 4)


def test_a_key_that_no_graph_has_is_refused_by_operators_that_know_nothing_else():
    with pytest.raises(RuntimeError, match="no graph is held under the key -1"):
        torch.ops.weft.spmm_held(-1, torch.ones(3, 2), None, 0, 0)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max"])
def test_both_ways_to_an_operator_give_the_same_bits(device, reduce):
    graph = a_graph(0, device)
    x = torch.randn(7, 2, 3, device=device, requires_grad=True)
    edge = torch.rand(40, 2, 1, device=device, requires_grad=True)
    for op in ("u_mul_e", "u_add_e", "u_div_e"):
        for wanted in ((x, edge), (x,), (edge,)):
            results = []
            for out in (
                weft.spmm(graph, x, edge, op=op, reduce=reduce),
                torch.ops.weft.spmm(*graph._arguments, x, edge, op, reduce)[0],
            ):
                results.append((out, *torch.autograd.grad(out.square().sum(), wanted)))
            assert all(torch.equal(a, b) for a, b in zip(*results))
    results = []
    for out in (
        weft.sddmm(graph, edge, x, lhs_target="e", rhs_target="u"),
        torch.ops.weft.sddmm(*graph._arguments, edge, x, "dot", "e", "u"),
    ):
        results.append((out, *torch.autograd.grad(out.square().sum(), (edge, x))))
    assert all(torch.equal(a, b) for a, b in zip(*results))


def test_a_graph_lives_until_its_backward(device):
    graph = a_graph(0, device)
    x = torch.randn(7, 4, device=device, requires_grad=True)
    out, gone = weft.spmm(graph, x), graph._release
    del graph
    gc.collect()
    assert gone.alive
    out.sum().backward()
    del out
    gc.collect()
    assert not gone.alive


def test_a_graph_that_goes_while_torch_traces_leaves_nothing_in_the_program():
    graphs = [a_graph()]

    def f(x):
        graphs.clear()
        gc.collect()
        return x + 1

    traced = make_fx(f)(torch.ones(2))
    assert "weft" not in traced.code


def test_forward_mode_is_refused_and_not_zero():
    graph, x = a_graph(), torch.randn(7, 4)
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="forward-mode"):
        weft.spmm(graph, forward_ad.make_dual(x, torch.ones_like(x)))
    with pytest.raises(RuntimeError):
        torch.func.jvp(lambda t: weft.spmm(graph, t), (x,), (torch.ones_like(x),))


def test_torch_func_grad_is_that_of_backward():
    graph = a_graph()
    x = torch.randn(7, 2, 4, requires_grad=True)
    s, d = torch.randn(7, 2, 1), torch.randn(9, 2, 1)
    for call in (
        lambda t: weft.spmm(graph, t, reduce="max").square().sum(),
        lambda t: weft.sddmm(graph, t, d.expand(9, 2, 4)).square().sum(),
        lambda t: weft.attention(graph, t, s, d).square().sum(),
    ):
        want = torch.autograd.grad(call(x), x)[0]
        torch.testing.assert_close(torch.func.grad(call)(x.detach()), want)


def test_softmax_keeps_no_scores_and_max_reads_winners_in_any_layout(device):
    graph = a_graph(0, device)
    scores = torch.randn(40, device=device, requires_grad=True)
    changed = scores * 1
    out = weft.edge_softmax(graph, changed)
    changed.add_(1)
    out.sum().backward()
    x = torch.randn(7, 4, device=device, requires_grad=True)
    want = torch.autograd.grad(weft.spmm(graph, x, reduce="max").sum(), x)[0]
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: t.detach().t().contiguous() if t.dim() == 2 else t.detach(), lambda t: t.t() if t.dim() == 2 else t
    ):
        got = torch.autograd.grad(weft.spmm(graph, x, reduce="max").sum(), x)[0]
    torch.testing.assert_close(got, want)


def test_sums_keep_nothing_that_their_backward_does_not_read(device):
    graph = a_graph(0, device)
    edge = torch.rand(40, device=device)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.untyped_storage().nbytes()) or t, lambda t: t):
        for reduce in ("sum", "mean"):
            weft.spmm(graph, torch.randn(7, 64, device=device, requires_grad=True), reduce=reduce)
            weft.spmm(graph, torch.randn(7, 64, device=device, requires_grad=True), edge, reduce=reduce)
    assert sum(kept) <= 2 * edge.numel() * 4 + 64
    x = torch.randn(7, 64, device=device, requires_grad=True)
    changed = x * 1
    out = weft.spmm(graph, changed)
    changed.add_(1)
    out.sum().backward()
    degrees = torch.bincount(graph.edge_index()[0], minlength=7)
    torch.testing.assert_close(x.grad, degrees.to(x).unsqueeze(1).expand(7, 64))


def test_transposes_and_devices_are_the_same_objects():
    graph = a_graph()
    assert graph.transpose().transpose() is graph
    assert graph.to("cpu") is graph
    transposed = graph.transpose()
    del graph
    gc.collect()
    assert torch.equal(transposed.transpose().edge_index(), random_edges(7, 9, 40))


@pytest.mark.parametrize("rows", [[], [torch.tensor([0, 1])], [torch.tensor([0, 1])] * 4])
def test_rows_that_are_none_are_named(rows):
    with pytest.raises(RuntimeError, match="rows (are missing|has)"):
        torch.ops.weft.graph_hold(rows, 1)
