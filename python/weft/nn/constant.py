"""Features that stay the same, so that layers add them up over a graph once."""

from __future__ import annotations

import weakref
from typing import Callable, NamedTuple, Tuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from weft.graph import Graph, is_traced
from weft.nn.graph_of import stamp_of


class _Constant(NamedTuple):
    """What the tensor was when it was marked, and the sums of it: by graph, and there by what was computed."""

    stamp: Tuple
    sums: weakref.WeakKeyDictionary


_any_marked = False  # asked first: most programs mark nothing, and pay nothing
_constants = WeakTensorKeyDictionary()  # an entry goes, with its sums, when its tensor does


def constant(x: Tensor) -> Tensor:
    """Marks features that no gradient is wanted of and whose values stay as they are, as those of a dataset do, and returns
    them. Layers that sum them over a graph then do so in their first call and keep the result as long as the tensor and
    the graph live: a first layer is a product from then on, and its backward has no sums. Results differ by rounding at most.

    Kept sums take as much memory as ``x``. In-place changes that torch knows of undo the mark; changes behind torch's back
    (through NumPy, or of the inputs of a CUDA graph between replays) must not be made.

    >>> import torch, weft
    >>> x = weft.constant(torch.randn(3, 8))
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> weft.nn.GCNConv(8, 4)(x, graph).shape
    torch.Size([3, 4])
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"x is of type {type(x).__name__}: expected a tensor of features")
    if x.requires_grad:
        raise ValueError("x requires a gradient: only what has none is constant; pass x.detach()")
    stamp = stamp_of(x)
    if stamp is None:
        raise ValueError("x was made in inference mode, where torch counts no changes: pass x.clone() made outside of it")
    global _any_marked
    _any_marked = True
    _constants[x] = _Constant(stamp, weakref.WeakKeyDictionary())
    return x


def is_constant(x: Tensor) -> bool:
    if not _any_marked or x.requires_grad or is_traced():
        return False
    held = _constants.get(x)
    return held is not None and held.stamp == stamp_of(x)


def kept_sums(graph: Graph, x: Tensor, name: object, make: Callable[[], Tensor]) -> Tensor:
    """``make()``, sums of x over the graph that ``name`` tells from others; of constant features those of an earlier call.
    Without a name nothing is kept."""
    if name is None or not is_constant(x) or torch._C._len_torch_dispatch_stack() > 0:
        return make()
    kind = x.device.type
    name = name, torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
    of_graph = _constants[x].sums.setdefault(graph, {})
    found = of_graph.get(name)
    if found is None:
        # A tensor made in inference mode could not be used in training later, nor one that torch.func has wrapped.
        with torch.inference_mode(False), torch.no_grad(), torch._C._DisableFuncTorch():
            found = make()
        if not (x.is_cuda and torch.cuda.is_current_stream_capturing()):  # memory of a capture is its replays'
            of_graph[name] = found
    return found
