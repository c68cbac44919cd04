"""Common parts of all loaders: epochs, batches by index, and a thread that draws ahead."""

from __future__ import annotations

import collections
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterator, Mapping, Optional

import torch
from torch import Tensor

from weft.graph import Graph
from weft.loader.batch import Whole


class Loader:
    """An iterable over the batches of an epoch. Every pass over it is the next epoch; ``set_epoch`` sets it.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[1, 2, 3, 0], [0, 0, 1, 3]]))
    >>> loader = weft.loader.NeighborLoader(graph, num_neighbors=[1], batch_size=2, shuffle=True)
    >>> first, second = [b.n_id.tolist() for b in loader], [b.n_id.tolist() for b in loader]
    >>> loader.set_epoch(0)
    >>> [b.n_id.tolist() for b in loader] == first, loader.draw(epoch=1, index=0).n_id.tolist() == second[0]
    (True, True)
    """

    def __init__(
        self, data: Any, *, seed: int = 0, prefetch: int = 0, transform: Optional[Callable] = None,
        node_attrs: Optional[Mapping[str, Tensor]] = None, edge_attrs: Optional[Mapping[str, Tensor]] = None,
    ):
        if prefetch < 0:
            raise ValueError(f"prefetch is {prefetch}: expected the number of batches to draw ahead, or 0")
        self.whole = Whole(data, node_attrs, edge_attrs)
        self.seed, self.prefetch, self.transform = int(seed), int(prefetch), transform
        self._epoch = 0
        self._lock = threading.Lock()
        self._scratch: Optional[Tensor] = None

    def __getstate__(self) -> dict:
        return {**vars(self), "_lock": None, "_scratch": None}

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()

    @property
    def graph(self) -> Graph:
        """The whole graph."""
        return self.whole.graph

    def __len__(self) -> int:
        raise NotImplementedError

    def _draw(self, epoch: int, index: int) -> Any:
        raise NotImplementedError

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch that the next pass over the loader draws."""
        if epoch < 0:
            raise ValueError(f"epoch is {epoch}: expected 0 or more")
        self._epoch = int(epoch)

    def draw(self, epoch: int, index: int) -> Any:
        """Batch ``index`` of an epoch, independent of earlier draws: several processes can take every n-th."""
        if not 0 <= index < len(self):
            raise IndexError(f"index is {index}: expected 0 to {len(self) - 1}")
        with self._lock:
            batch = self._draw(int(epoch), int(index))
        return batch if self.transform is None else self.transform(batch)

    def __iter__(self) -> Iterator[Any]:
        epoch, self._epoch = self._epoch, self._epoch + 1
        if self.prefetch == 0:
            return (self.draw(epoch, index) for index in range(len(self)))
        return self._drawn_ahead(epoch)

    def _drawn_ahead(self, epoch: int) -> Iterator[Any]:
        is_cuda = self.graph.device.type == "cuda"
        stream = torch.cuda.current_stream(self.graph.device) if is_cuda else None

        def draw(index: int) -> Any:  # in the stream that uses the batch
            with torch.cuda.stream(stream) if is_cuda else contextlib.nullcontext():
                return self.draw(epoch, index)

        with ThreadPoolExecutor(max_workers=1) as thread:
            ahead = collections.deque()
            try:
                for index in range(len(self)):
                    ahead.append(thread.submit(draw, index))
                    if len(ahead) > self.prefetch:
                        yield ahead.popleft().result()
                while ahead:
                    yield ahead.popleft().result()
            finally:
                for drawn in ahead:
                    drawn.cancel()

    @contextlib.contextmanager
    def _numbers(self) -> Iterator[Tensor]:
        """Scratch memory: each node's number in the batch being drawn; -1 for all nodes between batches."""
        numbers, self._scratch = self._scratch, None
        if numbers is None:
            with torch.inference_mode(False):  # passes outside of inference mode write to it too
                numbers = torch.full((self.graph.num_nodes,), -1, dtype=torch.int32, device=self.graph.device)
        yield numbers
        self._scratch = numbers  # not after a failed draw, which may leave numbers behind

    def _edge_ids(self, places: Tensor) -> Tensor:
        """Ids of the edges at these positions in the graph's rows."""
        return places if self.graph.edge_ids is None else self.graph.edge_ids[places]
