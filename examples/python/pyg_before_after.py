"""A PyG model before and after the one line that runs it on weft: times, and the difference of the results.

    python examples/python/pyg_before_after.py [--nodes N] [--edges E] [--epochs N]
"""

import argparse
import copy
import time

import torch
import torch.nn.functional as F
from torch_geometric.nn import GAT

import weft

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--nodes", type=int, default=20_000)
parser.add_argument("--edges", type=int, default=400_000)
parser.add_argument("--epochs", type=int, default=10)
arguments = parser.parse_args()

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.randn(arguments.nodes, 64, device=device)
y = torch.randint(10, (arguments.nodes,), device=device)
edge_index = torch.randint(arguments.nodes, (2, arguments.edges), device=device)


def now():
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def train(model):
    """The median time of an epoch in ms."""
    optimiser = torch.optim.Adam(model.parameters())
    times = []
    for _ in range(arguments.epochs + 2):
        begin = now()
        optimiser.zero_grad()
        F.cross_entropy(model(x, edge_index), y).backward()
        optimiser.step()
        times.append(now() - begin)
    return 1000 * sorted(times[2:])[arguments.epochs // 2]


before = GAT(64, 64, num_layers=2, out_channels=10, heads=4).to(device)
after = copy.deepcopy(before)
weft.convert(after)  # the one line

with torch.no_grad():
    apart = (before(x, edge_index) - after(x, edge_index)).abs().max() / before(x, edge_index).abs().max()
print(f"the outputs are {apart:.1e} of the largest apart")
of_pyg, of_weft = train(before), train(after)
print(f"an epoch takes {of_pyg:.1f} ms with PyG, {of_weft:.1f} ms with weft: {of_pyg / of_weft:.1f} times as fast")
