"""The programs in examples/python run, with small settings, and learn or agree as they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import weft

FOLDER = Path(__file__).parents[2] / "examples" / "python"
PLANETOID = Path(__file__).parents[3] / "shared" / "data" / "planetoid"


def run(example, *arguments):
    # The package that the tests run on, wherever it is from.
    paths = [str(Path(weft.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, str(FOLDER / example), *map(str, arguments)], text=True, capture_output=True, timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_gcn_learns_the_generated_graph():
    percent = float(re.findall(r"([\d.]+) % of the test set", run("gcn_cora.py", "--epochs", 100))[-1])
    assert percent > 75


@pytest.mark.skipif(not PLANETOID.is_dir(), reason="Planetoid's files are not here")
def test_a_gcn_on_cora_is_as_good_as_published():
    pytest.importorskip("scipy")  # which unpacks Planetoid's matrices
    percent = float(re.findall(r"([\d.]+) % of the test set", run("gcn_cora.py", PLANETOID))[-1])
    assert percent > 80


def test_a_converted_model_of_pyg_gives_its_results():
    pytest.importorskip("torch_geometric")
    out = run("pyg_before_after.py", "--nodes", 500, "--edges", 5000, "--epochs", 3)
    assert float(re.search(r"the outputs are (\S+) of", out)[1]) < 1e-5
    assert re.search(r"an epoch takes [\d.]+ ms with PyG, [\d.]+ ms with weft", out)


def test_a_gat_trains_on_a_graph_like_products():
    losses = [float(v) for v in re.findall(r"loss ([\d.]+)", run("gat_products.py", "--scale", 0.0005, "--epochs", 4))]
    assert len(losses) == 4 and losses[-1] < losses[0]
