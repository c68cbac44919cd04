"""PyG's classes, and those that take their place."""

from __future__ import annotations

from typing import Optional

from weft.pyg.converted.layers import CONVERTED

_OF_PYG = {converted.pyg: converted for converted in CONVERTED}


def converted_class(kind: type) -> Optional[type]:
    """The class that runs on weft in place of one of PyG's; exactly that one, as a subclass may compute what it
    likes."""
    return _OF_PYG.get(kind)


def pyg_class(kind: type) -> Optional[type]:
    """PyG's class, of one that was converted."""
    return kind.pyg if kind in CONVERTED else None


def pyg_classes():
    return tuple(_OF_PYG)
