"""MindFormers' own files, unchanged, on graphc: only where GRAPHC_TEST_MINDFORMERS names an unpacked wheel or its package."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, compat, nn

FOLDER = os.environ.get("GRAPHC_TEST_MINDFORMERS", "")
if FOLDER and (Path(FOLDER) / "mindformers").is_dir():
    FOLDER = str(Path(FOLDER) / "mindformers")
pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="GRAPHC_TEST_MINDFORMERS names no folder"),
    pytest.mark.filterwarnings("ignore:invalid escape sequence"),
]
HERE, DATA = Path(__file__).parent, Path(__file__).parents[1] / "data"


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


script = load("ms_mindformers", DATA / "ms_mindformers.py")
loader = load("mindformers_files", HERE / "mindformers_files.py")
RECORDED = json.loads((DATA / "ms_mindformers.json").read_text())["cases"]


@pytest.fixture
def mindspore():
    compat.install()
    yield importlib.import_module("mindspore")
    loader.forget()
    compat.uninstall()
    graphc.reset_auto_parallel_context()


def close(want, got, where=""):
    """Equal up to float32; a learning rate may have kept the axis of the step."""
    if isinstance(want, dict) and "dtype" in want:
        assert got["dtype"] == want["dtype"], where
        assert got["shape"] == want["shape"], where
        np.testing.assert_allclose(got["data"], want["data"], rtol=1e-4, atol=2e-5, err_msg=where)
    elif isinstance(want, list):
        assert len(got) == len(want), where
        for i, (a, b) in enumerate(zip(want, got, strict=True)):
            close(a, b, f"{where}[{i}]")
    else:
        assert got == want, where


@pytest.mark.parametrize("case", script.CASES)
def test_its_files_compute_what_they_do_on_mindspore(mindspore, case):
    pytest.importorskip("yaml")
    pytest.importorskip("psutil")
    made = script.Library(mindspore, loader.files(FOLDER)).run(case)
    close(RECORDED[case]["rows"], made["rows"], case)
    assert set(made["state"]) == set(RECORDED[case]["state"])
    for name, value in RECORDED[case]["state"].items():
        close(value, made["state"][name], name)


@pytest.mark.parametrize(
    "case", [c for c, given in script.CASES.items() if given[0] in ("Momentum", "AdamWeightDecay")]
)
def test_its_wrappers_over_stand_ins(mindspore, case):
    found = loader.wrappers(FOLDER)
    for name in ("ConstantWarmUpLR", "LinearWithWarmUpLR"):
        setattr(found, name, getattr(nn, name))
    made = script.Library(mindspore, found).run(case)
    close(RECORDED[case]["rows"], made["rows"], case)


def test_its_adaptive_manager_and_graphcs(mindspore):
    theirs = loader.wrappers(FOLDER).AdaptiveLossScaleUpdateCell(16.0, 2, 3, 8, 2)
    ours = nn.AdaptiveLossScaleUpdateCell(16.0, 2, 3, 8, 2)
    scales = [Parameter(Tensor(np.float32(16.0)), name="scale") for _ in range(2)]
    for overflow in np.random.default_rng(0).random(200) < 0.3:
        states = []
        for manager, scale in zip((theirs, ours), scales, strict=True):
            manager(scale, Tensor(bool(overflow)))
            names = ("scale_window", "list_index", "window_up_count", "window_down_count", "cur_iter")
            states.append([float(scale), *(int(getattr(manager, n)) for n in names)])
        assert states[0] == states[1]


@pytest.mark.parametrize("micro", [1, 2, 4])
@pytest.mark.parametrize("per_token", [False, True])
def test_its_pipeline_step_adds_up_micro_batches(mindspore, micro, per_token):
    found = loader.wrappers(FOLDER)
    plain = nn.MFTrainOneStepCell(net := script.network(graphc), nn.Momentum(net.trainable_params(), 0.1, 0.9), True,
                                  scale_sense=nn.DynamicLossScaleUpdateCell(64.0, 2, 2)).set_train()  # fmt: skip
    graphc.set_auto_parallel_context(parallel_mode="semi_auto_parallel")

    class Sums(nn.Cell):
        """The sum of the errors, and how many there are."""

        def __init__(self):
            super().__init__()
            self.net = script.network(graphc)

        def construct(self, x, y):
            return self.net(x, y) * y.size, graphc.ops.ones_like(y).sum()

    inner = Sums() if per_token else script.network(graphc)
    wrapped = (
        found.GradAccumulationCellWithTwoOutput(inner, micro) if per_token else nn.GradAccumulationCell(inner, micro)
    )
    options = {"micro_batch_num": micro, "calculate_per_token_loss": per_token}
    optimizer = nn.Momentum(inner.trainable_params(), 0.1, 0.9)
    manager = nn.DynamicLossScaleUpdateCell(64.0, 2, 2)
    step = found.MFPipelineWithLossScaleCell(wrapped, optimizer, scale_sense=manager, **options).set_train()
    for bad in (False, True, False, False):
        x = script.X.copy()
        x[0, 0] = np.inf if bad else x[0, 0]
        want, got = plain(Tensor(x), Tensor(script.Y)), step(Tensor(x), Tensor(script.Y))
        assert [bool(got[1]), float(got[2])] == [bool(want[1]), float(want[2])] == [bad, float(want[2])]
        if not bad:
            share = 1 if per_token else micro
            np.testing.assert_allclose(float(got[0]) / share, float(want[0]), rtol=1e-5)
            np.testing.assert_allclose(got[4].asnumpy(), want[4].asnumpy(), rtol=1e-5)
    for p, q in zip(net.get_parameters(), inner.get_parameters(), strict=True):
        np.testing.assert_allclose(q.asnumpy(), p.asnumpy(), rtol=1e-5, atol=1e-6)
