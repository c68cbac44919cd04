import copy

import pytest
import torch

import weft
from conftest import random_edges
from weft.loader import GraphSAINTEdgeSampler, GraphSAINTNodeSampler, GraphSAINTRandomWalkSampler, NeighborLoader

NODES, EDGES = 60, 500


def a_graph(device="cpu", seed=0):
    return weft.Graph.from_edge_index(random_edges(NODES, NODES, EDGES, seed=seed).to(device), size=NODES)


def samplers(graph, **more):
    return {
        "neighbour": NeighborLoader(graph, [4, 3], batch_size=16, shuffle=True, **more),
        "node": GraphSAINTNodeSampler(graph, batch_size=12, num_steps=4, **more),
        "edge": GraphSAINTEdgeSampler(graph, batch_size=12, num_steps=4, **more),
        "walk": GraphSAINTRandomWalkSampler(graph, batch_size=6, walk_length=3, num_steps=4, **more),
    }


KINDS = ["neighbour", "node", "edge", "walk"]


def same(a, b):
    return all(torch.equal(getattr(a, k), getattr(b, k)) for k in ("n_id", "e_id", "edge_index"))


@pytest.mark.parametrize("kind", KINDS)
def test_edges_of_a_batch_are_those_of_the_graph_by_its_own_numbers(device, kind):
    graph = a_graph(device)
    whole = graph.edge_index()
    batches = list(samplers(graph)[kind])
    assert len(batches) == 4
    for batch in batches:
        assert batch.n_id.dtype is batch.e_id.dtype is batch.edge_index.dtype is torch.int64
        assert batch.n_id.unique().numel() == batch.n_id.numel() == batch.num_nodes == batch.graph.num_nodes
        assert batch.e_id.unique().numel() == batch.e_id.numel()
        assert torch.equal(batch.n_id[batch.edge_index], whole[:, batch.e_id])
        assert torch.equal(batch.graph.edge_index(), batch.edge_index)
        assert batch.graph.device == graph.device == batch.n_id.device


@pytest.mark.parametrize("transposed", [False, True])
def test_places_become_ids_of_graphs_in_any_order(device, transposed):
    graph = a_graph(device)
    graph = graph.transpose() if transposed else weft.Graph.from_csr(graph.rowptr, graph.col)
    assert (graph.edge_ids is None) != transposed
    for loader in samplers(graph).values():
        for batch in loader:
            assert torch.equal(batch.n_id[batch.edge_index], graph.edge_index()[:, batch.e_id])


def test_every_input_node_comes_once_and_first(device):
    graph = a_graph(device)
    nodes = torch.randperm(NODES, generator=torch.Generator().manual_seed(1))[:25].to(device)
    mask = torch.zeros(NODES, dtype=torch.bool, device=device)
    mask[nodes] = True
    of_mask, every = mask.nonzero().view(-1), torch.arange(NODES)
    for given, ids in ((nodes, nodes), (nodes.int(), nodes), (mask, of_mask), (None, every)):
        ids = ids.to(device)
        for shuffle in (False, True):
            loader = NeighborLoader(graph, [2], given, batch_size=8, shuffle=shuffle, seed=5)
            batches = list(loader)
            assert len(batches) == len(loader) == -(-ids.numel() // 8)
            for batch in batches:
                assert torch.equal(batch.n_id[: batch.batch_size], ids[batch.input_id])
            order = torch.cat([batch.input_id for batch in batches])
            assert torch.equal(order.sort()[0], torch.arange(ids.numel(), device=device))
            assert torch.equal(order, order.sort()[0]) != shuffle
    assert [b.batch_size for b in NeighborLoader(graph, [2], nodes, batch_size=8, drop_last=True)] == [8, 8, 8]


def test_each_hop_has_at_most_so_many_neighbours_of_the_nodes_before_it(device):
    graph = a_graph(device)
    degrees = torch.bincount(graph.edge_index()[1], minlength=NODES)
    for fanouts in ([4, 3], [1], [3, -1], [-1, 2, 1]):
        for batch in NeighborLoader(graph, fanouts, batch_size=7, shuffle=True):
            arrived = torch.bincount(batch.edge_index[1], minlength=batch.num_nodes)
            hops = batch.num_sampled_nodes
            assert len(hops) == len(fanouts) + 1 and sum(hops) == batch.num_nodes and hops[0] == batch.batch_size
            begin = 0
            for hop, fanout, drawn in zip(hops, fanouts, batch.num_sampled_edges):
                of_hop = degrees[batch.n_id[begin : begin + hop]]
                most = of_hop if fanout == -1 else of_hop.clamp(max=fanout)
                assert torch.equal(arrived[begin : begin + hop], most) and drawn == int(most.sum())
                begin += hop
            assert not arrived[begin:].any()


def test_neighbours_are_drawn_alike(device):
    """Of 10 neighbours each is among the 3 that are drawn in 3 of 10 draws, and so is every pair of them in 1 of 15."""
    targets = torch.arange(200).repeat_interleave(10)
    edge_index = torch.stack([200 + torch.arange(2000) % 10, targets]).to(device)
    graph = weft.Graph.from_edge_index(edge_index, size=210)
    loader = NeighborLoader(graph, [3], torch.arange(200), batch_size=200, seed=2)
    together = torch.zeros(10, 10, device=device)
    for _ in range(10):
        for batch in loader:
            drawn = (batch.n_id[batch.edge_index[0]] - 200).view(200, 3)
            of_target = torch.zeros(200, 10, device=device).scatter_(1, drawn, 1)
            together += of_target.t() @ of_target
    draws = 2000
    pairs = together[~torch.eye(10, dtype=torch.bool, device=device)]
    for share, counts in ((3 / 10, together.diag()), (1 / 15, pairs)):
        assert ((counts - share * draws).abs() < 4.5 * (draws * share * (1 - share)) ** 0.5).all()


def test_hops_have_nothing_to_do_with_each_other(device):
    """Of a tree of ten children a node each hop takes one child: seldom the child of the same place twice."""
    nodes = torch.arange(100 + 1000 + 10000)
    tree = torch.stack([nodes[100:], (nodes[100:] - 100) // 10]).to(device)
    loader = NeighborLoader(weft.Graph.from_edge_index(tree, size=len(nodes)), [1, 1], nodes[:100], batch_size=100)
    same_place = 0
    for _ in range(10):
        for batch in loader:
            children, grandchildren = batch.n_id[100:200], batch.n_id[200:]
            assert torch.equal((grandchildren - 100) // 10, children)
            same_place += int((children % 10 == grandchildren % 10).sum())
    assert abs(same_place - 100) < 5 * 90**0.5


@pytest.mark.parametrize("kind", KINDS)
def test_batches_follow_from_seed_epoch_and_number_alone(device, kind):
    graph = a_graph(device)
    loader = samplers(graph, seed=7)[kind]
    first, second = list(loader), list(loader)
    assert not all(same(a, b) for a, b in zip(first, second))
    loader.set_epoch(0)
    assert all(same(a, b) for a, b in zip(first, loader))
    assert all(same(a, b) for a, b in zip(second, loader))
    again = samplers(graph, seed=7)[kind]
    assert same(again.draw(1, 2), second[2]) and same(again.draw(0, 3), first[3])
    assert not all(same(a, b) for a, b in zip(first, samplers(graph, seed=8)[kind]))
    on_cpu = list(samplers(a_graph("cpu"), seed=7)[kind])
    assert all(same(a, b.to(device)) for a, b in zip(first, on_cpu))


@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_the_same_for_any_number_of_threads_and_drawn_ahead(device, kind):
    graph = a_graph(device)
    want = list(samplers(graph, seed=7)[kind])
    threads = torch.get_num_threads()
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            for prefetch in (0, 2, 100):
                got = list(samplers(graph, seed=7, prefetch=prefetch)[kind])
                assert len(got) == len(want) and all(same(a, b) for a, b in zip(got, want))
    finally:
        torch.set_num_threads(threads)


def test_a_pass_that_is_left_early_leaves_the_loader_as_it_was(device):
    loader = NeighborLoader(a_graph(device), [3], batch_size=4, prefetch=3)
    for _ in loader:
        break
    loader.set_epoch(0)
    want = list(NeighborLoader(a_graph(device), [3], batch_size=4))
    assert all(same(a, b) for a, b in zip(loader, want))


class Sage(torch.nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(2 * width, 16), torch.nn.Linear(32, classes)])

    def forward(self, graph, x):
        for i, layer in enumerate(self.layers):
            x = layer(torch.cat([x, weft.spmm(graph, x, reduce="mean")], 1))
            x = x.relu() if i == 0 else x
        return x


def test_with_all_neighbours_two_layers_of_sage_are_those_of_the_whole_graph(device):
    graph = a_graph(device)
    torch.manual_seed(0)
    x, model = torch.randn(NODES, 8, device=device), Sage(8, 3).to(device)
    want = model(graph, x)
    for batch in NeighborLoader(graph, [-1, -1], batch_size=9, shuffle=True, node_attrs={"x": x}):
        got = model(batch.graph, batch.x)[: batch.batch_size]
        torch.testing.assert_close(got, want[batch.n_id[: batch.batch_size]])


def communities(device, nodes=300, edges=3000):
    """Two kinds of nodes, most of whose edges stay among themselves, and features that hardly tell them apart."""
    generator = torch.Generator().manual_seed(3)
    y = torch.randint(2, (nodes,), generator=generator)
    pairs = torch.randint(nodes, (2, 4 * edges), generator=generator)
    stays = y[pairs[0]] == y[pairs[1]]
    pairs = pairs[:, stays | (torch.rand(4 * edges, generator=generator) < 0.1)][:, :edges]
    x = torch.randn(nodes, 8, generator=generator)
    x[:, 0] += (y * 2 - 1) * 0.7
    return pairs.to(device), x.to(device), y.to(device)


@pytest.mark.parametrize("kind", ["neighbour", "walk"])
def test_training_on_batches_learns(device, kind):
    edge_index, x, y = communities(device)
    graph = weft.Graph.from_edge_index(edge_index, size=300)
    train = torch.arange(300, device=device) % 2 == 0
    attrs = {"node_attrs": {"x": x, "y": y, "train": train}}
    loader = {
        "neighbour": lambda: NeighborLoader(graph, [5, 5], train, batch_size=50, shuffle=True, prefetch=2, **attrs),
        "walk": lambda: GraphSAINTRandomWalkSampler(graph, 40, 2, num_steps=4, roots=train, **attrs),
    }[kind]()
    torch.manual_seed(0)
    model = Sage(8, 2).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        for batch in loader:
            learned = slice(0, batch.batch_size) if kind == "neighbour" else batch.train
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(batch.graph, batch.x)[learned], batch.y[learned])
            loss.backward()
            optimiser.step()
    right = model(graph, x).argmax(1) == y
    assert right[~train].float().mean() > 0.9


# ---- PyG's Data ---------------------------------------------------------------------------------


def a_data(device="cpu"):
    pyg_data = pytest.importorskip("torch_geometric.data")
    edge_index = random_edges(NODES, NODES, EDGES).to(device)
    return pyg_data.Data(
        x=torch.arange(NODES * 2.0, device=device).view(NODES, 2), edge_index=edge_index,
        y=torch.arange(NODES, device=device), train_mask=torch.arange(NODES, device=device) < 20,
        edge_attr=torch.arange(EDGES, device=device).view(-1, 1), name="a name", classes=torch.tensor([4.0, 2.0, 1.0]),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_data_are_data_with_all_that_it_has(device, kind):
    data = a_data(device)
    before = copy.deepcopy(data)
    for batch in samplers(data)[kind]:
        assert type(batch) is type(data)
        assert torch.equal(batch.x, data.x[batch.n_id]) and torch.equal(batch.y, batch.n_id)
        assert torch.equal(batch.train_mask, batch.n_id < 20) and torch.equal(batch.edge_attr.view(-1), batch.e_id)
        assert batch.name == "a name" and torch.equal(batch.classes, data.classes)
        assert batch.num_nodes == batch.n_id.numel() and batch.num_edges == batch.e_id.numel()
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        assert isinstance(batch.graph, weft.Graph)
        assert batch.validate()
    assert list(data.keys()) == list(before.keys()) and torch.equal(data.edge_index, before.edge_index)


def test_a_batch_of_data_gives_pyg_layers_the_results_of_the_whole(device):
    nn = pytest.importorskip("torch_geometric.nn")
    data = a_data(device)
    torch.manual_seed(0)
    model = nn.GraphSAGE(2, 8, num_layers=2, out_channels=3).to(device).double()
    data.x = data.x.double() / NODES
    want = model(data.x, data.edge_index)
    for batch in NeighborLoader(data, [-1, -1], data.train_mask, batch_size=8):
        got = model(batch.x, batch.edge_index)
        seeds = batch.n_id[: batch.batch_size]
        torch.testing.assert_close(got[: batch.batch_size], want[seeds])
        trimmed = model(
            batch.x, batch.edge_index, num_sampled_nodes_per_hop=batch.num_sampled_nodes,
            num_sampled_edges_per_hop=batch.num_sampled_edges,
        )
        torch.testing.assert_close(trimmed[: batch.batch_size], want[seeds])


def test_batches_are_moved_and_transformed(device):
    data = a_data()
    moved = next(iter(NeighborLoader(data, [2], batch_size=4, transform=lambda batch: batch.to(device))))
    assert moved.x.device.type == moved.edge_index.device.type == moved.graph.device.type == device
    batch = next(iter(NeighborLoader(a_graph(), [2], batch_size=4))).to(device, non_blocking=True)
    assert batch.n_id.device.type == batch.graph.device.type == device
    assert torch.equal(batch.graph.edge_index(), batch.edge_index)


def test_features_may_stay_on_the_cpu(device):
    x = torch.arange(float(NODES))
    for batch in NeighborLoader(a_graph(device), [2], batch_size=16, node_attrs={"x": x}):
        assert batch.x.device.type == "cpu" and torch.equal(batch.x.long(), batch.n_id.cpu())


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc, torch.sparse_coo])
@pytest.mark.parametrize("of", ["matrix", "data"])
@pytest.mark.filterwarnings("ignore:Sparse CS")
def test_values_of_a_matrix_are_edge_weights_of_batches(layout, of):
    dense = torch.rand(NODES, NODES, generator=torch.Generator().manual_seed(1)) * (torch.arange(NODES) % 3 == 0)
    x, adj_t = torch.arange(float(NODES)), dense.to_sparse(layout=layout)
    more = {"node_attrs": {"x": x}} if of == "matrix" else {}
    if of == "data":
        data = pytest.importorskip("torch_geometric.data").Data(x=x)
        data.adj_t = adj_t
    for batch in NeighborLoader(adj_t if of == "matrix" else data, [-1], batch_size=16, **more):
        sources, targets = batch.n_id[batch.edge_index]
        assert torch.equal(batch.edge_weight, dense[targets, sources]) and batch.edge_weight.numel() > 0
        got = weft.spmm(batch.graph, batch.x, batch.edge_weight)[: batch.batch_size]
        torch.testing.assert_close(got, (dense @ x)[batch.n_id[: batch.batch_size]])
    given = next(iter(NeighborLoader(adj_t, [-1], edge_attrs={"edge_weight": torch.arange(1200)})))
    assert torch.equal(given.edge_weight, given.e_id)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pass_in_inference_mode_leaves_the_loader_to_training(device, kind):
    w = torch.ones(1, device=device, requires_grad=True)
    loader = samplers(a_graph(device), node_attrs={"x": torch.rand(NODES, device=device)})[kind]
    with torch.inference_mode():
        first = list(loader)
    loader.set_epoch(0)
    for batch, before in zip(loader, first):
        weft.spmm(batch.graph, batch.x * w).sum().backward()
        assert same(batch, before)


# ---- GraphSAINT's own ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["node", "edge", "walk"])
def test_subgraphs_have_all_edges_among_their_nodes(device, kind):
    graph = a_graph(device)
    sources, targets = graph.edge_index()
    most = {"node": 12, "edge": 24, "walk": 24}[kind]
    for batch in samplers(graph)[kind]:
        within = torch.isin(sources, batch.n_id) & torch.isin(targets, batch.n_id)
        assert torch.equal(batch.e_id.sort()[0], within.nonzero().view(-1))
        assert 0 < batch.num_nodes <= most


def test_walks_begin_at_roots_and_go_against_the_edges(device):
    ring = torch.stack([torch.arange(20), (torch.arange(20) + 1) % 20]).to(device)
    graph = weft.Graph.from_edge_index(ring, size=20)
    roots = torch.tensor([5, 15], device=device)
    seen = set()
    for batch in GraphSAINTRandomWalkSampler(graph, 1, 3, num_steps=20, roots=roots):
        seen.add(tuple(batch.n_id.tolist()))
    assert seen == {(2, 3, 4, 5), (12, 13, 14, 15)}


@pytest.mark.parametrize("kind", ["node", "edge", "walk"])
def test_norms_make_losses_and_sums_expect_those_of_the_whole(device, kind):
    graph = a_graph(device)
    x = torch.rand(NODES, dtype=torch.float64, device=device)
    attrs = {"node_attrs": {"x": x}, "sample_coverage": 100}
    loader = {
        "node": lambda: GraphSAINTNodeSampler(graph, 30, num_steps=600, **attrs),
        "edge": lambda: GraphSAINTEdgeSampler(graph, 20, num_steps=600, **attrs),
        "walk": lambda: GraphSAINTRandomWalkSampler(graph, 10, 2, num_steps=600, **attrs),
    }[kind]()
    losses, sums, seen = [], torch.zeros(NODES, dtype=torch.float64, device=device), torch.zeros(NODES, device=device)
    for batch in loader:
        assert batch.node_norm.shape == (batch.num_nodes,) and batch.edge_norm.shape == (batch.e_id.numel(),)
        losses.append((batch.x * batch.node_norm).sum())
        sums[batch.n_id] += weft.spmm(batch.graph, batch.x, batch.edge_norm.double())
        seen[batch.n_id] += 1
    often = seen > 100
    assert often.sum() > NODES / 2
    torch.testing.assert_close(torch.stack(losses).mean(), x.mean(), rtol=0.05, atol=0)
    expected = weft.spmm(graph, x)
    assert ((sums / seen)[often] - expected[often]).abs().mean() < 0.1 * expected[often].mean()
    assert not hasattr(next(iter(GraphSAINTNodeSampler(graph, 30))), "node_norm")


# ---- What does not fit --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, names",
    [
        (lambda g: NeighborLoader(g, []), r"num_neighbors is \[\]"),
        (lambda g: NeighborLoader(g, [0]), r"num_neighbors is \[0\]"),
        (lambda g: NeighborLoader(g, [5000]), r"num_neighbors is \[5000\]: expected for every hop 1 to 4096, or -1"),
        (lambda g: NeighborLoader(g, [2], batch_size=0), "batch_size is 0"),
        (lambda g: NeighborLoader(g, [2], prefetch=-1), "prefetch is -1"),
        (lambda g: NeighborLoader(g, [2], torch.tensor([1, 60])), "input_nodes has ids from 1 to 60: expected 0 to 59"),
        (lambda g: NeighborLoader(g, [2], torch.tensor([1, 1])), "input_nodes names a node twice"),
        (lambda g: NeighborLoader(g, [2], torch.ones(3, dtype=torch.bool)), "input_nodes is a mask of 3"),
        (lambda g: NeighborLoader(g, [2], torch.ones(3)), "input_nodes has dtype torch.float32"),
        (lambda g: NeighborLoader(g, [2], node_attrs={"x": torch.ones(3)}), r"x has shape \[3\]: expected 60 rows"),
        (lambda g: NeighborLoader(g, [2], edge_attrs={"w": torch.ones(60)}), r"w has shape \[60\]: expected 500 rows"),
        (lambda g: NeighborLoader(g, [2], node_attrs={"n_id": torch.ones(60)}), "node_attrs has 'n_id': expected another"),
        (lambda g: NeighborLoader(g, [2], edge_attrs={"graph": torch.ones(500)}), "edge_attrs has 'graph': expected ano"),
        (
            lambda g: NeighborLoader(g, [2], node_attrs={"a": torch.ones(60)}, edge_attrs={"a": torch.ones(500)}),
            "a is an attribute of nodes and of edges",
        ),
        (lambda g: NeighborLoader(g, [2]).set_epoch(-1), "epoch is -1"),
        (lambda g: NeighborLoader(weft.Graph.from_edge_index(g.edge_index(), (60, 61)), [2]), "one kind of nodes"),
        (lambda g: NeighborLoader("a path that is none.weft", [2]), "a path that is none"),
        (lambda g: GraphSAINTNodeSampler(g, 0), "batch_size is 0"),
        (lambda g: GraphSAINTNodeSampler(g, 5, num_steps=0), "num_steps is 0"),
        (lambda g: GraphSAINTRandomWalkSampler(g, 5, 0), "walk_length is 0"),
        (lambda g: GraphSAINTRandomWalkSampler(g, 5, 2, roots=torch.zeros(60, dtype=torch.bool)), "roots is empty"),
    ],
)
def test_what_does_not_fit_is_named(make, names):
    with pytest.raises((ValueError, OSError), match=names):
        make(a_graph())


def test_a_batch_that_is_none_is_no_batch():
    with pytest.raises(IndexError, match="index is 4: expected 0 to 3"):
        NeighborLoader(a_graph(), [2], batch_size=16).draw(0, 4)
    assert list(NeighborLoader(a_graph(), [2], torch.zeros(NODES, dtype=torch.bool))) == []
