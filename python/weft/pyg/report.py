"""Which layers of a model run on weft."""

from __future__ import annotations

from typing import List, NamedTuple, Optional

import torch
from torch_geometric.nn.conv import MessagePassing

from weft.nn.layers.layer import Layer
from weft.pyg.converted import converted_class, pyg_class, pyg_classes


class Row(NamedTuple):
    """One layer. ``reason`` says why it runs on PyG, or why the last call of a layer on weft fell back, if it did."""

    layer: str
    kind: str
    on_weft: bool
    reason: Optional[str]


class Report:
    """A table for printing; ``rows`` has its contents."""

    def __init__(self, rows: List[Row]):
        self.rows = rows

    def __str__(self) -> str:
        cells = [("layer", "class", "runs on", "why")]
        cells += [(r.layer, r.kind, "weft" if r.on_weft else "PyG", _why(r)) for r in self.rows]
        widths = [max(len(row[i]) for row in cells) for i in range(3)]
        lines = ("  ".join([*(c.ljust(w) for c, w in zip(row, widths)), row[3]]).rstrip() for row in cells)
        return "\n".join(lines)

    __repr__ = __str__


def _why(row: Row) -> str:
    if row.reason is None:
        return ""
    return f"its last call ran on PyG: {row.reason}" if row.on_weft else row.reason


def _row(name: str, module: torch.nn.Module) -> Row:
    kind = type(module)
    of_pyg = pyg_class(kind)
    if isinstance(module, Layer):
        return Row(name, kind.__name__, True, None)
    if of_pyg is not None:
        standing = module._standing_reason()
        return Row(name, of_pyg.__name__, standing is None, standing or module._weft_reason)
    if converted_class(kind) is not None:
        return Row(name, kind.__name__, False, "it is not converted: weft.convert(model)")
    for known in pyg_classes():
        if issubclass(kind, known):
            return Row(name, kind.__name__, False, f"it is a subclass of {known.__name__}, which weft leaves alone")
    return Row(name, kind.__name__, False, f"weft has no {kind.__name__}")


def report_of(model: torch.nn.Module) -> Report:
    layers = ((n, m) for n, m in model.named_modules() if isinstance(m, (MessagePassing, Layer)))
    return Report([_row(name or "(model)", module) for name, module in layers])
