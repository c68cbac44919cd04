#!/usr/bin/env python3
"""Trains PyG models with PyG and, after weft.convert, with weft in one process: time and memory of an epoch (forward,
backward and Adam over the whole graph).

    PYTHONPATH=python python3 bench/python/train_pyg.py GRAPH.csr.. [--cells CELLS] [--device cuda] [--profile] [--json FILE]

Graphs are files of raw compressed rows (docs/formats.md), named as in DATASETS; features, labels and weights are
random, the same for all variants. Compare the losses before the times: a cell whose losses differ is not a result.
"""

from __future__ import annotations

import argparse
import copy
import gc
import math
import statistics
import sys
import time
from pathlib import Path

import torch
import torch_geometric
from torch import nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

import weft
from files import edges_of, write_record

DATASETS = {  # features, classes
    "cora": (1433, 7), "pubmed": (500, 3), "yeast": (74, 2), "arxiv": (128, 40), "reddit": (602, 41), "products": (100, 47),
}
# model, layers, hidden features, heads; graph
CELLS = {
    "gcn-cora": ("gcn", 2, 16, 1, "cora"),
    "sage-arxiv": ("sage", 2, 128, 1, "arxiv"),
    "gat-arxiv": ("gat", 3, 64, 4, "arxiv"),
    "gin-arxiv": ("gin", 3, 64, 1, "arxiv"),
    "gin-mean-arxiv": ("gin-mean", 3, 64, 1, "arxiv"),  # HalfGNN's lambda: only weft.nn has it
    "sage-products": ("sage", 2, 128, 1, "products"),
    "gcn-products": ("gcn", 2, 64, 1, "products"),
    "gat-products": ("gat", 3, 64, 4, "products"),
}


class Dense(nn.Linear):
    """A layer without edges: what torch alone takes for a model of this size."""

    def forward(self, x, edges):
        return super().forward(x)


class Model(nn.Module):
    """Layers of one kind with ReLU between them."""

    def __init__(self, kind: str, layers: int, hidden: int, heads: int, features: int, classes: int):
        super().__init__()
        widths = [features] + [hidden] * (layers - 1) + [classes]
        self.layers = nn.ModuleList()
        for i, (into, out) in enumerate(zip(widths, widths[1:])):
            if kind == "dense":
                layer = Dense(into, out)
            elif kind == "gcn":
                layer = GCNConv(into, out)
            elif kind == "sage":
                layer = SAGEConv(into, out)
            elif kind.startswith("gin"):
                mlp = nn.Sequential(nn.Linear(into, out), nn.ReLU(), nn.Linear(out, out))
                layer = GINConv(mlp) if kind == "gin" else weft.nn.GINConv(mlp, mean_scale=0.1)
            else:
                last = i == layers - 1
                layer = GATConv(into, out if last else out // heads, heads=heads, concat=not last)
            self.layers.append(layer)

    def forward(self, x, edges):
        for layer in self.layers[:-1]:
            x = layer(x, edges).relu()
        return self.layers[-1](x, edges)


FIRST = 5  # warm-up epochs: they plan, fill caches, compile and capture


def compared(losses):
    """The loss of the 20th epoch, or of the last one if there are fewer."""
    return losses[min(19, len(losses) - 1)]


def recorded(epoch):
    """Replays of one epoch captured as a CUDA graph, as docs/python.md shows; and the losses of the epochs before."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        losses = [epoch().clone() for _ in range(FIRST)]
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = epoch()

    def replay():
        graph.replay()
        return loss

    return replay, losses


def kernels_of(epoch, most=16):
    """The kernels that take most GPU time in one epoch: microseconds, launches and names."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        epoch()
        torch.cuda.synchronize()
    events = [e for e in profiler.key_averages() if e.device_type == torch.autograd.DeviceType.CUDA]
    events.sort(key=lambda e: -e.self_device_time_total)
    return [{"us": round(e.self_device_time_total, 1), "launches": e.count, "kernel": e.key[:120]} for e in events[:most]]


def train(model, x, edges, labels, epochs, device, autocast=None, compiled=None, records=False, profile=False):
    """The median time of an epoch in ms, the peak memory in GiB, all losses, and the kernels if they are asked for."""
    cuda = device.type == "cuda"
    options = {"fused": True, "capturable": compiled is not None or records} if cuda else {}
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, **options)
    scaler = torch.amp.GradScaler(device.type, enabled=autocast is torch.float16)
    run = torch.compile(model, mode=compiled, fullgraph=True) if compiled else model
    if cuda:
        torch.cuda.reset_peak_memory_stats()

    def epoch():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype=autocast, enabled=autocast is not None):
            loss = nn.functional.cross_entropy(run(x, edges).float(), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    if records:
        epoch, losses = recorded(epoch)
    else:
        losses = [epoch().clone() for _ in range(FIRST)]
    times = []
    for _ in range(epochs):
        if cuda:
            torch.cuda.synchronize()
        start = time.perf_counter()
        loss = epoch()
        if cuda:
            torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
        losses.append(loss.clone())
    peak = torch.cuda.max_memory_allocated() / 2**30 if cuda else math.nan
    kernels = kernels_of(epoch) if profile and cuda else None
    return statistics.median(times), peak, [float(loss) for loss in losses], kernels


def cell(name, graphs, device, epochs, variants, profile):
    kind, layers, hidden, heads, dataset = CELLS[name]
    features, classes = DATASETS[dataset]
    edges_cpu, nodes = edges_of(graphs[dataset])
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(nodes, features, generator=generator).to(device)
    labels = torch.randint(classes, (nodes,), generator=generator).to(device)
    edges = edges_cpu.to(device)
    torch.manual_seed(2)
    initial = Model(kind, layers, hidden, heads, features, classes)
    results = []
    for variant in variants:
        if kind == "gin-mean" and not variant.startswith("weft"):
            continue
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()
            torch._dynamo.reset()
        if variant == "dense":
            model = Model("dense", layers, hidden, 1, features, classes).to(device)
        else:
            model = copy.deepcopy(initial).to(device)
        result = {"cell": name, "variant": variant, "status": "ok"}
        try:
            if variant.startswith("weft"):
                model = weft.convert(model)
            given = edges
            if variant == "pyg-csr":
                given = torch.sparse_coo_tensor(edges.flip(0), torch.ones(edges.size(1), device=device), (nodes, nodes))
                given = given.coalesce().to_sparse_csr()
            compiled = "reduce-overhead" if variant.endswith("reduce-overhead") else None
            records = variant.endswith("recorded")
            if (compiled or records) and variant.startswith("weft"):  # as docs/python.md says: the graph is made outside
                given = weft.Graph.from_edge_index(edges, nodes)
                with torch.no_grad():
                    model(x, given)
            # A mark is the tensor's own: other variants have another.
            features_given = weft.constant(x.clone()) if variant == "weft-constant" else x
            autocast = {"f16": torch.float16, "bf16": torch.bfloat16}.get(variant.split("-")[-1])
            ms, peak, losses, kernels = train(
                model, features_given, given, labels, epochs, device, autocast, compiled, records, profile
            )
            result.update(epoch_ms=ms, peak_gib=peak, losses=losses)
            if kernels:
                result["kernels"] = kernels
        except torch.OutOfMemoryError:
            result["status"] = "out of memory"
        except Exception as error:  # a variant that fails is a result, too
            result["status"] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
        del model
        results.append(result)
        text = f"{result['epoch_ms']:9.3f} ms {result['peak_gib']:7.2f} GiB  loss {compared(result['losses']):.4f}" \
            if result["status"] == "ok" else result["status"]
        print(f"{name:14} {variant:22} {text}", flush=True)
        for kernel in result.get("kernels", []):
            print(f"    {kernel['us']:10.1f} us {kernel['launches']:3} x {kernel['kernel'][:90]}")
    return results


def summary(results):
    lines = []
    for name in dict.fromkeys(r["cell"] for r in results):
        of = {r["variant"]: r for r in results if r["cell"] == name}
        fine = [r for v, r in of.items() if v.startswith("pyg") and r["status"] == "ok"]
        best = min(fine, key=lambda r: r["epoch_ms"]) if fine else None
        exact = of.get("weft")
        for variant, r in of.items():
            if not variant.startswith("weft") or r["status"] != "ok":
                continue
            faster = f"{best['epoch_ms'] / r['epoch_ms']:6.2f} x" if best else "   runs"
            memory = f"{r['peak_gib'] / min(p['peak_gib'] for p in fine):5.2f} of the memory" if fine else ""
            other = best if variant in ("weft", "weft-constant", "weft-reduce-overhead", "weft-recorded") else exact
            off = abs(compared(r["losses"]) / compared(other["losses"]) - 1) if other else 0
            lines.append(f"{name:14} {variant:22} {faster} {memory}  loss off by {off:.1e}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", type=Path, nargs="+", metavar="GRAPH.csr")
    parser.add_argument("--cells", default=",".join(CELLS))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", type=torch.device)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--variants", default="pyg,pyg-csr,weft,weft-constant,weft-f16,weft-bf16")
    parser.add_argument("--profile", action="store_true", help="also one epoch under torch's profiler: its kernels on the GPU")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    graphs = {path.stem: path for path in args.graphs}
    results = []
    for name in args.cells.split(","):
        if name not in CELLS:
            sys.exit(f"--cells has {name}: expected some of {', '.join(CELLS)}")
        if CELLS[name][4] not in graphs:
            sys.exit(f"cell {name} needs {CELLS[name][4]}.csr: name it among the graphs")
        variants = args.variants.split(",")
        if CELLS[name][4] == "cora" and args.device.type == "cuda":
            # PyG waits for the GPU, and cannot be captured. On so small a graph nearly all time is torch's, for any
            # model.
            variants += ["pyg-reduce-overhead", "weft-reduce-overhead", "weft-recorded", "dense"]
        results += cell(name, graphs, args.device, args.epochs, variants, args.profile)
    print("\n".join(summary(results)))
    if args.json:
        write_record(args.json, args.device, results, pyg=torch_geometric.__version__)


if __name__ == "__main__":
    main()
