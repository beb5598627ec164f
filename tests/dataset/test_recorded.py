"""Orders, operations, transforms and refusals against what MindSpore 2.10 did (tests/data/ms_dataset.py, ms_images.py and
ms_vision.py wrote it)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc.dataset as ds
from tests.recorders import recorder

DATA = Path(__file__).parents[1] / "data"
RECORDED = json.loads((DATA / "ms_dataset.json").read_text())

IMAGES = json.loads((DATA / "ms_images.json").read_text())
VISION = json.loads((DATA / "ms_vision.json").read_text())


probe = recorder("ms_dataset")
KNOWN = recorder("ms_vision").names(recorder("ms_images").names(probe.names(ds, ds.transforms, ds.vision)))
TRANSFORMS = RECORDED["transforms"] | IMAGES["transforms"] | VISION["transforms"]
REFUSED = RECORDED["refused"] | IMAGES["refused"] | VISION["refused"]


@pytest.mark.parametrize("title", RECORDED["orders"])
def test_orders_of_three_passes(title):
    text, seed, expected = RECORDED["orders"][title]
    ds.config.set_seed(seed)
    assert probe.passes(eval(text, KNOWN)) == expected


@pytest.mark.parametrize("title", RECORDED["operations"])
def test_operations(title):
    text, expected, columns = RECORDED["operations"][title]
    dataset = eval(text, KNOWN)
    assert json.loads(json.dumps(probe.rows(dataset))) == expected
    assert dataset.get_col_names() == columns


@pytest.mark.parametrize("text", RECORDED["sizes"])
def test_sizes(text):
    assert json.loads(json.dumps(probe.sizes(eval(text, KNOWN)))) == RECORDED["sizes"][text]


def tolerance(text, kind):
    """OpenCV rounds by the loop that a pixel is in; floats are added up in another order."""
    if kind.startswith("float"):
        return 1e-6
    return 1 if any(name in text for name in ("BICUBIC", "AdjustHue")) else 0


@pytest.mark.parametrize("text", TRANSFORMS)
def test_transforms(text):
    result = eval(text, KNOWN)
    results = result if isinstance(result, tuple) else (result,)
    for got, expected in zip(map(probe.plain, results), TRANSFORMS[text], strict=True):
        assert got[:2] == expected[:2]
        if got[0] == "text":
            assert got == expected
        else:
            difference = np.abs(np.array(got[2], float) - np.array(expected[2], float))
            assert difference.max() <= tolerance(text, got[0])


@pytest.mark.parametrize("text", REFUSED)
def test_refused_arguments(text):
    assert probe.error(lambda: eval(text, KNOWN)) == REFUSED[text]
