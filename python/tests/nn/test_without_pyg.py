import subprocess
import sys

SCRIPT = """
import sys
sys.modules["torch_geometric"] = None  # as if it were not installed
import torch, weft
assert weft.nn.GCNConv(2, 2)(torch.ones(3, 2), torch.tensor([[0, 1], [1, 2]])).shape == (3, 2)
model = torch.nn.Linear(2, 2)
for call in (lambda: weft.convert(model), lambda: weft.revert(model), weft.patch_pyg, lambda: weft.explain(model)):
    try:
        call()
    except ImportError as error:
        print(error)
"""


def test_without_pyg_one_line_says_what_is_missing():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 4 and all("needs torch_geometric: install it, or take" in line for line in lines)
