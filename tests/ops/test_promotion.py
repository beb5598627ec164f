"""Which dtype a result has: numbers that were cast, tensors without axes, norms of halves."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, mutable, nn, ops
from tests.cells import Of


def both(function, *arrays):
    """(compiled result, result outside a Cell), which agree."""
    compiled, eager = Of(function)(*map(Tensor, arrays)), function(*map(Tensor, arrays))
    assert compiled.dtype == eager.dtype
    np.testing.assert_allclose(compiled.asnumpy(), eager.asnumpy(), rtol=3e-7 if compiled.tensor_type.is_float else 0)
    return compiled


I32, F16 = np.array([2**25 + 1, 3], np.int32), np.array([1, 2], np.float16)


def test_a_number_that_was_cast_has_its_dtype():
    assert both(lambda x: x + ops.cast(1, graphc.int32), I32).dtype == graphc.int32
    assert both(lambda x: x + ops.cast(1.0, graphc.float32), F16).dtype == graphc.float32
    assert both(lambda x: x + ops.cast(1, graphc.int64), I32).dtype == graphc.int64
    assert both(lambda x: x + ops.cast(True, graphc.int8), np.array([1], np.uint8)).dtype == graphc.int16


@pytest.mark.parametrize("dtype", [graphc.float32, graphc.float64])
def test_a_variable_number_that_was_cast_has_its_dtype(dtype):
    made = Of(lambda x, n: x + ops.cast(n, dtype))(Tensor(F16), mutable(0.5))
    assert made.dtype == dtype
    np.testing.assert_array_equal(made.asnumpy(), [1.5, 2.5])


def test_a_variable_number_itself_takes_the_dtype_beside_it():
    assert Of(lambda x, n: x + n)(Tensor(F16), mutable(0.5)).dtype == graphc.float16
    assert Of(lambda x, n: x + n)(Tensor(I32), mutable(1)).dtype == graphc.int32


def test_shifts_by_a_number_stay_integers():
    np.testing.assert_array_equal(both(lambda x: ops.bitwise_left_shift(x, 1), I32).asnumpy(), [2**26 + 2, 6])
    np.testing.assert_array_equal(both(lambda x: ops.bitwise_right_shift(x, 1), I32).asnumpy(), [2**24, 1])
    assert both(lambda x: ops.bitwise_left_shift(x, 1), I32).dtype == graphc.int32


def test_bounds_of_integers_are_integers():
    made = both(lambda x: ops.clip_by_value(x, 4, 2**25 + 1), np.array([2**25 + 3, 3], np.int32))
    assert made.dtype == graphc.int32
    np.testing.assert_array_equal(made.asnumpy(), [2**25 + 1, 4])


def test_a_number_is_not_rounded_on_its_way_to_float64():
    assert both(lambda x: x + ops.cast(0.1, graphc.float64), np.zeros(1)).asnumpy() == 0.1
    made = both(lambda x: ops.clip_by_value(x, -0.7, 0.7), np.array([-1.0, 1.0]))
    np.testing.assert_array_equal(made.asnumpy(), [-0.7, 0.7])


INTEGERS = ["int8", "uint8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]

#: Functions whose sums of integers are taken in int64, as in MindSpore, and those that keep the dtype, as there.
WIDENED = {
    "sum": ops.sum,
    "Tensor.sum": lambda x: x.sum(),
    "sum over an axis": lambda x: ops.sum(x, 0),
    "prod": ops.prod,
    "Tensor.prod": lambda x: x.prod(),
    "cumprod": lambda x: ops.cumprod(x, 0)[-1],
}
KEPT = {
    "reduce_sum": ops.reduce_sum,
    "ReduceSum": ops.ReduceSum(),
    "ReduceProd": ops.ReduceProd(),
    "nansum": ops.nansum,
    "amax": ops.amax,
    "ptp": lambda x: x.ptp(),
}


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS])
@pytest.mark.parametrize("name", WIDENED)
def test_sums_and_products_of_integers_are_int64(name, dtype):
    x = np.full(5, 1 if dtype == "bool" else 100, dtype)
    made = both(WIDENED[name], x)
    assert made.dtype == graphc.int64
    assert int(made) == (x.astype(int).prod() if "prod" in name else x.astype(int).sum())


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", KEPT)
def test_reductions_named_after_the_primitives_keep_the_dtype(name, dtype):
    assert str(both(KEPT[name], np.array([1, 2, 3], dtype)).tensor_type.dtype) == dtype


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_a_dtype_given_is_the_dtype_of_the_sum(name):
    made = both(lambda x: getattr(ops, name)(x, dtype=graphc.float32), np.array([100, 100], np.int8))
    assert made.dtype == graphc.float32
    assert float(made) == (200 if name == "sum" else 10000)


@pytest.mark.parametrize(("dtype", "expected"), [("int8", "int32"), ("int32", "int32"), ("int64", "int64")])
def test_running_sums(dtype, expected):
    x = np.array([100, 100], dtype)
    made = both(lambda x: x.cumsum(0), x)
    assert made.tensor_type.dtype == expected
    np.testing.assert_array_equal(made.asnumpy(), [100, 200])


@pytest.mark.parametrize("function", [ops.std, ops.var, ops.norm])
def test_moments_of_integers_are_float32(function):
    x = np.array([1, 2, 6], np.int32)
    made = both(function, x)
    assert made.dtype == graphc.float32
    expected = {ops.std: x.std(), ops.var: x.var(), ops.norm: np.sqrt((x * x).sum())}[function]
    assert float(made) == pytest.approx(float(expected))


#: (function, dtype of a vector, dtype of a tensor without axes, dtype of the result), as in MindSpore.
SCALED = [
    (ops.mul, "float16", "float32", "float16"),
    (ops.div, "float16", "float32", "float16"),
    (ops.mul, "bfloat16", "float32", "bfloat16"),
    (ops.mul, "float32", "float64", "float32"),
    (ops.mul, "float64", "float32", "float64"),
    (ops.mul, "int8", "int64", "int8"),
    (ops.mul, "int8", "float32", "float32"),
    (ops.mul, "float16", "int64", "float16"),
    (ops.div, "int8", "int32", "float32"),
    (ops.mul, "bool", "int8", "int8"),
    (ops.add, "float16", "float32", "float32"),
    (ops.sub, "int8", "int64", "int64"),
    (ops.maximum, "float16", "float32", "float32"),
    (ops.pow, "float16", "float32", "float32"),
]


@pytest.mark.parametrize(("function", "vector", "number", "expected"), SCALED)
def test_a_factor_without_axes_takes_the_dtype_of_the_tensor(function, vector, number, expected):
    x, y = ops.cast(Tensor([1, 1]), vector), ops.cast(Tensor(1), number)
    for a, b in ((x, y), (y, x)):
        assert Of(function)(a, b).tensor_type.dtype == function(a, b).tensor_type.dtype == expected
        # Among themselves, and beside one element with an axis, they are promoted as ever.
    assert function(x[0], y).tensor_type.dtype == function(x, ops.reshape(y, (1,))).tensor_type.dtype


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_norms_keep_the_dtype(dtype):
    x = ops.cast(Tensor(np.random.default_rng(0).standard_normal((2, 4, 3, 3)).astype(np.float32)), dtype)
    for layer in (
        nn.GroupNorm(2, 4),
        nn.InstanceNorm2d(4),
        nn.LayerNorm((3,)),
        nn.BatchNorm2d(4),
        nn.PReLU(4),
        lambda x: ops.group_norm(x, 2),
    ):
        made = Of(layer)(x)
        assert made.tensor_type.dtype == dtype
    penalty = Of(nn.L1Regularizer(0.5))(x)
    assert penalty.tensor_type.dtype == ("float64" if dtype == "float64" else "float32")  # Its scale is float32.


def test_a_group_norm_of_halves_is_rounded_once():
    x = np.random.default_rng(0).standard_normal((2, 4, 8, 8)).astype(np.float16)
    wide = nn.GroupNorm(2, 4)(Tensor(x.astype(np.float32))).asnumpy()
    np.testing.assert_array_equal(nn.GroupNorm(2, 4)(Tensor(x)).asnumpy(), wide.astype(np.float16))
