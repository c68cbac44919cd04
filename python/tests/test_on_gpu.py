"""What a GPU alone shows: nothing waits and nothing is allocated beside torch's memory once plans are made."""

import gc

import pytest
import torch

import weft
from conftest import random_edges

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
NODES = 300


def made(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).cuda()


def a_graph():
    return weft.Graph.from_edge_index(random_edges(NODES, NODES, 4000).cuda(), size=NODES)


def calls():
    graph = a_graph()
    edge, edge_terms, heads, attn = made(4000), made(4000, 4, 1), made(NODES, 4, 1, seed=2), made(1, 4, 4)
    gcn, gat = weft.nn.GCNConv(16, 8).cuda(), weft.nn.GATConv(16, 8, heads=4).cuda()
    return {
        "spmm": lambda x: weft.spmm(graph, x),
        "spmm by values": lambda x: weft.spmm(graph, x, edge, reduce="mean"),
        "spmm max": lambda x: weft.spmm(graph, x, reduce="max"),
        "spmm scaled": lambda x: weft.spmm_scaled(graph, x, target_scale=edge[:NODES].abs()),
        "sddmm": lambda x: weft.sddmm(graph, x, x),
        "softmax": lambda x: weft.edge_softmax(graph, weft.sddmm(graph, x, x)),
        "gat": lambda x: weft.attention(graph, x.view(NODES, 4, 4), heads, heads),
        "gat of edges": lambda x: weft.attention(graph, x.view(NODES, 4, 4), heads, heads, edge=edge_terms),
        "gatv2": lambda x: weft.attention(
            graph, x.view(NODES, 4, 4), x.view(NODES, 4, 4), x.view(NODES, 4, 4), attn, score="gatv2"
        ),
        "dot": lambda x: weft.attention(graph, *[x.view(NODES, 4, 4)] * 3, score="dot"),
        "GCN": lambda x: gcn(x, graph),
        "GAT": lambda x: gat(x, graph),
    }


NAMES = ["spmm", "spmm by values", "spmm max", "spmm scaled", "sddmm", "softmax", "gat", "gat of edges", "gatv2", "dot",
         "GCN", "GAT"]


def step(call, x):
    out = call(x)
    return out, torch.autograd.grad(out.square().sum(), x)[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_captured_forward_and_backward_gives_the_bits_of_direct_ones(name):
    call, x = calls()[name], made(NODES, 16, seed=3).requires_grad_()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step(call, x)
    torch.cuda.current_stream().wait_stream(side)
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):  # a wait or an allocation of CUDA's own would end the capture
        out, gradient = step(call, x)
    for seed in (4, 5):
        with torch.no_grad():
            x.copy_(made(NODES, 16, seed=seed))
        recorded.replay()
        want, want_gradient = step(call, x)
        assert torch.equal(out, want) and torch.equal(gradient, want_gradient)


def test_replays_drop_other_weights_every_time():
    graph, value, term = a_graph(), torch.ones(NODES, 1, 1).cuda(), torch.zeros(NODES, 1, 1).cuda()
    weft.attention(graph, value, term, term, dropout=0.5)
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        out = weft.attention(graph, value, term, term, dropout=0.5)
    recorded.replay()
    first = out.clone()
    recorded.replay()
    assert not torch.equal(first, out)


@pytest.mark.parametrize("name", NAMES)
def test_a_planned_forward_and_backward_takes_memory_of_torch_alone(name):
    call, x = calls()[name], made(NODES, 16, seed=3).requires_grad_()
    for _ in range(3):
        step(call, x)
    gc.collect()  # graphs of tests before this one
    torch.cuda.synchronize()

    def of_torch():
        return torch.cuda.memory_reserved(), torch.cuda.memory_allocated()

    before = of_torch()
    for _ in range(3):  # other processes take and give back memory of the GPU, too, but not in every round
        free = torch.cuda.mem_get_info()[0]
        for _ in range(5):
            step(call, x)
        torch.cuda.synchronize()
        assert of_torch() == before
        if torch.cuda.mem_get_info()[0] == free:
            return
    pytest.fail("the GPU's free memory changed in every round")
