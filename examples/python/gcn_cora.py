"""A GCN that classifies papers by topic from a few labels and all citations:

    python examples/python/gcn_cora.py [FOLDER]

FOLDER has Planetoid's ind.cora.* files (test accuracy 81 to 82 %); without it a graph of that size is generated.
"""

import argparse

import torch
import torch.nn.functional as F
from citations import generated, planetoid

import weft
from weft.nn import GCNConv


class GCN(torch.nn.Module):
    def __init__(self, inputs, hidden, classes):
        super().__init__()
        self.first = GCNConv(inputs, hidden)
        self.second = GCNConv(hidden, classes)

    def forward(self, x, graph):
        x = F.dropout(x, 0.5, self.training)
        x = self.first(x, graph).relu()
        return self.second(F.dropout(x, 0.5, self.training), graph)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder", nargs="?")
parser.add_argument("--epochs", type=int, default=200)
arguments = parser.parse_args()

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
data = planetoid(arguments.folder) if arguments.folder else generated()
x, y, edge_index, train, test = (tensor.to(device) for tensor in data)
x = F.normalize(x, p=1, dim=1)
graph = weft.Graph.from_edge_index(edge_index, size=len(x))
model = GCN(x.size(1), 16, int(y.max()) + 1).to(device)
optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

for epoch in range(1, arguments.epochs + 1):
    model.train()
    optimiser.zero_grad()
    loss = F.cross_entropy(model(x, graph)[train], y[train])
    loss.backward()
    optimiser.step()
    if epoch % 50 == 0 or epoch == arguments.epochs:
        model.eval()
        with torch.no_grad():
            right = (model(x, graph).argmax(dim=1) == y)[test].float().mean()
        print(f"epoch {epoch}: loss {loss:.3f}, {100 * right:.1f} % of the test set right")
