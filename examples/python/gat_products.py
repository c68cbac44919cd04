"""A 3 x 64 GAT on a random graph of the size of ogbn-products (2.4 M nodes, 124 M edges), full-batch on one GPU:

    python examples/python/gat_products.py [--scale S] [--epochs N] [--heads N]

--scale 0.001 is small enough for a CPU. PyG makes a tensor of edges x features here, 32 GB per layer in the forward alone.
"""

import argparse
import time

import torch
import torch.nn.functional as F

import weft
from weft.nn import GATConv

NODES, EDGES, FEATURES, CLASSES = 2_449_029, 123_718_280, 100, 47


class GAT(torch.nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.convs = torch.nn.ModuleList(
            [
                GATConv(FEATURES, 64 // heads, heads=heads),
                GATConv(64, 64 // heads, heads=heads),
                GATConv(64, CLASSES, heads=1),
            ]
        )

    def forward(self, x, graph):
        for conv in self.convs[:-1]:
            x = F.elu(conv(x, graph))
        return self.convs[-1](x, graph)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--scale", type=float, default=1.0, help="times as many nodes and edges")
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--heads", type=int, default=1, help="a divisor of 64")
arguments = parser.parse_args()

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
nodes, edges = max(1, int(NODES * arguments.scale)), int(EDGES * arguments.scale)
x = torch.randn(nodes, FEATURES, device=device)
y = torch.randint(CLASSES, (nodes,), device=device)
graph = weft.Graph.from_edge_index(torch.randint(nodes, (2, edges), device=device), size=nodes)
model = GAT(arguments.heads).to(device)
optimiser = torch.optim.Adam(model.parameters(), lr=0.005)
print(f"{graph}, {sum(p.numel() for p in model.parameters())} parameters")

for epoch in range(1, arguments.epochs + 1):
    begin = time.perf_counter()
    optimiser.zero_grad()
    loss = F.cross_entropy(model(x, graph), y)
    loss.backward()
    optimiser.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}, {1000 * (time.perf_counter() - begin):.1f} ms")
if device == "cuda":
    print(f"at most {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB of the GPU's memory")
