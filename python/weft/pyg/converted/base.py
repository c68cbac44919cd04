"""Common parts of all converted layers."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

from weft.graph import Graph
from weft.pyg.converted.edges import Edges, agree, edges_of, refused
from weft.pyg.converted.reasons import standing_reason


class Converted:
    """A mixin before one of PyG's classes: the same parameters and state, and a ``forward`` that runs on weft if it
    can, else PyG's own."""

    pyg: type  # PyG's class
    reductions = ("sum",)  # those that weft runs
    _weft_reason: Optional[str] = None  # why the last call fell back to PyG, if it did
    _weft_held = None  # what a layer with cached=True keeps of its first call

    def _standing_reason(self) -> Optional[str]:
        return standing_reason(self, self.reductions)

    def _edges(self, x, edge_index, size=None, **features: Optional[Tensor]) -> Edges:
        """The graph of this call; ``features`` are edge features, by name."""
        reason = self._standing_reason()
        if reason is not None:
            return refused(reason)
        edges = edges_of(self.flow, x, edge_index, size)
        if edges.reason is not None:
            return edges
        if edges.values is not None:
            features = {**features, "the sparse matrix": edges.values}
        first = x if isinstance(x, Tensor) else x[0]
        for name, t in features.items():
            if t is not None and not agree(first, t):
                return refused(f"{name} has dtype {t.dtype} where x has {first.dtype}")
            if t is not None and t is not edges.values and t.shape[:1] != (edges.graph.num_edges,):
                return refused(f"{name} has shape {list(t.shape)} for {edges.graph.num_edges} edges")
            if t is not None and edges.form != "edge_index" and t is not edges.values:
                return refused(f"{name} is given besides a sparse matrix")
        if self._weft_reason is not None and not torch.compiler.is_compiling():
            self._weft_reason = None
        return edges

    def _fall_back(self, reason: str, x, edge_index, *rest, **options):
        if not torch.compiler.is_compiling():
            self._weft_reason = reason
        if isinstance(edge_index, Graph):
            edge_index = edge_index.edge_index()
        return super().forward(x, edge_index, *rest, **options)

    def _forget(self) -> None:
        """Removes weft's attributes from the layer."""
        for name in ("_weft_reason", "_weft_held"):
            vars(self).pop(name, None)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._forget()

    def __setstate__(self, state) -> None:
        # PyG generates code for the class that it finds here, which must be PyG's own.
        converted = type(self)
        self.__class__ = converted.pyg
        self.__setstate__(state)
        self.__class__ = converted

    def __repr__(self) -> str:
        return f"{super().__repr__()} [weft]"
