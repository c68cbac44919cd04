"""Layers with PyG's arguments and parameters."""

from weft.nn.layers.attention import GATConv, GATv2Conv, TransformerConv
from weft.nn.layers.neighbours import GINConv, SAGEConv
from weft.nn.layers.normalised import APPNP, GCNConv, SGConv

__all__ = ["APPNP", "GATConv", "GATv2Conv", "GCNConv", "GINConv", "SAGEConv", "SGConv", "TransformerConv"]
