"""GATConv, GATv2Conv and TransformerConv."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor
from torch.nn import Parameter

from weft.nn import compute
from weft.nn.graph_of import Edges
from weft.nn.layers.layer import Channels, Features, Layer, Size, pair, two
from weft.nn.layers.linear import Linear, glorot, zeros
from weft.nn.loops import Fill


class _Attention(Layer):
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"

    def _take(self, in_channels, out_channels, heads, concat, dropout, edge_dim) -> int:
        """Stores the common arguments; returns the width of all heads together."""
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.dropout, self.edge_dim = dropout, edge_dim
        return heads * out_channels

    def _ends(self, bias: bool, residual: bool) -> None:
        """Makes what GAT and GATv2 apply after the sums: residual map and bias."""
        width = self.out_channels * (self.heads if self.concat else 1)
        if residual:
            self.res = Linear(two(self.in_channels)[1], width, bias=False, weight_initializer="glorot")
        else:
            self.register_parameter("res", None)
        self.register_parameter("bias", Parameter(torch.empty(width)) if bias else None)

    def _check_edges(self, edge_attr: Optional[Tensor]) -> None:
        if edge_attr is not None and self.lin_edge is None:
            raise ValueError("edge_attr is given: expected none, as the layer was made without edge_dim")


class GATConv(_Attention):
    """Velickovic et al.'s attention, with the arguments and parameters of PyG's GATConv.

    ``edge_attr`` is [edges, edge_dim]; an added self-loop gets ``fill_value``, or the reduction that it names
    (``mean``, ``add``, ``max``, ``min``) of the attributes of the edges into its node. ``x`` may be a pair of source
    and target features.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> weft.nn.GATConv(8, 4, heads=2)(torch.ones(3, 8), graph).shape
    torch.Size([3, 8])
    """

    def __init__(
        self, in_channels: Channels, out_channels: int, heads: int = 1, concat: bool = True,
        negative_slope: float = 0.2, dropout: float = 0.0, add_self_loops: bool = True, edge_dim: Optional[int] = None,
        fill_value: Fill = "mean",
        bias: bool = True, residual: bool = False,
    ):
        super().__init__()
        width = self._take(in_channels, out_channels, heads, concat, dropout, edge_dim)
        self.negative_slope, self.add_self_loops, self.fill_value = negative_slope, add_self_loops, fill_value
        self.residual = residual
        self.lin = self.lin_src = self.lin_dst = None
        if isinstance(in_channels, int):
            self.lin = Linear(in_channels, width, bias=False, weight_initializer="glorot")
        else:
            self.lin_src = Linear(in_channels[0], width, bias=False, weight_initializer="glorot")
            self.lin_dst = Linear(in_channels[1], width, bias=False, weight_initializer="glorot")
        self.att_src = Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = Parameter(torch.empty(1, heads, out_channels))
        if edge_dim is not None:
            self.lin_edge = Linear(edge_dim, width, bias=False, weight_initializer="glorot")
            self.att_edge = Parameter(torch.empty(1, heads, out_channels))
        else:
            self.lin_edge = None
            self.register_parameter("att_edge", None)
        self._ends(bias, residual)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialises weights and attention vectors in Glorot's range, and sets the bias to 0."""
        for lin in (self.lin, self.lin_src, self.lin_dst, self.lin_edge, self.res):
            if lin is not None:
                lin.reset_parameters()
        glorot(self.att_src, self.att_dst, self.att_edge)
        zeros(self.bias)

    def forward(
        self, x: Features, edge_index: Edges, edge_attr: Optional[Tensor] = None, size: Size = None
    ) -> Tensor:
        """Returns ``[targets, heads * out_channels]``, or ``[targets, out_channels]`` without ``concat``."""
        x = pair(x)
        return compute.gat(self, self._graph(edge_index, x, size), x, edge_attr)


class GATv2Conv(_Attention):
    """Brody et al.'s attention, with the arguments and parameters of PyG's GATv2Conv; otherwise as :class:`GATConv`.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> weft.nn.GATv2Conv(8, 4, heads=2, concat=False)(torch.ones(3, 8), graph).shape
    torch.Size([3, 4])
    """

    def __init__(
        self, in_channels: Channels, out_channels: int, heads: int = 1, concat: bool = True,
        negative_slope: float = 0.2, dropout: float = 0.0, add_self_loops: bool = True, edge_dim: Optional[int] = None,
        fill_value: Fill = "mean",
        bias: bool = True, share_weights: bool = False, residual: bool = False,
    ):
        super().__init__()
        width = self._take(in_channels, out_channels, heads, concat, dropout, edge_dim)
        self.negative_slope, self.add_self_loops, self.fill_value = negative_slope, add_self_loops, fill_value
        self.residual, self.share_weights = residual, share_weights
        of_sources, of_targets = two(in_channels)
        self.lin_l = Linear(of_sources, width, bias=bias, weight_initializer="glorot")
        self.lin_r = self.lin_l if share_weights else Linear(of_targets, width, bias=bias, weight_initializer="glorot")
        self.att = Parameter(torch.empty(1, heads, out_channels))
        self.lin_edge = None
        if edge_dim is not None:
            self.lin_edge = Linear(edge_dim, width, bias=False, weight_initializer="glorot")
        self._ends(bias, residual)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialises weights and the attention vector in Glorot's range, and sets ``bias`` to 0."""
        for lin in (self.lin_l, self.lin_r, self.lin_edge, self.res):
            if lin is not None:
                lin.reset_parameters()
        glorot(self.att)
        zeros(self.bias)

    def forward(self, x: Features, edge_index: Edges, edge_attr: Optional[Tensor] = None) -> Tensor:
        """As in :class:`GATConv`, but neither part of a pair may be None."""
        x = pair(x)
        if x[1] is None:
            raise ValueError("x[1] is None: GATv2Conv wants the targets' features")
        self._check_edges(edge_attr)
        return compute.gatv2(self, self._graph(edge_index, x), x, edge_attr)


class TransformerConv(_Attention):
    """Shi et al.'s dot-product attention, with the arguments and parameters of PyG's TransformerConv. ``edge_attr``,
    [edges, edge_dim], is mapped and added to keys and values, without a tensor of edges x features.

    >>> import torch, weft
    >>> graph = weft.Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 1]]))
    >>> layer = weft.nn.TransformerConv(8, 4, heads=2, edge_dim=3)
    >>> layer(torch.ones(3, 8), graph, torch.ones(3, 3)).shape
    torch.Size([3, 8])
    """

    def __init__(
        self, in_channels: Channels, out_channels: int, heads: int = 1, concat: bool = True, beta: bool = False,
        dropout: float = 0.0, edge_dim: Optional[int] = None, bias: bool = True, root_weight: bool = True,
    ):
        super().__init__()
        width = self._take(in_channels, out_channels, heads, concat, dropout, edge_dim)
        self.beta, self.root_weight = beta and root_weight, root_weight
        of_sources, of_targets = two(in_channels)
        self.lin_key = Linear(of_sources, width, bias=bias)
        self.lin_query = Linear(of_targets, width, bias=bias)
        self.lin_value = Linear(of_sources, width, bias=bias)
        self.lin_edge = None if edge_dim is None else Linear(edge_dim, width, bias=False)
        end = width if concat else out_channels
        self.lin_skip = Linear(of_targets, end, bias=bias)
        self.lin_beta = Linear(3 * end, 1, bias=False) if self.beta else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialises all weights and biases."""
        for lin in self.children():
            lin.reset_parameters()

    def forward(self, x: Features, edge_index: Edges, edge_attr: Optional[Tensor] = None) -> Tensor:
        """As in :class:`GATConv`, but neither part of a pair may be None."""
        x = pair(x)
        if x[1] is None:
            raise ValueError("x[1] is None: TransformerConv wants the targets' features")
        self._check_edges(edge_attr)
        if edge_attr is None and self.lin_edge is not None:
            raise ValueError(f"edge_attr is missing: expected [edges, {self.edge_dim}], as the layer has an edge_dim")
        return compute.transformer(self, self._graph(edge_index, x), x, edge_attr)
