"""Converts PyG's layers as they are constructed."""

from __future__ import annotations

import functools

from weft.pyg.converted import converted_class, pyg_classes

_originals = {}  # PyG's constructors, by class, while they are patched


def _converting(kind: type, construct):
    @functools.wraps(construct)
    def __init__(self, *args, **kwargs):
        construct(self, *args, **kwargs)
        if type(self) is kind:  # not if a subclass's constructor calls this
            self.__class__ = converted_class(kind)

    return __init__


def _set(on: bool) -> None:
    if on and not _originals:
        for kind in pyg_classes():
            _originals[kind] = kind.__init__
            kind.__init__ = _converting(kind, kind.__init__)
    elif not on:
        for kind, construct in _originals.items():
            kind.__init__ = construct
        _originals.clear()


class Patch:
    """The state of the patch: ``undo()`` and the end of a ``with`` block restore the state from before."""

    def __init__(self, on: bool):
        self._before = bool(_originals)
        _set(on)

    def undo(self) -> None:
        _set(self._before)

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, *_) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"weft.patch_pyg({bool(_originals)})"
