"""What tests of tracing share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import graphc


@pytest.fixture
def mode_again() -> Iterator[None]:
    """The mode is afterwards what it was."""
    before = graphc.get_context("mode")
    yield
    graphc.set_context(mode=before)
