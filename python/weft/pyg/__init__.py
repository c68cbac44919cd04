"""PyG's layers on weft: convert, revert, patch_pyg, explain. Calling one of them imports PyG."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from weft.pyg.patch import Patch
    from weft.pyg.report import Report

__all__ = ["convert", "explain", "patch_pyg", "revert"]


def _need_pyg(what: str) -> None:
    try:
        import torch_geometric  # noqa: F401
    except ImportError as error:
        raise ImportError(f"weft.{what} needs torch_geometric: install it, or take the layers of weft.nn") from error


def convert(model: torch.nn.Module, undo: bool = False) -> torch.nn.Module:
    """Converts the PyG layers of a model to run on weft, in place, and returns the model.

    GCNConv, SAGEConv, GINConv, GraphConv, GATConv, GATv2Conv, TransformerConv, SGConv and APPNP keep their parameters,
    state_dict and hooks; calls that weft does not support still run on PyG, see :func:`explain`. Subclasses of these
    classes are not converted. ``undo`` restores PyG's classes, as :func:`revert` does.

    >>> import torch, weft
    >>> from torch_geometric.nn import GCNConv
    >>> model = weft.convert(torch.nn.ModuleList([GCNConv(8, 4)]))
    >>> model[0]
    GCNConv(8, 4) [weft]
    """
    _need_pyg("convert")
    from weft.pyg.converted import converted_class, pyg_class

    if not isinstance(model, torch.nn.Module):
        raise ValueError(f"model is of type {type(model).__name__}: expected a torch.nn.Module")
    for module in model.modules():
        if undo:
            if pyg_class(type(module)) is not None:
                module._forget()
                module.__class__ = pyg_class(type(module))
        elif converted_class(type(module)) is not None:
            module.__class__ = converted_class(type(module))
    return model


def revert(model: torch.nn.Module) -> torch.nn.Module:
    """Restores PyG's classes in a converted model, in place.

    >>> import weft
    >>> from torch_geometric.nn import GCNConv
    >>> weft.revert(weft.convert(GCNConv(8, 4)))
    GCNConv(8, 4)
    """
    return convert(model, undo=True)


def patch_pyg(on: bool = True) -> Patch:
    """Converts all layers that are constructed from now on, in any code, until ``patch_pyg(False)``, ``undo()`` of the
    returned object, or the end of a ``with`` block.

    >>> import weft
    >>> from torch_geometric.nn import GraphSAGE
    >>> with weft.patch_pyg():
    ...     model = GraphSAGE(8, 16, num_layers=2)
    >>> model.convs[0]
    SAGEConv(8, 16, aggr=mean) [weft]
    """
    _need_pyg("patch_pyg")
    from weft.pyg.patch import Patch

    return Patch(on)


def explain(model: torch.nn.Module) -> Report:
    """A table of the model's layers: which run on weft, and why the others do not.

    A layer on weft may still have fallen back to PyG in its last call because of its arguments: the table says so.

    >>> import torch, weft
    >>> from torch_geometric.nn import GCNConv
    >>> weft.explain(weft.convert(torch.nn.ModuleList([GCNConv(8, 4), GCNConv(4, 4, decomposed_layers=2)])))
    layer  class    runs on  why
    0      GCNConv  weft
    1      GCNConv  PyG      decomposed_layers is 2: weft takes all features at once
    """
    _need_pyg("explain")
    from weft.pyg.report import report_of

    return report_of(model)
