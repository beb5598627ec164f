"""The external functions that a module of LLVM IR uses."""

from __future__ import annotations

from collections.abc import Iterator


class Declarations:
    """The external functions a module uses, declared once."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    def add(self, result: str, name: str, *args: str) -> str:
        self._lines[f"declare {result} @{name}({', '.join(args)})"] = None
        return name

    def update(self, other: Declarations) -> None:
        """Add those of another module."""
        self._lines |= other._lines

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._lines))
