"""Sparse kernels for graph neural networks: PyTorch operators with gradients over graphs."""

from weft import _library  # noqa: F401  (registers torch.ops.weft)
from weft.graph import Graph
from weft.ops import attention, edge_softmax, sddmm, spmm

__all__ = ["Graph", "attention", "edge_softmax", "sddmm", "spmm"]
__version__ = "0.1.0"
