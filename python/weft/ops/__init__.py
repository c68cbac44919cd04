"""Operators over graphs, with gradients."""

from weft.ops.attention import attention
from weft.ops.sampled import EdgeSample
from weft.ops.scaled import spmm_scaled
from weft.ops.sddmm import sddmm
from weft.ops.segment import segment_reduce
from weft.ops.softmax import edge_softmax
from weft.ops.spmm import spmm
from weft.ops.spmv import spmv

__all__ = ["EdgeSample", "attention", "edge_softmax", "sddmm", "segment_reduce", "spmm", "spmm_scaled", "spmv"]
