"""SAGEConv and GINConv."""

from __future__ import annotations

import torch
from torch import Tensor

from weft.nn import compute
from weft.nn.graph_of import Edges
from weft.nn.layers.layer import Channels, Features, Layer, Size, pair, two
from weft.nn.layers.linear import Linear
from weft.ops.graph_op import choice

_REDUCERS = {"mean": "mean", "sum": "sum", "add": "sum", "max": "max", "min": "min"}


class SAGEConv(Layer):
    """Hamilton et al.'s layer: ``mean over neighbours of x, times W_l, plus x W_r``, with the arguments and parameters
    of PyG's SAGEConv. ``aggr`` is mean, sum (add), max or min; ``x`` may be a pair of source and target features.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> weft.nn.SAGEConv(8, 4)(torch.ones(3, 8), graph).shape
    torch.Size([3, 4])
    """

    def __init__(
        self, in_channels: Channels, out_channels: int, aggr: str = "mean", normalize: bool = False,
        root_weight: bool = True, project: bool = False, bias: bool = True,
    ):
        super().__init__()
        choice("aggr", aggr, tuple(_REDUCERS))
        self.in_channels, self.out_channels, self.aggr = in_channels, out_channels, aggr
        self.normalize, self.root_weight, self.project = normalize, root_weight, project
        of_sources, of_targets = two(in_channels)
        if project:
            if of_sources <= 0:
                raise ValueError(f"in_channels is {in_channels}: project=True wants those of the sources")
            self.lin = Linear(of_sources, of_sources, bias=True)
        self.lin_l = Linear(of_sources, out_channels, bias=bias)
        if root_weight:
            self.lin_r = Linear(of_targets, out_channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialises all weights and biases."""
        for lin in self.children():
            lin.reset_parameters()

    def forward(self, x: Features, edge_index: Edges, size: Size = None) -> Tensor:
        """Returns ``[targets, out_channels]``; ``size`` gives the number of targets if a pair has None for them."""
        x = pair(x)
        return compute.sage(self, self._graph(edge_index, x, size), x, _REDUCERS[self.aggr])

    def __repr__(self) -> str:
        return f"SAGEConv({self.in_channels}, {self.out_channels}, aggr={self.aggr})"


def _reset(module: torch.nn.Module) -> None:
    """Resets all submodules that have reset_parameters, as PyG does."""
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()
    else:
        for child in module.children():
            _reset(child)


class GINConv(Layer):
    """Xu et al.'s layer: ``nn((1 + eps) x + sum of neighbours)``, with the arguments and parameters of PyG's GINConv.

    ``mean_scale`` above 0 replaces the neighbours' sum by that multiple of their mean, which stays in the range of half
    precision for any degree: HalfGNN's lambda, for which 0.1 is a good value.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> weft.nn.GINConv(torch.nn.Linear(8, 4), mean_scale=0.1)(torch.ones(3, 8), graph).shape
    torch.Size([3, 4])
    """

    def __init__(self, nn: torch.nn.Module, eps: float = 0.0, train_eps: bool = False, mean_scale: float = 0.0):
        super().__init__()
        if mean_scale < 0:
            raise ValueError(f"mean_scale is {mean_scale}: expected 0 for sums, or a number above it for so many means")
        self.nn, self.initial_eps, self.mean_scale = nn, eps, mean_scale
        if train_eps:
            self.eps = torch.nn.Parameter(torch.empty(1))
        else:
            self.register_buffer("eps", torch.empty(1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Resets ``eps`` and the parts of ``nn`` that have reset_parameters."""
        _reset(self.nn)
        self.eps.data.fill_(self.initial_eps)

    def forward(self, x: Features, edge_index: Edges, size: Size = None) -> Tensor:
        """Returns ``nn`` of the sums, ``[targets, ...]``; ``size`` is as in :class:`SAGEConv`."""
        x = pair(x)
        return compute.gin(self, self._graph(edge_index, x, size), x, mean_scale=self.mean_scale)

    def __repr__(self) -> str:
        return f"GINConv(nn={self.nn})"
