"""Integers that a Cell is called with and that axes, sizes and shapes are made of: compiled for each of their values."""

import warnings

import numpy as np
import pytest

import graphc
from graphc import Tensor, mutable, nn, ops
from graphc.steps.calls import step_of

X = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


class Of(nn.Cell):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def construct(self, *inputs):
        return self.fn(*inputs)


#: name -> the function, what NumPy makes of the array and integers, the integers.
CASES = {
    "axis": (lambda x, a: ops.reduce_sum(x, a), lambda x, a: x.sum(a), [1, 2]),
    "axes": (lambda x, a: ops.reduce_sum(x, a), lambda x, a: x.sum(tuple(a)), [[0, 2], [1, 2]]),
    "items as axes": (lambda x, a: ops.ReduceSum()(x, (a[0], a[1])), lambda x, a: x.sum(tuple(a)), [[0, 2], [0, 1]]),
    "permutation": (lambda x, a: ops.transpose(x, a), lambda x, a: x.transpose(a), [[2, 0, 1], [1, 0, 2]]),
    "shape": (lambda x, a: x.reshape(a), lambda x, a: x.reshape(a), [[4, 6], [-1, 3]]),
    "shape of items": (lambda x, a: ops.reshape(x, (a[0], -1)), lambda x, a: x.reshape(a[0], -1), [[4, 6], [3, 8]]),
    "shape, computed": (lambda x, a: x.reshape(a * 2), lambda x, a: x.reshape(np.array(a) * 2), [[2, 3], [1, 6]]),
    "size by item()": (lambda x, a: ops.ones((a.item(), 2)) * x.sum(), lambda x, a: np.full((a, 2), x.sum()), [3, 2]),
    "size by int()": (lambda x, a: ops.ones((int(a), 2)) * x.sum(), lambda x, a: np.full((a, 2), x.sum()), [3, 2]),
    "repeats": (lambda x, a: ops.tile(x, a), lambda x, a: np.tile(x, a), [[2, 1, 1], [1, 2, 3]]),
    "broadcast": (
        lambda x, a: ops.broadcast_to(x[0, 0], a),
        lambda x, a: np.broadcast_to(x[0, 0], a),
        [[2, 4], [3, 4]],
    ),
    "padding": (lambda x, a: ops.pad(x, a), lambda x, a: np.pad(x, ((0, 0), (0, 0), tuple(a))), [[1, 2], [0, 1]]),
    "range": (lambda x, a: ops.arange(a.max()) + x.sum(), lambda x, a: np.arange(max(a)) + x.sum(), [[2, 5], [3, 1]]),
    "slice": (lambda x, a: ops.slice(x, (0, 0, 0), a), lambda x, a: x[: a[0], : a[1], : a[2]], [[1, 2, 3], [2, 2, 2]]),
    "bounds": (
        lambda x, a: ops.strided_slice(x[0], a, (3, 4), (1, 1)),
        lambda x, a: x[0, a[0] :, a[1] :],
        [[0, 1], [1, 2]],
    ),
    "item of a tuple": (lambda x, a: (x, x * 2)[a], lambda x, a: (x, x * 2)[a], [0, 1]),
    "rows that are set": (lambda x, a: set_rows(x * 1, a), lambda x, a: set_rows(x * 1, a), [0, 1]),
}


def set_rows(x, a):
    x[:, a : a + 2] = x[:, :2] * 0 + 7
    return x


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("as_mutable", [False, True])
def test_values(name, as_mutable):
    """One value after the other, and again the first."""
    function, wanted, integers = CASES[name]
    if as_mutable and any(word in name for word in ("item()", "computed", "range")):
        pytest.skip("a method of tensors")
    cell, steps = Of(function), set()
    for each in (*integers, *integers):
        given = mutable(tuple(each) if isinstance(each, list) else each) if as_mutable else Tensor(np.array(each))
        np.testing.assert_allclose(cell(Tensor(X), given).asnumpy(), wanted(X, each), rtol=1e-6)
        steps.update(map(id, cell._graphc_attached.values["steps"]._steps.values()))
    assert len(steps) <= 2


def test_gradients():
    by_x = graphc.grad(lambda x, shape: (x.reshape(shape)[0] * 2).sum())
    for shape in ([4, 6], [3, 8], [4, 6]):
        wanted = np.zeros(24, np.float32)
        wanted[: shape[1]] = 2
        np.testing.assert_array_equal(by_x(Tensor(X), Tensor(np.array(shape))).asnumpy().reshape(-1), wanted)


def test_what_is_not_needed_stays_an_input():
    """Labels beside a shape: one step for all labels."""
    cell = Of(lambda x, labels, shape: (x * labels).reshape(shape))
    for k in range(4):
        labels = np.array([k, 1, 2, 3])
        made = cell(Tensor(X), Tensor(labels), Tensor(np.array([6, 4])))
        np.testing.assert_array_equal(made.asnumpy(), (X * labels).reshape(6, 4))
    assert len(cell._graphc_attached.values["steps"]._steps) == 1


def test_it_is_said():
    cell = Of(lambda x, n: ops.arange(n) + x.sum())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(1, 7):
            assert cell(Tensor(X), Tensor(n)).shape == (n,)
    said = [str(w.message) for w in caught if issubclass(w.category, graphc.RecompileWarning)]
    assert len(said) == 1
    assert "holds is something else" in said[0]


def test_steps_for_good_are_refused():
    """There the integers of other calls would be others, and so in loops that do not come back to Python."""
    cell, given = Of(lambda x, a: ops.reduce_sum(x, a)), (Tensor(X), Tensor(1))
    with pytest.raises(TypeError, match=r"GC120.*axis must be known while the Cell is compiled"):
        graphc.compile(cell, *given)
    cell(*given)
    with pytest.raises(TypeError, match=r"GC120.*axis must be known while the Cell is compiled"):
        step_of(cell, given)


def test_what_does_not_help_is_the_first_error():
    cell = Of(lambda x, a: x.reshape(a))
    for _ in range(2):
        with pytest.raises(TypeError, match=r"GC120.*must be known while the Cell is compiled"):
            cell(Tensor(X), Tensor(np.array([5, 5])))
    np.testing.assert_array_equal(cell(Tensor(X), Tensor(np.array([6, 4]))).asnumpy(), X.reshape(6, 4))
