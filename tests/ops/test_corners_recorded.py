"""Arguments and operands that are rare, against what MindSpore 2.10 computed, or torch where it is said: values and dtypes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import graphc
import graphc.mint.nn.functional
from graphc import Tensor, mint, nn, ops
from tests.cells import Of

INF, NAN = math.inf, math.nan
PAIRS = np.array([[1, 2], [3, 3]], np.float32)
TWOS = np.full((3, 2, 2), 2, np.int8)
BOXES = [[2, 4, 1, 1], [0, 0, 3, 3]]


#: name: (function, operands, result, its dtype)
CORNERS = {
    "NaN becomes infinite": (lambda x: ops.nan_to_num(x, nan=INF, posinf=2.0), ([NAN, INF],), [INF, 2], "float32"),
    "heaviside of NaN": (ops.heaviside, ([NAN, 0, 1], [5.0] * 3), [0, 5, 1], "float32"),
    "tens": (lambda x: ops.round(x, decimals=-3), ([1200.1, 500, -1700],), [1000, 0, -2000], "float32"),
    "least integers are close": (ops.isclose, (np.array([-(2**31)], np.int32),) * 2, [True], "bool"),
    "no differences": (lambda x, y: mint.diff(x, 0, prepend=y), ([1, 2, 4], [0]), [1, 2, 4], "int64"),
    "indices without coordinates": (ops.gather_nd, (PAIRS, np.zeros((2, 0), np.int32)), [PAIRS] * 2, "float32"),
    "boxes whose ends are exchanged": (ops.iou, (np.float32(BOXES), np.float32([[1, 4, 2, 1]])), [[0, 0]], "float32"),
    "as many degrees of freedom as elements": (lambda x: ops.var(x, 1, ddof=2), (PAIRS,), [INF, NAN], "float32"),
    "more, by torch": (lambda x: mint.std(x, 1, correction=3), (PAIRS,), [INF, NAN], "float32"),
    "one row has a variance": (ops.cov, (np.float16([[1, 2, 4]]),), 7 / 3, "float32"),
    "a correction beyond the observations": (
        lambda x: ops.cov(x, correction=5),
        (PAIRS,),
        [[INF, NAN], [NAN, NAN]],
        "float32",
    ),
    "alpha of halves and integers": (lambda x, y: mint.sub(x, y, alpha=0.5), (np.float16([4]), [3]), [2.5], "float16"),
    "int64 quotients": (ops.addcdiv, ([1, 2], [3, 2], [2, 2], [1]), [2, 3], "int64"),
    "a wider slope": (ops.prelu, (np.float16([[1, -2]]), np.float32([0.25])), [[1, -0.5]], "float16"),
    "products of int8": (lambda x: ops.addbmm(x[0], x, x), (TWOS,), [[26, 26]] * 2, "int64"),
    "products of int8, by torch": (lambda x: mint.addbmm(x[0], x, x), (TWOS,), [[26, 26]] * 2, "int8"),
    "bins of halves": (lambda x: ops.histc(x, 2), (np.float16([1, 2]),), [1, 1], "float32"),
    "bins between equal bounds": (lambda x: ops.histc(x, 2, -1, -1), ([1.0, 2.0, 4.0],), [2, 1], "float32"),
    "a median beside NaN": (lambda x: ops.median(x)[0], ([3.0, NAN, 2.0],), NAN, "float32"),
    "its place": (lambda x: ops.median(x)[1], ([3.0, NAN, 2.0],), 1, "int64"),
    "hues of halves": (ops.AdjustHue(), (np.float16([[0, 0, 1]]), np.float32(1 / 3)), [[1, 0, 0]], "float16"),
    "the place of a median of all": (lambda x: ops.Median(True)(x)[1], ([3.0, 1.0, 2.0],), 0, "int64"),
    "NaN below a threshold, by torch": (
        lambda x: mint.nn.functional.threshold(x, 2, 7),
        ([NAN, 1, 3.0],),
        [NAN, 7, 3],
        "float32",
    ),
    "zero vectors, by torch": (
        mint.nn.functional.cosine_embedding_loss,
        ([[0, 0], [1, 2.0]], PAIRS, [1, -1]),
        0.97434165,
        "float32",
    ),
    "a trace of int8, by torch": (mint.trace, (TWOS[0],), 4, "int64"),
    "sizes of complex numbers, by torch": (ops.vector_norm, (np.complex64([3 + 4j, 12j]),), 13, "float32"),
    "the two of a matrix": (lambda x: ops.norm(x, 1), (np.complex64([[3 + 4j, 12j]]),), 12, "float32"),
}


@pytest.mark.parametrize("name", CORNERS)
def test_corners(name):
    function, operands, wanted, dtype = CORNERS[name]
    given = [Tensor(x) for x in operands]
    for made in (function(*given), Of(function)(*given)):
        array = made.asnumpy()
        assert array.dtype == dtype
        assert array.shape == np.shape(wanted)
        np.testing.assert_allclose(array, wanted, rtol=1e-6)


def test_what_is_known_where_it_is_computed():
    assert [p.shape for p in mint.chunk(Tensor(PAIRS[:0]), 3)] == [(0, 2)] * 3
    counted = mint.bincount(Tensor([1, 2, 2]))
    assert (counted.asnumpy().dtype, counted.asnumpy().tolist()) == (np.int64, [0, 1, 2])
    assert ops.SegmentMax()(Tensor([-INF, 1.0]), Tensor([0, 2])).asnumpy().tolist() == [-INF, 0, 1]
    assert ops.SegmentMin()(Tensor([INF, 1.0]), Tensor([0, 2])).asnumpy().tolist() == [INF, 0, 1]
    nuclear = ops.matrix_norm(Tensor(PAIRS, "float16"), "nuc").asnumpy()
    assert nuclear.dtype == np.float32
    assert abs(nuclear - 5.3851647) < 1e-5
    loss, total = ops.NLLLoss()(Tensor(PAIRS, "float16"), Tensor([1, 0], "int32"), Tensor([1.0, 3.0]))
    assert [x.asnumpy().dtype for x in (loss, total)] == [np.float16] * 2
    assert [float(x) for x in (loss, total)] == [-2.25, 4]


def test_tensors_are_assigned_in_place():
    held = Tensor([1.0, 2.0])
    assert ops.assign(held, Tensor([3, 4], "int32")) is held
    ops.assign_add(held, Tensor([1.0, 1.0]))
    ops.AssignSub()(held, Tensor([0.0, 2.0]))
    assert held.asnumpy().tolist() == [4, 3]
    with pytest.raises(ValueError, match=r"assign: the value is f32\[3\], the tensor f32\[2\]"):
        ops.assign(held, Tensor([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match="assign: a float64 value cannot go into a tensor, which is"):
        ops.assign(held, Tensor([1.0, 2.0], "float64"))
    weights, stat = Tensor([2.0, -0.5]), Tensor([1.5, -0.3])
    ops.SGD()(weights, Tensor([1.0, -1.0]), Tensor(0.01), Tensor([0.1, 0.3]), Tensor(0.1), stat)
    np.testing.assert_allclose(weights.asnumpy(), [1.99, -0.4903], rtol=1e-6)
    assert stat.asnumpy().tolist() == [0, 0]


@pytest.mark.parametrize("function", [ops.batch_norm, mint.nn.functional.batch_norm])
def test_batch_norm_moves_running_statistics_that_are_tensors(function):
    mean, variance, one = Tensor([0.0, 0.0]), Tensor([1.0, 1.0]), Tensor([1.0, 1.0])
    function(Tensor([[1.0, 2.0], [3.0, 5.0]]), mean, variance, one, one, True)
    np.testing.assert_allclose(mean.asnumpy(), [0.2, 0.35], rtol=1e-6)
    np.testing.assert_allclose(variance.asnumpy(), [1.1, 1.35], rtol=1e-6)
    with pytest.raises(graphc.TraceError, match="a constant of the compiled Cell cannot be changed"):
        Of(lambda x: function(x, mean, variance, one, one, True))(Tensor([[1.0, 2.0], [3.0, 5.0]]))


ROWS = np.array([[3, 4], [0.125, 0.25], [6, 8], [1, 0]], np.float32)


def test_embeddings_scale_rows_down_in_their_table():
    """Results, gradients and tables are those of torch."""
    index = Tensor([[0, 1], [0, 3]])
    table = Tensor(ROWS)
    found = mint.nn.functional.embedding(index, table, max_norm=2.5)
    np.testing.assert_allclose(found.asnumpy(), [[[1.5, 2], [0.125, 0.25]], [[1.5, 2], [1, 0]]], rtol=1e-6)
    np.testing.assert_allclose(table.asnumpy(), [[1.5, 2], [0.125, 0.25], [6, 8], [1, 0]], rtol=1e-6)
    step = graphc.compile(Of(lambda x, w: ops.embedding(x, w, max_norm=2.5)), index, Tensor(ROWS))
    assert str(step.graph).count("InBounds") == 1
    counts = [[2, 2], [1, 1], [0, 0], [1, 1]]
    by_table = ops.grad(lambda w: ops.embedding(index, w, max_norm=2.5).sum())(Tensor(ROWS))
    np.testing.assert_array_equal(by_table.asnumpy(), counts)
    for layer in (
        mint.nn.Embedding(4, 2, max_norm=3.5, norm_type=1.0, _weight=Tensor(ROWS)),
        nn.EmbeddingExt(4, 2, max_norm=3.5, norm_type=1.0, _weight=Tensor(ROWS)),
    ):
        step = ops.value_and_grad(Of(lambda x, cell=layer: cell(x).sum()), None, [layer.weight])
        value, (gradient,) = step(index)
        np.testing.assert_allclose(value.asnumpy(), 2 * 3.5 + 0.375 + 1, rtol=1e-6)
        np.testing.assert_array_equal(gradient.asnumpy(), counts)
        np.testing.assert_allclose(layer.weight.asnumpy(), [[1.5, 2], [0.125, 0.25], [6, 8], [1, 0]], rtol=1e-6)


def test_halves_and_integers_have_decompositions_and_powers():
    half = Tensor(PAIRS, "float16")
    q, r = ops.qr(half)
    assert {x.asnumpy().dtype for x in (q, r, ops.lstsq(half, half))} == {np.dtype(np.float16)}
    np.testing.assert_allclose((q @ r).asnumpy(), PAIRS, rtol=4e-3)
    np.testing.assert_allclose(ops.lstsq(half, half).asnumpy(), np.eye(2), atol=4e-3)
    assert ops.matrix_power(Tensor([[1, 2], [3, 3]], "int8"), 3).asnumpy().tolist() == [[31, 38], [57, 69]]
    with pytest.raises(ValueError, match="matrix_power: x is i8"):
        ops.matrix_power(Tensor([[1, 2], [3, 3]], "int8"), -1)
    assert ops.gcd(*[Tensor(np.zeros(0, np.int32))] * 2).shape == (0,)
    assert ops.glu(Tensor(np.zeros((2, 0), np.float32))).shape == (2, 0)


def test_tensors_without_axes_have_a_first_and_a_last_one():
    one = Tensor(2.0)
    for made in (mint.nn.functional.softmax(one), ops.squeeze(one, 0), ops.norm(one, dim=-1), one.squeeze(-1)):
        assert made.shape == ()
    assert float(mint.nn.functional.log_softmax(one, -1)) == 0
    assert mint.item(Tensor([3.0])) == 3
    values, places = mint.max(Tensor([False, True]), 0)
    assert (values.asnumpy().dtype, bool(values), int(places)) == (np.bool_, True, 1)


def test_elu_is_smooth_at_zero():
    for function in (ops.elu, mint.nn.functional.elu):
        assert ops.grad(function)(Tensor([0.0, -1.0])).asnumpy() == pytest.approx([1, math.exp(-1)], rel=1e-6)
