"""Sums and attention over sampled edges, a limited number per target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional

import torch
from torch import Tensor
from torch.autograd import forward_ad

from weft._library import naming_what_is_out_of_memory
from weft._unrecorded import unrecorded
from weft.graph import is_of_program
from weft.ops import autocast
from weft.ops.graph_op import broadcast, choice, traced

METHODS = ("bucket", "fastrand", "strata", "fresh")
NORMS = ("none", "scaled")


@dataclass(frozen=True)
class EdgeSample:
    """Selects the edges that a target keeps if it has more than ``width``.

    ======== =========================================================================================
    method   edges
    ======== =========================================================================================
    bucket   the first
    fastrand every 577th, wrapping around (another prime where 577 divides the number of edges)
    strata   one from each of ``width`` equal parts
    fresh    as fastrand, from a start drawn for every target by ``seed`` and ``step``
    ======== =========================================================================================

    ``norm="scaled"`` multiplies a sum by the number of edges over the number of kept ones; means, maxima, minima and
    attention are over the kept edges with either norm. Every device keeps the same edges.

    >>> import weft
    >>> weft.EdgeSample(16, method="fresh", step=3)
    EdgeSample(width=16, method='fresh', seed=0, step=3, norm='none')
    """

    width: int
    method: str = "fastrand"
    seed: int = 0
    step: int = 0
    norm: str = "none"

    def __post_init__(self) -> None:
        choice("method", self.method, METHODS)
        choice("norm", self.norm, NORMS)
        for name in ("width", "seed", "step"):
            if not isinstance(getattr(self, name), int):
                raise TypeError(f"{name} is {getattr(self, name)!r}: expected a whole number")
        if self.width < 1:
            raise ValueError(f"width is {self.width}: expected 1 or more, the edges that a target keeps at most")
        if self.step < 0:
            raise ValueError(f"step is {self.step}: expected 0 or more")

    @property
    def choice(self) -> tuple:
        """The fields that select the edges, as operators take them."""
        return self.method, self.width, self.seed, self.step


def _fake_spmm(rows, key, num_sources, x, edge, op, reduce, method, width, seed, step, scaled):
    typed = x if x is not None else edge
    return typed.new_empty([rows[0].shape[0] - 1, *broadcast(x, edge)])


def _fake_attention(
    rows, key, num_sources, value, src, dst, attn, bias, edge, score, slope, scale, method, width, seed, step
):
    return value.new_empty([rows[0].shape[0] - 1, *value.shape[1:]])


class _SampledOp:
    """An operator that selects the kept edges as it runs; it has no gradients."""

    def __init__(self, name: str, fake: Callable):
        self._op = getattr(torch.ops.weft, name).default
        self._unrecorded = unrecorded(self._op)
        for op in (self._op, self._unrecorded):
            torch.library.register_fake(op, traced(fake))

    def __call__(self, graph, *arguments) -> Tensor:
        if torch.compiler.is_compiling():
            op = self._unrecorded if is_of_program(graph._key) else self._op
            return op(*graph._arguments, *arguments)
        with naming_what_is_out_of_memory():
            return self._op(*graph._arguments, *arguments)


_spmm_sampled = _SampledOp("spmm_sampled", _fake_spmm)
_attention_sampled = _SampledOp("attention_sampled", _fake_attention)


def _runs_plainly(*tensors: Optional[Tensor]) -> bool:
    """Whether no derivative is needed: then one operator selects the edges as it runs. Otherwise the call uses the
    graph of the kept edges, with the same results."""
    if torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0:
        if torch.compiler.is_compiling():
            raise NotImplementedError("a sample inside of torch.func goes outside of what torch.compile captures")
        return False
    return not torch.is_grad_enabled() or not any(t is not None and t.requires_grad for t in tensors)


def _of_kept(values: Optional[Tensor], edge_ids: Tensor) -> Optional[Tensor]:
    return None if values is None else values.index_select(0, edge_ids)


def spmm_sampled(
    spmm: Callable, graph, x: Optional[Tensor], edge: Optional[Tensor], op: str, reduce: str, sample: EdgeSample
) -> Tensor:
    """``spmm`` with a sample."""
    scaled = sample.norm == "scaled" and reduce == "sum"
    if torch.is_autocast_enabled(graph._device_type):
        x, edge = autocast.cast((x, edge), graph._device_type, None)
    if _runs_plainly(x, edge):
        return _spmm_sampled(graph, x, edge, op, reduce, *sample.choice, scaled)
    return _spmm_of_kept(spmm, graph, x, edge, op, reduce, sample, scaled)


@torch.compiler.disable
def _spmm_of_kept(spmm, graph, x, edge, op, reduce, sample, scaled):
    kept, edge_ids = graph.sampled(sample)
    edge = _of_kept(edge, edge_ids)
    if not scaled:
        return spmm(kept, x, edge, op=op, reduce=reduce)
    # As in the operator, half-precision sums are scaled before they are rounded.
    typed = x if x is not None else edge
    wide = torch.promote_types(typed.dtype, torch.float32)
    with torch.autocast(graph._device_type, enabled=False):
        out = spmm(kept, *(None if t is None else t.to(wide) for t in (x, edge)), op=op, reduce=reduce)
    degree, kept_degree = (g.rowptr[1:] - g.rowptr[:-1] for g in (graph, kept))
    scale = degree.to(wide) / kept_degree.clamp(min=1).to(wide)
    return (out * scale.view(-1, *[1] * (out.dim() - 1))).to(typed.dtype)


def attention_sampled(
    attention: Callable, graph, value: Tensor, src: Tensor, dst: Tensor, attn: Optional[Tensor], bias: Optional[Tensor],
    edge: Optional[Tensor], sample: EdgeSample, *, score: str, slope: float, scale: float, dropout: float, seed: Optional[int],
) -> Tensor:
    """``attention`` with a sample."""
    if torch.is_autocast_enabled(graph._device_type):
        value, src, dst, attn, bias, edge = autocast.cast(
            (value, src, dst, attn, bias, edge), graph._device_type, None
        )
    if dropout == 0 and _runs_plainly(value, src, dst, attn, bias, edge):
        return _attention_sampled(
            graph, value, src, dst, attn, bias, edge, score, float(slope), float(scale), *sample.choice
        )
    return _attention_of_kept(
        attention, graph, (value, src, dst, attn), bias, edge, sample, score=score, slope=slope, scale=scale, dropout=dropout,
        seed=seed,
    )


@torch.compiler.disable
def _attention_of_kept(attention, graph, operands, bias, edge, sample, **options):
    kept, edge_ids = graph.sampled(sample)  # dropout uses the edge ids of that graph
    return attention(kept, *operands, _of_kept(bias, edge_ids), edge=_of_kept(edge, edge_ids), **options)
