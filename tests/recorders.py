"""The scripts of tests/data that record what MindSpore computes, as modules."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

DATA = Path(__file__).parent / "data"


def recorder(name: str) -> ModuleType:
    """The script of that name, run as a module."""
    spec = importlib.util.spec_from_file_location(name, DATA / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
