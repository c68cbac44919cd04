import pytest
import torch

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"))]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def random_edges(num_sources, num_targets, num_edges, seed=0):
    """Some twice, some targets without any."""
    generator = torch.Generator().manual_seed(seed)
    sources = torch.randint(num_sources, (num_edges,), generator=generator)
    targets = torch.randint(max(1, num_targets - 2), (num_edges,), generator=generator)
    return torch.stack([sources, targets])


@pytest.fixture
def edge_index(device):
    return random_edges(7, 9, 40).to(device)
