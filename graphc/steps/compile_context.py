"""What holds while steps are compiled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graphc import collector
from graphc.trace.mutation.outliving import Outliving
from graphc_codegen.forks import unforked


@contextmanager
def compilation() -> Iterator[None]:
    """The collector of cycles stands still, and no fork falls into it."""
    with collector.compiling, unforked:
        yield


@contextmanager
def told() -> Iterator[None]:
    """A compilation that is for good: what tracing has changed of what outlives it is said when all is made (GC134)."""
    with compilation(), Outliving() as lasting:
        yield
    lasting.tell()
