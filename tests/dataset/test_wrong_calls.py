"""Wrong calls of data sets raise what MindSpore raises, or a class of it (tests/data/ms_wrong_calls.py)."""

from __future__ import annotations

import builtins
import json
from pathlib import Path

import pytest

import graphc.dataset as ds
from graphc.errors import GraphcError
from tests.data.ms_wrong_calls import CALLS, OTHERWISE, names, refused_by

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_wrong_calls.json").read_text())


@pytest.mark.parametrize("called", CALLS)
def test_wrong_calls(called):
    wrong = {}
    begin = called[:-1] if called.startswith("sampled") else called
    for call, builtin in RECORDED.items():
        if call.startswith(f"{begin}("):
            found = refused_by(call, names(ds))
            as_there = found is not None and issubclass(found, getattr(builtins, builtin))
            ours = found is None or issubclass(found, GraphcError)
            if not ours or not (as_there or any(part in call for part in OTHERWISE)):
                wrong[call] = (builtin, found and [c.__name__ for c in found.__mro__ if c.__module__ == "builtins"])
    assert not wrong
