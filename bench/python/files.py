"""The files of the benchmarks: graphs that they read, and records that they write."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import List, Tuple

import numpy as np
import torch

import weft


def edges_of(path: Path) -> Tuple[torch.Tensor, int]:
    """The edge_index and the number of nodes: of raw compressed rows (.csr, docs/formats.md), or of a file that
    weft.Graph.load reads."""
    if path.suffix != ".csr":
        graph, _ = weft.Graph.load(path)
        return graph.edge_index(), graph.num_nodes
    rows, _, edges = (int(n) for n in np.fromfile(path, dtype=np.int64, count=3))
    rest = np.fromfile(path, dtype=np.int32, offset=24)
    rowptr, col = torch.from_numpy(rest[: rows + 1].copy()).long(), torch.from_numpy(rest[rows + 1 : rows + 1 + edges].copy())
    target = torch.repeat_interleave(torch.arange(rows), rowptr.diff())
    return torch.stack([col.long(), target]), rows


def write_record(path: Path, device: torch.device, results: List[dict], **more) -> None:
    """Results with the command, the date, the device and versions; `more` stands beside them."""
    record = {
        "command": " ".join(sys.argv), "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(), "torch": torch.__version__, "weft": weft.__version__, **more,
        "results": results,
    }
    path.write_text(json.dumps(record, indent=1) + "\n")
