"""A model zoo's own training step, by `import mindspore`, against what MindSpore 2.10 gave for the very same code."""

from __future__ import annotations

import importlib
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from graphc import compat

DATA = Path(__file__).parents[1] / "data"
SPEC = importlib.util.spec_from_file_location("ms_zoo_step", DATA / "ms_zoo_step.py")
assert SPEC is not None
assert SPEC.loader is not None
script = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(script)
RECORDED = json.loads((DATA / "ms_zoo_step.json").read_text())["cases"]


@pytest.fixture(scope="module")
def library():
    compat.install()
    yield script.Library(importlib.import_module("mindspore"))
    compat.uninstall()


@pytest.mark.parametrize("case", script.CASES)
def test_losses_names_and_state(library, case):
    made, want = library.run(case), RECORDED[case]
    losses = [float(x) for x in want["losses"]]
    np.testing.assert_allclose([float(x) for x in made["losses"]], losses, rtol=2e-5, atol=2e-6)
    assert list(made["state"]) == list(want["state"])
    for name, values in want["state"].items():
        np.testing.assert_allclose(made["state"][name], values, rtol=2e-5, atol=2e-6, err_msg=name)
