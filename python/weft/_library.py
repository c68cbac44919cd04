"""Loads the operators: torch.ops.weft is there once this module is imported."""

import ctypes
import os
from pathlib import Path

import torch

_NAME = "libweft_torch.so"


def _find() -> Path:
    """The library beside this file, where a wheel has it, or the one that WEFT_TORCH_LIBRARY names."""
    named = os.environ.get("WEFT_TORCH_LIBRARY")
    if named:
        path = Path(named)
        if not path.is_file():
            raise ImportError(f"WEFT_TORCH_LIBRARY is {named}: there is no such file")
        return path
    path = Path(__file__).with_name(_NAME)
    if not path.is_file():
        raise ImportError(
            f"{path} is missing: build it (cmake -DWEFT_TORCH=ON, target weft_torch) and name it with WEFT_TORCH_LIBRARY"
        )
    return path


def _load() -> None:
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < (2, 11):
        raise ImportError(f"torch is {torch.__version__}: weft needs 2.11 or newer")
    path = str(_find())
    torch.ops.load_library(path)
    global release_graph
    # No operator: finalizers run at any time, while torch traces a program as well, and must leave nothing in it.
    release_graph = ctypes.CDLL(path).weft_graph_release
    release_graph.argtypes, release_graph.restype = [ctypes.c_int64], None


_load()
