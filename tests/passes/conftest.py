"""`pytest tests/passes --update-golden` writes the expected output of every golden file anew; review the diff."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the outputs of golden files anew")
