"""Gradients that are primitives, and functions of `ops.auto_generate`, give what MindSpore's give.

What they give is in tests/data, with the program that has recorded it, ms_generated.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn
from graphc.compat import generated, generated_classes, inner
from graphc.compat.extended import auto_generate
from graphc.ops import primitives
from tests.data.ms_cases import Names, floats, parts, weighted, written
from tests.data.ms_generated import CASES

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_generated.json").read_text())
NAMES = Names(Tensor, [primitives, generated, generated_classes, auto_generate, inner, graphc])


def close(case, found, wanted):
    #: MindSpore takes the weights of its cubic convolution from a table.
    atol = 1e-3 if case.startswith("ResizeBicubic") else 2e-5
    for a, recorded in zip(found, wanted, strict=True):
        assert (list(a.shape), str(a.dtype)) == (recorded["shape"], recorded["dtype"]), case
        np.testing.assert_allclose(a.ravel().astype(np.float64), recorded["values"], rtol=5e-4, atol=atol, err_msg=case)


def test_every_case_is_recorded():
    assert list(RECORDED) == CASES


@pytest.mark.parametrize("case", CASES)
def test_as_mindspore(case):
    primitive, operands = parts(case, NAMES)
    close(case, written(case, primitive(*operands)), RECORDED[case]["results"])


#: Primitives with operands that a compiled step must know: shapes, sizes, paddings.
KNOWN = {
    "AdaptiveAvgPool2DGrad": 1, "AdaptiveAvgPool3DGrad": 1, "DynamicBroadcastTo": 1, "FractionalAvgPoolGrad": 0,
    "MirrorPadGrad": 1, "PadV3Grad": 1, "ResizeNearestNeighborV2Grad": 1, "ResizeV2Grad": 3, "SparseSegmentMeanGrad": 3,
    "SparseSegmentSqrtNGrad": 3, "TraceGrad": 1, "TraceV2Grad": 1,
}  # fmt: skip
#: One that looks at bytes, and one of shapes alone.
EAGER = ("view_dtype", "DynamicBroadcastGradientArgs")
COMPILED = [case for case in CASES if not case.startswith(EAGER)]


class Calls(nn.Cell):
    """Calls of several primitives in one step, each with its tensors behind those of the one before."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def construct(self, *tensors):
        given, made = iter(tensors), []
        for primitive, operands, constant in self.calls:
            made.append(primitive(*[x if not moves(k, x, constant) else next(given) for k, x in enumerate(operands)]))
        return tuple(made)


def moves(place, x, constant):
    return isinstance(x, Tensor) and place != constant


@pytest.mark.parametrize("start", range(0, len(COMPILED), 12))
def test_compiled(start):
    cases = COMPILED[start : start + 12]
    calls = [(*parts(case, NAMES), KNOWN.get(case.partition("(")[0])) for case in cases]
    tensors = [x for _, operands, constant in calls for k, x in enumerate(operands) if moves(k, x, constant)]
    for case, made in zip(cases, Calls(calls)(*tensors), strict=True):
        close(case, written(case, made), RECORDED[case]["results"])


@pytest.mark.parametrize("case", [case for case, found in RECORDED.items() if found["gradients"]])
def test_its_own_gradients_are_mindspores(case):
    primitive, operands = parts(case, NAMES)
    made = graphc.grad(lambda *xs: weighted(primitive(*xs), Tensor), floats(operands))(*operands)
    close(case, [x.asnumpy() for x in (made if isinstance(made, tuple) else (made,))], RECORDED[case]["gradients"])


X = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: generated.as_strided(X, (2, 2), (1,)), "as_strided: 2 sizes and 1 strides"),
        (lambda: generated.as_strided(X, (2, 2), (4, 4)), "as_strided: .* reach from 0 to 8"),
        (lambda: generated.tuple_to_tensor(5), "tuple_to_tensor: input_tuple must be a tuple"),
        (lambda: generated.add_ext(X), "add_ext: missing 1 required positional argument: 'other'"),
        (lambda: generated_classes.GroupNorm()(X, 2), "GroupNorm: input is .* a multiple of 2 channels"),
        (lambda: generated_classes.UpsampleNearest1D()(X, (5,)), r"UpsampleNearest1D: expected \[N, C, W\]"),
        (lambda: generated_classes.SliceExt()(X, 5, 0, 1, 1), "SliceExt: .* has no axis 5"),
        (lambda: generated_classes.MaxDim()(X), "MaxDim: missing 1 required positional argument: 'dim'"),
        (lambda: inner.ClipByNorm()(X, 1.0), "ClipByNorm: clip_norm must be a Tensor, got float"),
        (lambda: inner.ClipByNorm()(X, X[:, :2]), "ClipByNorm: .* cannot be broadcast"),
        (lambda: inner.ClipByNorm()(X, graphc.ops.ones((4, 2, 3))), "ClipByNorm: .* cannot be broadcast to"),
        (lambda: inner.SameTypeShape()(X, X.astype("int32")), "SameTypeShape: x is f32.* y i32"),
        (lambda: inner.DynamicBroadcastGradientArgs()((2, 3), (4,)), "cannot be broadcast"),
        (lambda: primitives.SparseSegmentMeanGrad()(X, *[Tensor([0, 1])] * 3), "output_dim0 is .* expected one number"),
        (lambda: primitives.ConcatOffset(2, 7)((X, X)), r"ConcatOffset: axis must be in \[-2, 2\)"),
    ],
)
def test_what_does_not_fit_is_said(call, says):
    with pytest.raises((TypeError, ValueError), match=says):
        call()
