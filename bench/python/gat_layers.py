#!/usr/bin/env python3
"""Times one GATConv of PyG and the same layer after weft.convert in one process: forward alone, and forward and
backward, by heads and width (features of all heads together).

    PYTHONPATH=python python3 bench/python/gat_layers.py GRAPH [--heads 1,4] [--width 16,32,64,128] [--device cpu] [--json FILE]

GRAPH is a file that weft.Graph.load reads, or one of raw compressed rows (.csr, docs/formats.md). Times are reported
only if the results agree.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from pathlib import Path

import torch
import torch_geometric
from torch_geometric.nn import GATConv

import weft
from files import edges_of, write_record

MOST_OFF = 1e-4  # allowed difference over the largest value, in float32


def milliseconds(call, device: torch.device, repeat: int) -> float:
    def wait():
        if device.type == "cuda":
            torch.cuda.synchronize()

    times = []
    for i in range(repeat + 2):  # the first two plan and fill caches
        wait()
        begin = time.perf_counter()
        call()
        wait()
        if i >= 2:
            times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def compare(edge_index, nodes: int, heads: int, width: int, repeat: int) -> dict:
    device = edge_index.device
    torch.manual_seed(0)
    x = torch.randn(nodes, width, device=device, requires_grad=True)
    layers = {"pyg": GATConv(width, width // heads, heads=heads).to(device)}
    layers["weft"] = weft.convert(copy.deepcopy(layers["pyg"]))
    found = {"heads": heads, "width": width}
    results = {}
    for name, layer in layers.items():
        def forward():
            with torch.no_grad():
                return layer(x, edge_index)

        def both():
            x.grad = None
            layer.zero_grad()
            out = layer(x, edge_index)
            out.square().sum().backward()
            return out.detach(), x.grad

        results[name] = both()
        found[f"{name}_forward_ms"] = milliseconds(forward, device, repeat)
        found[f"{name}_ms"] = milliseconds(both, device, repeat)
    for what, a, b in zip(("result", "gradient"), results["pyg"], results["weft"]):
        off = ((a - b).abs().max() / a.abs().max()).item()
        found[f"{what}_off"] = off
        if not off <= MOST_OFF:
            sys.exit(f"heads {heads}, width {width}: the {what} is off by {off:.1e}, expected at most {MOST_OFF}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("graph", type=Path)
    parser.add_argument("--heads", default="1,4")
    parser.add_argument("--width", default="16,32,64,128")
    parser.add_argument("--device", type=torch.device, default=torch.device("cpu"))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    edge_index, nodes = edges_of(args.graph)
    edge_index = edge_index.to(args.device)
    results = []
    for heads in map(int, args.heads.split(",")):
        for width in map(int, args.width.split(",")):
            r = compare(edge_index, nodes, heads, width, args.repeat)
            results.append(r)
            print(
                f"heads {heads} width {width:4}  forward {r['pyg_forward_ms']:8.1f} ms, weft {r['weft_forward_ms']:7.1f}"
                f" ({r['pyg_forward_ms'] / r['weft_forward_ms']:.2f} x)  with backward {r['pyg_ms']:8.1f} ms, weft "
                f"{r['weft_ms']:7.1f} ({r['pyg_ms'] / r['weft_ms']:.2f} x)", flush=True,
            )
    if args.json:
        write_record(
            args.json, args.device, results, graph=args.graph.stem, edges=edge_index.size(1), pyg=torch_geometric.__version__
        )


if __name__ == "__main__":
    main()
