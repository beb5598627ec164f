"""Which dtypes are moved, indexed and combined bit by bit, and what is said of those that are not."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.ir.types import numpy_dtype
from tests.cells import Of

DTYPES = [
    "bool", "int8", "uint8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float32", "float64",
]  # fmt: skip
INTEGERS = DTYPES[1:9]
ROWS = Tensor(np.array([4, 0, 0, 2], np.int32))


def both(function, *arrays):
    compiled, eager = Of(function)(*map(Tensor, arrays)), function(*map(Tensor, arrays))
    assert compiled.dtype == eager.dtype
    np.testing.assert_array_equal(compiled.asnumpy(), eager.asnumpy())
    return compiled


def matrix(dtype, *shape):
    x = np.random.default_rng(0).integers(0, 100, shape or (5, 19)).astype(dtype)
    return x + np.asarray(1e-12) if dtype == "float64" else x


MOVES = {
    "stack": lambda x: ops.stack((x, x), 1),
    "concat": lambda x: ops.concat((x, x[:2])),
    "pad": lambda x: ops.pad(x, (1, 2)),
    "roll": lambda x: ops.roll(x, 3, 1),
    "flip": lambda x: ops.flip(x, (0,)),
    "tile": lambda x: ops.tile(x, (2, 1)),
    "gather": lambda x: ops.gather(x, ROWS, 0),
    "gather along the last axis": lambda x: ops.gather(x, ROWS, 1),
    "gather_elements": lambda x: ops.gather_elements(x, 0, Tensor(np.ones((1, 19), np.int32))),
    "update": lambda x: ops.tensor_scatter_update(x, Tensor(np.array([[1], [3]], np.int32)), x[3:5]),
    "update of elements": lambda x: ops.tensor_scatter_elements(x, Tensor(np.array([[3] * 19], np.int32)), x[4:], 0),
    "reflected": lambda x: ops.pad(x, (2, 3), "reflect"),
    "tril": ops.tril,
    "transposed": lambda x: ops.transpose(x, (1, 0)),
}


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
@pytest.mark.parametrize("name", MOVES)
def test_every_dtype_is_moved(name, dtype):
    if dtype != "bool" or name != "reflected":
        assert both(MOVES[name], matrix(numpy_dtype(dtype))).tensor_type.dtype == dtype


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_halves_are_taken_from_is_not_converted(dtype):
    """Of a table only the rows that are asked for are read."""
    table = Tensor(matrix(numpy_dtype(dtype), 500, 64))
    for name in ("gather", "gather_elements", "update"):
        step = graphc.compile(Of(MOVES[name]), table[:, :19] if name == "gather_elements" else table)
        assert step.memory["arena"] <= 500 * 64 * 2 + 1000


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("mode", ["add", "mul", "max", "min"])
def test_integers_are_scattered_with_their_own_wrap(mode, dtype):
    combine = getattr(ops, f"tensor_scatter_{mode}")
    both(lambda x: combine(x, Tensor(np.array([[1], [1], [4]], np.int32)), x[2:]), matrix(dtype))


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_running_sums_and_places(dtype):
    x = matrix(dtype, 3, 4)
    both(lambda x: ops.cumsum(x, 1), x // 10)
    both(lambda x: ops.argmax(x, 1), x)
    both(lambda x: ops.argmin(x, 0), x)
    both(lambda x: ops.sort(x)[0], x)


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS])
def test_bits(dtype):
    x, y = matrix(dtype), matrix(dtype)[:, ::-1].copy()
    for function, expected in (
        (ops.bitwise_and, np.bitwise_and), (ops.bitwise_or, np.bitwise_or), (ops.bitwise_xor, np.bitwise_xor)
    ):  # fmt: skip
        np.testing.assert_array_equal(both(function, x, y).asnumpy(), expected(x, y))
    np.testing.assert_array_equal(both(ops.bitwise_not, x).asnumpy(), np.invert(x))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_every_number_of_bits(dtype):
    ends = np.iinfo(dtype)
    x = np.array([ends.min, ends.max, 0, 1, 100, ends.max // 3], dtype)[:, None]
    by = np.arange(np.dtype(dtype).itemsize * 8, dtype=dtype)[None]
    right = both(ops.bitwise_right_shift, x, by)
    assert right.tensor_type.dtype == dtype
    np.testing.assert_array_equal(right.asnumpy(), np.right_shift(x, by))
    np.testing.assert_array_equal(both(ops.bitwise_left_shift, x, by).asnumpy(), np.left_shift(x, by))


@pytest.mark.parametrize("worst", [0.0, 1e300, np.inf, np.nan])
def test_overflow_of_float64_is_seen(worst):
    x = np.array([1.0, worst, 2.0])

    class Checked(nn.Cell):
        def construct(self, x):
            status = ops.clear_float_status()
            return ops.get_float_status(status, (ops.depend(x, status) * 1.0,))

    assert bool(Of(lambda x: ops.all_finite((x,)))(Tensor(x))) == np.isfinite(worst)
    assert bool(Checked()(Tensor(x))) != np.isfinite(worst)


IMAGE = np.ones((1, 1, 4, 4))


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x: ops.matmul(x, x), np.ones((3, 3))),
        (ops.softmax, np.ones((3, 3))),
        (lambda x: ops.conv2d(x, x), IMAGE),
        (nn.MaxPool2d(2, 2), IMAGE),
        (nn.AvgPool2d(2, 2), IMAGE),
        (lambda x: ops.tensor_scatter_add(x, Tensor(np.array([[0]], np.int32)), x[:1]), np.ones((3, 3))),
        (lambda x: ops.GradOperation()(lambda x: ops.gather(x, ROWS, 0))(x), np.ones((5, 3))),
    ],
)
def test_float64_has_kernels(function, x):
    x = x + np.random.default_rng(0).standard_normal(x.shape)
    got = Of(function)(Tensor(x))
    assert got.tensor_type.dtype == "float64"
    try:
        graphc.set_context(mode=graphc.PYNATIVE_MODE)
        wanted = Of(function)(Tensor(x))
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=1e-13, atol=1e-13)


def test_running_extrema_of_bools_are_refused():
    with pytest.raises(TypeError, match=r"cummax: x is b1\[2\], expected numbers"):
        ops.cummax(Tensor([True, False]), 0)
