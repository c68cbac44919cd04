"""Caches what layers compute from a graph with the graph."""

from __future__ import annotations

from typing import Callable, TypeVar

import torch

from weft.graph import Graph, is_traced

T = TypeVar("T")


def kept(graph: Graph, name: object, make: Callable[[Graph], T]) -> T:
    """Returns what is cached with the graph under that name, or ``make(graph)``, which is cached from then on.

    Nothing is cached while a program is traced or captured, because its tensors belong to the program: it computes them
    in every run, unless a call outside has cached them before. The same holds under modes such as FakeTensorMode, whose
    tensors are of no use outside.
    """
    found = graph._kept.get(name)
    if found is not None:
        return found
    if is_traced() or torch._C._len_torch_dispatch_stack() > 0:
        return make(graph)
    # Training cannot use tensors made in inference mode, nor tensors that torch.func has wrapped.
    with torch.inference_mode(False), torch.no_grad(), torch._C._DisableFuncTorch():
        made = make(graph)
    if not (graph.col.is_cuda and torch.cuda.is_current_stream_capturing()):
        graph._kept[name] = made
    return made
