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
    """The module is made of graphs itself, so that it is there later than this one."""
    from weft import sources

    return sources


def counts_of(size: Union[int, Tuple[int, int]]) -> Tuple[int, int]:
    """Sources and targets."""
    try:
        return operator.index(size), operator.index(size)
    except TypeError:
        pass
    try:
        num_sources, num_targets = size
        return operator.index(num_sources), operator.index(num_targets)
    except (TypeError, ValueError):
        raise ValueError(f"size is {size!r}: expected the number of nodes, or (sources, targets)") from None


NO_KEY = 0  # of a graph that nobody holds, or a handle behind its rows


_MODES_OF_PROGRAMS = torch._C._TorchDispatchModeKey.FAKE, torch._C._TorchDispatchModeKey.PROXY
_graph_rows = unrecorded(torch.ops.weft.graph_rows.default)


def is_of_program(key: int) -> bool:
    """Whether a program makes the graph itself, so that it is another one in every run: Python holds none such."""
    return key == NO_KEY


def is_traced() -> bool:
    """Whether a program is made of the calls, by torch.compile, torch.export, torch.jit.trace or make_fx, or tensors are
    FakeTensorMode's, which have no numbers."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        return True
    return any(torch._C._get_dispatch_mode(kind) is not None for kind in _MODES_OF_PROGRAMS)


@contextmanager
def making() -> Iterator[None]:
    """Around the making of a graph, whose rows outlive the modes of the call: training may save them for a backward, and
    nothing of torch.func's is around them."""
    if torch.jit.is_tracing():
        raise RuntimeError(
            "torch.jit.trace records no graphs but those of an edge_index: make the others before, or use torch.export"
        )
    with _library.naming_what_is_out_of_memory(), torch.inference_mode(False), torch._C._DisableFuncTorch():
        yield


def bare(tensor: Tensor, name: str) -> Tensor:
    """The tensor that torch.func has wrapped for its own purposes."""
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
    """A directed graph, stored by target: row v has the sources of the edges that arrive at v.

    Values of edges are indexed by edge id: of a graph from an ``edge_index`` that is the column of an edge there, and of
    one from compressed rows the place of the edge in them, unless ids are given. Graphs do not change, and nor may the
    tensors of their rows; what is made of one for its calls (its transpose, plans) is kept as long as the graph is.

    >>> import torch, weft
    >>> edge_index = torch.tensor([[0, 1, 2], [1, 2, 1]])  # sources, targets
    >>> weft.Graph.from_edge_index(edge_index)
    weft.Graph(3 nodes, 3 edges, cpu)
    """

    @torch.compiler.disable
    def __init__(self, rowptr: Tensor, col: Tensor, num_sources: int, edge_ids: Optional[Tensor] = None):
        """Takes the memory of compressed rows as it is, and trusts it; :meth:`from_csr` looks at it and copies it. (What was
        made in inference mode is copied: a backward could not save it.)"""
        rows = _rows(rowptr, col, edge_ids)
        with making():
            rows = [t.clone() if t.is_inference() else t for t in rows]
            self._hold(rows, int(num_sources), torch.ops.weft.graph_hold(rows, int(num_sources)))

    def _hold(self, rows: List[Tensor], num_sources: int, key: int) -> None:
        for array in rows:  # torch._dynamo.mark_static_address, which would take seconds to import
            array._dynamo_static_input_type = "unguarded"
        self._take(rows, num_sources, key)
        self._is_held = True
        self._release = weakref.finalize(self, _library.release_graph, key)

    def _take(self, rows: List[Tensor], num_sources: int, key: int) -> None:
        self._rows, self._key, self._is_held = rows, key, False
        self.rowptr, self.col = rows[0], rows[1]
        self.edge_ids: Optional[Tensor] = rows[2] if len(rows) > 2 else None
        self.num_sources, self.num_targets = num_sources, rows[0].numel() - 1
        self._arguments = rows, key, num_sources  # as every operator takes a graph
        self._device_type = rows[0].device.type
        self._transposed: Union[None, Graph, weakref.ref] = None
        self._last_sampled: Tuple = (None, None)  # the last sample and what it gave
        self._kept: Dict[object, object] = {}  # what layers made of this graph: see weft.nn.kept

    @classmethod
    def _held(cls, key: int, rows: List[Tensor], num_sources: int) -> Graph:
        graph = cls.__new__(cls)
        graph._hold(rows, num_sources, key)
        return graph

    @classmethod
    def _of_arguments(cls, rows: List[Tensor], key: int, num_sources: int) -> Graph:
        """The graph of an operator's arguments, which others hold, or nobody."""
        graph = cls.__new__(cls)
        graph._take(rows, num_sources, key)
        return graph

    @classmethod
    def from_edge_index(cls, edge_index: Tensor, size: Size = None) -> Graph:
        """From PyG's ``edge_index`` [2, E]: sources and targets, int64 or int32, in any order. ``size`` is the number of
        nodes, or (sources, targets) of a bipartite graph; without it what an EdgeIndex knows, or else as many nodes as the
        largest id asks for, which waits for a GPU and breaks the graph of ``torch.compile``. A compiled program makes the
        graph anew in every run, and keeps it for its backward."""
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
        """From compressed rows: those of target v are ``col[rowptr[v]:rowptr[v + 1]]``. Without ``num_sources`` there are
        as many sources as targets. ``trusted`` neither looks at the indices, which on a GPU takes time and waits, nor
        copies them: they must be right, and stay as and where they are. (Tensors of inference mode are copied: no
        backward could save them.)"""
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
        """From a sparse matrix of torch's [targets, sources] in any layout, as PyG's ``adj_t``: the graph, and the
        values of its edges by id. Entries of a COO matrix that name one place are added up, as torch counts them.
        ``trusted`` as in :meth:`from_csr`.

        >>> import torch, weft
        >>> weft.Graph.from_sparse(torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr())
        (weft.Graph(2 nodes, 2 edges, cpu), tensor([2., 3.]))
        """
        return _sources().from_sparse(adj_t, trusted)

    @classmethod
    def from_adj_t(cls, adj_t: Any, trusted: bool = False) -> Tuple[Graph, Optional[Tensor]]:
        """From a ``torch_sparse.SparseTensor`` [targets, sources], or what has its ``csr()`` and ``sparse_sizes()``:
        the graph, and the values of its edges by id, or None. ``trusted`` as in :meth:`from_csr`."""
        return _sources().from_adj_t(adj_t, trusted)

    @classmethod
    def from_scipy(cls, matrix: Any) -> Tuple[Graph, Tensor]:
        """From a sparse matrix of scipy's, whose rows are targets and whose columns are sources, as in ``adj_t``: the
        graph, and the values of its edges by id. (``matrix.T`` makes it of one whose rows are sources.)

        >>> import scipy.sparse, weft
        >>> weft.Graph.from_scipy(scipy.sparse.csr_matrix([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]]))
        (weft.Graph(3 sources, 2 targets, 3 edges, cpu), tensor([2., 3., 4.], dtype=torch.float64))
        """
        return _sources().from_scipy(matrix)

    @classmethod
    def load(cls, path: Union[str, os.PathLike], trusted: bool = False) -> Tuple[Graph, Optional[Tensor]]:
        """From a file: the graph, and the values of its edges by id, or None. A ``.weft`` file, as the command ``weft``
        writes it, is looked at and copied, unless it is ``trusted``: then it is mapped and must stay as it is. ``.npz``
        and ``.mtx`` files of matrices are read by scipy, as in :meth:`from_scipy`."""
        return _sources().load(path, trusted)

    @classmethod
    def from_any(cls, source: Any, size: Size = None) -> Tuple[Graph, Optional[Tensor]]:
        """From whatever one of the other functions takes, and from PyG's Data (whose ``edge_weight`` are the values):
        the graph, and the values of its edges by id, or None. ``size`` as in :meth:`from_edge_index`; of a source that
        has one it is compared.

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
        """Of a graph that is not bipartite."""
        if self.num_sources != self.num_targets:
            raise ValueError(f"the graph has {self.num_sources} sources and {self.num_targets} targets, so no one number")
        return self.num_sources

    @property
    def device(self) -> torch.device:
        return self.col.device

    @torch.compiler.disable
    def transpose(self) -> Graph:
        """The same edges, reversed, with the same ids; made once and kept. Its transpose is this graph."""
        kept = self._transposed  # read once: other threads may put theirs there
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
        """The edges that a sample keeps as a graph, and the ids (int64) that they have in this one. That of the last
        sample is kept.

        >>> import torch, weft
        >>> graph = weft.Graph.from_csr(torch.tensor([0, 3]), torch.tensor([0, 1, 2]), num_sources=3)
        >>> graph.sampled(weft.EdgeSample(2, method="bucket"))
        (weft.Graph(3 sources, 1 targets, 2 edges, cpu), tensor([0, 1]))
        """
        if not hasattr(sample, "choice"):
            raise TypeError(f"sample is of type {type(sample).__name__}: expected a weft.EdgeSample")
        last = self._last_sampled  # other threads may put theirs there
        if last[0] != sample.choice:
            with making():
                key, rows, edge_ids = torch.ops.weft.graph_sampled(*self._arguments, *sample.choice)
                last = sample.choice, (Graph._held(key, rows, self.num_sources), edge_ids)
            self._last_sampled = last
        return last[1]

    def edge_index(self) -> Tensor:
        """[2, E], int64, by edge id."""
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
        """This graph on another device; itself where it is there already. (``non_blocking`` is there for those who move
        tensors and graphs alike, as PyG's Data does, and changes nothing.)"""
        wanted = torch.device(device)
        if wanted.type == self.device.type and wanted.index in (None, self.device.index):
            return self
        with making():
            ids = None if self.edge_ids is None else self.edge_ids.to(device)
            return Graph(self.rowptr.to(device), self.col.to(device), self.num_sources, ids)

    def cpu(self) -> Graph:
        return self.to("cpu")

    def cuda(self, device: Union[None, int, str, torch.device] = None) -> Graph:
        """This graph on a GPU, which without ``device`` is the current one."""
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
