"""What the operators behind weft.loader refuse: they write into scratch memory by the ids that they are given."""

import pytest
import torch

import weft
from conftest import random_edges


def draw(graph, method="node", numbers=None, roots=None, nodes=None):
    numbers = torch.full((graph.num_targets,), -1, dtype=torch.int32) if numbers is None else numbers
    if nodes is not None:
        return torch.ops.weft.draw_neighbours(*graph._arguments, nodes, 3, 0, 0, 0, 0, numbers)
    return torch.ops.weft.draw_subgraph(*graph._arguments, method, 4, 2, roots, 0, 0, False, numbers)


def test_what_does_not_fit_is_named_and_nothing_is_written():
    square = weft.Graph.from_edge_index(random_edges(9, 9, 40), size=9)
    rectangular = weft.Graph.from_edge_index(random_edges(700, 3, 40), size=(700, 3))
    empty = weft.Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), size=0)
    odd = torch.tensor([0, 10**9], dtype=torch.int32)
    for call, names in (
        (lambda: draw(rectangular), "700 sources and 3 targets"),
        (lambda: draw(rectangular, nodes=odd[:1]), "700 sources and 3 targets"),
        (lambda: draw(empty, "edge"), "no nodes"),
        (lambda: draw(square, "walk"), "roots are missing"),
        (lambda: draw(square, "walk", roots=odd), r"nodes\[1\] is 1000000000"),
        (lambda: draw(square, nodes=odd), r"nodes\[1\] is 1000000000"),
        (lambda: draw(square, numbers=torch.full((18,), -1, dtype=torch.int32)[::2]), "numbers is"),
        (lambda: draw(square, "star"), "method is star"),
    ):
        with pytest.raises(RuntimeError, match=names):
            call()
