"""Gradients, composite functions and training cells against what MindSpore 2.10 gave for the very same code."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc
from tests.recorders import recorder

DATA = Path(__file__).parent.parent / "data"
script = recorder("ms_training_cells")
RECORDED = json.loads((DATA / "ms_training_cells.json").read_text())["cases"]

#: float32 on both sides, and sums in other orders.
TOLERANCE = {"rtol": 1e-5, "atol": 2e-6}


def differences(want: Any, got: Any, path: str = "") -> Iterator[str]:
    if isinstance(want, dict) and set(want) == {"dtype", "shape", "data"}:
        if not isinstance(got, dict) or (got.get("dtype"), got.get("shape")) != (want["dtype"], want["shape"]):
            yield f"{path}: {want} is now {got}"
        elif not np.allclose(got["data"], want["data"], equal_nan=True, **TOLERANCE):
            yield f"{path}: {want['data']} is now {got['data']}"
    elif isinstance(want, (dict, list)):
        if type(got) is not type(want) or len(got) != len(want):
            yield f"{path}: {want} is now {got}"
            return
        for key in want if isinstance(want, dict) else range(len(want)):
            if isinstance(want, dict) and key not in got:
                yield f"{path}/{key}: missing"
            else:
                yield from differences(want[key], got[key], f"{path}/{key}")
    elif isinstance(want, float) and isinstance(got, float):
        if not math.isclose(want, got, rel_tol=1e-6):
            yield f"{path}: {want} is now {got}"
    elif want != got or type(want) is not type(got):
        yield f"{path}: {want!r} is now {got!r}"


@pytest.fixture
def graph_mode_afterwards() -> Iterator[None]:
    yield
    graphc.set_context(mode=graphc.GRAPH_MODE)


@pytest.mark.usefixtures("graph_mode_afterwards")
@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
@pytest.mark.parametrize("case", script.CASES)
def test_same_as_mindspore(case: str, mode: int) -> None:
    graphc.set_context(mode=mode)
    made = json.loads(json.dumps(script.plain(getattr(script.Library(graphc), case)())))
    assert list(differences(RECORDED[case], made)) == []


def test_every_recorded_case_is_run() -> None:
    assert set(RECORDED) == set(script.CASES)


def test_a_difference_is_found() -> None:
    want = {"a": [{"dtype": "Float32", "shape": [1], "data": [1.0]}, 3, None]}
    assert list(differences(want, want)) == []
    for other in (
        {"a": [{"dtype": "Float32", "shape": [1], "data": [1.1]}, 3, None]},
        {"a": [{"dtype": "Float16", "shape": [1], "data": [1.0]}, 3, None]},
        {"a": [{"dtype": "Float32", "shape": [1], "data": [1.0]}, 3.0, None]},
        {"a": [{"dtype": "Float32", "shape": [1], "data": [1.0]}, 3]},
        {"b": []},
    ):
        assert list(differences(want, other))
