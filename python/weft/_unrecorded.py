"""Operators that CUDA graphs must leave out.

What ``torch.compile(mode="reduce-overhead")`` records once it replays with the same memory and without the host. A graph
that the program makes itself is another one in every run, and operators that look at their input wait for the GPU. torch
asks an operator's tags whether it may be recorded, so there are two of each such operator: NAME, and NAME_unrecorded.
"""

import torch

_library = torch.library.Library("weft", "FRAGMENT")  # which is there as long as this is


def unrecorded(op: torch._ops.OpOverload) -> torch._ops.OpOverload:
    """The second of the two, which does the same; autograd, autocast and tracing know nothing of it yet."""
    name, arguments = str(op._schema).removeprefix("weft::").split("(", 1)
    _library.define(f"{name}_unrecorded({arguments}", tags=[torch.Tag.cudagraph_unsafe])
    _library.impl(f"{name}_unrecorded", lambda *given: op(*given), "CompositeExplicitAutograd")
    return getattr(torch.ops.weft, f"{name}_unrecorded").default
