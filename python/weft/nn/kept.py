"""Keeps what layers make of a graph with the graph, so that it is made once."""

from __future__ import annotations

from typing import Callable, TypeVar

import torch

from weft.graph import Graph, is_traced

T = TypeVar("T")


def kept(graph: Graph, name: object, make: Callable[[Graph], T]) -> T:
    """What was made of the graph under that name before, or ``make(graph)``, which is kept from then on.

    Nothing is kept of a traced program or a captured one, whose tensors belong to the program: there it is computed in
    every run, unless a call outside has made it before. The same holds under modes such as FakeTensorMode, whose tensors
    are nobody else's.
    """
    found = graph._kept.get(name)
    if found is not None:
        return found
    if is_traced() or torch._C._len_torch_dispatch_stack() > 0:
        return make(graph)
    # A tensor made in inference mode could not be used in training later, nor one that torch.func has wrapped.
    with torch.inference_mode(False), torch.no_grad(), torch._C._DisableFuncTorch():
        made = make(graph)
    if not (graph.col.is_cuda and torch.cuda.is_current_stream_capturing()):
        graph._kept[name] = made
    return made
