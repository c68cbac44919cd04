"""The common part of all operators over graphs: their calls and their gradients."""

from __future__ import annotations

from functools import partial
from typing import Callable, Mapping, Optional, Sequence, Tuple

import torch
from torch import Tensor
from torch._C import (
    _are_functorch_transforms_active, _AutoDispatchBelowAutograd, _len_torch_dispatch_stack,
)
from torch.autograd import forward_ad

from weft import _library
from weft._unrecorded import unrecorded
from weft.graph import Graph, is_of_program
from weft.ops import autocast
from weft.ops.functions import (
    RunTransformed, as_tuple, no_second, refuse_batches, refuse_tangents, run, save, saved_by,
)

GRAPH_ARGUMENTS = 3  # rows, key, num_sources
_PLAIN = (Tensor, torch.nn.Parameter, type(None))  # no other subclasses, such as those that torch traces with
_is_compiling = torch.compiler.is_compiling
_tracing_state = torch._C._get_tracing_state  # of torch.jit.trace, in a fraction of torch.jit.is_tracing's time
_implementations = torch.library.Library("weft", "IMPL")  # its registrations last as long as this object


def _no_context(ctx, inputs, output):
    """Saves nothing: for an operator that is not differentiated."""


class GraphOp:
    """An operator ``weft::NAME(graph, tensors, options)`` and its ``weft::NAME_backward``, which takes the tensors, the
    results that the forward kept, the gradient of its first result, the options and, with ``chooses``, which gradients
    are wanted. ``derive`` composes gradients that can be differentiated again; ``casts_to`` is the dtype of operands
    under autocast, if it is not autocast's own.

    With ``codes``, there are also ``weft::NAME_held`` and ``weft::NAME_held_backward``, which take the codes instead of
    the options, and the key of a graph that Python holds instead of its rows. Calls that torch does not trace use them
    and take a fraction of the time."""

    def __init__(
        self, name: str, num_tensors: int, *, fake: Callable, fake_backward: Callable, keeps: Sequence[int] = (),
        takes_tensors: bool = True, chooses: bool = False, reads: Optional[Callable] = None,
        derive: Optional[Callable] = None, casts_to: Optional[torch.dtype] = None,
        codes: Optional[Mapping[Tuple, Tuple]] = None,
    ):
        self.name, self.num_tensors, self.keeps = name, num_tensors, tuple(keeps)
        self.takes_tensors, self.chooses, self.reads, self._derive = takes_tensors, chooses, reads, derive
        self.casts_to, self._codes = casts_to, codes
        if codes is not None:
            self._held, self._held_backward = (self._unseen(f"{name}_held{part}") for part in ("", "_backward"))
        self._forward = getattr(torch.ops.weft, name).default
        self._backward = getattr(torch.ops.weft, f"{name}_backward").default
        self._forward_unrecorded, self._backward_unrecorded = unrecorded(self._forward), unrecorded(self._backward)
        for op, backward in (
            (self._forward, self._backward), (self._forward_unrecorded, self._backward_unrecorded),
        ):
            torch.library.register_fake(op, traced(fake))
            autocast.register(op, casts_to, GRAPH_ARGUMENTS + num_tensors)
            torch.library.register_autograd(op, partial(self._backward_of_op, backward), setup_context=self._setup)
        for op in (self._backward, self._backward_unrecorded):
            torch.library.register_fake(op, fake_backward)
            torch.library.register_autograd(op, self._refuse_second, setup_context=_no_context)

    @staticmethod
    def _unseen(name: str):
        """An operator that autograd passes through, because it is only called below autograd."""
        _implementations.impl(name, torch.library.fallthrough_kernel, "Autograd")
        return getattr(torch.ops.weft, name).default

    def __call__(self, graph, tensors: Tuple, options: Tuple = ()) -> Tensor:
        """The first result, differentiable if an operand requires a gradient."""
        if not isinstance(graph, Graph):
            raise TypeError(
                f"graph is of type {type(graph).__name__}: expected a weft.Graph, as Graph.from_edge_index makes one"
            )
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(f"an operand of {self.name} is of type {type(tensor).__name__}: expected a tensor")
        if forward_ad._current_level >= 0:
            refuse_tangents(self.name, (*tensors, *options))
        if _is_compiling() or _tracing_state() is not None:
            return as_tuple(self.forward(graph._arguments, tensors, options))[0]
        if torch.is_autocast_enabled(graph._device_type):
            tensors = autocast.cast(tensors, graph._device_type, self.casts_to)
        if _are_functorch_transforms_active():
            refuse_batches(self.name, options)
            return RunTransformed.apply(self, graph, options, *tensors)[0]
        if torch.is_grad_enabled():
            for tensor in tensors:
                if tensor is not None and tensor.requires_grad:
                    return run(self, graph, options, *tensors)
        return self.results(graph, tensors, options)[0]

    def forward(self, graph_arguments, tensors, options):
        op = self._forward_unrecorded if is_of_program(graph_arguments[1]) else self._forward
        return op(*graph_arguments, *tensors, *options)

    def _is_lean(self, graph, tensors, options) -> bool:
        if self._codes is None or not graph._is_held:
            return False
        for tensor in tensors:
            if type(tensor) not in _PLAIN:
                return False
        for option in options:
            if isinstance(option, Tensor) and type(option) not in _PLAIN:
                return False
        return _len_torch_dispatch_stack() == 0

    def results(self, graph, tensors, options) -> Tuple:
        """All results, without autograd."""
        try:
            if self._is_lean(graph, tensors, options):
                return as_tuple(self._held(graph._key, *tensors, *self._codes[options]))
            with _AutoDispatchBelowAutograd():
                return as_tuple(self.forward(graph._arguments, tensors, options))
        except RuntimeError as error:
            for tensor in tensors:
                if tensor is not None and tensor.layout is not torch.strided:
                    raise ValueError(
                        f"an operand of {self.name} has layout {tensor.layout}: expected a dense tensor"
                    ) from None
            _library.raise_out_of_memory(error)
            raise

    def gradients_over(self, graph, tensors, kept, out_grad, options, wanted):
        """gradients() without autograd."""
        try:
            if self._is_lean(graph, (out_grad, *tensors), options):
                chosen = wanted if self.chooses else ()
                found = self._held_backward(graph._key, *tensors, *kept, out_grad, *self._codes[options], *chosen)
                return found if self.chooses else [g if w else None for g, w in zip(as_tuple(found), wanted)]
            with _AutoDispatchBelowAutograd():
                return self.gradients(graph._arguments, tensors, kept, out_grad, options, wanted)
        except RuntimeError as error:
            refuse_batches(f"the gradient of {self.name}", (out_grad,))
            _library.raise_out_of_memory(error)
            raise

    def gradients(self, graph_arguments, tensors, kept, out_grad, options, wanted):
        """One gradient per tensor; None if it is not wanted."""
        op = self._backward_unrecorded if is_of_program(graph_arguments[1]) else self._backward
        return self._gradients_by(op, graph_arguments, tensors, kept, out_grad, options, wanted)

    def _gradients_by(self, op, graph_arguments, tensors, kept, out_grad, options, wanted):
        chosen = wanted if self.chooses else ()
        gradients = as_tuple(op(*graph_arguments, *tensors, *kept, out_grad, *options, *chosen))
        return [g if w else None for g, w in zip(gradients, wanted)]

    def derived(self, graph, tensors, kept, out_grad, options, wanted):
        """The same gradients, composed of differentiable operators; None if there is no such composition."""
        if self._derive is None or not torch.is_grad_enabled():
            return None
        with torch.autocast(graph._device_type, enabled=False):  # gradients have the forward's dtypes
            gradients = self._derive(graph, tensors, kept, out_grad, options, wanted)
        return None if gradients is None else [g if w else None for g, w in zip(gradients, wanted)]

    def _refuse_second(self, ctx, *_):
        raise NotImplementedError(no_second(self.name))

    def kept_of(self, tensors, results, options, wanted):
        """The tensors that a backward reads; the others are None, or placeholders of their shape and dtype."""
        if self.reads is not None:
            tensors = self.reads(tensors, results[0], options, wanted)
        return [*(tensors if self.takes_tensors else ()), *(results[i] for i in self.keeps)]

    def of_kept(self, saved):
        n = self.num_tensors if self.takes_tensors else 0
        return saved[:n], saved[n:]

    # For calls of torch.ops.weft.NAME itself, as in compiled code.

    def _setup(self, ctx, inputs, output):
        rows, key, num_sources = inputs[:GRAPH_ARGUMENTS]
        tensors = inputs[GRAPH_ARGUMENTS : GRAPH_ARGUMENTS + self.num_tensors]
        results = as_tuple(output)
        ctx.mark_non_differentiable(*results[1:])
        ctx.set_materialize_grads(False)
        options = inputs[GRAPH_ARGUMENTS + self.num_tensors :]
        # The wanted gradients are not known here yet: needs_input_grad counts each tensor of a list separately.
        wanted = [True] * self.num_tensors
        save(ctx, options, [*rows, *self.kept_of(tensors, results, options, wanted)])
        ctx.of = len(rows), key, num_sources

    def _backward_of_op(self, op, ctx, out_grad, *_):
        """The gradients by the operator `op`, whatever the key is, which may change in every run of a program."""
        n, key, num_sources = ctx.of
        options, saved = saved_by(ctx)
        rows = list(saved[:n])
        tensors, kept = self.of_kept(saved[n:])
        nothing = [[None] * n, None, None]  # a graph's arrays have no gradients
        if out_grad is None:
            return *nothing, *[None] * (self.num_tensors + len(options))
        wanted = ctx.needs_input_grad[GRAPH_ARGUMENTS : GRAPH_ARGUMENTS + self.num_tensors]
        gradients = None
        if torch.is_grad_enabled():  # the gradients may be differentiated again
            graph = Graph._of_arguments(rows, key, num_sources)
            gradients = self.derived(graph, tensors, kept, out_grad, options, wanted)
        if gradients is None:
            gradients = self._gradients_by(op, (rows, key, num_sources), tensors, kept, out_grad, options, wanted)
        return *nothing, *gradients, *[None] * len(options)


def traced(fake: Callable) -> Callable:
    """The fake kernel, which torch runs when it traces a program, before the program runs."""

    def run(rows, *arguments):
        if rows[0].device.type == "cuda":
            _library.keep_in_own_memory()
        return fake(rows, *arguments)

    return run


def broadcast(*tensors):
    """The broadcast sizes of all dimensions after the rows, as in NumPy."""
    given = [t for t in tensors if t is not None]
    sizes = []
    for i in range(1, max(t.dim() for t in given)):
        size = 1
        for t in given:
            if t.dim() > i and (isinstance(size, int) and size == 1):
                size = t.shape[t.dim() - i]
        sizes.insert(0, size)
    return sizes


def kind(tensor, out):
    """A placeholder with the tensor's shape and dtype, which holds one NaN; None if `out`, and so its gradient, has the
    same features and dtype."""
    if tensor is None or (tensor.dtype is out.dtype and tensor.shape[1:] == out.shape[1:]):
        return None
    return placeholder(tensor)


def placeholder(tensor):
    return tensor.detach().new_full((), float("nan")).expand(tensor.shape)


def like(wanted, tensor, other):
    """A fake gradient: shaped like the tensor if it is wanted, else without elements."""
    if wanted and tensor is not None:
        return tensor.new_empty(tensor.shape)
    return other.new_empty([0], dtype=torch.float32)


def choice(name: str, value: str, names: Sequence[str]) -> str:
    if value not in names:
        raise ValueError(f"{name} is {value!r}: expected one of {', '.join(names)}")
    return value
