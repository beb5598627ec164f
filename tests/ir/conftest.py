"""Shared by the tests of the IR."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphc.ir.op import _REGISTRY
from tests.ir.hostile import ANY


@pytest.fixture(autouse=True, scope="module")
def any_op() -> Iterator[None]:
    """The op of these tests is registered while they run, and no longer."""
    _REGISTRY[ANY.name] = ANY
    yield
    del _REGISTRY[ANY.name]
