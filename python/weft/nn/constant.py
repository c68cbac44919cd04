"""Features that do not change, so that layers sum them over a graph only once."""

from __future__ import annotations

import weakref
from typing import Callable, Dict, NamedTuple, Optional, Tuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from weft.graph import Graph, is_traced
from weft.nn.graph_of import stamp_of


class _Sums(NamedTuple):
    """Cached sums, and their version: callers get the tensor itself and may change it in place."""

    tensor: Tensor
    version: int


class _Constant(NamedTuple):
    """The tensor's stamp when it was marked, and its cached sums: by graph, then by name."""

    stamp: Tuple
    sums: weakref.WeakKeyDictionary  # of Dict[object, _Sums]


_any_marked = False  # checked before the look-up: a program that marks nothing pays nothing
_constants = WeakTensorKeyDictionary()  # an entry and its sums are freed with the tensor


def constant(x: Tensor) -> Tensor:
    """Marks features that need no gradient and whose values do not change, such as a dataset's, and returns them.
    Layers sum them over a graph in their first call and cache the result as long as the tensor and the graph live:
    later calls of a first layer are only a product, and its backward has no sums. Results differ at most by rounding.

    Cached sums take as much memory as ``x``. In-place changes that torch tracks undo the mark; untracked changes
    (through NumPy, or to the inputs of a CUDA graph between replays) are not allowed. A captured CUDA graph reads the
    cached sums: ``x`` and the graph must live as long as it is replayed.

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
    if x.layout is not torch.strided:
        raise ValueError(f"x has layout {x.layout}: expected a dense tensor of features")
    stamp = stamp_of(x)
    if stamp is None:
        raise ValueError("x was made in inference mode, where torch counts no changes: pass x.clone() made outside of it")
    global _any_marked
    _any_marked = True
    held = _constants.get(x)
    if held is None or held.stamp != stamp:  # marked again, it keeps its sums
        _constants[x] = _Constant(stamp, weakref.WeakKeyDictionary())
    return x


def _held(x: Tensor) -> Optional[_Constant]:
    if x.requires_grad or is_traced() or not _any_marked:  # in this order: programs are not compiled again for a mark
        return None
    held = _constants.get(x)
    return held if held is not None and held.stamp == stamp_of(x) else None


def cached_as(x: Tensor, name: object) -> object:
    """The name if sums of x are cached under it: x is constant, and there is a name."""
    return name if name is not None and _held(x) is not None else None


def kept_sums(graph: Graph, x: Tensor, name: object, make: Callable[[], Tensor]) -> Tensor:
    """``make()``, the sums of x over the graph that ``name`` identifies; for constant features, those that an earlier
    call cached. Without a name nothing is cached."""
    held = _held(x) if name is not None else None
    if held is None or torch._C._len_torch_dispatch_stack() > 0:
        return make()
    kind = x.device.type
    name = name, torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
    of_graph: Dict[object, _Sums] = held.sums.setdefault(graph, {})
    found = of_graph.get(name)
    if found is not None and found.version == found.tensor._version:
        return found.tensor
    if torch._C._are_functorch_transforms_active():  # whose calls give tensors that are valid inside them only
        return make()
    with torch.inference_mode(False), torch.no_grad():  # an inference tensor could not be used in training later
        sums = make()
    if not (x.is_cuda and torch.cuda.is_current_stream_capturing()):  # replays of a capture reuse its memory
        of_graph[name] = _Sums(sums, sums._version)
    return sums
