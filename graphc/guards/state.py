"""What a compiled step was made for besides its inputs, as one value that can be compared, and said in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphc.guards.walk import Walk
from graphc.ops.tensor.dtype import DType


class State:
    """What a look at a Cell has found. Two are equal where tracing finds the same."""

    __slots__ = ("_hash", "_iterators", "_kept", "_origins", "_places", "_tokens")

    def __init__(self, walk: Walk) -> None:
        self._tokens = tuple(walk.tokens)
        self._hash = hash(self._tokens)
        self._places = walk.places
        self._origins = walk.origins
        self._kept = walk.kept
        self._iterators = walk.iterators

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, State) and self._hash == other._hash and self._tokens == other._tokens

    def share(self, other: State) -> None:
        """Use the other's names of the places where they are the same: there are many."""
        if self._places == other._places:
            self._places = other._places
        if self._origins == other._origins:
            self._origins = other._origins

    def iterators(self) -> dict[str, Iterator[Any]]:
        """By the user's names, the iterators that do not tell which item comes next."""
        paths = self._paths() if self._iterators else []
        return {paths[number]: iterator for number, iterator in self._iterators}

    def differences(self, before: State) -> Iterator[tuple[str, str]]:
        """What is not as it was, by the user's names, and how: ("self.k", "was 2, is 3")."""
        old: dict[str, list[Any]] = {}
        for path, token in before._described():
            old.setdefault(path, []).append(token)
        for path, token in self._described():
            tokens = old.get(path)
            if not tokens:
                yield path, "is new"
            elif (was := tokens.pop(0)) != token:
                shown = _shown(was), _shown(token)
                yield path, "is another one" if None in shown else f"was {shown[0]}, is {shown[1]}"
        yield from ((path, "is gone") for path, tokens in old.items() if tokens)

    def _described(self) -> Iterator[tuple[str, Any]]:
        """Places and tokens; numbers of objects, which depend on how many others there are, are left out."""
        paths = self._paths()
        for (parent, label), token in zip(self._places, self._tokens, strict=True):
            if not (isinstance(token, tuple) and token[0] == "#"):
                yield _joined(paths[parent] if parent >= 0 else "", label), token

    def _paths(self) -> list[str]:
        """The name of each object that was looked into."""
        paths: list[str] = []
        for parent, label in self._origins:
            paths.append(_joined(paths[parent] if parent >= 0 else "", label))
        return paths


def _shown(token: Any) -> str | None:
    """A value in words; None for what has none."""
    if not isinstance(token, tuple):
        return shown if len(shown := repr(token)) < 60 else None
    if len(token) == 1:  # A bool.
        return str(token[0])
    if token[0] == "length":
        return f"{token[1]} items long"
    return str(token[1]) if token[0] in (float, complex, DType) else None


def _joined(path: str, label: str) -> str:
    """A place in an object: attributes and items go on from it, names stand alone."""
    return path + label if not label or label[0] in ".[ (" else label
