"""graphc.mint against torch in float64, recorded (tests/data/torch_mint.py): results, dtypes, gradients; eager and compiled."""

from __future__ import annotations

import json
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

import graphc
import graphc.mint.nn.functional
from graphc import Tensor, mint, nn, ops
from tests.data.torch_mint import CASES, cotangent

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "torch_mint.json").read_text())


def tensors(x):
    if isinstance(x, np.ndarray):
        return Tensor(x)
    return tuple(map(tensors, x)) if isinstance(x, tuple) and any(isinstance(e, np.ndarray) for e in x) else x


def arrays(x):
    """The arrays among arguments, in order."""
    if isinstance(x, np.ndarray):
        return [x]
    return [a for e in x for a in arrays(e)] if isinstance(x, tuple) else []


def parts(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def compare(name, found):
    expected = RECORDED[name]["parts"]
    assert len(found) == len(expected)
    for got, want in zip(found, expected, strict=True):
        assert list(got.shape) == want["shape"]
        assert np.dtype(got.asnumpy().dtype).name == want["dtype"]
        np.testing.assert_allclose(got.asnumpy().ravel(), want["values"], rtol=3e-6, atol=3e-6)


class Several(nn.Cell):
    """Functions of cases, of the arrays among their arguments: the results of each; summed, what is differentiated."""

    def __init__(self, names, summed=False):
        super().__init__()
        self.names, self.summed = names, summed

    def construct(self, *given):
        left, results = list(given), []

        def put(x):
            if isinstance(x, np.ndarray):
                return left.pop(0)
            return tuple(map(put, x)) if isinstance(x, tuple) and arrays(x) else x

        for name in self.names:
            function, args, kwargs = CASES[name]
            args = [put(a) for a in args]
            results.append(tuple(parts(attrgetter(function)(mint)(*args, **{k: put(v) for k, v in kwargs.items()}))))
        if not self.summed:
            return tuple(results)
        floats = [r for result in results for r in result if r.dtype == graphc.float32]
        return sum(ops.reduce_sum(ops.reshape(r, (-1,)) * Tensor(cotangent(r.size))) for r in floats)


@pytest.mark.parametrize("name", CASES)
def test_results_are_torchs(name):
    function, args, kwargs = CASES[name]
    result = attrgetter(function)(mint)(*map(tensors, args), **{k: tensors(v) for k, v in kwargs.items()})
    compare(name, parts(result))


def given(names):
    """The operands of several cases, and where those of each begin."""
    found, starts = [], []
    for name in names:
        _, args, kwargs = CASES[name]
        starts.append(len(found))
        found += [Tensor(a) for a in (*arrays(tuple(args)), *arrays(tuple(kwargs.values())))]
    return found, starts


#: How many classes there are is known by the values only.
EAGER = ("nn.functional.one_hot_counted",)
COMPILED = [n for n in CASES if arrays(CASES[n][1]) and n not in EAGER]


@pytest.mark.parametrize("start", range(0, len(COMPILED), 20))
def test_compiled_results_are_torchs(start):
    names = COMPILED[start : start + 20]
    for name, result in zip(names, Several(names)(*given(names)[0]), strict=True):
        compare(name, list(result))


DIFFERENTIATED = [n for n in COMPILED if RECORDED[n]["gradient"] is not None]


@pytest.mark.parametrize("start", range(0, len(DIFFERENTIATED), 20))
def test_gradients_are_torchs(start):
    names = DIFFERENTIATED[start : start + 20]
    operands, starts = given(names)
    gradients = ops.grad(Several(names, summed=True), tuple(starts))(*operands)
    for name, found in zip(names, gradients, strict=True):
        np.testing.assert_allclose(
            found.asnumpy().ravel(), RECORDED[name]["gradient"], rtol=1e-5, atol=1e-5, err_msg=name
        )
