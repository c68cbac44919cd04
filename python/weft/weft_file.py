"""Reads graphs from .weft files, whose format docs/weft-format.md specifies. A file stores the arrays of a graph as
they are, so only the table of their offsets is parsed."""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from typing import Dict, NamedTuple, NoReturn, Optional

import torch
from torch import Tensor

from weft.graph import Graph

_MAGIC = b"\x89WEFT\r\n\x1a"
_VERSION, _BYTE_ORDER = 1, 0x01020304
# magic, version, byte order, bytes, sections, rows, cols, edges, flags, reserved, crc
_HEADER = struct.Struct("<8sIIIIqqqQII")
_CRC_AT = 60
_SECTION = struct.Struct("<16sQQqqIIII")  # name, offset, bytes, heads, width, type, rank, crc, flags
_REQUIRED = 1
_DTYPES = {
    1: torch.float32, 2: torch.float16, 3: torch.bfloat16, 4: torch.float64, 5: torch.int32, 6: torch.int64,
}
# Sections that are read here, and those of datasets, which a graph does not need.
_KNOWN = {
    "offsets", "cols", "edge_ids", "values", "note", "features", "feat_offsets", "feat_columns", "feat_values",
    "labels", "class_offsets", "class_text", "train", "val", "test", "node_ids", "name_offsets", "name_text",
    "original", "graph_ids", "graph_labels", "name", "counts",
}


class _Section(NamedTuple):
    offset: int
    bytes: int
    heads: int
    width: int
    type: int
    rank: int
    crc: int


class WeftFile:
    """An open file. Unless ``trusted``, the checksums of its sections and the indices of its graph are checked."""

    def __init__(self, path: str, trusted: bool = False):
        self.path, self.trusted = path, trusted
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size < _HEADER.size or file.read(len(_MAGIC)) != _MAGIC:
                self._refuse("it is no .weft file: expected one, as `weft convert` writes it of any other graph file")
            self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self._sections = self._table()

    def _refuse(self, why: str) -> NoReturn:
        raise ValueError(f"{self.path}: {why}")

    def _table(self) -> Dict[str, _Section]:
        fields = _HEADER.unpack_from(self._memory)
        _, version, order, size, count, self.rows, self.cols, self.edges, flags, _, crc = fields
        if version != _VERSION or order != _BYTE_ORDER or flags != 0:
            self._refuse(f"it is .weft version {version}, byte order {order:#x}, flags {flags:#x}: use a newer weft")
        if size != _HEADER.size + count * _SECTION.size or size > len(self._memory):
            self._refuse(f"its header declares {count} sections in {size} bytes: it is damaged or was cut off")
        header = bytearray(self._memory[:size])
        header[_CRC_AT : _CRC_AT + 4] = bytes(4)
        self._check("the header", header, crc)
        sections = {}
        for i in range(count):
            name, *fields, flags = _SECTION.unpack_from(self._memory, _HEADER.size + i * _SECTION.size)
            title, section = name.rstrip(b"\0").decode("utf-8", "replace"), _Section(*fields)
            if section.offset + section.bytes > len(self._memory):
                self._refuse(f"section {title!r} ends behind the file's {len(self._memory)} bytes: it was cut off")
            if title not in _KNOWN and flags & _REQUIRED:
                self._refuse(f"it needs section {title!r}, which this weft does not know: use a newer weft")
            sections[title] = section
        return sections

    def _check(self, what: str, content: bytes, crc: int) -> None:
        found = zlib.crc32(content)
        if found != crc:
            self._refuse(f"{what} has the checksum {found:#010x}: expected {crc:#010x}; it is damaged")

    def _array(self, title: str, rows: int, dtype: Optional[torch.dtype] = None) -> Optional[Tensor]:
        section = self._sections.get(title)
        if section is None:
            return None
        found = _DTYPES.get(section.type)
        row = section.heads * section.width
        if found is None or dtype not in (None, found) or section.bytes != rows * row * found.itemsize:
            self._refuse(
                f"section {title!r} has {section.bytes} bytes of {found}: expected {rows} rows of {dtype or 'numbers'}"
            )
        if not self.trusted:
            content = memoryview(self._memory)[section.offset : section.offset + section.bytes]
            self._check(f"section {title!r}", content, section.crc)
        if section.bytes == 0:
            return torch.empty(rows * row, dtype=found)
        with torch.inference_mode(False):  # a graph would copy inference tensors
            return torch.frombuffer(self._memory, dtype=found, count=rows * row, offset=section.offset)

    def graph(self) -> Graph:
        rowptr, col = self._array("offsets", self.rows + 1, torch.int64), self._array("cols", self.edges, torch.int32)
        if rowptr is None or col is None:
            self._refuse("it has no section 'offsets' or 'cols'")
        if rowptr[0] != 0 or rowptr[-1] != self.edges:
            self._refuse(f"its offsets run from {int(rowptr[0])} to {int(rowptr[-1])}: expected 0 to {self.edges}")
        edge_ids = self._array("edge_ids", self.edges, torch.int64)
        try:
            return Graph.from_csr(rowptr, col, self.cols, edge_ids, trusted=self.trusted)
        except RuntimeError as error:
            self._refuse(str(error))

    def values(self) -> Optional[Tensor]:
        """A copy of the edge values by edge id; None if the file has none."""
        values = self._array("values", self.edges)
        if values is None:
            return None
        section = self._sections["values"]
        shape = [self.edges, section.heads, section.width]
        return values.clone().view({1: shape[:1], 2: [shape[0], shape[2]]}.get(section.rank, shape))
