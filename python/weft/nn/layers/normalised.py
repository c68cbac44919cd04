"""GCNConv, SGConv and APPNP."""

from __future__ import annotations

from typing import Optional, Tuple

import torch
from torch import Tensor
from torch.nn import Parameter

from weft.graph import Graph
from weft.nn import compute
from weft.nn.graph_of import Edges
from weft.nn.layers.layer import Layer, one
from weft.nn.layers.linear import Linear, zeros


class _Normalised(Layer):
    """Caches the graph and its norm if ``cached``."""

    cached, normalize, improved = False, True, False
    _held: Optional[Tuple[Graph, compute.Norm]] = None

    def _over(self, x: Tensor, edge_index: Edges, edge_weight: Optional[Tensor]) -> Tuple[Graph, compute.Norm]:
        if self._held is not None:
            return self._held
        graph = self._graph(edge_index, (x, x))
        if self.normalize:
            loops = "remaining" if self.add_self_loops else None
            fill = 2.0 if self.improved else 1.0
            norm = compute.gcn_norm(graph, edge_weight, x.dtype, loops=loops, fill=fill)
        else:
            norm = compute.weighted(graph, edge_weight)
        if self.cached and self.normalize:  # SGConv caches its sums as well, and does not call this again
            self._held = graph, norm
        return graph, norm


class GCNConv(_Normalised):
    """Kipf and Welling's layer: ``D^-1/2 (A + I) D^-1/2 x W + b``, with the arguments and parameters of PyG's GCNConv.

    ``edge_weight`` is [edges]. As in PyG, a node keeps its own self-loop if it has one, and ``improved`` loops have
    weight 2 only with edge weights.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> layer = weft.nn.GCNConv(8, 4)
    >>> layer(torch.ones(3, 8), graph).shape
    torch.Size([3, 4])
    """

    def __init__(
        self, in_channels: int, out_channels: int, improved: bool = False, cached: bool = False,
        add_self_loops: Optional[bool] = None, normalize: bool = True, bias: bool = True,
    ):
        super().__init__()
        if add_self_loops is None:
            add_self_loops = normalize
        if add_self_loops and not normalize:
            raise ValueError("add_self_loops is True and normalize False: self-loops come with the normalisation alone")
        self.in_channels, self.out_channels, self.improved, self.cached = in_channels, out_channels, improved, cached
        self.add_self_loops, self.normalize = add_self_loops, normalize
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.register_parameter("bias", Parameter(torch.empty(out_channels)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialises the weight in Glorot's range, sets the bias to 0, and clears the cache."""
        self.lin.reset_parameters()
        zeros(self.bias)
        self._held = None

    def forward(self, x: Tensor, edge_index: Edges, edge_weight: Optional[Tensor] = None) -> Tensor:
        """Returns ``[nodes, out_channels]``; ``cached`` layers use the edges and weights of their first call."""
        graph, norm = self._over(one(x), edge_index, edge_weight)
        return compute.gcn(self, graph, x, norm)


class SGConv(_Normalised):
    """Wu et al.'s layer: ``(D^-1/2 (A + I) D^-1/2)^K x W + b``, with the arguments and parameters of PyG's SGConv.
    ``cached`` uses the sums of the first call in all later ones.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> weft.nn.SGConv(8, 4, K=2)(torch.ones(3, 8), graph).shape
    torch.Size([3, 4])
    """

    def __init__(
        self, in_channels: int, out_channels: int, K: int = 1, cached: bool = False, add_self_loops: bool = True,
        bias: bool = True,
    ):
        super().__init__()
        self.in_channels, self.out_channels, self.K, self.cached = in_channels, out_channels, K, cached
        self.add_self_loops = add_self_loops
        self._cached_x: Optional[Tensor] = None
        self.lin = Linear(in_channels, out_channels, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialises weight and bias, and clears the cache."""
        self.lin.reset_parameters()
        self._held = self._cached_x = None

    def forward(self, x: Tensor, edge_index: Edges, edge_weight: Optional[Tensor] = None) -> Tensor:
        """Returns ``[nodes, out_channels]``; ``cached`` layers read their arguments in the first call only."""
        if self._cached_x is not None:
            return self.lin(self._cached_x.detach())
        graph, norm = self._over(one(x), edge_index, edge_weight)
        x = compute.sgc(self, graph, x, norm)
        if self.cached:
            self._cached_x = x
        return self.lin(x)

    def __repr__(self) -> str:
        return f"SGConv({self.in_channels}, {self.out_channels}, K={self.K})"


class APPNP(_Normalised):
    """Gasteiger et al.'s propagation: K times ``(1 - alpha) D^-1/2 (A + I) D^-1/2 x + alpha x_0``, with the arguments
    of PyG's APPNP. ``dropout`` drops edges in training.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> weft.nn.APPNP(K=10, alpha=0.1)(torch.ones(3, 8), graph).shape
    torch.Size([3, 8])
    """

    def __init__(
        self, K: int, alpha: float, dropout: float = 0.0, cached: bool = False, add_self_loops: bool = True,
        normalize: bool = True,
    ):
        super().__init__()
        self.K, self.alpha, self.dropout, self.cached = K, alpha, dropout, cached
        self.add_self_loops, self.normalize = add_self_loops, normalize

    def reset_parameters(self) -> None:
        """Clears the cache; there are no parameters."""
        self._held = None

    def forward(self, x: Tensor, edge_index: Edges, edge_weight: Optional[Tensor] = None) -> Tensor:
        """Returns as many features as ``x`` has; ``cached`` layers use the edges and weights of their first call."""
        graph, norm = self._over(one(x), edge_index, edge_weight)
        return compute.appnp(self, graph, x, norm)

    def __repr__(self) -> str:
        return f"APPNP(K={self.K}, alpha={self.alpha})"
