"""Functions of mint in MindSpore's modules of functions, by the names that they have there."""

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from graphc import Tensor

NAMES = json.loads((Path(__file__).parents[1] / "data" / "ms_mint_names.json").read_text())


@pytest.mark.parametrize("path", sorted(NAMES))
def test_names(path):
    here = import_module("graphc" + path.removeprefix("mindspore"))
    assert [n for n in NAMES[path] if not hasattr(here, n)] == []
    for name in import_module(f"graphc.compat.extended.{path.rpartition('.')[2]}").__all__:
        home, _, function = NAMES[path][name].rpartition(".")
        assert getattr(here, name) is getattr(import_module(f"graphc.{home}"), function), name


def test_one_of_each():
    from graphc.ops.auto_generate import acos_ext, topk_ext
    from graphc.ops.function.math_func import addbmm_ext
    from graphc.ops.function.nn_func import log_softmax_ext
    from graphc.ops.functional_overload import clamp

    x = Tensor([[0.5, -0.5, 1.0]])
    assert np.allclose(acos_ext(x).asnumpy(), np.arccos([[0.5, -0.5, 1.0]]))
    assert topk_ext(x, 2)[1].asnumpy().tolist() == [[2, 0]]
    assert np.allclose(np.exp(log_softmax_ext(x, dim=1).asnumpy()).sum(), 1)
    assert clamp(x, 0.0, 0.75).asnumpy().tolist() == [[0.5, 0.0, 0.75]]
    ones = Tensor(np.ones((2, 3, 3), np.float32))
    assert addbmm_ext(Tensor(np.ones((3, 3), np.float32)), ones, ones).asnumpy().tolist() == [[7.0] * 3] * 3
