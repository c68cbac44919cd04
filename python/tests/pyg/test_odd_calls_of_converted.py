"""What converted layers make of calls that PyG refuses or computes in another way."""

import pytest
import torch

import weft

pyg = pytest.importorskip("torch_geometric.nn")
EDGE_INDEX, X = torch.tensor([[0, 1, 2], [1, 2, 1]]), torch.randn(3, 4)


def test_a_graph_of_another_size_is_an_error():
    with pytest.raises(ValueError, match=r"x has \[5, 5\] rows: expected \[3, 3\]"):
        weft.convert(pyg.GCNConv(4, 2))(torch.randn(5, 4), weft.Graph.from_edge_index(EDGE_INDEX))


def test_values_of_another_number_of_edges_are_pygs_matter():
    for layer in (pyg.GCNConv(4, 2, normalize=False), pyg.GraphConv(4, 2)):
        want = layer(X, EDGE_INDEX, torch.full((1,), 0.5))
        got = weft.convert(layer)
        torch.testing.assert_close(got(X, EDGE_INDEX, torch.full((1,), 0.5)), want)
        assert "for 3 edges" in str(weft.explain(got))
    with pytest.raises(Exception):
        weft.convert(pyg.GCNConv(4, 2))(X, EDGE_INDEX, torch.rand(1))
    layer = weft.convert(pyg.TransformerConv(4, 2, edge_dim=3))
    with pytest.raises(Exception, match="edge_attr has shape"):
        layer(X, EDGE_INDEX, torch.rand(3, 1))


def test_a_cached_layer_changes_its_type():
    layer = weft.convert(pyg.GCNConv(4, 2, cached=True))
    want = layer(X, EDGE_INDEX)
    for dtype, tolerance in ((torch.float64, 1e-5), (torch.float16, 5e-3)):
        got = layer.to(dtype)(X.to(dtype), EDGE_INDEX)
        assert got.dtype is dtype
        torch.testing.assert_close(got.float(), want, rtol=tolerance, atol=tolerance)
