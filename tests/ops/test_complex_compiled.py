"""Complex numbers in compiled Cells: what eager calls give, values and gradients, for every function there is."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import GraphcError, Parameter, Tensor, nn, ops
from graphc.ir.op import all_ops
from graphc.ir.types import TensorType
from graphc.ops.functional import complex as complex_module
from graphc.ops.functional import fourier as fourier_module
from graphc.passes.complex_parts.rules import rule_of

RNG = np.random.default_rng(3)


def real(*shape, dtype="float64"):
    return RNG.standard_normal(shape).astype(dtype)


def cplx(*shape, dtype="complex128"):
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


X, Z, W, V = real(3, 4, 6), cplx(3, 4, 6), cplx(3, 4, 6), cplx(4, 2, 6)

#: By name: the function, and its operands.
FOURIER = {
    "fft": (lambda z: ops.fft(z, 5, 1, "ortho"), Z),
    "ifft": (lambda z: ops.ifft(z, 37), Z),
    "rfft": (lambda x: ops.rfft(x, 7), X),
    "irfft": (lambda z: ops.irfft(z, 8, 1), Z),
    "hfft": (lambda z: ops.hfft(z), Z),
    "ihfft": (lambda x: ops.ihfft(x, norm="forward"), X),
    "fft2": (ops.fft2, Z),
    "ifft2": (lambda z: ops.ifft2(z, (3, 41), norm="forward"), Z),
    "rfft2": (ops.rfft2, X),
    "irfft2": (ops.irfft2, Z),
    "hfft2": (ops.hfft2, Z),
    "ihfft2": (ops.ihfft2, X),
    "fftn": (ops.fftn, Z),
    "ifftn": (lambda z: ops.ifftn(z, (2, 5)), Z),
    "rfftn": (lambda x: ops.rfftn(x, None, (2, 0)), X),
    "irfftn": (lambda z: ops.irfftn(z, (4, 3, 47)), Z),
    "hfftn": (ops.hfftn, Z),
    "ihfftn": (ops.ihfftn, X),
    "fftshift": (ops.fftshift, Z),
    "ifftshift": (lambda z: ops.ifftshift(z, 1), Z),
    "fftfreq": (lambda x: x * ops.fftfreq(6, 0.5, graphc.float64), X),
    "rfftfreq": (lambda z: z[..., :4] * ops.rfftfreq(6, dtype=graphc.float64), Z),
    "stft": (lambda x: ops.stft(x[0], 4, 1, window=Tensor(np.hanning(4))), X),
    "stft, complex": (lambda z: ops.stft(z[0], 4, 1, normalized=True), Z),
    "fft of real": (ops.fft, X),
    "fft_with_size": (lambda x: ops.FFTWithSize(2, False, True)(x), X),
}
COMPLEX_CASES = {
    "real": (ops.real, Z),
    "imag": (ops.imag, Z),
    "conj": (ops.conj, Z),
    "angle": (ops.angle, Z),
    "isreal": (lambda z: ops.cast(ops.isreal(z), graphc.float64), Z),
    "polar": (lambda x: ops.polar(x, x + 1), X),
    "sgn": (ops.sgn, Z),
    "view_as_real": (ops.view_as_real, Z),
    "Complex": (lambda x: ops.Complex()(x, x * x), X),
    "abs": (ops.abs, Z),
    "add": (lambda z: z + X, Z),
    "sub": (lambda z: X - z, Z),
    "real minus": (lambda x: x - Tensor(W), X),
    "mul": (lambda z: z * Tensor(W) * 2.0, Z),
    "real times": (lambda x: x * Tensor(W), X),
    "div": (lambda z: Tensor(W) / z, Z),
    "div by real": (lambda z: z / Tensor(X), Z),
    "square": (ops.square, Z),
    "reciprocal": (ops.reciprocal, Z),
    "neg": (lambda z: -z, Z),
    "pow": (lambda z: ops.pow(z, 3), Z),
    "matmul": (lambda z: ops.matmul(z, z.swapaxes(-1, -2)), Z),
    "bmm with real": (lambda x: ops.matmul(ops.cast(x, graphc.complex128), Tensor(W).swapaxes(-1, -2)), X),
    "einsum": (lambda z: ops.einsum("bik,iok->bok", z, Tensor(V)), Z),
    "sum": (lambda z: z.sum(1), Z),
    "mean": (lambda z: ops.mean(z, (0, 2)), Z),
    "cumsum": (lambda z: ops.cumsum(z, 1), Z),
    "equal": (lambda z: ops.cast(z == Tensor(np.where(X > 0, Z, W)), graphc.float64), Z),
    "not_equal": (lambda z: ops.cast(z != Tensor(Z), graphc.float64), Z),
    "where": (lambda z: ops.where(Tensor(X > 0), z, Tensor(W)), Z),
    "gather": (lambda z: ops.gather(z, Tensor([2, 0, 0]), 0), Z),
    "index": (lambda z: z[:, 1:, ::2], Z),
    "concat": (lambda z: ops.cat([z, Tensor(W), z], 1), Z),
    "stack": (lambda z: ops.stack([z, z * 2], -1), Z),
    "flip": (lambda z: ops.flip(z, (1,)), Z),
    "roll": (lambda z: ops.roll(z, 1, 1), Z),
    "transpose": (lambda z: ops.transpose(z, (2, 0, 1)), Z),
    "broadcast": (lambda z: ops.broadcast_to(z[:1], (3, 4, 6)), Z),
    "reshape": (lambda z: z.reshape(-1, 2), Z),
    "cast to real": (lambda z: ops.cast(z, graphc.float32), Z),
    "cast": (lambda z: ops.cast(z, graphc.complex64), Z),
    "zeros_like": (lambda z: ops.zeros_like(z) + z, Z),
}  # fmt: skip
FUNCTIONS = {
    name: (getattr(ops, name), Z)
    for name in (
        "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid", "asin", "acos",
        "atan", "asinh", "acosh", "atanh",
    )
}  # fmt: skip
CASES = FOURIER | COMPLEX_CASES | FUNCTIONS


@pytest.fixture
def eager():
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    yield
    graphc.set_context(mode=graphc.GRAPH_MODE)


def weighted(call):
    """A real number of a result: the sum of both parts, each element with a weight of its own."""

    def loss(x):
        y = call(x)
        weights = Tensor(np.cos(np.arange(y.size, dtype=np.float64)).reshape(y.shape))
        parts = [ops.real(y), ops.imag(y)] if y.is_complex() else [y]
        return sum((ops.cast(p, graphc.float64) * weights * (k + 1)).sum() for k, p in enumerate(parts))

    return loss


def close(got, wanted, tolerance):
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * max(1.0, np.abs(wanted).max(initial=0)))


def test_every_function_has_a_case():
    assert {*fourier_module.__all__} <= FOURIER.keys()
    assert {*complex_module.__all__} <= COMPLEX_CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_eager_calls(name, eager):
    call, x = CASES[name]
    gradient = graphc.grad(weighted(call))
    wanted = call(Tensor(x)).asnumpy(), gradient(Tensor(x)).asnumpy()
    graphc.set_context(mode=graphc.GRAPH_MODE)
    tolerance = 2e-6 if name.startswith("cast") else 1e-10
    close(graphc.jit(call)(Tensor(x)).asnumpy(), wanted[0], tolerance)
    close(graphc.jit(graphc.grad(weighted(call)))(Tensor(x)).asnumpy(), wanted[1], tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_rows(dtype):
    """Each by itself, of real numbers all of the transform and half of it, and back, with gradients: NumPy's numbers."""
    x = np.cos(np.arange(9 * 512) ** 2 % 97).reshape(9, 512).astype(dtype)
    tolerance = 2e-6 if dtype == "float32" else 1e-12

    def both(x):
        half = ops.rfft(x, norm="ortho")
        return ops.fft(x), half, ops.irfft(half * 2, norm="ortho"), ops.ifft(ops.fft(x) * 3)

    exact = x.astype(np.float64)
    whole, half = np.fft.fft(exact), np.fft.rfft(exact, norm="ortho")
    for got, wanted in zip(graphc.jit(both)(Tensor(x)), (whole, half, 2 * exact, 3 * exact), strict=True):
        np.testing.assert_allclose(got.asnumpy(), wanted, atol=tolerance * np.abs(wanted).max())
    # The squares of all of a transform add up to those of the numbers, times how many these are.
    gradient = graphc.jit(graphc.grad(lambda x: ops.real(ops.fft(x) * ops.conj(ops.fft(x))).sum()))(Tensor(x))
    np.testing.assert_allclose(gradient.asnumpy(), 2 * 512 * exact, atol=tolerance * 2048)


@pytest.mark.parametrize("name", ["fft", "irfftn", "rfft2", "mul", "div", "abs", "sqrt", "matmul"])
def test_in_single_precision(name, eager):
    call, x = CASES[name]
    if name in ("mul", "div"):
        call = {"mul": lambda z: z * z, "div": lambda z: 1 / z}[name]
    x = x.astype("complex64" if x.dtype.kind == "c" else "float32")
    wanted = call(Tensor(x)).asnumpy()
    graphc.set_context(mode=graphc.GRAPH_MODE)
    close(graphc.jit(call)(Tensor(x)).asnumpy(), wanted, 2e-6)


REFUSED = {"ReduceProd", "Eig", "EighComplex", "Qr", "Svd"}
#: What the pass itself does.
OWN = {"Assign"}


def test_every_op_that_takes_complex_numbers_has_a_rule():
    """Collectives aside, which are refused by name."""
    missing = set()
    for name, op in all_ops().items():
        samples = list(op.samples() or ()) if op.samples else []
        for sample in samples:
            types = [TensorType.of(np.asarray(x)) for x in sample.operands]
            types = [TensorType("complex64", t.shape) if t.dtype == "float32" else t for t in types]
            if not any(t.is_complex for t in types) or op.infer is None:
                continue
            graph = graphc.ir.Graph("one")
            values = [graph.add("Input", types=(t,)).outputs[0] for t in types]
            try:
                node = graph.add(name, values, sample.attrs)
            except GraphcError:
                continue
            if rule_of(node) is None and sample.attrs.get("mode") not in ("mul", "max", "min"):
                missing.add(name)
    assert {n for n in missing if "All" not in n and "Reduce" not in n[:7] and "Part" not in n} <= REFUSED | OWN | {
        "Broadcast", "AppendLog", "MatrixLogarithm", "SendWait", "SendEnd",
    }  # fmt: skip


def test_extremes_of_absolute_values_and_quotients():
    z = np.array([0, 3e30 + 4e30j, 1e-38j, np.inf + 1j, complex(np.inf, np.inf), complex(np.nan, 1)], np.complex64)
    got = graphc.jit(lambda z: ops.abs(z))(Tensor(z)).asnumpy()
    np.testing.assert_allclose(got[[0, 1, 3, 4]], np.abs(z)[[0, 1, 3, 4]], rtol=1e-6)
    assert np.isnan(got[5])
    big = np.array([2e30 + 1e30j], np.complex64)
    np.testing.assert_allclose(graphc.jit(lambda z: z / z)(Tensor(big)).asnumpy(), [1], rtol=1e-6)


@pytest.mark.parametrize("size", [97, 101, 509, 1000, 1920, 4096, 44100, 65536])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_long_transforms_are_as_exact_as_numpys(size, kind):
    wide = np.random.default_rng(size).standard_normal((2, size)).astype(kind)
    z = (wide[0] + 1j * wide[1]).astype({"float32": np.complex64, "float64": np.complex128}[kind])
    long = np.clongdouble if kind == "float64" else np.complex128
    exact = np.fft.fft(z.astype(np.complex128)) if kind == "float32" else np.fft.fft(z.astype(long))
    norm = np.linalg.norm(exact.astype(np.complex128))
    run = graphc.jit(lambda z, x: (ops.fft(z), ops.ifft(ops.fft(z)), ops.irfft(ops.rfft(x), x.shape[0])))
    made, back, real_back = (y.asnumpy() for y in run(Tensor(z), Tensor(wide[0])))
    peer = np.linalg.norm(np.fft.fft(z) - exact) / norm
    bound = max(2.5 * peer, 3e-7 if kind == "float32" else 1.2e-15)
    assert np.linalg.norm(made - exact) / norm <= bound
    assert np.linalg.norm(back - z) <= 2 * bound * np.linalg.norm(z)
    assert np.linalg.norm(real_back - wide[0]) <= 2 * bound * np.linalg.norm(wide[0])


# ---- what a step takes, holds and gives; control flow


def test_complex_parameters_are_trained_by_a_compiled_step():
    class Fit(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(np.zeros(2, np.complex64), name="w")

        def construct(self, z):
            return ops.square(ops.abs(z - self.w)).sum()

    class Step(nn.Cell):
        """Optimizers take no complex parameters."""

        def __init__(self, net):
            super().__init__()
            self.net, self.weights = net, graphc.ParameterTuple(net.trainable_params())
            self.grad = graphc.value_and_grad(net, None, self.weights)

        def construct(self, z):
            loss, (gradient,) = self.grad(z)
            return ops.depend(loss, ops.assign(self.net.w, self.net.w - 0.25 * gradient))

    net, target = Fit(), Tensor(np.array([1 + 2j, -3j], np.complex64))
    step = Step(net)
    losses = [float(step(target)) for _ in range(30)]
    assert losses[-1] < 1e-8 < losses[0]
    np.testing.assert_allclose(net.w.asnumpy(), target.asnumpy(), atol=1e-4)


def test_branches_and_loops_carry_complex_values():
    class Turns(nn.Cell):
        def construct(self, z, n):
            y = z
            while n > 0:
                y = y * z
                n = n - 1
            if ops.real(y).sum() > 0:
                y = ops.conj(y)
            return y

    z = cplx(5)
    y = z**4
    wanted = np.conj(y) if y.real.sum() > 0 else y
    np.testing.assert_allclose(Turns()(Tensor(z), Tensor(3)).asnumpy(), wanted, rtol=1e-10)


def test_loops_of_rows_are_scans():
    class Rows(nn.Cell):
        def construct(self, z):
            y = z[0]
            for t in range(z.shape[0]):
                y = y * 0.5 + z[t] * z[t]
            return y

    z = cplx(12, 4)
    y = z[0]
    for row in z:
        y = y * 0.5 + row * row
    step = graphc.compile(Rows(), Tensor(z))
    np.testing.assert_allclose(step(Tensor(z)).asnumpy(), y, rtol=1e-10)


def test_constants_without_axes_have_none():
    class Chosen(nn.Cell):
        def construct(self, x, z):
            return ops.select(x == 0, 2.0, z)

    made = [Chosen()(Tensor(x), Tensor(np.complex64(3))) for x in np.float32([0, 1])]
    assert [(complex(y), y.shape) for y in made] == [(2, ()), (3, ())]


def test_inputs_are_given_back():
    z = cplx(3)
    got = graphc.jit(lambda z: (z, ops.conj(z), Tensor(W[0, 0, :3])))(Tensor(z))
    for a, b in zip(got, (z, np.conj(z), W[0, 0, :3]), strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b)


def test_what_has_no_rule_is_refused_by_name():
    with pytest.raises(
        GraphcError, match=r"\[GC181\] ReduceProd has no kernel for complex64: .*eager calls only"
    ) as caught:
        graphc.jit(lambda z: ops.prod(z))(Tensor(Z.astype(np.complex64)))
    assert "PYNATIVE_MODE" in str(caught.value)


def test_vmap_of_a_transform(eager):
    call = graphc.vmap(lambda z: ops.irfft(ops.fft(z)[:4]), 1, 0)
    wanted = call(Tensor(Z[0])).asnumpy()
    graphc.set_context(mode=graphc.GRAPH_MODE)
    close(graphc.jit(call)(Tensor(Z[0])).asnumpy(), wanted, 1e-12)
