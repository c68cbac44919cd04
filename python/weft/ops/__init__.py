"""Operators over graphs, with gradients."""

from weft.ops.attention import attention
from weft.ops.sddmm import sddmm
from weft.ops.softmax import edge_softmax
from weft.ops.spmm import spmm

__all__ = ["attention", "edge_softmax", "sddmm", "spmm"]
