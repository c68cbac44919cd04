"""Sparse kernels for graph neural networks: PyTorch operators with gradients over graphs."""

from weft import _library  # registers torch.ops.weft
from weft.graph import Graph
from weft.ops import EdgeSample, attention, edge_softmax, sddmm, segment_reduce, spmm, spmm_scaled, spmv
from weft import loader, nn  # noqa: E402  (these use the operators)
from weft.nn.constant import constant  # noqa: E402
from weft.pyg import convert, explain, patch_pyg, revert  # noqa: E402

__all__ = [
    "EdgeSample", "Graph", "attention", "constant", "convert", "edge_softmax", "explain", "loader", "nn", "patch_pyg", "revert",
    "sddmm", "segment_reduce", "spmm", "spmm_scaled", "spmv",
]
__version__ = _library.version
