import copy
import pickle

import pytest
import torch

import weft
from conftest import random_edges


def dense(graph):
    """[targets, sources]: the number of edges."""
    counts = torch.zeros(graph.num_targets, graph.num_sources, dtype=torch.int64)
    sources, targets = graph.edge_index().cpu()
    counts.index_put_((targets, sources), torch.ones_like(sources), accumulate=True)
    return counts


def test_from_edge_index_keeps_every_edge_under_its_id(edge_index):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    assert torch.equal(graph.edge_index(), edge_index)
    assert (graph.num_sources, graph.num_targets, graph.num_edges) == (7, 9, 40)
    assert graph.device == edge_index.device
    assert repr(graph) == f"weft.Graph(7 sources, 9 targets, 40 edges, {edge_index.device})"


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_from_edge_index_takes_either_width_and_counts_nodes_itself(edge_index, dtype):
    graph = weft.Graph.from_edge_index(edge_index.to(dtype))
    assert graph.num_nodes == int(edge_index.max()) + 1
    assert torch.equal(graph.edge_index(), edge_index)


def test_from_edge_index_takes_rows_of_a_wider_tensor_and_none_at_all(device):
    wide = random_edges(5, 5, 60).to(device)
    every_third = wide[:, ::3]
    assert torch.equal(weft.Graph.from_edge_index(every_third, size=5).edge_index(), every_third)
    empty = weft.Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.int64, device=device), size=4)
    assert (empty.num_nodes, empty.num_edges) == (4, 0)


def test_from_csr_is_the_graph_of_its_rows(device):
    rowptr = torch.tensor([0, 2, 2, 5], device=device)
    col = torch.tensor([1, 3, 0, 0, 2], device=device)
    for p in (rowptr, rowptr.int()):
        for c in (col, col.int()):
            graph = weft.Graph.from_csr(p, c, num_sources=4)
            expected = torch.tensor([[1, 3, 0, 0, 2], [0, 0, 2, 2, 2]], device=device)
            assert torch.equal(graph.edge_index(), expected)


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_coo, torch.sparse_csc])
def test_from_sparse_has_the_matrix_and_its_values(device, layout):
    matrix = torch.tensor([[0.0, 2, 0], [0, 0, 0], [3, 0, 4]], device=device)
    graph, values = weft.Graph.from_sparse(matrix.to_sparse(layout=layout))
    sources, targets = graph.edge_index()
    assert torch.equal(matrix[targets, sources], values)
    assert graph.num_edges == 3


def test_transpose_reverses_edges_and_keeps_their_ids(edge_index):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    assert torch.equal(graph.transpose().edge_index(), edge_index.flip(0))
    assert graph.transpose() is graph.transpose()


def test_graphs_are_copied_and_pickled(edge_index):
    graph = weft.Graph.from_edge_index(edge_index, size=(7, 9))
    for other in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph), graph.to("cpu")):
        assert torch.equal(other.edge_index().cpu(), edge_index.cpu())
        assert (other.num_sources, other.num_targets) == (7, 9)


@pytest.mark.parametrize(
    "make, names",
    [
        (lambda: weft.Graph.from_edge_index(torch.zeros(3, 4, dtype=torch.int64)), r"edge_index has shape \[3, 4\]"),
        (lambda: weft.Graph.from_edge_index(torch.zeros(2, 4)), "edge_index has dtype torch.float32"),
        (lambda: weft.Graph.from_edge_index(torch.tensor([[0, 5], [1, 1]]), size=4), r"sources\[1\] is 5"),
        (lambda: weft.Graph.from_edge_index(torch.tensor([[0, 1], [-1, 1]]), size=4), r"destinations\[0\] is -1"),
        (lambda: weft.Graph.from_csr(torch.tensor([0, 2, 1]), torch.tensor([0, 1])), r"offsets\[2\] is 1"),
        (lambda: weft.Graph.from_csr(torch.tensor([0, 1, 2]), torch.tensor([0, 7])), r"cols\[1\] is 7"),
        (lambda: weft.Graph.from_csr(torch.tensor([0, 1, 3]), torch.tensor([0, 1])), r"offsets\[2\] is 3"),
    ],
)
def test_what_is_no_graph_is_named(make, names):
    with pytest.raises((RuntimeError, ValueError), match=names):
        make()
