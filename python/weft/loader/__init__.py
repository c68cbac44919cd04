"""Mini-batches: parts of a graph, drawn by the passes that weft's own training draws with.

What is drawn follows from a seed, the epoch and the number of the batch alone, so that it is the same for any number of
threads, on a CPU and on a GPU, and every batch can be drawn by itself."""

from weft.loader.batch import Batch
from weft.loader.neighbor import NeighborLoader
from weft.loader.saint import GraphSAINTEdgeSampler, GraphSAINTNodeSampler, GraphSAINTRandomWalkSampler

__all__ = [
    "Batch", "GraphSAINTEdgeSampler", "GraphSAINTNodeSampler", "GraphSAINTRandomWalkSampler", "NeighborLoader",
]
