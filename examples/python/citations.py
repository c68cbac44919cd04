"""Data for the examples: a citation graph, from Planetoid's raw files (ind.NAME.x, .tx, .allx, ..) or generated."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor


class Citations(NamedTuple):
    x: Tensor  # [nodes, features]
    y: Tensor  # [nodes]
    edge_index: Tensor  # [2, edges], both directions of each
    train: Tensor  # ids of nodes
    test: Tensor


def planetoid(folder: str, name: str = "cora") -> Citations:
    """Reads Planetoid's files, which are Python pickles of scipy matrices: read none that you do not trust. Every node
    of the test set must have features, as in Cora."""
    import numpy
    import scipy.sparse

    def part(suffix):
        with open(Path(folder) / f"ind.{name}.{suffix}", "rb") as file:
            return pickle.load(file, encoding="latin1")

    test = torch.from_numpy(numpy.loadtxt(Path(folder) / f"ind.{name}.test.index", dtype=numpy.int64))
    x = torch.from_numpy(scipy.sparse.vstack([part("allx"), part("tx")]).toarray()).float()
    y = torch.from_numpy(numpy.vstack([part("ally"), part("ty")])).argmax(dim=1)
    # The last rows are those of the test set, in the order of the index file.
    in_order = torch.arange(len(y))
    in_order[test] = torch.arange(len(y) - len(test), len(y))
    lists = part("graph").items()
    edges = torch.tensor([(node, other) for node, others in lists for other in others]).t()
    edge_index = torch.unique(torch.cat([edges, edges.flip(0)], dim=1), dim=1)
    return Citations(x[in_order], y[in_order], edge_index, torch.arange(part("x").shape[0]), test)


def generated(nodes: int = 2708, edges: int = 5278, features: int = 256, classes: int = 7, seed: int = 0) -> Citations:
    """Generates a graph: most edges join nodes of one class, and a node has some words of its class and some others."""
    generator = torch.Generator().manual_seed(seed)

    def draw(high, *size):
        return torch.randint(high, size, generator=generator)

    y = draw(classes, nodes)
    by_class = torch.argsort(y, stable=True)
    sizes = torch.bincount(y, minlength=classes)
    first = torch.cumsum(sizes, 0) - sizes
    left = draw(nodes, edges)
    kin = by_class[first[y[left]] + draw(2**62, edges) % sizes[y[left]]]
    right = torch.where(torch.rand(edges, generator=generator) < 0.8, kin, draw(nodes, edges))
    edge_index = torch.unique(torch.stack([torch.cat([left, right]), torch.cat([right, left])]), dim=1)
    own = torch.rand(classes, features, generator=generator) < 0.1
    x = (torch.rand(nodes, features, generator=generator) < 0.01 + 0.05 * own[y]).float()
    order = torch.randperm(nodes, generator=generator)
    return Citations(x, y, edge_index, order[: nodes // 20], order[nodes // 2 :])
