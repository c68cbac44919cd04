"""The autograd functions of operators over graphs, which run an operator and compute its gradients."""

from __future__ import annotations

from typing import Iterator, Sequence, Tuple

import torch
from torch import Tensor
from torch._C import _AutoDispatchBelowAutograd, _functorch
from torch._functorch.pyfunctorch import temporarily_pop_interpreter_stack
from torch.autograd import forward_ad

from weft import _library

_ARGUMENTS = 3  # op, graph, options: no tensors


def as_tuple(results) -> Tuple:
    return results if isinstance(results, tuple) else (results,)


def no_second(name: str) -> str:
    return (
        f"weft has no second derivatives of {'max and min' if name == 'spmm' else name}: a gradient of {name} was "
        "differentiated again"
    )


def _no_forward_mode(name: str) -> str:
    return f"weft has no forward-mode derivatives, and an input of {name} has a tangent"


def _no_vmap(name: str) -> str:
    return f"weft has no batches of torch.func.vmap, and an input of {name} is one"


def _wraps_of(tensor) -> Iterator[Tensor]:
    """The torch.func wrappers of a tensor, from the outside in."""
    while isinstance(tensor, Tensor) and _functorch.is_functorch_wrapped_tensor(tensor):
        yield tensor
        tensor = _functorch.get_unwrapped(tensor)


def _has_tangent(tensor: Tensor) -> bool:
    """Whether a tensor has a tangent at any level of torch.func, or below all levels."""
    innermost = _functorch.peek_interpreter_stack()
    if innermost is None:
        return forward_ad.unpack_dual(tensor).tangent is not None
    if innermost.key() == _functorch.TransformType.Jvp and forward_ad.unpack_dual(tensor).tangent is not None:
        return True
    if _functorch.maybe_get_level(tensor) == innermost.level():
        tensor = _functorch.get_unwrapped(tensor)
    with temporarily_pop_interpreter_stack():
        return _has_tangent(tensor)


@torch.compiler.disable  # not part of any program, because it inspects the transforms around the call
def refuse_tangents(name: str, inputs: Sequence) -> None:
    """Refuses inputs with a tangent, which the operator would otherwise ignore silently."""
    if any(isinstance(t, Tensor) and _has_tangent(t) for t in inputs):
        raise NotImplementedError(_no_forward_mode(name))


def _is_batch(tensor) -> bool:
    if isinstance(tensor, Tensor) and _functorch.is_legacy_batchedtensor(tensor):  # from is_grads_batched
        return True
    return any(_functorch.is_batchedtensor(wrap) for wrap in _wraps_of(tensor))


def refuse_batches(name: str, inputs: Sequence) -> None:
    if any(_is_batch(t) for t in inputs):
        raise NotImplementedError(_no_vmap(name))


class _Saved:
    """Replaces a tensor among the options."""


def save(ctx, options: Tuple, tensors: Sequence) -> None:
    """Saves tensors for the backward, including those among the options, so that torch detects in-place changes."""
    given = tuple(option for option in options if isinstance(option, Tensor))
    ctx.save_for_backward(*given, *tensors)
    ctx.options = options
    if given:
        ctx.options = tuple(_Saved if isinstance(option, Tensor) else option for option in options)


def saved_by(ctx) -> Tuple[Tuple, Tuple]:
    """The saved options and the other saved tensors."""
    options, saved = ctx.options, ctx.saved_tensors
    count = options.count(_Saved)
    if count == 0:
        return options, saved
    following = iter(saved[:count])
    return tuple(next(following) if option is _Saved else option for option in options), saved[count:]


class _Run(torch.autograd.Function):
    """The same gradients as register_autograd's, in a fraction of its time. (With a separate setup_context torch would
    inspect its signature in every call, which takes longer than a small operator.)"""

    @staticmethod
    def forward(ctx, op, graph, options, *tensors):
        results = op.results(graph, tensors, options)
        ctx.set_materialize_grads(False)
        save(ctx, options, op.kept_of(tensors, results, options, ctx.needs_input_grad[_ARGUMENTS:]))
        ctx.of = op, graph  # the backward uses the graph's cached transpose and plans
        return results[0]

    @staticmethod
    def backward(ctx, out_grad):
        op, graph = ctx.of
        if out_grad is None:
            return (None,) * (_ARGUMENTS + op.num_tensors)
        options, saved = saved_by(ctx)
        tensors, kept = op.of_kept(saved)
        wanted = ctx.needs_input_grad[_ARGUMENTS:]
        if torch.is_grad_enabled():  # for a second derivative; the backward operator refuses one
            gradients = op.derived(graph, tensors, kept, out_grad, options, wanted)
            if gradients is None:
                with _library.naming_what_is_out_of_memory():
                    gradients = op.gradients(graph._arguments, tensors, kept, out_grad, options, wanted)
        else:
            gradients = op.gradients_over(graph, tensors, kept, out_grad, options, wanted)
        return (None, None, None, *gradients)


# Function.apply without its handling of torch.func, which takes as long as a small operator.
run = super(torch.autograd.Function, _Run).apply


class RunTransformed(torch.autograd.Function):
    """The same for torch.func, which requires a setup_context."""

    @staticmethod
    def forward(op, graph, options, *tensors):
        with _library.naming_what_is_out_of_memory(), _AutoDispatchBelowAutograd():
            return as_tuple(op.forward(graph._arguments, tensors, options))

    @staticmethod
    def setup_context(ctx, inputs, output):
        op, graph, options, *tensors = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        save(ctx, options, op.kept_of(tensors, output, options, [True] * len(tensors)))
        ctx.of = op, graph

    @staticmethod
    def backward(ctx, out_grad, *_):
        op, graph = ctx.of
        if out_grad is None:
            return (None,) * (_ARGUMENTS + op.num_tensors)
        wanted = ctx.needs_input_grad[_ARGUMENTS:]
        options, saved = saved_by(ctx)
        gradients = op.derived(graph, *op.of_kept(saved), out_grad, options, wanted)
        if gradients is not None:
            return (None, None, None, *gradients)
        gradients = _GradientsTransformed.apply(op, graph, options, wanted, out_grad, *saved)
        return (None, None, None, *(g if g.dim() > 0 else None for g in gradients))

    @staticmethod
    def vmap(info, in_dims, op, *_):
        raise NotImplementedError(_no_vmap(op.name))

    @staticmethod
    def jvp(ctx, *_):
        raise NotImplementedError(_no_forward_mode(ctx.of[0].name))


class _GradientsTransformed(torch.autograd.Function):
    """The gradients of RunTransformed, hidden from torch.func as well. An unwanted gradient is a scalar."""

    @staticmethod
    def forward(op, graph, options, wanted, out_grad, *saved):
        tensors, kept = op.of_kept(saved)
        with _library.naming_what_is_out_of_memory(), _AutoDispatchBelowAutograd():
            gradients = op.gradients(graph._arguments, tensors, kept, out_grad, options, wanted)
        return tuple(out_grad.new_zeros(()) if g is None else g for g in gradients)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.name = inputs[0].name

    @staticmethod
    def backward(ctx, *_):
        raise NotImplementedError(no_second(ctx.name))

    @staticmethod
    def vmap(info, in_dims, op, *_):
        raise NotImplementedError(_no_vmap(op.name))

    @staticmethod
    def jvp(ctx, *_):
        raise NotImplementedError(_no_forward_mode(f"the gradient of {ctx.name}"))
