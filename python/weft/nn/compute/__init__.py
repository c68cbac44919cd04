"""What layers compute over a graph, of a module with PyG's names for its parameters: the same functions serve weft.nn's
layers and PyG's own that were converted."""

from weft.nn.compute.attention import gat, gatv2, transformer
from weft.nn.compute.normalised import Norm, appnp, gcn, gcn_norm, sgc, weighted
from weft.nn.compute.neighbours import gin, graph_conv, sage

__all__ = [
    "Norm", "appnp", "gat", "gatv2", "gcn", "gcn_norm", "gin", "graph_conv", "sage", "sgc", "transformer", "weighted",
]
