"""Forward passes of layers, for modules whose parameters have PyG's names: weft.nn's layers and converted PyG layers
share them."""

from weft.nn.compute.attention import gat, gatv2, transformer
from weft.nn.compute.normalised import Norm, appnp, gcn, gcn_norm, sgc, weighted
from weft.nn.compute.neighbours import gin, graph_conv, sage

__all__ = [
    "Norm", "appnp", "gat", "gatv2", "gcn", "gcn_norm", "gin", "graph_conv", "sage", "sgc", "transformer", "weighted",
]
