"""The pytest plugin: collects golden `*.ir` files beside a `golden.toml`, and nothing elsewhere.

`--update-golden` writes their outputs anew; review the diff. What collects is imported when there is something to collect.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from graphc.testing.golden import Golden


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option --update-golden."""
    group = parser.getgroup("graphc")
    group.addoption("--update-golden", action="store_true", help="write the outputs of golden *.ir files anew")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A golden file where a golden.toml stands beside it or above it."""
    if file_path.suffix != ".ir" or not any((f / "golden.toml").is_file() for f in list(file_path.parents)[:2]):
        return None
    made: GoldenFile = GoldenFile.from_parent(parent, path=file_path)
    return made


class GoldenFile(pytest.File):
    """A file with one test: its output is what it says."""

    def collect(self) -> Iterator[pytest.Item]:
        from graphc.testing.golden import at  # Pytest loads the plugin wherever graphc is installed.

        found = at(self.path)
        if found is not None:
            yield GoldenItem.from_parent(self, name="golden", golden=found)


class _Mismatch(Exception):
    """The output is another one; the message says all."""


class GoldenItem(pytest.Item):
    """Runs the passes of one golden file."""

    def __init__(self, *, golden: Golden, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.golden = golden

    def runtest(self) -> None:
        """Compare, after writing the output anew if --update-golden asks for it."""
        if self.config.getoption("--update-golden"):
            self.golden.update()
        problem = self.golden.mismatch()
        if problem is not None:
            raise _Mismatch(problem)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """A mismatch and graphc's own errors without the frames of this package."""
        from graphc.errors import GraphcError  # Pytest loads the plugin wherever graphc is installed.

        error = excinfo.value
        if isinstance(error, _Mismatch):
            return f"{error}\n\npytest --update-golden writes it anew"
        if isinstance(error, GraphcError):
            return "\n".join([str(error), *getattr(error, "__notes__", ())])
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where a failure is reported."""
        return self.path, None, f"golden {self.golden}"
