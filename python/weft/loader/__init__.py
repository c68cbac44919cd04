"""Mini-batches: parts of a graph, drawn by the code that weft's own training uses.

A batch depends only on a seed, the epoch and its index, so that it is the same for any number of threads, on a CPU and
on a GPU, and can be drawn by itself."""

from weft.loader.batch import Batch
from weft.loader.neighbor import NeighborLoader
from weft.loader.saint import GraphSAINTEdgeSampler, GraphSAINTNodeSampler, GraphSAINTRandomWalkSampler

__all__ = [
    "Batch", "GraphSAINTEdgeSampler", "GraphSAINTNodeSampler", "GraphSAINTRandomWalkSampler", "NeighborLoader",
]
