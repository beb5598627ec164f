"""Fixtures of the tests of dumps and slices: a training step with an overflow check, and a graph whose every name is hostile."""

from __future__ import annotations

import pytest

from graphc.ir import Graph
from tests.inspect import graphs


@pytest.fixture
def step_graph() -> Graph:
    return graphs.step_graph()


@pytest.fixture
def hostile_graph() -> Graph:
    return graphs.hostile_graph()


@pytest.fixture
def hostile() -> str:
    return graphs.HOSTILE
