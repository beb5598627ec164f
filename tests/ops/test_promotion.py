"""Which dtype a result has: numbers that were cast, tensors without axes, norms of halves."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, mutable, nn, ops


class Of(nn.Cell):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def construct(self, *inputs):
        return self.function(*inputs)


def both(function, *arrays):
    """(compiled result, result outside a Cell), which agree."""
    compiled, eager = Of(function)(*map(Tensor, arrays)), function(*map(Tensor, arrays))
    assert compiled.dtype == eager.dtype
    np.testing.assert_array_equal(compiled.asnumpy(), eager.asnumpy())
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
