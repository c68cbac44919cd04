"""Graphs that operators run over."""

from __future__ import annotations

import operator
import os
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple, Union

import torch
from torch import Tensor

from weft import _library
from weft._unrecorded import unrecorded

if TYPE_CHECKING:
    from weft.ops.sampled import EdgeSample

Size = Union[int, Tuple[int, int], None]


def _sources():
    """Imported on first use, because weft.sources imports this module."""
    from weft import sources

    return sources


def counts_of(size: Union[int, Tuple[int, int]]) -> Tuple[int, int]:
    """The numbers of sources and targets."""
    try:
        return operator.index(size), operator.index(size)
    except TypeError:
        pass
    try:
        num_sources, num_targets = size
        return operator.index(num_sources), operator.index(num_targets)
    except (TypeError, ValueError):
        raise ValueError(f"size is {size!r}: expected the number of nodes, or (sources, targets)") from None


NO_KEY = 0  # of a graph without a key: one for a single call, or one that the handle after its rows holds


_MODES_OF_PROGRAMS = torch._C._TorchDispatchModeKey.FAKE, torch._C._TorchDispatchModeKey.PROXY
_tracing_state = torch._C._get_tracing_state  # of torch.jit.trace, in a fraction of torch.jit.is_tracing's time
_graph_rows = unrecorded(torch.ops.weft.graph_rows.default)


def is_of_program(key: int) -> bool:
    """Whether a compiled program makes the graph itself, anew in every run: such a graph has no key."""
    return key == NO_KEY


def is_traced() -> bool:
    """Whether calls are traced into a program (torch.compile, torch.export, torch.jit.trace, make_fx), or tensors are
    FakeTensorMode's, which hold no data."""
    if torch.compiler.is_compiling() or _tracing_state() is not None:
        return True
    if torch._C._len_torch_dispatch_stack() == 0:
        return False
    return any(torch._C._get_dispatch_mode(kind) is not None for kind in _MODES_OF_PROGRAMS)


@contextmanager
def making() -> Iterator[None]:
    """Context for making a graph. The rows outlive the caller's modes: they must not be inference tensors, which
    training could not save for a backward, nor wrapped by torch.func."""
    if torch.jit.is_tracing():
        raise RuntimeError(
            "torch.jit.trace records no graphs but those of an edge_index: make the others before, or use torch.export"
        )
    with _library.naming_what_is_out_of_memory(), torch.inference_mode(False), torch._C._DisableFuncTorch():
        yield


def bare(tensor: Tensor, name: str) -> Tensor:
    """The plain tensor inside torch.func's wrappers."""
    wrapping = torch._C._functorch
    while wrapping.is_functorch_wrapped_tensor(tensor):
        if wrapping.is_batchedtensor(tensor):
            raise NotImplementedError(f"{name} is another one in every call of torch.func.vmap: expected one for all")
        tensor = wrapping.get_unwrapped(tensor)
    return tensor


@torch.library.register_fake(_graph_rows)
@torch.library.register_fake("weft::graph_rows")
def _fake_rows(edge_index, num_sources, num_targets):
    edges = edge_index.shape[1]
    return (
        edge_index.new_empty([num_targets + 1], dtype=torch.int64), edge_index.new_empty([edges], dtype=torch.int32),
        edge_index.new_empty([edges], dtype=torch.int64), torch.empty([1], dtype=torch.int64, device="cpu"),
    )


def _rows(rowptr: Tensor, col: Tensor, edge_ids: Optional[Tensor]) -> List[Tensor]:
    rows = [bare(rowptr, "rowptr"), bare(col, "col")]
    return rows if edge_ids is None else [*rows, bare(edge_ids, "edge_ids")]


class Graph:
    """A directed graph in compressed rows by target: row v has the sources of the edges into v.

    Edge values are indexed by edge id: the edge's column in an ``edge_index``, or its position in compressed rows
    unless ids are given. A graph is immutable, and the tensors of its rows must not change; its transpose and plans are
    cached for as long as it lives.

    >>> import torch, weft
    >>> edge_index = torch.tensor([[0, 1, 2], [1, 2, 1]])  # sources, targets
    >>> weft.Graph.from_edge_index(edge_index)
    weft.Graph(3 nodes, 3 edges, cpu)
    """

    @torch.compiler.disable
    def __init__(self, rowptr: Tensor, col: Tensor, num_sources: int, edge_ids: Optional[Tensor] = None):
        """Uses compressed rows in place, without checks; :meth:`from_csr` checks and copies them. (Inference tensors
        are copied, because a backward could not save them.)"""
        rows = _rows(rowptr, col, edge_ids)
        with making():
            rows = [t.clone() if t.is_inference() else t for t in rows]
            self._hold(rows, int(num_sources), torch.ops.weft.graph_hold(rows, int(num_sources)))

    def _hold(self, rows: List[Tensor], num_sources: int, key: int) -> None:
        for array in rows:  # as torch._dynamo.mark_static_address, whose import takes seconds
            array._dynamo_static_input_type = "unguarded"
        self._take(rows, num_sources, key)
        self._is_held = True
        self._release = weakref.finalize(self, _library.release_graph, key)

    def _take(self, rows: List[Tensor], num_sources: int, key: int) -> None:
        self._rows, self._key, self._is_held = rows, key, False
        self.rowptr, self.col = rows[0], rows[1]
        self.edge_ids: Optional[Tensor] = rows[2] if len(rows) > 2 else None
        self.num_sources, self.num_targets = num_sources, rows[0].numel() - 1
        self._arguments = rows, key, num_sources  # how operators take a graph
        self._device_type = rows[0].device.type
        self._transposed: Union[None, Graph, weakref.ref] = None
        self._last_sampled: Tuple = (None, None)  # the last sample and its result
        self._kept: Dict[object, object] = {}  # what layers cache for this graph: see weft.nn.kept

    @classmethod
    def _held(cls, key: int, rows: List[Tensor], num_sources: int) -> Graph:
        graph = cls.__new__(cls)
        graph._hold(rows, num_sources, key)
        return graph

    @classmethod
    def _of_arguments(cls, rows: List[Tensor], key: int, num_sources: int) -> Graph:
        """A graph from an operator's arguments; it does not own the key."""
        graph = cls.__new__(cls)
        graph._take(rows, num_sources, key)
        return graph

    @classmethod
    def from_edge_index(cls, edge_index: Tensor, size: Size = None) -> Graph:
        """Makes a graph from PyG's ``edge_index`` [2, E]: sources and targets, int64 or int32, in any order. ``size``
        is the number of nodes, or (sources, targets) of a bipartite graph. It defaults to the size stored in an
        EdgeIndex, or to the largest id + 1, which waits for a GPU and causes a graph break in ``torch.compile``. A
        compiled program makes the graph anew in every run, and keeps it for its backward."""
        if hasattr(edge_index, "is_sorted_by_col"):  # torch_geometric.EdgeIndex
            return _sources().from_edge_index_of_pyg(edge_index, size)
        if not isinstance(edge_index, Tensor):
            raise TypeError(f"edge_index is of type {type(edge_index).__name__}: expected a tensor [2, edges]")
        if edge_index.dim() != 2 or edge_index.size(0) != 2:
            raise ValueError(f"edge_index has shape {list(edge_index.shape)}: expected [2, edges]")
        if edge_index.dtype not in (torch.int64, torch.int32):
            raise ValueError(f"edge_index has dtype {edge_index.dtype}: expected torch.int64 or torch.int32")
        if size is None:
            size = int(edge_index.max()) + 1 if edge_index.numel() > 0 else 0
        if is_traced():
            if isinstance(size, (tuple, list)) and len(size) != 2:
                raise ValueError(f"size has {len(size)} numbers: expected the number of nodes, or (sources, targets)")
            num_sources, num_targets = size if isinstance(size, (tuple, list)) else (size, size)
            rows = list(_graph_rows(edge_index, num_sources, num_targets))
            return cls._of_arguments(rows, NO_KEY, num_sources)
        num_sources, num_targets = counts_of(size)
        sources, targets = bare(edge_index, "edge_index")
        with making():
            key, rows = torch.ops.weft.graph_from_edges(sources, targets, num_sources, num_targets)
            return cls._held(key, rows, num_sources)

    @classmethod
    @torch.compiler.disable
    def from_csr(
        cls, rowptr: Tensor, col: Tensor, num_sources: Optional[int] = None, edge_ids: Optional[Tensor] = None,
        trusted: bool = False,
    ) -> Graph:
        """Makes a graph from compressed rows: the sources of target v are ``col[rowptr[v]:rowptr[v + 1]]``.
        ``num_sources`` defaults to the number of targets. ``trusted`` skips the copy and the check of the indices,
        which takes time and waits for a GPU: the tensors must be valid, and must not change or move. (Inference tensors
        are copied, because a backward could not save them.)"""
        for name, array in (("rowptr", rowptr), ("col", col), ("edge_ids", edge_ids)):
            if not isinstance(array, Tensor) and (array is not None or name != "edge_ids"):
                raise TypeError(f"{name} is of type {type(array).__name__}: expected a tensor of int64 or int32")
        num_sources = rowptr.numel() - 1 if num_sources is None else operator.index(num_sources)
        rows = _rows(rowptr, col, edge_ids)
        if not trusted:
            with making():
                torch.ops.weft.check_rows(rows, num_sources)
                rows = [t.clone() for t in rows]
        return cls(rows[0], rows[1], num_sources, rows[2] if len(rows) > 2 else None)

    @classmethod
    def from_sparse(cls, adj_t: Tensor, trusted: bool = False) -> Tuple[Graph, Tensor]:
        """From a sparse torch matrix [targets, sources] in CSR, CSC or COO, such as PyG's ``adj_t``: returns the graph
        and its edge values by id. Duplicate entries of a COO matrix are summed, as in torch. ``trusted`` is as in
        :meth:`from_csr`.

        >>> import torch, weft
        >>> weft.Graph.from_sparse(torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr())
        (weft.Graph(2 nodes, 2 edges, cpu), tensor([2., 3.]))
        """
        return _sources().from_sparse(adj_t, trusted)

    @classmethod
    def from_adj_t(cls, adj_t: Any, trusted: bool = False) -> Tuple[Graph, Optional[Tensor]]:
        """From a ``torch_sparse.SparseTensor`` [targets, sources], or an object with its ``csr()`` and
        ``sparse_sizes()``: returns the graph, and its edge values by id or None. ``trusted`` is as in
        :meth:`from_csr`."""
        return _sources().from_adj_t(adj_t, trusted)

    @classmethod
    def from_scipy(cls, matrix: Any) -> Tuple[Graph, Tensor]:
        """From a sparse scipy matrix whose rows are targets and whose columns are sources, as in ``adj_t``: returns the
        graph and its edge values by id. (Pass ``matrix.T`` if the rows are sources.)

        >>> import scipy.sparse, weft
        >>> weft.Graph.from_scipy(scipy.sparse.csr_matrix([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]]))
        (weft.Graph(3 sources, 2 targets, 3 edges, cpu), tensor([2., 3., 4.], dtype=torch.float64))
        """
        return _sources().from_scipy(matrix)

    @classmethod
    def load(cls, path: Union[str, os.PathLike], trusted: bool = False) -> Tuple[Graph, Optional[Tensor]]:
        """From a file: returns the graph, and its edge values by id or None. A ``.weft`` file, as the command ``weft``
        writes it, is checked and copied; a ``trusted`` one is memory-mapped and must not change. scipy reads ``.npz``
        and ``.mtx`` matrices, as in :meth:`from_scipy`."""
        return _sources().load(path, trusted)

    @classmethod
    def from_any(cls, source: Any, size: Size = None) -> Tuple[Graph, Optional[Tensor]]:
        """From any input of the other functions, or PyG's Data (with ``edge_weight`` as the values): returns the graph,
        and its edge values by id or None. ``size`` is as in :meth:`from_edge_index`; it must equal the size of a source
        that has one.

        >>> import torch, weft
        >>> weft.Graph.from_any(torch.tensor([[0, 1, 2], [1, 2, 1]]), size=4)
        (weft.Graph(4 nodes, 3 edges, cpu), None)
        """
        return _sources().from_any(source, size)

    @property
    def num_edges(self) -> int:
        return self.col.numel()

    @property
    def num_nodes(self) -> int:
        """The number of nodes of a graph that is not bipartite."""
        if self.num_sources != self.num_targets:
            raise ValueError(f"the graph has {self.num_sources} sources and {self.num_targets} targets, so no one number")
        return self.num_sources

    @property
    def device(self) -> torch.device:
        return self.col.device

    @torch.compiler.disable
    def transpose(self) -> Graph:
        """All edges reversed, with the same ids; made once and cached. Its transpose is this graph."""
        kept = self._transposed  # read once: another thread may set it
        if isinstance(kept, weakref.ref):
            kept = kept()
        if kept is None:
            with making():
                key, rows = torch.ops.weft.graph_transposed(self._rows, self._key, self.num_sources)
                kept = Graph._held(key, rows, self.num_targets)
            kept._transposed = weakref.ref(self)
            self._transposed = kept
        return kept

    @torch.compiler.disable
    def sampled(self, sample: EdgeSample) -> Tuple[Graph, Tensor]:
        """A graph of the edges that a sample keeps, and their ids (int64) in this graph. The last sample's result is
        cached.

        >>> import torch, weft
        >>> graph = weft.Graph.from_csr(torch.tensor([0, 3]), torch.tensor([0, 1, 2]), num_sources=3)
        >>> graph.sampled(weft.EdgeSample(2, method="bucket"))
        (weft.Graph(3 sources, 1 targets, 2 edges, cpu), tensor([0, 1]))
        """
        if not hasattr(sample, "choice"):
            raise TypeError(f"sample is of type {type(sample).__name__}: expected a weft.EdgeSample")
        last = self._last_sampled  # read once: another thread may set it
        if last[0] != sample.choice:
            with making():
                key, rows, edge_ids = torch.ops.weft.graph_sampled(*self._arguments, *sample.choice)
                last = sample.choice, (Graph._held(key, rows, self.num_sources), edge_ids)
            self._last_sampled = last
        return last[1]

    def edge_index(self) -> Tensor:
        """Sources and targets, [2, E] int64, by edge id."""
        counts = self.rowptr[1:] - self.rowptr[:-1]
        nodes = torch.arange(self.num_targets, device=self.device)
        targets = torch.repeat_interleave(nodes, counts, output_size=self.num_edges)
        stored = torch.stack([self.col.long(), targets])
        if self.edge_ids is None:
            return stored
        by_id = torch.empty_like(stored)
        by_id[:, self.edge_ids] = stored
        return by_id

    def to(self, device: Union[str, torch.device], non_blocking: bool = False) -> Graph:
        """This graph on another device, or the graph itself if it is already there. (``non_blocking`` has no effect;
        callers that move tensors and graphs alike, such as PyG's Data, pass it.)"""
        wanted = torch.device(device)
        if wanted.type == self.device.type and wanted.index in (None, self.device.index):
            return self
        with making():
            ids = None if self.edge_ids is None else self.edge_ids.to(device)
            return Graph(self.rowptr.to(device), self.col.to(device), self.num_sources, ids)

    def cpu(self) -> Graph:
        return self.to("cpu")

    def cuda(self, device: Union[None, int, str, torch.device] = None) -> Graph:
        """This graph on a GPU, by default the current one."""
        if device is None:
            device = torch.cuda.current_device()
        wanted = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
        if wanted.type != "cuda":
            raise ValueError(f"device is {wanted}: expected a GPU, as cuda:0")
        return self.to(wanted)

    def __reduce__(self):
        ids = None if self.edge_ids is None else self.edge_ids.clone()
        return Graph, (self.rowptr.clone(), self.col.clone(), self.num_sources, ids)

    def __repr__(self) -> str:
        square = self.num_sources == self.num_targets
        nodes = f"{self.num_sources} nodes" if square else f"{self.num_sources} sources, {self.num_targets} targets"
        return f"weft.Graph({nodes}, {self.num_edges} edges, {self.device})"
