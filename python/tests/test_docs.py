"""The Python in the documentation runs as it is printed: block after block in one namespace, as a reader types it."""

import importlib.util
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
FILES = ["docs/python.md", "python/README.md", "README.md"]


def blocks_of(file):
    """(line, code) of each ```python block."""
    blocks, begin = [], None
    lines = (ROOT / file).read_text().split("\n")
    for number, line in enumerate(lines):
        if begin is None and line == "```python":
            begin = number + 1
        elif begin is not None and line == "```":
            blocks.append((begin + 1, "\n".join(lines[begin:number])))
            begin = None
    return blocks


def missing_for(code):
    if '"cuda"' in code and not torch.cuda.is_available():
        return "no GPU here"
    if "torch_geometric" in code and importlib.util.find_spec("torch_geometric") is None:
        return "no torch_geometric here"
    return None


def test_the_tour_has_blocks_of_python():
    assert len(blocks_of("docs/python.md")) >= 3


@pytest.mark.parametrize("file", FILES)
def test_every_block_runs_as_printed(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace, left_out = {"__name__": "__main__"}, []
    for line, code in blocks_of(file):
        missing = missing_for(code)
        if missing:
            left_out.append(f"line {line}: {missing}")
            continue
        # Empty lines before it: a traceback names the line of the document.
        exec(compile("\n" * (line - 1) + code, str(ROOT / file), "exec"), namespace)
    if left_out:
        pytest.skip(f"the other blocks of {file} ran; left out were {'; '.join(left_out)}")
