"""Layers that take a weft.Graph or an edge_index, with the arguments and parameters of PyG's."""

from weft.nn.layers import APPNP, GATConv, GATv2Conv, GCNConv, GINConv, SAGEConv, SGConv, TransformerConv

__all__ = ["APPNP", "GATConv", "GATv2Conv", "GCNConv", "GINConv", "SAGEConv", "SGConv", "TransformerConv"]
