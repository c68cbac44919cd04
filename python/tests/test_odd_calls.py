"""What users try by mistake, and where they run things: each is refused in one line, or works."""

import copy
import os
import pickle
import signal

import pytest
import torch

import weft

EDGE_INDEX = torch.tensor([[0, 1, 2], [1, 2, 1]])


def graph():
    return weft.Graph.from_edge_index(EDGE_INDEX)


@pytest.mark.parametrize(
    "call, names",
    [
        (lambda x: weft.spmm(EDGE_INDEX, x), "graph is of type Tensor: expected a weft.Graph"),
        (lambda x: weft.attention(None, x, x, x), "value has shape|graph is of type NoneType"),
        (lambda x: weft.spmm(graph(), x.numpy()), "an operand of spmm is of type ndarray"),
        (lambda x: weft.spmm(graph(), x.to_sparse()), "layout torch.sparse_coo"),
        (lambda x: weft.Graph.from_edge_index([[0, 1], [1, 0]]), "edge_index is of type list"),
        (lambda x: weft.Graph.from_csr([0, 1], torch.tensor([0])), "rowptr is of type list"),
        (lambda x: graph().sampled(3), "sample is of type int"),
        (lambda x: weft.EdgeSample(1.5), "width is 1.5"),
        (lambda x: weft.nn.GCNConv(4, 2)(x, graph(), torch.rand(1)), r"edge_weight has shape \[1\]: expected \[3\]"),
        (lambda x: weft.nn.GCNConv(4, 2)(x, graph(), torch.tensor(2.0)), r"edge_weight has shape \[\]"),
        (lambda x: weft.nn.TransformerConv(4, 2, edge_dim=3)(x, graph(), torch.rand(3)), r"edge_attr has shape \[3\]"),
        (lambda x: weft.nn.GATConv(4, 2, edge_dim=3)(x, graph(), torch.rand(2, 3)), r"edge_attr has shape \[2, 3\]"),
    ],
)
def test_mistakes_are_named_in_one_line(call, names):
    with pytest.raises((RuntimeError, ValueError, TypeError), match=names) as error:
        call(torch.randn(3, 4))
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_makes_graphs_and_sums():
    x = torch.randn(300, 64)
    edge_index = torch.randint(300, (2, 20000))
    want = weft.spmm(weft.Graph.from_edge_index(edge_index, 300), x)  # torch's threads are there now
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        made = weft.Graph.from_edge_index(edge_index, 300)
        made.transpose()
        os._exit(0 if torch.equal(weft.spmm(made, x), want) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_loader_is_pickled_and_copied():
    loader = weft.loader.NeighborLoader(graph(), [2], batch_size=2, node_attrs={"x": torch.arange(3.0)})
    for other in (pickle.loads(pickle.dumps(loader)), copy.deepcopy(loader)):
        for a, b in zip(loader, other):
            assert torch.equal(a.n_id, b.n_id) and torch.equal(a.edge_index, b.edge_index)


def test_an_edge_index_keeps_a_few_graphs_and_no_more():
    edge_index = EDGE_INDEX.clone()
    layer = weft.nn.SAGEConv(4, 2)
    made = []
    for nodes in range(3, 13):
        layer(torch.randn(nodes, 4), edge_index)
        made.append(weft.nn.graph_of._graphs[id(edge_index)].graphs)
    assert len(made[-1]) == 4 and (12, 12) in made[-1]
