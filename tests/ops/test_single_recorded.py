"""Primitives and functions that MindSpore has in files of `mindspore.ops` alone give what MindSpore's give.

What they give is in tests/data, with the program that has recorded it, ms_single.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn
from graphc.compat import functions, math_ops, sparse_coordinates, sparse_rows, sparse_segments
from graphc.ops import primitives
from tests.data.ms_cases import Names, floats, parts, results, weighted
from tests.data.ms_single import CASES

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_single.json").read_text())
#: Of weights with second biases these are left out, in both.
pytestmark = pytest.mark.filterwarnings("ignore:LSTM. of the")
NAMES = Names(Tensor, [primitives, sparse_coordinates, sparse_rows, sparse_segments, math_ops, functions, graphc])


def close(case, found, wanted):
    for a, recorded in zip(found, wanted, strict=True):
        assert (list(a.shape), str(a.dtype)) == (recorded["shape"], recorded["dtype"]), case
        half = str(a.dtype) == "float16"
        rtol, atol = (2e-3, 2e-3) if half else (5e-4, 2e-5)
        np.testing.assert_allclose(a.ravel().astype(np.float64), recorded["values"], rtol=rtol, atol=atol, err_msg=case)


def test_every_case_is_recorded():
    assert list(RECORDED) == CASES


@pytest.mark.parametrize("case", CASES)
def test_as_mindspore(case):
    primitive, operands = parts(case, NAMES)
    close(case, results(primitive(*operands)), RECORDED[case]["results"])


def flat(operands):
    """The operands, tuples taken apart, and how they are put together again."""
    leaves = [x for o in operands for x in (o if isinstance(o, tuple) else (o,))]

    def whole(values):
        given = iter(values)
        return [tuple(next(given) for _ in o) if isinstance(o, tuple) else next(given) for o in operands]

    return leaves, whole


def of_floats(primitive, operands):
    """(a function of the operands of floats alone, these): integers are places and sizes, which a compiled step must know."""
    leaves, whole = flat(operands)
    at = floats(leaves)

    def run(*given):
        values = dict(zip(at, given, strict=True))
        return primitive(*whole([values.get(k, x) for k, x in enumerate(leaves)]))

    return run, [leaves[k] for k in at]


class Calls(nn.Cell):
    def __init__(self, run):
        super().__init__()
        self.run = run

    def construct(self, *tensors):
        return self.run(*tensors)


@pytest.mark.parametrize("case", CASES)
def test_compiled(case):
    run, given = of_floats(*parts(case, NAMES))
    close(case, results(Calls(run)(*given)), RECORDED[case]["results"])


def gradients(case):
    run, given = of_floats(*parts(case, NAMES))
    made = graphc.grad(lambda *xs: weighted(run(*xs), Tensor), tuple(range(len(given))))(*given)
    return run, given, made if isinstance(made, tuple) else (made,)


@pytest.mark.parametrize("case", [case for case, found in RECORDED.items() if found["gradients"]])
def test_gradients_are_mindspores(case):
    close(case, [x.asnumpy() for x in gradients(case)[2]], RECORDED[case]["gradients"])


#: Those whose result is no smooth function, that count in float16, or whose gradient is not that of what they compute.
ROUGH = ("CropAndResize", "CTCLossV2Grad", "SparseSparse", "AdjustContrastv2() | f(3, 4, 3)")


@pytest.mark.parametrize(
    "case",
    [
        *(
            case
            for case, found in RECORDED.items()
            if found["gradients"] is None and not case.startswith(ROUGH) and floats(flat(parts(case, NAMES)[1])[0])
        ),
        "Dilation2DBackpropInput(1, 1) | f(1, 2, 4, 5), g(2, 2, 2), g(1, 2, 4, 5)",
        'Dilation2DBackpropFilter((2, 1), (1, 2), "valid") | f(2, 2, 5, 5), g(2, 2, 2), g(2, 2, 2, 3)',
        "CropAndResizeGradBoxes() | g(1, 3, 2, 2), f(2, 4, 5, 2), T([[0.1, 0.2, 0.7, 0.9]]), i(1)",
    ],
)
def test_gradients_are_those_of_finite_differences(case):
    run, given, made = gradients(case)
    for k, (x, gradient) in enumerate(zip(given, made, strict=True)):
        direction = np.cos(np.arange(x.size)).reshape(x.shape)

        def at(step, k=k, x=x, direction=direction):
            moved = Tensor((x.asnumpy() + step * direction).astype(x.asnumpy().dtype))
            return float(weighted(run(*given[:k], moved, *given[k + 1 :]), Tensor).asnumpy())

        h = 2e-3
        slope = (at(h) - at(-h)) / (2 * h)
        np.testing.assert_allclose((gradient.asnumpy() * direction).sum(), slope, rtol=2e-2, atol=5e-3, err_msg=case)


@pytest.mark.parametrize("of", ["Input", "Filter"])
@pytest.mark.parametrize(("stride", "dilation", "mode"), [(1, 1, "SAME"), ((2, 1), (1, 2), "valid")])
def test_dilation_flows_back_to_where_the_maxima_are(of, stride, dilation, mode):
    x, windows = NAMES["f"](2, 2, 5, 5), NAMES["g"](2, 2, 2)
    forward = primitives.Dilation2D(stride, dilation, mode)
    flow = NAMES["g"](*forward(x, windows).shape)
    made = getattr(primitives, f"Dilation2DBackprop{of}")(stride, dilation, mode)(x, windows, flow)
    back = graphc.grad(lambda a, b: (forward(a, b) * flow).sum(), 0 if of == "Input" else 1)(x, windows)
    np.testing.assert_allclose(made.asnumpy(), back.asnumpy(), rtol=1e-6)


def test_self_adjoint_eig():
    """Signs of vectors are free: MindSpore's differ."""
    x = NAMES["f"](4, 3, 3)
    lower = np.tril(x.asnumpy().astype(np.float64))
    whole = lower + np.swapaxes(np.tril(lower, -1), 1, 2)
    values, vectors = primitives.SelfAdjointEig()(x)
    v = vectors.asnumpy().astype(np.float64)
    np.testing.assert_allclose(values.asnumpy(), np.linalg.eigvalsh(whole), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(v * values.asnumpy()[:, None] @ np.swapaxes(v, 1, 2), whole, rtol=1e-5, atol=1e-5)
    same, none = primitives.SelfAdjointEig(False)(x)
    assert (same.asnumpy() == values.asnumpy()).all()
    assert not none.asnumpy().any()


X, ROWS = NAMES["f"](2, 3), NAMES["l"]([0, 0], [1, 2])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: sparse_segments.SparseSegmentSum()(X, Tensor([0, 1]), Tensor([0, 2])),
            "must begin with 0 and leave none",
        ),
        (
            lambda: sparse_segments.SparseSegmentMean()(X, Tensor([0, 1]), Tensor([1, 0])),
            "SparseSegmentMean: .* ascending",
        ),
        (lambda: sparse_segments.SparseSegmentSqrtN()(X.astype("int32"), ROWS[0], ROWS[0]), "expected floats"),
        (
            lambda: sparse_segments.SparseSegmentSumWithNumSegments()(X, ROWS[0], ROWS[0], 2),
            "num_segments must be a Tensor",
        ),
        (lambda: sparse_segments.SparseSegmentSum()(X, Tensor([0, 5]), Tensor([0, 0])), "index 5 is out of range"),
        (
            lambda: sparse_coordinates.SparseReorder()(ROWS, X[0], Tensor([2, 3])),
            "SparseReorder: .* expected .n, axes.",
        ),
        (
            lambda: sparse_coordinates.SparseReorder()(ROWS, X[0, :2], Tensor([2, 2])),
            "indices must lie within the shape",
        ),
        (
            lambda: sparse_coordinates.SparseReshape()(ROWS, Tensor([2, 3]), Tensor([4, -1])),
            "as many elements as the shape",
        ),
        (
            lambda: sparse_coordinates.SparseDenseCwiseAdd()(ROWS, X[0, :2], Tensor([2, 3]), X[:, :2]),
            "is broadcast to x1",
        ),
        (
            lambda: sparse_coordinates.SparseConcat()((ROWS,), (X[0, :2],), (Tensor([2, 3]),)),
            "SparseConcat: .* two or more",
        ),
        (
            lambda: sparse_coordinates.SparseToDenseV2()(Tensor([2, 1]), Tensor([4]), X[0, :2], X[0, 0]),
            "SparseToDenseV2: .* ascending order, none twice",
        ),
        (lambda: sparse_rows.SparseMatrixNNZ()(X, X, X, X), "SparseMatrixNNZ: missing 1 required"),
        (lambda: sparse_rows.CSRSparseMatrixToDense()(*[Tensor([1, 2, 3])] * 4, X[0]), "expected one matrix"),
        (
            lambda: primitives.ResizeV2("align_corners")(X[None, None, :1], X, X, Tensor([1, 1, 1, 5])),
            "must be 'half_pixel'",
        ),
        (lambda: primitives.ResizeV2()(X[None, None], X, X, Tensor([1, 1, 2, 5])), "expected .N, C, 1, W."),
        (lambda: primitives.AdjustContrastv2()(X, X[0, 0]), "AdjustContrastv2: .* expected"),
        (lambda: primitives.TridiagonalSolve()(X, X), "TridiagonalSolve: .* expected"),
        (lambda: primitives.PSROIPooling(1.0, 2, 2)(X, X), "PSROIPooling: .* expected"),
        (lambda: primitives.CropAndResizeGradImage("int32")(X, X, X, X), "T must be float16, float32 or float64"),
    ],
)
def test_what_does_not_fit_is_said(call, says):
    with pytest.raises((TypeError, ValueError, IndexError), match=says):
        call()
