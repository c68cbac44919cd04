"""Loads the operators: importing this module registers torch.ops.weft."""

import ctypes
import os
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import torch

_NAME = "libweft_torch.so"


def _find() -> Path:
    """The library that WEFT_TORCH_LIBRARY names, or else the one in the package's folder, where a wheel puts it."""
    named = os.environ.get("WEFT_TORCH_LIBRARY")
    if named:
        path = Path(named)
        if not path.is_file():
            raise ImportError(f"WEFT_TORCH_LIBRARY is {named}: there is no such file")
        return path
    path = Path(__file__).with_name(_NAME)
    if not path.is_file():
        raise ImportError(f"{path} is missing: install the package (pip install ./python), or name it with WEFT_TORCH_LIBRARY")
    return path


def _load() -> None:
    global keep_in_own_memory, release_graph, version
    if tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) < (2, 11):
        raise ImportError(f"torch is {torch.__version__}: weft needs 2.11 or newer")
    path = str(_find())
    torch.ops.load_library(path)
    library = ctypes.CDLL(path)
    # A C function, not an operator: a finalizer can run while torch traces a program, and must not be recorded in it.
    release_graph = library.weft_graph_release
    release_graph.argtypes, release_graph.restype = [ctypes.c_int64], None
    keep_in_own_memory = library.weft_keep_in_own_memory
    keep_in_own_memory.argtypes, keep_in_own_memory.restype = [], None
    library.weft_version.restype = ctypes.c_char_p
    version = library.weft_version().decode()


def raise_out_of_memory(error: RuntimeError) -> None:
    """Raises torch.OutOfMemoryError if the error is one: torch's stable ABI turns every error into a RuntimeError."""
    if not isinstance(error, torch.OutOfMemoryError) and str(error).startswith("out of memory"):
        raise torch.OutOfMemoryError(str(error)) from None


@contextmanager
def naming_what_is_out_of_memory() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise_out_of_memory(error)
        raise


_load()
