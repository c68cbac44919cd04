"""Graphs from sparse matrices, other libraries' objects, and files.

A matrix is a transposed adjacency matrix, like PyG's ``adj_t``: rows are targets, columns are sources. The libraries
whose objects are accepted are not imported, except scipy to read its files."""

from __future__ import annotations

import os
from typing import Any, Optional, Tuple, Union

import torch
from torch import Tensor

from weft.graph import Graph, Size, counts_of
from weft.weft_file import WeftFile

GraphAndValues = Tuple[Graph, Optional[Tensor]]


def from_edge_index_of_pyg(edge_index: Tensor, size: Size) -> Graph:
    """From torch_geometric.EdgeIndex, with the number of nodes stored in it. If it is sorted by target, its compressed
    columns are the graph's rows. The order is checked, because the class trusts its caller. (On a GPU sorting takes
    less time than the check.)"""
    plain = edge_index.as_tensor()
    if size is None:
        known = edge_index.sparse_size()
        if known != (None, None):
            size = tuple(edge_index.get_sparse_size(dim) if n is None else n for dim, n in enumerate(known))
    if size is not None:
        size = counts_of(size)
    if edge_index.is_sorted_by_col and size is not None and plain.is_cpu and plain.size(1) > 0:
        targets = plain[1]
        is_sorted = bool((targets[1:] >= targets[:-1]).all())
        if is_sorted and targets[0] >= 0 and targets[-1] < size[1] and size[1] == edge_index.get_sparse_size(1):
            (rowptr, col), _ = edge_index.get_csc()
            return Graph.from_csr(rowptr.as_subclass(Tensor), col.as_subclass(Tensor), size[0])
    return Graph.from_edge_index(plain, size)


def from_sparse(adj_t: Tensor, trusted: bool = False) -> Tuple[Graph, Tensor]:
    if adj_t.dim() != 2 or adj_t.layout is torch.strided:
        raise ValueError(f"adj_t has shape {list(adj_t.shape)} and layout {adj_t.layout}: expected a sparse matrix")
    num_targets, num_sources = adj_t.shape
    if adj_t.layout is torch.sparse_csc:
        return _from_columns(adj_t.ccol_indices(), adj_t.row_indices(), num_targets, trusted), adj_t.values()
    if adj_t.layout is torch.sparse_coo:
        adj_t = adj_t.coalesce()
        return Graph.from_edge_index(adj_t.indices().flip(0), (num_sources, num_targets)), adj_t.values()
    if adj_t.layout is not torch.sparse_csr:
        raise ValueError(
            f"adj_t has layout {adj_t.layout}, whose blocks hold zeros that are no edges: expected torch.sparse_csr, "
            "sparse_csc or sparse_coo; adj_t.to_sparse_coo() has those zeros still, to be left out"
        )
    return Graph.from_csr(adj_t.crow_indices(), adj_t.col_indices(), num_sources, trusted=trusted), adj_t.values()


def _from_columns(colptr: Tensor, row: Tensor, num_targets: int, trusted: bool = False) -> Graph:
    """Compressed columns are the rows of the transpose."""
    return Graph.from_csr(colptr, row, num_targets, trusted=trusted).transpose()


def from_adj_t(adj_t: Any, trusted: bool = False) -> GraphAndValues:
    rowptr, col, values = adj_t.csr()
    return Graph.from_csr(rowptr, col, int(adj_t.sparse_sizes()[1]), trusted=trusted), values


def from_scipy(matrix: Any) -> Tuple[Graph, Tensor]:
    if matrix.format not in ("csr", "csc"):
        matrix = matrix.tocsr()
    starts, others = (torch.from_numpy(array) for array in (matrix.indptr, matrix.indices))
    values = torch.from_numpy(matrix.data).clone()
    num_targets, num_sources = matrix.shape
    if matrix.format == "csc":
        return _from_columns(starts, others, num_targets), values
    return Graph.from_csr(starts, others, num_sources), values


def load(path: Union[str, os.PathLike], trusted: bool = False) -> GraphAndValues:
    path = os.fspath(path)
    if path.endswith((".npz", ".mtx", ".mtx.gz")):
        return from_scipy(_matrix_in(path))
    file = WeftFile(path, trusted)
    return file.graph(), file.values()


def _matrix_in(path: str) -> Any:
    try:
        import scipy.io
        import scipy.sparse
    except ImportError:
        raise ImportError(f"{path}: scipy, which reads it, is not here: install it, or make a .weft file of it") from None
    try:
        return scipy.sparse.load_npz(path) if path.endswith(".npz") else scipy.io.mmread(path)
    except ValueError as error:
        raise ValueError(f"{path}: scipy finds no matrix in it ({error})") from None


def _of_size(graph: Graph, size: Size) -> Graph:
    """The graph; the caller's size, if given, must equal the source's."""
    if size is not None and counts_of(size) != (graph.num_sources, graph.num_targets):
        raise ValueError(f"size is {size}: expected that of source, {(graph.num_sources, graph.num_targets)}, or None")
    return graph


def _from_data(data: Any, size: Size) -> GraphAndValues:
    """From torch_geometric.data.Data, or an object with the same attributes."""
    graph = Graph.from_edge_index(data.edge_index, data.num_nodes if size is None else size)
    return graph, getattr(data, "edge_weight", None)


def from_any(source: Any, size: Size = None) -> GraphAndValues:
    if isinstance(source, Tensor) and source.layout is torch.strided:
        return Graph.from_edge_index(source, size), None
    if getattr(source, "edge_index", None) is not None and not isinstance(source, Graph):
        return _from_data(source, size)
    graph, values = _from_what_knows_its_size(source)
    return _of_size(graph, size), values


def _from_what_knows_its_size(source: Any) -> GraphAndValues:
    if isinstance(source, Graph):
        return source, None
    if isinstance(source, Tensor):
        return from_sparse(source)
    if isinstance(source, (str, os.PathLike)):
        return load(source)
    if hasattr(source, "csr") and hasattr(source, "sparse_sizes"):
        return from_adj_t(source)
    if hasattr(source, "tocsr") and hasattr(source, "format"):
        return from_scipy(source)
    if hasattr(source, "edge_types"):
        raise ValueError(
            f"source is a {type(source).__name__} of several kinds of nodes and edges: expected one kind of edges, as "
            "source[edge_type].edge_index with its size"
        )
    if getattr(source, "adj_t", None) is not None:
        return _from_what_knows_its_size(source.adj_t)
    raise ValueError(
        f"source is a {type(source).__name__}: expected a weft.Graph, an edge_index, a sparse matrix of torch's, "
        "torch_sparse's or scipy's, PyG's Data, or the path of a .weft file"
    )
