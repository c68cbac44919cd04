"""Without PyG there is nothing to run in what converts its layers."""

import importlib.util

if importlib.util.find_spec("torch_geometric") is None:
    collect_ignore_glob = ["weft/pyg/*"]
