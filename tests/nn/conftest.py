"""Shared by the tests of cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from graphc import dispatch


@pytest.fixture(autouse=True)
def numpy_seed() -> Iterator[None]:
    """Initial weights are drawn from NumPy's global generator: give every test the same, and put it back."""
    state = np.random.get_state()
    np.random.seed(1)
    yield
    np.random.set_state(state)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calling a cell runs its construct on the NumPy reference, without compiling."""
    monkeypatch.setattr(dispatch, "execute_cell", lambda cell, args, kwargs: cell.construct(*args, **kwargs))
