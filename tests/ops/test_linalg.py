"""Linear algebra beyond what MindSpore records: gradients, einsum, what is compiled and what is refused, ends of the domain."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, special

import graphc
from graphc import Tensor, nn, ops
from graphc.ops import primitives as P
from graphc.ops.tensor.call import call
from tests.data.ms_linalg import FACTOR, POSITIVE, RIGHT, ROWS, TALL, WIDE, A, B, V, W, X, array, ints


def compiled(function, *arrays):
    class Of(nn.Cell):
        def construct(self, *inputs):
            return function(*inputs)

    made = graphc.jit(Of())(*map(Tensor, arrays))
    return [x.asnumpy() for x in (made if isinstance(made, tuple) else [made])]


@pytest.fixture
def eager():
    """In PYNATIVE_MODE, where gradients need no kernels."""
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    yield
    graphc.set_context(mode=graphc.GRAPH_MODE)


def differences(function, *arrays):
    """The gradient of each result for each operand against central differences in float64, in PYNATIVE_MODE."""
    arrays = [np.asarray(a, np.float64) for a in arrays]

    def results(*inputs):
        made = function(*map(Tensor, inputs))
        return [x for x in (made if isinstance(made, tuple) else (made,)) if x.dtype == graphc.float64]

    rng = np.random.default_rng(0)
    for k, shape in enumerate(x.shape for x in results(*arrays)):
        weights = rng.uniform(0.5, 1.5, shape)

        def total(*inputs, k=k, weights=weights):
            return ops.reduce_sum(results_of(inputs)[k] * Tensor(weights))

        def results_of(inputs):
            made = function(*inputs)
            return [x for x in (made if isinstance(made, tuple) else (made,)) if x.dtype == graphc.float64]

        for i, x in enumerate(arrays):
            direction = rng.standard_normal(x.shape)
            got = float((ops.grad(total, i)(*map(Tensor, arrays)).asnumpy() * direction).sum())
            ends = []
            for step in (-1e-6, 1e-6):
                moved = [a + step * direction if j == i else a for j, a in enumerate(arrays)]
                ends.append(float(total(*map(Tensor, moved))))
            assert got == pytest.approx((ends[1] - ends[0]) / 2e-6, rel=2e-5, abs=1e-6), (k, i)


LOWER = np.tril(B) + 2 * np.eye(3)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("function", "arrays"),
    [
        (ops.slogdet, (B,)),
        (ops.logdet, (POSITIVE,)),
        (ops.matrix_solve, (B, RIGHT)),
        (lambda a, b: ops.matrix_solve(a, b, True), (A, RIGHT)),
        (lambda b, a: b.triangular_solve(a, upper=False, unitriangular=True)[0], (RIGHT, LOWER)),
        (lambda b, a: b.triangular_solve(a, upper=False, transpose=True)[0], (RIGHT, LOWER)),
        (ops.cholesky_solve, (RIGHT, FACTOR)),
        (ops.cholesky_inverse, (FACTOR,)),
        (lambda b, lu: ops.lu_solve(b, lu, Tensor(ints(2, 3, 3))), (RIGHT[0], A)),
        (lambda lu: ops.lu_unpack(lu, Tensor(ints(2, 3, 3))), (A,)),
        (ops.lstsq, (TALL, array(5, 2))),
        (ops.lstsq, (TALL.T.copy(), W)),
        (lambda x: ops.pinv(x, hermitian=True), (A,)),
        (ops.svd, (TALL,)),
        (ops.svd, (WIDE,)),
        (lambda x: ops.svd(x, full_matrices=True), (B,)),
        (ops.qr, (TALL,)),
        (ops.qr, (WIDE,)),
        (ops.geqrf, (TALL,)),
        (ops.geqrf, (WIDE,)),
        (lambda x, t, y: ops.ormqr(x, t, y, True, True), (TALL, W, array(5, 2))),
        (ops.orgqr, (TALL, W)),
        (lambda x: ops.matrix_power(x, 3), (B,)),
        (lambda x: ops.matrix_power(x, -2), (A,)),
        (lambda x: ops.matrix_norm(x, "nuc"), (WIDE,)),
        (lambda x: ops.matrix_norm(x, -2), (A,)),
        (lambda x: ops.matrix_norm(x, 1, (0, 2)), (WIDE,)),
        (ops.cond, (A,)),
        (lambda x: ops.cond(x, "fro"), (A,)),
        (lambda x: ops.pdist(x, 3), (ROWS,)),
        (ops.bidense, (array(2, 3), array(2, 4), array(5, 3, 4), array(5))),
        (lambda x: ops.vander(x, 4), (V,)),
        (ops.batch_dot, (WIDE, array(2, 5, 2))),
        (lambda x: ops.combinations(x, 2), (V,)),
        (lambda x, d: ops.matrix_set_diag(x, d, (-1, 0)), (X, array(2, 3))),
        (lambda x: ops.matrix_band_part(x, 0, 1), (X,)),
        (lambda x: ops.gather(x, Tensor(ints([0, 4], [2, 1])), 2, 1), (WIDE,)),
        (lambda x: ops.mvlgamma(x, 2), (array(4, low=1, high=4),)),
        (lambda x: P.Betainc()(Tensor(np.full(4, 2.0)), Tensor(np.full(4, 0.7)), x), (array(4, low=0.1, high=0.9),)),
        (P.TridiagonalMatMul(), (array(1, 4), array(1, 4, seed=1), array(1, 4, seed=2), array(4, 3))),
    ],
)
def test_gradients(function, arrays):
    differences(function, *arrays)


# ---- einsum

EQUATIONS = [
    ("ii->i", (A,)), ("ii", (A,)), ("...ii->...i", (B,)), ("iji->j", (array(3, 4, 3),)), ("bij,bjk->bik", (B, WIDE)),
    ("...ij,...jk", (B, A)), ("ij...,jk...->ik...", (array(3, 4, 2), array(4, 5, 1))), ("ij,j,jk->ik", (A, W, A)),
    ("ij->ji", (X,)), ("i,j->ij", (V, W)), ("ba", (X,)), ("...->...", (X,)), ("bij,bkl,bij->b", (B, B, B)),
    (" i j , i -> ", (X, W)), ("i,i", (V, V)), (",i->i", (array(), V)), ("aB,Bc->ac", (A, X)), ("ij,kl->ijkl", (X, A)),
    ("...a,...a->...", (X, V)), ("ij,ij->ij", (X, np.ones((1, 4), np.float32))),
]  # fmt: skip


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(("equation", "arrays"), EQUATIONS, ids=[e for e, _ in EQUATIONS])
def test_einsum(equation, arrays):
    wanted = np.einsum(equation, *(a.astype(np.float64) for a in arrays))
    np.testing.assert_allclose(ops.einsum(equation, *map(Tensor, arrays)).asnumpy(), wanted, rtol=1e-5, atol=1e-6)
    differences(lambda *xs: ops.einsum(equation, *xs), *arrays)


def test_einsum_compiled_with_lists_and_with_integers():
    (got,) = compiled(lambda x, y: ops.einsum("bij,...jk,ii->ikb", x, y, y), B, A)
    wanted = np.einsum("bij,...jk,ii->...ikb", B, A, A)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    of_lists = ops.einsum(Tensor(B), [0, ..., 1], Tensor(A), [1, 2], [..., 2, 0]).asnumpy()
    np.testing.assert_allclose(of_lists, np.einsum(B, [0, ..., 1], A, [1, 2], [..., 2, 0]), rtol=1e-5)
    i = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert (ops.einsum("ij,kj->ik", Tensor(i), Tensor(i)).asnumpy() == i @ i.T).all()
    assert P.Einsum("ij->j")((Tensor(X),)).shape == (4,)


@pytest.mark.parametrize(
    ("equation", "why"),
    [("ijk->i", "names 3 axes"), ("ij->ii", "'i' twice"), ("ij->k", "no operand has"), ("i.j->i", "more than letters"),
     ("ij,jk", "names 2"), ("i...", None), ("i", "names 1 axes")],
)  # fmt: skip
def test_einsum_refuses_what_does_not_fit(equation, why):
    if why is None:
        assert ops.einsum(equation, Tensor(X)).shape == (4, 3)
        return
    with pytest.raises(graphc.ArgumentValueError, match=why):
        ops.einsum(equation, Tensor(X))


def test_einsum_names_sizes_that_differ():
    with pytest.raises(graphc.ShapeError, match="'j' of 'ij,jk' is 4 and 3"):
        ops.einsum("ij,jk", Tensor(X), Tensor(A))


# ---- oracles besides MindSpore's


def test_decompositions_against_numpy():
    s, u, v = (x.asnumpy() for x in ops.svd(Tensor(WIDE), full_matrices=True))
    np.testing.assert_allclose((u * s[:, None]) @ v[..., :3].swapaxes(1, 2), WIDE, atol=1e-5)
    np.testing.assert_allclose(v.swapaxes(1, 2) @ v, np.broadcast_to(np.eye(5), (2, 5, 5)), atol=1e-5)
    np.testing.assert_allclose(
        ops.matrix_exp(Tensor(B * 9)).asnumpy(), linalg.expm(B.astype(np.float64) * 9), rtol=1e-4
    )
    assert np.isnan(ops.matrix_exp(Tensor(np.full((2, 2), np.inf, np.float32))).asnumpy()).all()
    (h, tau), _ = linalg.qr(TALL, mode="raw")
    packed, factors = ops.geqrf(Tensor(TALL))
    np.testing.assert_allclose(packed.asnumpy(), h, atol=1e-5)
    np.testing.assert_allclose(factors.asnumpy(), tau, atol=1e-5)
    whole, _ = linalg.qr(TALL)
    for left, transpose, other, wanted in (
        (True, False, array(5, 2), lambda y: whole @ y), (True, True, array(5, 2), lambda y: whole.T @ y),
        (False, False, array(2, 5), lambda y: y @ whole), (False, True, array(2, 5), lambda y: y @ whole.T),
    ):  # fmt: skip
        got = P.Ormqr(left, transpose)(packed, factors, Tensor(other)).asnumpy()
        np.testing.assert_allclose(got, wanted(other), atol=1e-5)
    np.testing.assert_allclose(P.EuclideanNorm()(Tensor(X), [1]).asnumpy(), np.linalg.norm(X, axis=1), rtol=1e-6)
    for rows, columns in ((5, 3), (3, 5)):
        m, b = array(rows, columns), array(rows, 2)
        wanted = np.linalg.lstsq(m, b, rcond=None)[0]
        for fast in (True, False):
            np.testing.assert_allclose(P.MatrixSolveLs(fast)(Tensor(m), Tensor(b), 0.0).asnumpy(), wanted, atol=1e-4)
        wide = np.linalg.solve(m.T @ m + 0.5 * np.eye(columns), m.T @ b)
        np.testing.assert_allclose(P.MatrixSolveLs()(Tensor(m), Tensor(b), 0.5).asnumpy(), wide, atol=1e-4)


def test_what_is_compiled():
    exact = B.astype(np.float64)
    sign, size = compiled(ops.slogdet, B)
    np.testing.assert_allclose((sign, size), np.linalg.slogdet(exact), rtol=1e-4)
    (got,) = compiled(ops.matrix_solve, B, RIGHT)
    np.testing.assert_allclose(got, np.linalg.solve(exact, RIGHT), rtol=1e-3, atol=1e-4)
    (got,) = compiled(ops.cholesky_solve, RIGHT, FACTOR)
    np.testing.assert_allclose(got, np.linalg.solve(POSITIVE, RIGHT), rtol=1e-3, atol=1e-4)
    packed, tau = compiled(ops.geqrf, TALL)
    (q,) = compiled(ops.orgqr, packed, tau)
    np.testing.assert_allclose(q @ np.triu(packed[:3]), TALL, atol=1e-5)
    for given in (ints(0, 3, 3), ints(2, 4, 3)):
        with pytest.raises(
            graphc.ops.declared.bounds.IndexRangeError, match=r"lu_solve: row (-1|3), counted from 0, is out of"
        ):
            ops.lu_solve(Tensor(RIGHT[0]), Tensor(A), Tensor(given))
    (got,) = compiled(lambda b, lu, p: ops.lu_solve(b, lu, p), RIGHT[0], A, ints(2, 3, 3))
    np.testing.assert_allclose(got, linalg.lu_solve((A, [1, 2, 2]), RIGHT[0]), rtol=1e-4)
    (got,) = compiled(lambda x, d: ops.matrix_set_diag(x, d, -1), X, array(2))
    assert (np.diag(got, -1) == array(2)).all()
    (got,) = compiled(lambda x: ops.matrix_norm(x, 1), X)
    np.testing.assert_allclose(got, np.linalg.norm(X, 1), rtol=1e-6)


@pytest.mark.parametrize("shape", [(7, 4), (3, 5), (4, 4)])
@pytest.mark.parametrize("deficient", [False, True])
def test_least_squares_are_compiled(shape, deficient):
    """With gradients, of matrices of any rank."""
    rng = np.random.default_rng(sum(shape))
    x, b = rng.standard_normal(shape), rng.standard_normal((shape[0], 2))
    if deficient:
        x[:, -1] = x[:, 0]
        x[-1] = 0
    exact = np.linalg.pinv(x, rcond=1e-12)

    def least(x, b):
        return ops.lstsq(x, b), ops.pinv(x), P.MatrixSolveLs(fast=False)(x, b, 0.0)

    for got, want in zip(compiled(least, x, b), (exact @ b, exact, exact @ b), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)

    slopes = ops.grad(lambda x, b: (ops.lstsq(x, b) ** 2).sum(), (0, 1))
    for got, want in zip(compiled(slopes, x, b), slopes(Tensor(x), Tensor(b)), strict=True):
        np.testing.assert_allclose(got, want.asnumpy(), atol=1e-11)
    mapped = compiled(lambda x: ops.vmap(ops.pinv)(x), np.stack([x, 2 * x]))[0]
    np.testing.assert_allclose(mapped, np.stack([exact, exact / 2]), atol=1e-12)


# ---- complex matrices

Z = (B + 1j * array(2, 3, 3, seed=4)).astype(np.complex128)
COMPLEX = {
    "inverse": (ops.inverse, np.linalg.inv),
    "inverse_wide": (lambda z: ops.inverse(z.astype("complex64")), np.linalg.inv),
    "matrix_solve": (lambda z: ops.matrix_solve(z, z[0:1]), lambda z: np.linalg.solve(z, z[0:1])),
    "adjoint": (
        lambda z: ops.matrix_solve(z, z[:, :, :1], True),
        lambda z: np.linalg.solve(z.conj().swapaxes(1, 2), z[:, :, :1]),
    ),
}
IN_NUMPY = {
    **{
        f"norm_{p}": (lambda z, p=p: ops.matrix_norm(z, p), lambda z, p=p: np.linalg.norm(z, p, (1, 2)))
        for p in ("nuc", 2, -2)
    },
    **{f"cond_{p}": (lambda z, p=p: ops.cond(z, p), lambda z, p=p: np.linalg.cond(z, p)) for p in (None, -2, "fro", 1)},
    "svd": (lambda z: ops.real(ops.svd(z)[0]), lambda z: np.linalg.svd(z, compute_uv=False)),
    "qr": (lambda z: ops.abs(ops.qr(z)[1]), lambda z: np.abs(np.linalg.qr(z)[1])),
}


@pytest.mark.parametrize("name", [*COMPLEX, *IN_NUMPY])
def test_complex_matrices(name, eager):
    function, wanted = {**COMPLEX, **IN_NUMPY}[name]
    near = {"rtol": 1e-4, "atol": 1e-4} if "wide" in name else {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(function(Tensor(Z)).asnumpy(), wanted(Z), **near)
    if name in COMPLEX:
        np.testing.assert_allclose(compiled(function, Z)[0], wanted(Z), **near)
    weights = np.random.default_rng(1).standard_normal(wanted(Z).shape)

    def total(z):
        y = function(z)
        return ((ops.real(y) if name in COMPLEX else y) * Tensor(weights)).sum()

    if "wide" not in name:
        got, step = ops.grad(total)(Tensor(Z)).asnumpy(), 1e-6 * (B + 1j * B.swapaxes(1, 2))
        ends = [float(total(Tensor(Z + s * step))) for s in (-0.5, 0.5)]
        assert (got * step.conj()).real.sum() == pytest.approx(ends[1] - ends[0], rel=1e-4)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x, y: ops.lstsq(x, y), r"lstsq: input is f32\[3,3\], A is f64\[3,3\], expected one dtype"),
        (lambda x, y: ops.lstsq(x.astype("int32"), y), r"lstsq: input is i32\[3,3\], expected floats"),
        (
            lambda x, y: ops.matrix_solve(x, y),
            r"matrix_solve: matrix is f32\[3,3\], rhs is f64\[3,3\], expected one dtype",
        ),
        (lambda x, y: y.triangular_solve(x), r"triangular_solve: A is f32\[3,3\], b is f64\[3,3\], expected one dtype"),
    ],
)
def test_dtypes_are_refused_by_name(function, says):
    with pytest.raises(graphc.DTypeError, match=says):
        function(Tensor(A), Tensor(A.astype(np.float64)))


def test_factors_of_complex_matrices(eager):
    tall = np.concatenate([Z, Z[:, :1] * 2j], 1)
    for full in (False, True):
        s, u, v = (x.asnumpy() for x in ops.svd(Tensor(tall), full_matrices=full))
        np.testing.assert_allclose((u[..., :3] * s[:, None]) @ v.conj().swapaxes(1, 2), tall, atol=1e-12)
        assert (u.shape, s.dtype) == ((2, 4, 4 if full else 3), np.complex128)
        q, r = (x.asnumpy() for x in ops.qr(Tensor(tall), "complete" if full else "reduced"))
        np.testing.assert_allclose(q @ r, tall, atol=1e-12)
        turned = q.conj().swapaxes(1, 2) @ q
        np.testing.assert_allclose(turned, np.broadcast_to(np.eye(q.shape[-1]), turned.shape), atol=1e-12)
    functions = ops.svd, ops.qr, lambda z: ops.eig(z[:, :3, :3])
    eager = [function(Tensor(tall)) for function in functions]
    graphc.set_context(mode=graphc.GRAPH_MODE)
    for function, wanted in zip(functions, eager, strict=True):
        results = wanted if isinstance(wanted, tuple) else (wanted,)
        for got, x in zip(compiled(function, tall), results, strict=True):
            assert (got == x.asnumpy()).all()


# ---- ends of the domain


@pytest.mark.parametrize("name", ["matrix_exp", "eig", "qr", "svd", "pinv", "inverse", "cholesky", "det"])
def test_matrices_beside_each_other_do_not_touch(name, capfd):
    """One with large numbers, one that is not finite: the others are what they are alone."""
    function = getattr(ops, name)
    given = np.stack(
        [POSITIVE[0], 1e3 * A - 1e3 * A.T, np.full((3, 3), np.nan), 1e-3 * POSITIVE[1], np.full((3, 3), np.inf)]
    )
    given = given.astype(np.float64)

    def results(x):
        made = function(Tensor(x))
        return [y.asnumpy() for y in (made if isinstance(made, tuple) else (made,))]

    for k, whole in enumerate(results(given)):
        alone = np.stack([results(x)[k] for x in given])
        np.testing.assert_allclose(whole, alone, rtol=1e-13, atol=1e-15)
        assert np.isnan(whole[2]).any()
    if name == "matrix_exp":
        np.testing.assert_allclose(results(given)[0][3], linalg.expm(given[3]), rtol=1e-14)
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("eager")
def test_singular_and_empty_matrices():
    singular = np.ones((2, 2), np.float32)
    assert float(ops.det(Tensor(np.zeros((2, 2), np.float32)))) == 0
    sign, size = ops.slogdet(Tensor(singular))
    assert (float(sign), float(size)) == (0, -np.inf)
    assert np.isnan(float(ops.logdet(Tensor(np.diag([1, -2]).astype(np.float32)))))
    np.testing.assert_allclose(ops.grad(ops.det)(Tensor(singular)).asnumpy(), [[1, -1], [-1, 1]], atol=1e-6)
    assert not np.isfinite(ops.inverse(Tensor(singular)).asnumpy()).all()
    np.testing.assert_allclose(ops.pinv(Tensor(singular)).asnumpy(), 0.25 * singular, rtol=1e-5)
    assert np.isnan(ops.grad(lambda x: ops.qr(x)[1].sum())(Tensor(np.zeros((2, 2), np.float32))).asnumpy()).all()
    none = Tensor(np.zeros((2, 0, 0), np.float32))
    assert ops.det(none).asnumpy().tolist() == [1, 1]
    assert ops.slogdet(none)[1].asnumpy().tolist() == [0, 0]
    for function in (ops.inverse, ops.cholesky, ops.matrix_exp, ops.pinv, lambda x: ops.matrix_solve(x, x)):
        assert function(none).shape == (2, 0, 0)
    assert ops.combinations(Tensor(V), 0).shape == (1, 0)
    assert ops.combinations(Tensor(V), 9).shape == (0, 9)
    assert ops.vander(Tensor(V), 0).shape == (4, 0)


@pytest.mark.usefixtures("eager")
def test_gradients_that_are_not_there():
    complete = pytest.raises(graphc.GradientError, match="no gradient")
    with complete:
        ops.grad(lambda x: ops.qr(x, "complete")[0].sum())(Tensor(TALL))
    with pytest.raises(graphc.GradientError, match="arbitrary"):
        ops.grad(lambda x: ops.svd(x, full_matrices=True)[1].sum())(Tensor(TALL))
    p = Tensor(array(3, low=0.2, high=0.8))
    for function in (lambda x: ops.zeta(x + 2, p), lambda x: P.Betainc()(x, p, p), lambda x: P.Betainc()(p, x, p)):
        with pytest.raises(graphc.GradientError, match="no derivative for this operand"):
            ops.grad(lambda x, function=function: function(x).sum())(p)
    again = ops.grad(lambda x: ops.grad(lambda y: ops.igamma(y, p).sum())(x).sum())
    with pytest.raises(graphc.GradientError, match="IgammaGradA"):
        again(p)


# ---- special functions


def test_special_functions_by_their_definitions():
    a, x = np.array([0.3, 2, 30, 1e4, 1e4], np.float64), np.array([0.1, 3, 28, 1.01e4, 9e3], np.float64)
    step = 1e-5 * a
    slope = call("IgammaGradA", Tensor(a), Tensor(x)).asnumpy()
    wanted = (special.gammainc(a + step, x) - special.gammainc(a - step, x)) / (2 * step)
    np.testing.assert_allclose(slope, wanted, rtol=1e-5, atol=1e-12)
    tiny = np.array([1e-3, 0.5, 7], np.float32)
    np.testing.assert_allclose(Tensor(tiny).lgamma().asnumpy(), special.gammaln(tiny), rtol=1e-5, atol=1e-6)
    assert ops.polygamma(0, Tensor(tiny)).asnumpy() == pytest.approx(special.digamma(tiny), rel=1e-5)
    for n, error in (
        (-1, graphc.ArgumentValueError),
        (1.5, graphc.ArgumentTypeError),
        (True, graphc.ArgumentTypeError),
    ):
        with pytest.raises(error):
            ops.polygamma(n, Tensor(tiny))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_dtypes(dtype):
    x = Tensor(np.array([0.5, 2.0, 3.5]), dtype)
    for function, name in ((ops.bessel_i0, "i0"), (ops.bessel_y1, "y1")):
        made = function(x)
        assert str(made.dtype).lower() == dtype
        np.testing.assert_allclose(made.astype("float64").asnumpy(), getattr(special, name)([0.5, 2, 3.5]), rtol=8e-3)
    assert str(ops.polygamma(1, x).dtype).lower() == dtype
    matrix = ops.matrix_exp(ops.diag(x))
    np.testing.assert_allclose(np.diag(matrix.astype("float64").asnumpy()), np.exp([0.5, 2, 3.5]), rtol=8e-3)
    for refused in (ops.svd, ops.pinv) if dtype != "float64" else ():
        with pytest.raises(graphc.DTypeError, match="float32 or float64"):
            refused(ops.diag(x))
    with pytest.raises(graphc.DTypeError):
        ops.bessel_i0(Tensor(ints(1)))


def test_without_scipy_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "scipy.special", None)
    with pytest.raises(
        graphc.MissingPackageError, match=r"(?s)computed by scipy.special, and SciPy is not installed.*graphc\[scipy\]"
    ):
        ops.bessel_j0(Tensor(V))


# ---- windows


def test_windows_of_short_lengths_and_wrong_ones():
    for window in (ops.bartlett_window, ops.blackman_window, ops.hamming_window, ops.hann_window, ops.kaiser_window):
        assert window(0).shape == (0,)
        assert window(1).asnumpy().tolist() == [1]
        assert window(4, dtype=graphc.float16).dtype == graphc.float16
        with pytest.raises(graphc.ArgumentValueError, match="at least 0"):
            window(-1)
        with pytest.raises(graphc.DTypeError, match="must be a float"):
            window(4, dtype=graphc.int32)
        with pytest.raises(graphc.ArgumentTypeError, match="must be an int"):
            window(4.0)


# ---- what stands near them


def test_places_and_distances_between_numbers():
    got = P.UnravelIndex()(Tensor(ints(2, 5, 23)), Tensor(ints(2, 3, 4))).asnumpy()
    assert got.tolist() == np.stack(np.unravel_index([2, 5, 23], (2, 3, 4))).tolist()
    with pytest.raises(graphc.ArgumentValueError, match="outside of a tensor of shape"):
        P.UnravelIndex()(Tensor(ints(24)), Tensor(ints(2, 3, 4)))
    assert P.Eps()(Tensor(V)).asnumpy().tolist() == [np.finfo(np.float32).eps] * 4
    values = P.Svd(compute_uv=False)(Tensor(A))
    assert [x.shape for x in values] == [(3,), (1,), (1,)]
    assert P.TrilIndices(3, 4, -1)().asnumpy().tolist() == np.stack(np.tril_indices(3, -1, 4)).tolist()
    np.testing.assert_allclose(P.LogSpace(3)(Tensor(0.0), Tensor(2.0)).asnumpy(), [1, 10, 100], rtol=1e-6)


def test_parameters_of_old_names():
    x = Tensor(X)
    assert ops.relu(x, inplace=True) is x
    assert (x.asnumpy() == np.maximum(X, 0)).all()
    np.testing.assert_allclose(ops.subtract(Tensor(V), 1, alpha=2).asnumpy(), V - 2, rtol=1e-6)
    assert ops.tensor_slice(Tensor(X), (0, 1), (2, 2)).shape == (2, 2)
    assert ops.unbind(Tensor(X), dim=1)[3].shape == (3,)
    places = ops.nonzero(Tensor(ints(0, 3, 0, 5)), as_tuple=True)
    assert [p.asnumpy().tolist() for p in places] == [[1, 3]]
    with pytest.raises(graphc.ArgumentValueError, match=r"\[GC112\] div: rounding_mode='up'"):
        ops.div(x, 2, rounding_mode="up")
    with pytest.raises(graphc.ShapeError, match="do not go together"):
        ops.gather(x, Tensor(ints([0], [1])), 1, 1)
    assert ops.cond(True, lambda: 1, lambda: 2) == 1
    assert not ops.is_nonzero(Tensor(0.0))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_eigenvalues(dtype, eager):
    rng = np.random.default_rng(2)
    turned = np.array([[0.0, -1.0], [1.0, 0.0]])
    for x in (
        rng.normal(size=(2, 3, 5, 5)),
        np.eye(3),
        turned,
        np.zeros((2, 2)),
        np.zeros((0, 3, 3)),
        np.zeros((2, 0, 0)),
    ):
        x = x.astype(dtype)
        values, vectors = (y.asnumpy() for y in ops.eig(Tensor(x)))
        assert values.dtype == vectors.dtype == np.result_type(dtype, np.complex64)
        close = 1e-5 if dtype in ("float32", "complex64") else 1e-13
        np.testing.assert_allclose(x @ vectors, vectors * values[..., None, :], atol=10 * close)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=-2), np.ones(values.shape), atol=close)
        for alone in (ops.eigvals(Tensor(x)), Tensor(x).eigvals(), P.Eig()(Tensor(x))[0]):
            np.testing.assert_array_equal(alone.asnumpy(), values)
        np.testing.assert_array_equal(P.Eig(True)(Tensor(x))[1].asnumpy(), vectors)
        assert P.Eig()(Tensor(x))[1].shape == ()
    assert np.isnan(ops.eigvals(Tensor(np.full((2, 2), np.nan, dtype))).asnumpy()).all()


def test_eigenvalues_refused(eager):
    with pytest.raises(graphc.ShapeError, match=r"Eig: x is .* expected square matrices"):
        ops.eig(Tensor(np.ones((2, 3), np.float32)))
    for dtype in ("float16", "int32"):
        with pytest.raises(graphc.DTypeError, match="Eig"):
            ops.eig(Tensor(np.ones((2, 2), dtype)))
    with pytest.raises(graphc.ArgumentTypeError, match="compute_v must be a bool"):
        P.Eig(1)(Tensor(np.eye(2)))
    with pytest.raises(graphc.GradientError, match="Eig has no gradient"):
        graphc.grad(lambda x: ops.real(ops.eigvals(x)).sum())(Tensor(np.eye(2)))
