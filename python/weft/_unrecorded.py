"""Operators that must not be captured in CUDA graphs.

``torch.compile(mode="reduce-overhead")`` captures a program once and replays it on the same memory, without the host. A
graph that the program makes itself is a new one in every run, and operators that check their input wait for the GPU.
torch decides by an operator's tags whether to capture it, so each such operator exists twice: NAME and NAME_unrecorded.
"""

import torch

_library = torch.library.Library("weft", "FRAGMENT")  # its registrations last as long as this object


def unrecorded(op: torch._ops.OpOverload) -> torch._ops.OpOverload:
    """Defines NAME_unrecorded, which calls NAME; its autograd, autocast and fake kernel are still to be registered."""
    name, arguments = str(op._schema).removeprefix("weft::").split("(", 1)
    _library.define(f"{name}_unrecorded({arguments}", tags=[torch.Tag.cudagraph_unsafe])
    _library.impl(f"{name}_unrecorded", lambda *given: op(*given), "CompositeExplicitAutograd")
    return getattr(torch.ops.weft, f"{name}_unrecorded").default
