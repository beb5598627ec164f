"""The primitives inside layers, by the attributes that MindSpore's layers have: scripts shard them, call them, replace them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import dispatch
from graphc.nn.cell.cell import Cell


class Inner:
    """An attribute of a layer that holds a primitive, made of the layer when it is asked for.

    Another one set in its place is what the layer then computes with. A layer for which `make` returns None has none.
    """

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, layer: Cell | None, owner: type) -> Any:
        # The instance's own attribute comes first: this is called where there is none.
        if layer is None:
            return self
        made = self._make(layer)
        if made is None:
            return layer.__getattr__(self._name)
        # While a cell is traced its attributes stay as they are: a compiled step is bound to them.
        if dispatch.recorder.get() is None:
            layer.__dict__[self._name] = made
        return made


def held(layer: Cell, name: str) -> Any:
    """The inner primitive of that name that somebody has asked the layer for, or set; None where nobody has."""
    return layer.__dict__.get(name)


__all__ = ["Inner", "held"]
