"""PyG's classes, and the converted classes that replace them."""

from __future__ import annotations

from typing import Optional

from weft.pyg.converted.layers import CONVERTED

_OF_PYG = {converted.pyg: converted for converted in CONVERTED}


def converted_class(kind: type) -> Optional[type]:
    """The class that replaces one of PyG's; None for subclasses, which may compute anything."""
    return _OF_PYG.get(kind)


def pyg_class(kind: type) -> Optional[type]:
    """PyG's class of a converted one."""
    return kind.pyg if kind in CONVERTED else None


def pyg_classes():
    return tuple(_OF_PYG)
