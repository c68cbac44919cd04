#!/usr/bin/env python3
"""Times the sums that layers are made of, forward and backward, by width and dtype: plain, with the factors of GCN's
normalisation, with a node's own features, and a plain sum between two passes that multiply by the factors.

    PYTHONPATH=python python3 bench/python/sums.py GRAPH.. [--width 16,47,64,100,128] [--dtype f32,f16] [--device cuda] [--json FILE]

GRAPH is a file that weft.Graph.load reads, or one of raw compressed rows (.csr, docs/formats.md). On a GPU times are of the
device, between two events around all repetitions. Results are compared with a float64 sum before times are taken.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch

import weft
from files import edges_of, write_record

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
MOST_OFF = {"f32": 1e-4, "f16": 4e-3, "bf16": 3e-2}  # allowed difference over the largest value


def microseconds(call, device: torch.device, repeat: int) -> float:
    for _ in range(3):  # plans are made
        call()
    if device.type != "cuda":
        begin = time.perf_counter()
        for _ in range(repeat):
            call()
        return (time.perf_counter() - begin) / repeat * 1e6
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(repeat):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / repeat * 1e3


def sums_of(graph: weft.Graph, scale: torch.Tensor, dtype: torch.dtype) -> dict:
    """Each takes x. `scale` is a factor per node, in the accumulator's type."""
    column = scale.unsqueeze(1).to(dtype)
    return {
        "plain": lambda x: weft.spmm(graph, x),
        "mean": lambda x: weft.spmm(graph, x, reduce="mean"),
        "targets scaled": lambda x: weft.spmm_scaled(graph, x, target_scale=scale),
        "both scaled": lambda x: weft.spmm_scaled(graph, x, target_scale=scale, source_scale=scale),
        "own features": lambda x: weft.spmm_scaled(graph, x, self_scale=scale),
        "gcn": lambda x: weft.spmm_scaled(graph, x, target_scale=scale, source_scale=scale, self_scale=scale),
        "gcn by passes": lambda x: torch.addcmul(weft.spmm(graph, x * column) * column, x, column),
    }


def measure(name: str, graph: weft.Graph, width: int, dtype: str, repeat: int) -> list:
    device = graph.device
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(graph.num_nodes, width, generator=generator).to(device, DTYPES[dtype]).requires_grad_()
    scale = torch.rand(graph.num_nodes, generator=generator).to(device) * 0.1
    gradient = torch.randn(graph.num_nodes, width, generator=generator).to(device, DTYPES[dtype])
    wide = x.detach().double().requires_grad_()
    exact = sums_of(graph, scale.double(), torch.float64)
    results = []
    for what, run in sums_of(graph, scale, DTYPES[dtype]).items():
        want = exact[what](wide)
        (want_grad,) = torch.autograd.grad(want, wide, gradient.double())
        got = run(x)
        (got_grad,) = torch.autograd.grad(got, x, gradient)
        off = max(((a - b).abs().max() / b.abs().max()).item() for a, b in ((got, want), (got_grad, want_grad)))
        if not off <= MOST_OFF[dtype]:
            raise SystemExit(f"{name}, {what}, width {width}, {dtype}: results are off by {off:.1e}")
        del want, want_grad, got, got_grad
        with torch.no_grad():
            forward = microseconds(lambda: run(x), device, repeat)
        both = microseconds(lambda: torch.autograd.grad(run(x), x, gradient), device, repeat)
        results.append(
            {"graph": name, "width": width, "dtype": dtype, "sum": what, "forward_us": forward, "both_us": both, "off": off}
        )
        print(f"{name:12} {width:4} {dtype:5} {what:16} {forward:10.1f} {both:10.1f}", flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", type=Path, nargs="+", metavar="GRAPH")
    parser.add_argument("--width", default="16,47,64,100,128")
    parser.add_argument("--dtype", default="f32,f16")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", type=torch.device)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    for dtype in args.dtype.split(","):
        if dtype not in DTYPES:
            sys.exit(f"--dtype has {dtype}: expected some of {', '.join(DTYPES)}")
    results = []
    print(f"{'graph':12} {'F':>4} {'dtype':5} {'sum':16} {'forward us':>10} {'both us':>10}")
    for path in args.graphs:
        edge_index, nodes = edges_of(path)
        graph = weft.Graph.from_edge_index(edge_index.to(args.device), nodes)
        for width in (int(text) for text in args.width.split(",")):
            for dtype in args.dtype.split(","):
                results += measure(path.stem, graph, width, dtype, args.repeat)
    if args.json:
        write_record(args.json, args.device, results)


if __name__ == "__main__":
    main()
