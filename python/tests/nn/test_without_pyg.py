import subprocess
import sys

import pytest

SCRIPT = """
import sys
sys.modules["torch_geometric"] = None  # as if it were not installed
import torch, weft
assert weft.nn.GCNConv(2, 2)(torch.ones(3, 2), torch.tensor([[0, 1], [1, 2]])).shape == (3, 2)
try:
    weft.CALL
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize("call", ["convert(torch.nn.Linear(2, 2))", "patch_pyg()", "explain(torch.nn.Linear(2, 2))"])
def test_without_pyg_one_line_says_what_is_missing(call):
    done = subprocess.run([sys.executable, "-c", SCRIPT.replace("CALL", call)], capture_output=True, text=True)
    assert "needs torch_geometric: install it" in done.stdout and done.stdout.count("\n") == 1, done.stderr
