"""Which torch the library is built against: cmake/find_torch.py, which pip's environment for builds runs as well."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).parents[2] / "cmake" / "find_torch.py"


# As pip starts the Python of its environments for builds: without the folders of what is installed.
BLIND = "import runpy, sys; sys.path = [p for p in sys.path if not p.endswith('-packages')]; runpy.run_path(sys.argv[1])"


def find_torch(*start, path=""):
    command = [sys.executable, *start, str(SCRIPT)]
    return subprocess.run(command, text=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(path)})


def other_torch(folder, text):
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").touch()
    (folder / "torch" / "version.py").write_text(text)
    return folder


def test_the_torch_of_this_python_is_found():
    folder, version, cuda = find_torch().stdout.strip().split(";")
    assert Path(folder).samefile(Path(torch.__file__).parent)
    assert (version, cuda) == (str(torch.__version__), torch.version.cuda or "none")


@pytest.mark.skipif(
    Path(torch.__file__).parents[1] != Path(sysconfig.get_path("platlib")), reason="torch is not in this Python's folder"
)
def test_it_is_found_where_python_does_not_see_what_is_installed():
    assert find_torch("-c", BLIND).stdout == find_torch().stdout != ""


def test_a_torch_without_cuda_is_told(tmp_path):
    found = find_torch(path=other_torch(tmp_path, "__version__ = '2.12.1+cpu'\ncuda = None\n"))
    assert found.stdout.strip() == f"{tmp_path}/torch;2.12.1+cpu;none"


def test_a_torch_too_old_is_refused_in_one_line(tmp_path):
    found = find_torch(path=other_torch(tmp_path, "__version__ = '2.10.0'\ncuda = '12.8'\n"))
    assert found.returncode != 0 and found.stdout == ""
    assert f"the torch in {tmp_path}/torch is 2.10.0: install torch 2.11 or newer" in found.stderr
    assert found.stderr.count("\n") == 1
