"""Every layer with its options: how it is made, and what it takes besides x and edge_index."""

import importlib.util

import torch

IN, OUT, EDGE_DIM = 6, 4, 3


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(IN, 5), torch.nn.ReLU(), torch.nn.Linear(5, OUT))


# name: class, arguments, keyword arguments
WEIGHTED = {
    "gcn": ("GCNConv", (IN, OUT), {}),
    "gcn to more": ("GCNConv", (IN, 20), {}),
    "gcn without bias": ("GCNConv", (IN, OUT), {"bias": False}),
    "gcn improved": ("GCNConv", (IN, OUT), {"improved": True}),
    "gcn without loops": ("GCNConv", (IN, OUT), {"add_self_loops": False}),
    "gcn not normalised": ("GCNConv", (IN, OUT), {"normalize": False}),
    "sgc": ("SGConv", (IN, OUT), {"K": 3}),
    "sgc without loops": ("SGConv", (IN, OUT), {"add_self_loops": False, "bias": False}),
    "appnp": ("APPNP", (4, 0.2), {}),
    "appnp without loops": ("APPNP", (3, 0.1), {"add_self_loops": False}),
    "appnp not normalised": ("APPNP", (3, 0.1), {"normalize": False}),
}
PLAIN = {
    "sage": ("SAGEConv", (IN, OUT), {}),
    "sage to more": ("SAGEConv", (IN, 20), {}),
    "sage add": ("SAGEConv", (IN, OUT), {"aggr": "add"}),
    "sage max": ("SAGEConv", (IN, OUT), {"aggr": "max"}),
    "sage min": ("SAGEConv", (IN, OUT), {"aggr": "min", "normalize": True}),
    "sage normalised": ("SAGEConv", (IN, OUT), {"normalize": True}),
    "sage without root": ("SAGEConv", (IN, OUT), {"root_weight": False, "bias": False}),
    "sage projected": ("SAGEConv", (IN, OUT), {"project": True}),
    "gin": ("GINConv", (mlp,), {}),
    "gin with eps": ("GINConv", (mlp,), {"eps": 0.3, "train_eps": True}),
}
ATTENTION = {
    "gat": ("GATConv", (IN, OUT), {}),
    "gat heads": ("GATConv", (IN, OUT), {"heads": 3}),
    "gat mean of heads": ("GATConv", (IN, OUT), {"heads": 3, "concat": False, "residual": True}),
    "gat without loops": ("GATConv", (IN, OUT), {"heads": 2, "add_self_loops": False, "bias": False}),
    "gat slope": ("GATConv", (IN, OUT), {"heads": 2, "negative_slope": 0.4}),
    "gatv2": ("GATv2Conv", (IN, OUT), {"heads": 3}),
    "gatv2 mean of heads": ("GATv2Conv", (IN, OUT), {"heads": 3, "concat": False, "residual": True}),
    "gatv2 without loops": ("GATv2Conv", (IN, OUT), {"heads": 2, "add_self_loops": False, "bias": False}),
    "gatv2 shared": ("GATv2Conv", (IN, OUT), {"heads": 2, "share_weights": True, "negative_slope": 0.4}),
    "transformer": ("TransformerConv", (IN, OUT), {"heads": 3}),
    "transformer mean of heads": ("TransformerConv", (IN, OUT), {"heads": 3, "concat": False}),
    "transformer beta": ("TransformerConv", (IN, OUT), {"heads": 2, "beta": True}),
    "transformer without root": ("TransformerConv", (IN, OUT), {"heads": 2, "root_weight": False, "bias": False}),
}
EDGE_ATTRIBUTES = {
    "gat": ("GATConv", (IN, OUT), {"heads": 2}),
    "gat fill add": ("GATConv", (IN, OUT), {"heads": 2, "fill_value": "add"}),
    "gat fill max": ("GATConv", (IN, OUT), {"heads": 2, "fill_value": "max"}),
    "gat fill number": ("GATConv", (IN, OUT), {"heads": 2, "fill_value": 0.5}),
    "gat fill tensor": ("GATConv", (IN, OUT), {"heads": 2, "fill_value": torch.tensor([0.1, 0.2, 0.3])}),
    "gat without loops": ("GATConv", (IN, OUT), {"add_self_loops": False}),
    "gatv2": ("GATv2Conv", (IN, OUT), {"heads": 2}),
    "gatv2 without loops": ("GATv2Conv", (IN, OUT), {"add_self_loops": False}),
    "transformer": ("TransformerConv", (IN, OUT), {"heads": 3}),
    "transformer mean of heads": ("TransformerConv", (IN, OUT), {"heads": 2, "concat": False, "beta": True}),
}
# PyG's alone, as weft.nn has no layer of that name.
PYG_ONLY = {
    "graph": ("GraphConv", (IN, OUT), {}),
    "graph mean": ("GraphConv", (IN, 20), {"aggr": "mean"}),
    "graph max": ("GraphConv", (IN, OUT), {"aggr": "max", "bias": False}),
}


def make(case, classes=None, **more):
    """Of PyG, or of other classes with its names."""
    if classes is None:
        from torch_geometric import nn as classes
    name, arguments, options = case
    return getattr(classes, name)(*(a() if a is mlp else a for a in arguments), **{**options, **more})


# The first object of a class decides, in PyG, whether all of that class have a path for sparse matrices: one with an
# aggregation such as a median would take it from the others.
if importlib.util.find_spec("torch_geometric") is not None:
    for _case in ("sage", "gin", "gcn", "sgc", "appnp"):
        make({**WEIGHTED, **PLAIN}[_case])
    make(PYG_ONLY["graph"])
