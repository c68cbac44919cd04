import struct
import zlib

import pytest
import torch

import weft
from conftest import random_edges
from weft.weft_file import WeftFile

scipy_sparse = pytest.importorskip("scipy.sparse")


def dense(graph, values):
    """The matrix [targets, sources] of the values of edges."""
    sources, targets = graph.edge_index()
    matrix = torch.zeros(graph.num_targets, graph.num_sources, dtype=values.dtype, device=values.device)
    return matrix.index_put((targets, sources), values, accumulate=True)


def a_matrix(device="cpu", shape=(6, 4), entries=11, seed=0):
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.zeros(shape, dtype=torch.float64)
    places = torch.randperm(matrix.numel(), generator=generator)[:entries]
    matrix.view(-1)[places] = torch.rand(len(places), generator=generator, dtype=torch.float64) + 1
    return matrix.to(device)


LAYOUTS = [torch.sparse_csr, torch.sparse_csc, torch.sparse_coo]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape, entries", [((6, 4), 11), ((4, 6), 24), ((5, 5), 0), ((0, 3), 0), ((3, 0), 0)])
def test_sparse_matrices_of_torch_are_graphs_of_rows_as_targets(device, layout, shape, entries):
    matrix = a_matrix(device, shape, entries)
    graph, values = weft.Graph.from_sparse(matrix.to_sparse(layout=layout))
    assert (graph.num_targets, graph.num_sources, graph.num_edges) == (*shape, entries)
    assert torch.equal(dense(graph, values), matrix)
    x = torch.randn(shape[1], 3, dtype=torch.float64, device=device)
    torch.testing.assert_close(weft.spmm(graph, x, values), matrix @ x)
    torch.testing.assert_close(weft.spmm(graph.transpose(), x.new_ones(shape[0]), values), matrix.sum(0))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc])
def test_sparse_matrices_of_either_width_keep_their_values_in_their_order(device, layout, dtype):
    matrix = a_matrix(device).to_sparse(layout=layout)
    make = torch.sparse_csr_tensor if layout is torch.sparse_csr else torch.sparse_csc_tensor
    starts, others = (
        (matrix.crow_indices(), matrix.col_indices()) if layout is torch.sparse_csr
        else (matrix.ccol_indices(), matrix.row_indices())
    )
    narrow = make(starts.to(dtype), others.to(dtype), matrix.values(), matrix.shape)
    for trusted in (False, True):
        graph, values = weft.Graph.from_sparse(narrow, trusted=trusted)
        assert torch.equal(values, matrix.values())
        assert torch.equal(dense(graph, values), matrix.to_dense())


def test_entries_of_a_coo_matrix_that_name_one_place_are_added_up(device):
    indices = torch.tensor([[2, 0, 2], [1, 1, 1]], device=device)
    matrix = torch.sparse_coo_tensor(indices, torch.tensor([1.0, 2.0, 4.0], device=device), (3, 2))
    graph, values = weft.Graph.from_sparse(matrix)
    assert graph.num_edges == 2 and torch.equal(dense(graph, values), matrix.to_dense())


class SparseTensorOfTorchSparse:
    """What weft takes of torch_sparse.SparseTensor."""

    def __init__(self, matrix, has_values):
        self.matrix, self.has_values = matrix.to_sparse_csr(), has_values

    def csr(self):
        values = self.matrix.values() if self.has_values else None
        return self.matrix.crow_indices(), self.matrix.col_indices(), values

    def sparse_sizes(self):
        return tuple(self.matrix.shape)


def test_a_sparse_tensor_of_torch_sparse_comes_with_its_values_or_none(device):
    matrix = a_matrix(device)
    graph, values = weft.Graph.from_adj_t(SparseTensorOfTorchSparse(matrix, True))
    assert torch.equal(dense(graph, values), matrix)
    graph, values = weft.Graph.from_adj_t(SparseTensorOfTorchSparse(matrix, False))
    assert values is None and (graph.num_targets, graph.num_sources) == (6, 4)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "lil", "dok"])
@pytest.mark.parametrize("shape, entries", [((6, 4), 11), ((4, 6), 24), ((5, 5), 0)])
def test_matrices_of_scipy_are_graphs_of_rows_as_targets(format, shape, entries):
    matrix = a_matrix("cpu", shape, entries)
    for kind in (scipy_sparse.csr_matrix, scipy_sparse.csr_array):
        graph, values = weft.Graph.from_scipy(kind(matrix.numpy()).asformat(format))
        assert torch.equal(dense(graph, values), matrix)
        assert (graph.num_targets, graph.num_sources) == shape


def test_a_scipy_matrix_that_changes_does_not_change_its_graph():
    matrix = scipy_sparse.csr_matrix(a_matrix().numpy())
    graph, values = weft.Graph.from_scipy(matrix)
    before = dense(graph, values)
    matrix.data[:] = 0
    matrix.indices[:] = 0
    assert torch.equal(dense(graph, values), before)


def test_edge_index_of_pyg_keeps_ids_and_sizes_sorted_or_not(device):
    edge_index_of = pytest.importorskip("torch_geometric").EdgeIndex
    unsorted = random_edges(7, 9, 40).to(device)
    by_target = unsorted[:, unsorted[1].sort(stable=True)[1]]
    by_source = unsorted[:, unsorted[0].sort(stable=True)[1]]
    for plain, order in ((unsorted, None), (by_target, "col"), (by_source, "row")):
        for dtype in (torch.int64, torch.int32):
            edges = edge_index_of(plain.to(dtype), sparse_size=(8, 11), sort_order=order)
            graph = weft.Graph.from_edge_index(edges)
            assert (graph.num_sources, graph.num_targets) == (8, 11)
            assert torch.equal(graph.edge_index(), plain)
            assert type(graph.rowptr) is torch.Tensor and type(graph.col) is torch.Tensor
            filled = edges.fill_cache_() if order is not None else edges
            for size in ((7, 9), (8, 11), 12):
                assert torch.equal(weft.Graph.from_edge_index(filled, size=size).edge_index(), plain)


def test_edge_index_of_pyg_that_lies_about_its_order_is_not_believed():
    edge_index_of = pytest.importorskip("torch_geometric").EdgeIndex
    plain = torch.tensor([[0, 1, 2, 3], [3, 0, 2, 1]])
    graph = weft.Graph.from_edge_index(edge_index_of(plain, sparse_size=(4, 4), sort_order="col"))
    assert torch.equal(graph.edge_index(), plain)
    sorted_but_out_of_range = edge_index_of(torch.tensor([[0, 1], [0, 9]]), sparse_size=(4, 4), sort_order="col")
    with pytest.raises(RuntimeError, match=r"destinations\[1\] is 9"):
        weft.Graph.from_edge_index(sorted_but_out_of_range)


def test_edge_index_of_pyg_without_sizes_has_as_many_nodes_as_ids_ask_for():
    edge_index_of = pytest.importorskip("torch_geometric").EdgeIndex
    assert weft.Graph.from_edge_index(edge_index_of([[0, 5], [1, 2]])).num_nodes == 6
    graph = weft.Graph.from_edge_index(edge_index_of([[0, 5], [1, 2]], sparse_size=(None, 8)))
    assert (graph.num_sources, graph.num_targets) == (6, 8)


# ---- Files --------------------------------------------------------------------------------------


def a_file(path, rowptr, col, num_sources, edge_ids=None, values=None, required=None):
    """By docs/weft-format.md."""
    types = {torch.float32: 1, torch.float64: 4, torch.int32: 5, torch.int64: 6}
    content = [("offsets", rowptr), ("cols", col.int()), ("edge_ids", edge_ids), ("values", values)]
    content = [(name, tensor) for name, tensor in content if tensor is not None]
    if required is not None:
        content.append((required, torch.zeros(1)))
    size = 64 + 64 * len(content)
    table, body = b"", b""
    for name, tensor in content:
        data = tensor.numpy().tobytes()
        width = tensor.size(1) if tensor.dim() > 1 else 1
        section = struct.pack(
            "<16sQQqqIIII", name.encode(), size + len(body), len(data), 1, width, types[tensor.dtype], tensor.dim(),
            zlib.crc32(data), int(name == required),
        )
        table += section
        body += data + bytes(-len(data) % 64)
    counts = [rowptr.numel() - 1, num_sources, col.numel()]
    fields = [b"\x89WEFT\r\n\x1a", 1, 0x01020304, size, len(content), *counts, 0, 0]
    crc = zlib.crc32(struct.pack("<8sIIIIqqqQII", *fields, 0) + table)
    path.write_bytes(struct.pack("<8sIIIIqqqQII", *fields, crc) + table + body)
    return path


@pytest.mark.parametrize("trusted", [False, True])
def test_a_weft_file_is_the_graph_with_its_ids_and_values(tmp_path, trusted):
    rowptr, col = torch.tensor([0, 2, 2, 5]), torch.tensor([1, 3, 0, 0, 2])
    edge_ids, values = torch.tensor([4, 0, 1, 3, 2]), torch.rand(5)
    path = a_file(tmp_path / "g.weft", rowptr, col, 4, edge_ids, values)
    graph, found = weft.Graph.load(path, trusted=trusted)
    assert torch.equal(found, values)
    assert torch.equal(graph.edge_index(), weft.Graph.from_csr(rowptr, col, 4, edge_ids).edge_index())
    wide = a_file(tmp_path / "wide.weft", rowptr, col, 4, values=torch.rand(5, 3))
    assert weft.Graph.load(wide, trusted=trusted)[1].shape == (5, 3)
    graph, found = weft.Graph.load(a_file(tmp_path / "none.weft", torch.tensor([0, 0]), col[:0], 3), trusted=trusted)
    assert found is None and (graph.num_sources, graph.num_targets, graph.num_edges) == (3, 1, 0)


def test_a_trusted_file_is_mapped_in_inference_mode_too(tmp_path):
    path = a_file(tmp_path / "g.weft", torch.tensor([0, 2, 2, 5]), torch.tensor([1, 3, 0, 0, 2]), 4)
    with torch.inference_mode():
        file = WeftFile(str(path), trusted=True)
        graph = file.graph()
    again = file.graph()  # over the same memory
    assert (graph.rowptr.data_ptr(), graph.col.data_ptr()) == (again.rowptr.data_ptr(), again.col.data_ptr())


def test_damage_in_a_weft_file_is_named(tmp_path):
    rowptr, col = torch.tensor([0, 2, 2, 5]), torch.tensor([1, 3, 0, 0, 2])
    whole = a_file(tmp_path / "g.weft", rowptr, col, 4).read_bytes()

    def refuses(content, words):
        path = tmp_path / "damaged.weft"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=words) as error:
            weft.Graph.load(path)
        assert str(path) in str(error.value) and "\n" not in str(error.value)

    refuses(b"", "no .weft file")
    refuses(b"0 1\n" * 100, "no .weft file")
    refuses(whole[:40] + b"\1" + whole[41:], "the header has the checksum")
    refuses(whole[:200], "'offsets' ends behind the file's 200 bytes")
    refuses(whole[:192] + b"\1" + whole[193:], "section 'offsets' has the checksum")
    a_file(tmp_path / "far.weft", rowptr, torch.tensor([1, 3, 0, 0, 7]), 4)
    refuses((tmp_path / "far.weft").read_bytes(), r"cols\[4\] is 7")
    a_file(tmp_path / "new.weft", rowptr, col, 4, required="colours")
    refuses((tmp_path / "new.weft").read_bytes(), "needs section 'colours'")
    with pytest.raises(FileNotFoundError):
        weft.Graph.load(tmp_path / "missing.weft")


def test_matrix_files_are_read_by_scipy(tmp_path):
    import scipy.io

    matrix = a_matrix()
    scipy_sparse.save_npz(tmp_path / "m.npz", scipy_sparse.csr_matrix(matrix.numpy()))
    scipy.io.mmwrite(tmp_path / "m.mtx", scipy_sparse.coo_matrix(matrix.numpy()))
    for name in ("m.npz", "m.mtx"):
        graph, values = weft.Graph.load(tmp_path / name)
        torch.testing.assert_close(dense(graph, values), matrix)
    (tmp_path / "other.npz").write_bytes((tmp_path / "m.mtx").read_bytes())
    with pytest.raises(ValueError, match="other.npz: scipy finds no matrix"):
        weft.Graph.load(tmp_path / "other.npz")


# ---- Anything -----------------------------------------------------------------------------------


def test_from_any_takes_whatever_there_is(tmp_path):
    matrix = a_matrix()
    path = tmp_path / "m.npz"
    scipy_sparse.save_npz(path, scipy_sparse.csr_matrix(matrix.numpy()))
    for source in (
        matrix.to_sparse_csr(), matrix.to_sparse_coo(), SparseTensorOfTorchSparse(matrix, True),
        scipy_sparse.csc_matrix(matrix.numpy()), path, str(path),
    ):
        graph, values = weft.Graph.from_any(source)
        torch.testing.assert_close(dense(graph, values), matrix)
    assert weft.Graph.from_any(graph) == (graph, None)
    edge_index = random_edges(7, 9, 40)
    graph, values = weft.Graph.from_any(edge_index, size=(7, 9))
    assert values is None and torch.equal(graph.edge_index(), edge_index)


def test_from_any_refuses_a_size_that_its_source_contradicts():
    graph = weft.Graph.from_edge_index(torch.tensor([[0, 1], [1, 2]]), size=(3, 4))
    assert weft.Graph.from_any(graph, size=(3, 4))[0] is graph
    with pytest.raises(ValueError, match=r"size is 3: expected that of source, \(3, 4\), or None"):
        weft.Graph.from_any(graph, size=3)
    with pytest.raises(ValueError, match=r"size is \(4, 4\)"):
        weft.Graph.from_any(torch.eye(3).to_sparse_csr(), size=(4, 4))


@pytest.mark.parametrize("layout", [torch.sparse_bsr, torch.sparse_bsc])
def test_matrices_of_blocks_are_refused(layout):
    blocks = torch.eye(4).to_sparse(layout=layout, blocksize=(2, 2))
    with pytest.raises(ValueError, match=f"adj_t has layout {layout}, whose blocks hold zeros"):
        weft.Graph.from_sparse(blocks)


def test_from_any_takes_data_of_pyg_with_its_nodes_and_weights():
    pyg = pytest.importorskip("torch_geometric")
    edge_index = random_edges(9, 9, 40)
    data = pyg.data.Data(x=torch.zeros(12, 1), edge_index=edge_index, edge_weight=torch.rand(40))
    graph, values = weft.Graph.from_any(data)
    assert graph.num_nodes == 12 and values is data.edge_weight and torch.equal(graph.edge_index(), edge_index)
    of_unknown_size = pyg.data.Data(x=torch.zeros(12, 1), edge_index=pyg.EdgeIndex(edge_index))
    assert weft.Graph.from_any(of_unknown_size)[0].num_nodes == 12
    matrix = a_matrix(shape=(5, 5))
    graph, values = weft.Graph.from_any(pyg.data.Data(adj_t=matrix.to_sparse_csr()))
    assert torch.equal(dense(graph, values), matrix)
    hetero = pyg.data.HeteroData()
    hetero["a", "to", "b"].edge_index = edge_index
    with pytest.raises(ValueError, match="several kinds of nodes"):
        weft.Graph.from_any(hetero)


@pytest.mark.parametrize("source", [3, None, [[0, 1], [1, 0]], object()])
def test_what_is_no_graph_is_named(source):
    with pytest.raises(ValueError, match=f"source is a {type(source).__name__}: expected"):
        weft.Graph.from_any(source)
    with pytest.raises(ValueError, match="layout torch.strided: expected a sparse matrix"):
        weft.Graph.from_sparse(torch.ones(3, 3))
