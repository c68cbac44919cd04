#!/usr/bin/env python3
"""Host time of a call, on a graph so small that the GPU waits for the CPU: microseconds per call without gradients,
with a forward that autograd records, and with forward and backward. For comparison: an autograd.Function in Python that
only copies.

    PYTHONPATH=python python3 bench/python/call_overhead.py GRAPH.csr [--device cuda] [--json FILE]

GRAPH.csr is a file of raw compressed rows (docs/formats.md). No call in a round waits for the GPU; the result is the
best of five rounds.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

import weft
from files import edges_of, write_record

WIDTH = 16


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad


def calls_of(graph: weft.Graph, device: torch.device) -> dict:
    """Maps each name to a function without arguments and the tensors that its result is differentiated by."""
    def made(*shape):
        return torch.rand(*shape, device=device, requires_grad=True)

    n, edges = graph.num_nodes, graph.num_edges
    x, weight, value, term, scores = made(n, WIDTH), made(edges), made(n, 1, WIDTH), made(n, 1, 1), made(edges, 1, 1)
    return {
        "weft.spmm": (lambda: weft.spmm(graph, x), (x,)),
        "weft.spmm by values": (lambda: weft.spmm(graph, x, weight), (x, weight)),
        "weft.sddmm": (lambda: weft.sddmm(graph, x, x), (x,)),
        "weft.edge_softmax": (lambda: weft.edge_softmax(graph, scores), (scores,)),
        "weft.attention, gat": (lambda: weft.attention(graph, value, term, term), (value, term)),
        "autograd.Function that copies": (lambda: Copy.apply(x), (x,)),
    }


ROUNDS = 5


def microseconds(call, device: torch.device, count: int = 500) -> float:
    def wait():
        if device.type == "cuda":
            torch.cuda.synchronize()

    for _ in range(count // 5):  # warm-up: plans are made
        call()
    wait()
    start = time.perf_counter()
    for _ in range(count):
        call()
    taken = (time.perf_counter() - start) / count * 1e6
    wait()
    return taken


def measured(call, leaves, device: torch.device) -> dict:
    gradient = torch.ones_like(call())
    with torch.no_grad():
        plain = microseconds(call, device)
    return {
        "no_grad_us": plain, "forward_us": microseconds(call, device),
        "forward_backward_us": microseconds(lambda: torch.autograd.grad(call(), leaves, gradient), device),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path, metavar="GRAPH.csr")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", type=torch.device)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    edge_index, nodes = edges_of(args.graph)
    graph = weft.Graph.from_edge_index(edge_index.to(args.device), nodes)
    calls = calls_of(graph, args.device)
    best = {}
    for _ in range(ROUNDS):  # all calls in turn: the first ones run before the machine is at full speed
        for name, (call, leaves) in calls.items():
            found = measured(call, leaves, args.device)
            best[name] = {what: min(us, best.get(name, found)[what]) for what, us in found.items()}
    results = [{"call": name, **found} for name, found in best.items()]
    print(f"{'us per call':32} {'no_grad':>8} {'forward':>8} {'and backward':>13}")
    for r in results:
        print(f"{r['call']:32} {r['no_grad_us']:8.1f} {r['forward_us']:8.1f} {r['forward_backward_us']:13.1f}")
    if args.json:
        write_record(args.json, args.device, results)


if __name__ == "__main__":
    main()
