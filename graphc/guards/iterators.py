"""Iterators that do not tell which item comes next: generators, `zip`, `map`, those of lists. Whether something takes an item."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextvars import ContextVar, Token
from types import FrameType, GeneratorType
from typing import Any

#: What notes it now, if anything does.
_noting: ContextVar[Taken | None] = ContextVar("graphc_taken", default=None)


class Taken:
    """Notes, within a `with`, of which iterators this thread takes items; `names` tells it afterwards."""

    def __init__(self, iterators: Mapping[str, Iterator[Any]]) -> None:
        self.names: tuple[str, ...] = ()
        self._iterators = iterators
        self._frames: dict[int, FrameType] = {}
        self._resumed: set[int] = set()

    def __enter__(self) -> Taken:
        if self._iterators:
            self._places = {name: self._place(it) for name, it in self._iterators.items()}
        self._before = sys.getprofile()
        if self._frames:  # Else compiling need not be slow.
            sys.setprofile(self._see)
        self._token: Token[Taken | None] = _noting.set(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _noting.reset(self._token)
        if self._frames:
            sys.setprofile(self._before)
        self.names = self.so_far()

    def so_far(self) -> tuple[str, ...]:
        """The names of those of which an item has been taken by now."""
        return tuple(n for n, it in self._iterators.items() if self._place(it) != self._places[n])

    def _see(self, frame: FrameType, event: Any, arg: Any) -> None:
        if event == "call" and id(frame) in self._frames:
            self._resumed.add(id(frame))
        if self._before is not None:
            self._before(frame, event, arg)

    def _place(self, value: Any) -> Any:
        """What is another one when an item has been taken; equal to nothing else where that cannot be told."""
        if isinstance(value, GeneratorType):
            frame = value.gi_frame
            if frame is None:
                return None
            self._frames[id(frame)] = frame
            return id(frame), id(frame) in self._resumed
        if isinstance(value, (list, tuple)):
            return tuple(map(self._place, value))
        if not isinstance(value, Iterator):
            return value if type(value) in (int, range) else id(value)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                return self._place(value.__reduce__())
        except TypeError:
            return object()


def anything_taken() -> bool:
    """Whether somebody notes, and something has been taken by now."""
    noting = _noting.get()
    return noting is not None and bool(noting.so_far())
