"""What is made of LU factors: values, gradients and ends of the domain, compiled and not, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.ops import primitives as P
from graphc.ops.declared import lu, triangular


def both(function, *arrays):
    """The results of an eager call and of a compiled one."""

    class Of(nn.Cell):
        def construct(self, *inputs):
            return function(*inputs)

    made = function(*map(Tensor, arrays)), Of()(*map(Tensor, arrays))
    return [[y.asnumpy() for y in (x if isinstance(x, tuple) else (x,))] for x in made]


def matrices(*shape, dtype=np.float64, seed=0):
    """Matrices with moderate condition, whose rows must be exchanged."""
    rng = np.random.default_rng(seed)
    size = shape[-1]
    order = rng.permutation(size)
    return (rng.standard_normal(shape) / (size or 1) + np.eye(size)[order]).astype(dtype)


SHAPES = [(1, 1), (2, 2), (3, 5, 5), (2, 2, 13, 13), (1, 64, 64), (53, 53), (101, 101), (4, 0, 0), (0, 3, 3)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_values(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    exact = a.astype(np.float64)
    right = np.random.default_rng(1).standard_normal((*shape[:-1], 3)).astype(dtype)
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    cases = (
        (ops.inverse, (a,), (np.linalg.inv(exact),)),
        (ops.det, (a,), (np.linalg.det(exact),)),
        (ops.slogdet, (a,), np.linalg.slogdet(exact)),
        (ops.matrix_solve, (a, right), (np.linalg.solve(exact, right),)),
        (P.MatrixSolve(True), (a, right), (np.linalg.solve(exact.swapaxes(-1, -2), right),)),
    )
    for function, operands, wanted in cases:
        for made in both(function, *operands):
            for got, want in zip(made, wanted, strict=True):
                assert (got.dtype, got.shape) == (dtype, np.shape(want))
                np.testing.assert_allclose(got, want, tolerance, tolerance * abs(want).max(initial=1))


@pytest.mark.parametrize("size", [1, 4, 31])
def test_gradients(size):
    a, weights = matrices(2, size, size, seed=size), np.random.default_rng(2).standard_normal((2, size, size))
    right = np.random.default_rng(3).standard_normal((2, size, size))
    inverse, det = np.linalg.inv(a), np.linalg.det(a)
    across, sides = inverse.swapaxes(1, 2), inverse.swapaxes(1, 2) @ weights
    cases = (
        (ops.inverse, weights, -across @ weights @ across),
        (ops.det, weights[:, 0, 0], (det * weights[:, 0, 0])[:, None, None] * across),
        (lambda x: ops.slogdet(x)[1], weights[:, 0, 0], weights[:, :1, :1] * across),
        (lambda x: ops.matrix_solve(x, Tensor(right)), weights, -sides @ (inverse @ right).swapaxes(1, 2)),
        (lambda x: ops.matrix_solve(Tensor(a), x), weights, sides),
        (
            lambda x: ops.matrix_solve(x, Tensor(right), True),
            weights,
            -(across @ right) @ (inverse @ weights).swapaxes(1, 2),
        ),
    )
    for k, (function, by, want) in enumerate(cases):
        for (got,) in both(lambda x, f=function, by=by: ops.grad(lambda y: (f(y) * Tensor(by)).sum())(x), a):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9 * abs(want).max(), err_msg=f"{k}")


def test_gradients_of_gradients_and_tangents():
    a, step = matrices(2, 4, 4), np.random.default_rng(4).standard_normal((2, 4, 4))
    inverse, det = np.linalg.inv(a), np.linalg.det(a)

    def slope(x):
        return (np.linalg.det(x)[:, None, None] * np.linalg.inv(x).swapaxes(1, 2) * step).sum()

    def second(x):
        return ops.grad(lambda x: (ops.grad(lambda x: ops.det(x).sum())(x) * Tensor(step)).sum())(x)

    want = np.zeros_like(a)
    for i in np.ndindex(a.shape):
        near = np.zeros_like(a)
        near[i] = 1e-5
        want[i] = (slope(a + near) - slope(a - near)) / 2e-5
    for (got,) in both(second, a):
        np.testing.assert_allclose(got, want, atol=1e-8)
    for function, wanted in (
        (ops.inverse, -inverse @ step @ inverse),
        (ops.det, det * np.trace(inverse @ step, axis1=1, axis2=2)),
        (lambda x: ops.slogdet(x)[1], np.trace(inverse @ step, axis1=1, axis2=2)),
    ):
        for (got,) in both(lambda x, f=function: ops.jvp(f, x, Tensor(step))[1], a):
            np.testing.assert_allclose(got, wanted, atol=1e-12)


def cofactors(x):
    """By their definition."""
    size = len(x)
    minors = [
        [np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) * (-1) ** (i + j) for j in range(size)] for i in range(size)
    ]
    return np.array(minors)


SINGULAR = [
    [[1, 1], [1, 1]],
    [[0, 0], [0, 0]],
    [[0, 1], [0, 0]],
    [[1, 1, 2], [1, 1, 3], [2, 2, 7]],  # The second pivot is zero, the last is not.
    [[1, 2, 3], [2, 4, 6], [1, 0, 1]],
    [[0, 1, 0], [0, 0, 1], [0, 0, 0]],
    [[1, 2, 3], [2, 4, 6], [3, 6, 9]],
    [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("x", SINGULAR)
def test_the_gradient_of_a_determinant_that_is_zero(x, dtype):
    x = np.array(x, dtype)
    for (got,) in both(lambda x: ops.grad(lambda x: ops.det(x))(x), x):
        np.testing.assert_allclose(got, cofactors(x.astype(np.float64)), atol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_second_derivative_of_a_determinant(size, dtype):
    """Against differences of cofactors, which are polynomials, so that these are exact but for roundings."""
    wide = np.complex128 if dtype == np.complex128 else np.float64
    regular = [[2], [[1e-9, 1], [2, 3]], [[1, 2, 3], [4, 5, 6], [7, 8, 10]]][size - 1]
    x = np.array([np.reshape(regular, (size, size)), *(y for y in SINGULAR if len(y) == size)], wide)
    x *= 1 + 2j if dtype == np.complex128 else 1
    by = np.random.default_rng(0).standard_normal((2, *x.shape))
    by = (by[0] + 1j * by[1] if dtype == np.complex128 else by[0]).astype(dtype)
    want = np.empty_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = 1e-3
        ends = [np.array([cofactors(y) for y in x + sign * step]) for sign in (1, -1)]
        want[i] = ((ends[0] - ends[1]) * by.conj()).sum() / 2e-3

    def second(x):
        slopes = ops.grad(lambda x: ops.real(ops.det(x)).sum())
        return ops.grad(lambda x: ops.real(slopes(x) * Tensor(by)).sum())(x)

    for (got,) in both(second, x.astype(dtype)):
        np.testing.assert_allclose(got, want.conj(), atol=1e-4 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize(("dtype", "near"), [("complex128", 1e-12), ("complex64", 1e-4)])
def test_determinants_of_complex_matrices(dtype, near):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 4, 4)) + 1j * rng.standard_normal((2, 4, 4))
    det, (sign, size), inverse = np.linalg.det(x), np.linalg.slogdet(x), np.linalg.inv(x).swapaxes(1, 2).conj()
    for made in both(lambda x: (ops.det(x), *ops.slogdet(x), ops.logdet(x)), x.astype(dtype)):
        for got, want in zip(made, (det, sign, size, np.log(det)), strict=True):
            assert got.dtype == dtype
            np.testing.assert_allclose(got, want, near, near)

    def slopes(x):
        parts = (
            lambda x: ops.imag(ops.det(x)),
            lambda x: ops.real(ops.slogdet(x)[1]) + ops.imag(ops.logdet(x)),
            lambda x: ops.real(ops.slogdet(x)[0]),
        )
        return tuple(ops.grad(lambda x, f=f: f(x).sum())(x) for f in parts)

    factors = 1j * det.conj(), 1 + 1j, -1j * sign.imag
    for made in both(slopes, x.astype(dtype)):
        for got, factor in zip(made, factors, strict=True):
            want = np.reshape(factor, (-1, 1, 1)) * inverse
            np.testing.assert_allclose(got, want, atol=10 * near)


def test_complex_determinants_at_the_ends():
    for sign, size in both(ops.slogdet, np.ones((2, 2), np.complex64)):
        assert (complex(sign), complex(size)) == (0, -np.inf)
    for empty in both(lambda x: (ops.det(x), *ops.slogdet(x)), np.zeros((3, 0, 0), np.complex64)):
        assert [y.tolist() for y in empty] == [[1] * 3, [1] * 3, [0] * 3]


#: Of permutations of three: 1, -1, or 0 where it is none.
SIGNS = np.array([[[(i - j) * (j - k) * (k - i) / 2 for k in range(3)] for j in range(3)] for i in range(3)])


def test_the_third_derivative_of_a_determinant():
    """By an inverse: of regular matrices right, of others not finite."""
    x, *by = np.random.default_rng(5).standard_normal((3, 3, 3))

    def second(x):
        slopes = ops.grad(lambda x: ops.det(x))
        return ops.grad(lambda x: (slopes(x) * Tensor(by[0])).sum())(x)

    def third(x):
        return ops.grad(lambda x: (second(x) * Tensor(by[1])).sum())(x)

    # Of three rows it is the same everywhere: of a permutation the sign.
    want = np.einsum("iab,jcd,ac,bd->ij", SIGNS, SIGNS, *by)
    for (got,) in both(third, x):
        np.testing.assert_allclose(got, want, atol=1e-12)
    for (got,) in both(third, np.ones((3, 3))):
        assert not np.isfinite(got).any()


def test_singular_matrices():
    ones = np.ones((2, 2), np.float32)
    x = np.stack([ones, np.eye(2, dtype=np.float32)])
    for (made,) in both(ops.inverse, x):
        assert not np.isfinite(made[0]).any()
        np.testing.assert_array_equal(made[1], np.eye(2))
    for (made,) in both(ops.matrix_solve, x, np.stack([ones, ones])):
        assert not np.isfinite(made[0]).all()
        np.testing.assert_array_equal(made[1], ones)
    for sign, size in both(ops.slogdet, x):
        assert (sign.tolist(), size.tolist()) == ([0, 1], [-np.inf, 0])
    for (made,) in both(ops.logdet, np.stack([ones, np.diag([1, -2]).astype(np.float32)])):
        np.testing.assert_array_equal(made, [-np.inf, np.nan])
    for (made,) in both(lambda x: ops.grad(lambda x: ops.slogdet(x)[1])(x), ones):
        assert not np.isfinite(made).any()


def test_what_is_not_finite():
    nan, inf = np.nan, np.inf
    x = np.array([[[nan, 1], [1, 2]], [[inf, 1], [1, 2]]], np.float32)
    for (made,) in both(ops.det, x):
        np.testing.assert_array_equal(made, [nan, inf])
    for (made,) in both(ops.inverse, x):
        assert np.isnan(made[0]).all()


def test_leading_axes_are_broadcast():
    a, b = matrices(3, 1, 4, 4), np.random.default_rng(0).standard_normal((2, 4, 5))
    for (made,) in both(ops.matrix_solve, a, b):
        np.testing.assert_allclose(made, np.linalg.solve(a, b), rtol=1e-12)
    slopes = both(lambda a, b: ops.grad(lambda a, b: ops.matrix_solve(a, b).sum(), (0, 1))(a, b), a, b)
    for first, second in slopes:
        assert (first.shape, second.shape) == (a.shape, b.shape)
    np.testing.assert_allclose(slopes[0][0], slopes[1][0], rtol=1e-9)


@pytest.mark.parametrize("size", [1, 5, 40])
def test_lu_solve_and_unpack(size):
    """The exchanges of LAPACK's pivots, numbered from 1, of int32 and int64."""
    rng = np.random.default_rng(size)
    packed = rng.standard_normal((2, size, size)) / size + 2 * np.eye(size)
    pivots = np.stack([rng.integers(k, size, 2) for k in range(size)], 1) + 1
    lower, upper = np.tril(packed, -1) + np.eye(size), np.triu(packed)
    a = lower @ upper
    for i in range(2):
        for k in reversed(range(size)):
            a[i, [k, pivots[i, k] - 1]] = a[i, [pivots[i, k] - 1, k]]
    b = rng.standard_normal((2, size, 3))
    for kind in (np.int32, np.int64):
        for (made,) in both(ops.lu_solve, b, packed, pivots.astype(kind)):
            np.testing.assert_allclose(made, np.linalg.solve(a, b), rtol=1e-9, atol=1e-12)
        for made in both(ops.lu_unpack, packed, pivots.astype(kind)):
            np.testing.assert_allclose(made[0] @ made[1] @ made[2], a, atol=1e-12)


def test_several_results_share_factors():
    class Likelihood(nn.Cell):
        def construct(self, a, b):
            return (ops.matrix_solve(a, b) * b).sum() + ops.slogdet(a)[1]

    class Gradient(nn.Cell):
        def construct(self, a, b):
            return ops.grad(Likelihood())(a, b)

    a, b = matrices(300, 300, dtype=np.float32), np.ones((300, 1), np.float32)
    step = graphc.compile(Gradient(), a, b)
    assert [node.op.name for node in step.graph].count("LU") == 1
    assert step.source.count("(ctx, ") < 20


def test_vmap_and_padding():
    a = matrices(3, 4, 4, dtype=np.float32)
    np.testing.assert_allclose(ops.vmap(ops.inverse)(Tensor(a)).asnumpy(), np.linalg.inv(a), rtol=1e-4, atol=1e-5)

    class Some(nn.Cell):
        def construct(self, a):
            return ops.det(a), ops.inverse(a).sum((1, 2)), ops.slogdet(a)[1].sum()

    some = Some()
    some.set_inputs(Tensor(shape=[None, 4, 4], dtype=graphc.float32))
    for count in (1, 2, 3):
        got = [x.asnumpy() for x in some(Tensor(a[:count]))]
        want = np.linalg.det(a[:count]), np.linalg.inv(a[:count]).sum((1, 2)), np.linalg.slogdet(a[:count])[1].sum()
        for x, y in zip(got, want, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_refused():
    flat = Tensor(np.ones((2, 3), np.float32))
    for function in (ops.inverse, ops.det, ops.slogdet, ops.logdet):
        with pytest.raises(graphc.ShapeError, match=r"expected square float (or complex )?matrices"):
            function(flat)
    with pytest.raises(graphc.ShapeError, match="different rows"):
        ops.matrix_solve(Tensor(np.eye(2, dtype=np.float32)), Tensor(np.ones((3, 1), np.float32)))
    with pytest.raises(graphc.ShapeError, match="expected 2 integers, from 1"):
        ops.lu_solve(Tensor(np.ones((2, 1), np.float32)), Tensor(np.eye(2, dtype=np.float32)), Tensor([1, 2, 3]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["regular", "singular", "zero", "nan", "inf"])
def test_with_and_without_scipy(dtype, kind, monkeypatch):
    """Outside of Cells factors and systems are LAPACK's where there is SciPy, and else computed row by row."""
    rng = np.random.default_rng(3)
    x, b = rng.standard_normal((2, 7, 7)), rng.standard_normal((2, 7, 3)).astype(dtype)
    if kind == "singular":
        x[1, :, 2] = 0
    elif kind != "regular":
        x[1, 4, 2] = {"zero": 0, "nan": np.nan, "inf": np.inf}[kind]
        x[1, 4, 4] = 0
    x = x.astype(dtype)

    def results():
        packed, order, sign = lu._lu(x)
        made = [packed, order, sign, triangular._cholesky(x @ x.swapaxes(1, 2), False)]
        for k in range(8):
            made.append(triangular.solved(x, b, bool(k & 1), bool(k & 2), bool(k & 4)))
        return made

    with np.errstate(all="ignore"):
        first = results()
        for module in (lu, triangular):
            monkeypatch.setattr(module, "lapack", lambda: None)
        again = results()
    for one, other in zip(first, again, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-3 if dtype == "float32" else 1e-10, atol=1e-5)
