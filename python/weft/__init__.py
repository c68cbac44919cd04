"""Sparse kernels for graph neural networks: PyTorch operators with gradients over graphs."""

from weft import _library  # noqa: F401  (registers torch.ops.weft)
from weft import loader  # noqa: F401  (weft.loader)
from weft.graph import Graph
from weft.ops import EdgeSample, attention, edge_softmax, sddmm, segment_reduce, spmm, spmv

__all__ = ["EdgeSample", "Graph", "attention", "edge_softmax", "loader", "sddmm", "segment_reduce", "spmm", "spmv"]
__version__ = "0.1.0"
