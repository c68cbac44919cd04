"""Checks the shapes of callers' edge values, which would otherwise broadcast with values of the graph."""

from __future__ import annotations

from typing import Optional

from torch import Tensor

from weft.graph import Graph


def weights_of(graph: Graph, edge_weight: Optional[Tensor]) -> Optional[Tensor]:
    """One weight per edge, [edges]."""
    if edge_weight is None:
        return None
    edges = graph.col.shape[0]
    if edge_weight.dim() == 0 or edge_weight.shape[0] != edges or edge_weight.numel() != edges:
        raise ValueError(f"edge_weight has shape {list(edge_weight.shape)}: expected [{edges}], one per edge")
    return edge_weight.reshape(-1)


def features_of(graph: Graph, edge_attr: Tensor, width: int) -> Tensor:
    """Edge features, [edges, width]; [edges] is accepted if width is 1."""
    rows = edge_attr.unsqueeze(-1) if edge_attr.dim() == 1 else edge_attr
    if rows.dim() != 2 or rows.shape[0] != graph.col.shape[0] or rows.shape[1] != width:
        raise ValueError(
            f"edge_attr has shape {list(edge_attr.shape)}: expected [{graph.col.shape[0]}, {width}], [edges, edge_dim]"
        )
    return rows
