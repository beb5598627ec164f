"""Complex numbers and Fourier transforms: MindSpore's numbers (tests/data/ms_dtypes.py), NumPy's, gradients, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
import graphc.numpy as gnp
from graphc import GraphcError, Parameter, Tensor, load_checkpoint, nn, ops, save_checkpoint
from graphc.scipy import linalg
from tests.data.ms_dtypes import CASES, GRADIENTS, W, Z

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_dtypes.json").read_text())


@pytest.fixture
def eager():
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    yield
    graphc.set_context(mode=graphc.GRAPH_MODE)


def agree(got, wanted):
    values = np.array(wanted["values"])
    if "complex" in wanted["dtype"]:
        values = values[: values.size // 2] + 1j * values[values.size // 2 :]
    assert (list(got.shape), str(got.dtype)) == (wanted["shape"], wanted["dtype"])
    np.testing.assert_allclose(got.reshape(-1), values, rtol=3e-6, atol=3e-6)


def test_every_case_is_recorded():
    assert list(RECORDED) == [*CASES, *(f"gradient of {n}" for n in GRADIENTS)]


@pytest.mark.parametrize("name", CASES)
def test_numbers_of_mindspore(name):
    agree(CASES[name](ops, Tensor).asnumpy(), RECORDED[name])


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.usefixtures("eager")
def test_gradients_of_mindspore(name):
    x, case = GRADIENTS[name]
    agree(graphc.grad(lambda x: case(ops, x))(Tensor(x)).asnumpy(), RECORDED["gradient of " + name])


def test_absolute_values_are_floats():
    """In MindSpore they are complex, with imaginary parts of 0."""
    for dtype, part in (("complex64", "float32"), ("complex128", "float64")):
        z = Tensor(Z.astype(dtype))
        assert abs(z).tensor_type.dtype == z.abs().tensor_type.dtype == ops.ComplexAbs()(z).tensor_type.dtype == part
        np.testing.assert_allclose(abs(z).asnumpy(), np.abs(Z), rtol=1e-6)


@pytest.mark.usefixtures("eager")
def test_the_gradient_at_zero_and_for_real_operands():
    assert graphc.grad(lambda z: ops.abs(z).sum())(Tensor(np.zeros(2, np.complex64))).asnumpy().tolist() == [0, 0]
    x = Tensor(np.array([2.0, 3.0]))
    # d/dx Re(x w) = Re w
    got = graphc.grad(lambda x: ops.real(x * Tensor(W[:2])).sum())(x)
    assert (got.tensor_type.dtype, got.asnumpy().tolist()) == ("float64", [2.0, 1.0])
    # Of a complex result it is that of the sum of its real parts.
    np.testing.assert_allclose(graphc.grad(lambda z: z * z)(Tensor(Z)).asnumpy(), np.conj(2 * Z))


@pytest.mark.usefixtures("eager")
def test_a_cell_trains_complex_parameters_op_by_op():
    class Fit(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(np.zeros(2, np.complex64), name="w")

        def construct(self, z):
            return ops.square(ops.abs(z - self.w)).sum()

    net, target = Fit(), Tensor(np.array([1 + 2j, -3j], np.complex64))
    step = graphc.value_and_grad(net, None, net.trainable_params())
    for _ in range(30):
        (gradient,) = step(target)[1]
        net.w.set_data(net.w - 0.25 * gradient)
    np.testing.assert_allclose(net.w.asnumpy(), target.asnumpy(), atol=1e-5)


# ---- Fourier transforms against NumPy


@pytest.mark.parametrize("norm", [None, "forward", "ortho"])
def test_sizes_axes_and_norms_are_numpys(norm):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 4, 5))
    z = x + 1j * rng.standard_normal(x.shape)
    for name in ["fft", "ifft", "irfft", "hfft", "rfft", "ihfft"]:
        a = x if name in ("rfft", "ihfft") else z
        for n, dim in ((None, -1), (3, 0), (8, 1), (1, 2), (7, -2)):
            got = getattr(ops, name)(Tensor(a), n, dim, norm).asnumpy()
            np.testing.assert_allclose(got, getattr(np.fft, name)(a, n, dim, norm), rtol=1e-12, atol=1e-12)
    for name in ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]:
        a = x if name in ("rfft2", "rfftn") else z
        for s, dim in ((None, (0, 2)), ((3, 6), (-1, 0)), ((5, 1), (1, 2))):
            got = getattr(ops, name)(Tensor(a), s, dim, norm).asnumpy()
            wanted = getattr(np.fft, name)(a, s, dim, norm)
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


def test_transforms_with_numpys_names_of_arguments():
    x = np.random.default_rng(1).standard_normal((2, 3, 4))
    one = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    several = [name + kind for name in ("fft", "ifft", "rfft", "irfft") for kind in ("2", "n")]
    for name in (*one, *several):
        for named in ({}, {"n": 3, "axis": 1} if name in one else {"s": (3, 2), "axes": (2, 0)}):
            got = getattr(gnp.fft, name)(Tensor(x), **named, norm="ortho").asnumpy()
            np.testing.assert_allclose(got, getattr(np.fft, name)(x, **named, norm="ortho"), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(gnp.fft.fftshift(Tensor(x), axes=1).asnumpy(), np.fft.fftshift(x, axes=1))
    np.testing.assert_array_equal(gnp.fft.ifftshift(Tensor(x)).asnumpy(), np.fft.ifftshift(x))
    for name in ("fftfreq", "rfftfreq"):
        np.testing.assert_allclose(
            getattr(gnp.fft, name)(7, d=0.5).asnumpy(), getattr(np.fft, name)(7, d=0.5), rtol=1e-6
        )


def test_shifts_and_empty_batches():
    x = np.arange(24).reshape(2, 3, 4)
    for dim in (None, 1, (0, -1)):
        np.testing.assert_array_equal(ops.fftshift(Tensor(x), dim).asnumpy(), np.fft.fftshift(x, dim))
        np.testing.assert_array_equal(ops.ifftshift(Tensor(x), dim).asnumpy(), np.fft.ifftshift(x, dim))
    assert ops.rfft(Tensor(np.zeros((0, 6), np.float32))).shape == (0, 4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: ops.fft(x, 0), "a size must be at least 1, got 0"),
        (lambda x: ops.fft(x, norm="x"), "norm must be one of backward, forward, ortho, got 'x'"),
        (lambda x: ops.fft(x, dim=2), "axis 2 is out of range"),
        (lambda x: ops.fftn(x, None, (0, -2)), "dim names an axis twice"),
        (lambda x: ops.fftn(x, (2,), (0, 1)), "s has 1 sizes, dim 2 axes"),
        (lambda x: ops.fft(x, 2.5), "s must be an int or ints, got 2.5"),
        (lambda x: ops.rfft(ops.fft(x)), r"rfft: input is c64\[2,3\]"),
        (lambda x: ops.fft(x > 0), r"fft: input is b1\[2,3\]"),
        (lambda x: ops.fft(ops.cast(x, graphc.uint8)), r"fft: input is u8\[2,3\]"),
        (lambda x: ops.irfft(x[:, :1]), "the result would have no elements along axis 1"),
        (lambda x: ops.fftfreq(0), "n must be an int of at least 1, got 0"),
        (lambda x: ops.FFTWithSize(4, False, False)(x), "signal_ndim must be 1, 2 or 3, got 4"),
        (lambda x: ops.FFTWithSize(1, True, False)(x), r"input is f32\[2,3\], expected a complex tensor"),
        (lambda x: ops.stft(x, 4, center=False), "the signal has 3 elements, a window 4"),
        (lambda x: ops.stft(x, 2, 1, pad_mode="wrap"), "pad_mode must be one of REFLECT, EDGE, CONSTANT, got 'wrap'"),
        (lambda x: ops.stft(x, 2, 1, window=Tensor([1.0])), r"window is f32\[1\], expected 2 weights"),
        (lambda x: ops.stft(ops.fft(x), 2, 1, onesided=True), "onesided is for real signals"),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises(GraphcError, match=words):
        call(Tensor(np.ones((2, 3), np.float32)))


# ---- what complex numbers have no meaning for


@pytest.mark.parametrize(
    "call",
    [
        lambda z: z < z, lambda z: z >= 1, ops.floor, ops.round, ops.isnan, ops.isfinite, ops.relu, ops.softmax, ops.sign,
        lambda z: ops.maximum(z, z), lambda z: z % z, lambda z: z // z, ops.argmax, ops.sort, ops.std, ops.erf, float, int,
        lambda z: z * 1j, lambda z: ops.mse_loss(z, z), ops.bitwise_not, lambda z: ops.atan2(z, z),
        lambda z: ops.cumsum(z > 0, 0), lambda z: Tensor(z, graphc.float32), lambda z: ops.isclose(z, z),
        lambda z: nn.Dense(4, 2)(z), lambda z: ops.angle(ops.real(z)), lambda z: ops.view_as_real(ops.real(z)),
        lambda z: ops.polar(z, z), lambda z: ops.Complex()(z, z), lambda z: ops.Complex()(ops.real(z), 1),
    ],
)  # fmt: skip
def test_refusals(call):
    with pytest.raises(TypeError) as caught:
        call(Tensor(Z[:1] if call in (float, int) else Z))
    assert isinstance(caught.value, GraphcError)
    assert caught.value.code != "GC185"


def test_conversions():
    z = Tensor(Z)
    assert (complex(z[0]), z[0].item(), bool(z[0])) == (1 + 2j, 1 + 2j, True)
    assert ops.cast(z, "float32").asnumpy().tolist() == Z.real.astype(np.float32).tolist()
    assert ops.cast(z, "int32").asnumpy().tolist() == [1, 0, 0, 3]
    assert ops.cast(Tensor([0, 1j]), "bool").asnumpy().tolist() == [False, True]
    assert Tensor([1.0, 2.0]).astype(graphc.complex64).asnumpy().tolist() == [1, 2]
    assert (Tensor(1 + 2j).tensor_type.dtype, Tensor([1, 2j], graphc.complex64).tensor_type.dtype) == (
        "complex128",
        "complex64",
    )
    assert (z.is_complex(), ops.is_complex(ops.real(z))) == (True, False)
    assert str(Tensor([1 + 2j])) == "[1.+2.j]"
    assert "dtype=Complex128" in repr(z)
    swapped = Tensor(Z.astype(">c16"))
    assert swapped.asnumpy().dtype.isnative
    assert swapped.asnumpy().tolist() == Z.tolist()


def test_checkpoints(tmp_path):
    kept = {d: Tensor(Z.astype(d)) for d in ("complex64", "complex128")}
    loaded = load_checkpoint(save_checkpoint(kept, tmp_path / "z.ckpt", crc_check=True), crc_check=True)
    for name, tensor in kept.items():
        assert loaded[name].tensor_type.dtype == name
        assert loaded[name].asnumpy().tobytes() == tensor.asnumpy().tobytes()
    small = {"z": kept["complex64"]}
    loaded = load_checkpoint(save_checkpoint(small, tmp_path / "z.safetensors"))
    assert loaded["z"].asnumpy().tolist() == small["z"].asnumpy().tolist()
    with pytest.raises(GraphcError, match="'complex128' is complex128, which safetensors has no name for"):
        save_checkpoint(kept, tmp_path / "both.safetensors")
    assert not (tmp_path / "both.safetensors").exists()


def test_stft_as_a_primitive_pads_nothing():
    rng = np.random.default_rng(1)
    signal, window = Tensor(rng.normal(size=(2, 20)).astype(np.float32)), Tensor(rng.normal(size=5).astype(np.float32))
    made = ops.STFT(8, 3, 5, True, False, True)(signal, window)
    wide = np.zeros(8)
    wide[1:6] = window.asnumpy()
    frames = [signal.asnumpy()[:, i : i + 8] * wide for i in range(0, 13, 3)]
    np.testing.assert_allclose(made.asnumpy(), np.fft.fft(np.stack(frames, 1)).swapaxes(1, 2) / np.sqrt(8), atol=1e-5)
    parts = ops.STFT(8, 3, 5, True, True, False)(signal, window).asnumpy()
    np.testing.assert_allclose(parts[..., 0] + 1j * parts[..., 1], made.asnumpy()[:, :5], atol=1e-6)


COMPLEX = Tensor(np.array([2 + 1j, 1 + 5j, 9j]))
REAL = Tensor(np.array([1.0, 2.0, 3.0]))
#: What would go on with the real part alone.
UNASKED = {
    "clip_by_value": lambda: ops.clip_by_value(REAL, COMPLEX),
    "clip_by_value_max": lambda: ops.clip_by_value(REAL, None, COMPLEX),
    "fills": lambda: ops.fills(REAL, Tensor(2 + 3j)),
    "cov": lambda: gnp.cov(COMPLEX),
    "corrcoef": lambda: gnp.corrcoef(COMPLEX),
    "interp": lambda: gnp.interp(REAL, REAL, COMPLEX),
    "bincount": lambda: gnp.bincount(Tensor([0, 1, 2]), COMPLEX),
    "histogram": lambda: gnp.histogram(COMPLEX),
    "weights": lambda: gnp.histogram(REAL, weights=COMPLEX),
    "searchsorted": lambda: gnp.searchsorted(COMPLEX, REAL),
}


@pytest.mark.parametrize("name", UNASKED)
def test_nothing_takes_the_real_part_unasked(name):
    with pytest.raises(graphc.DTypeError, match=r"c128\[.*\] is complex, what is computed here is float"):
        UNASKED[name]()


@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (3, 3)])
@pytest.mark.parametrize("name", ["qr", "svd", "eigh", "eigh of the upper triangle"])
@pytest.mark.usefixtures("eager")
def test_gradients_of_factors_of_complex_matrices(name, shape):
    """First and second ones, against differences. Columns of what svd gives are turned by any angles."""
    rng = np.random.default_rng(sum(shape))
    shape = (3, 3) if "eigh" in name else shape
    x, step, *by = rng.standard_normal((4, *shape)) + 1j * rng.standard_normal((4, *shape))
    weights = [Tensor(y) for y in by]

    def total(x):
        if name == "qr":
            q, r = ops.qr(x)
            parts = q @ r.conj(), q.conj() @ (r * r)
        elif name == "svd":
            s, u, v = ops.svd(x)
            parts = ops.matmul(u, v.conj().swapaxes(0, 1)), ops.matmul(u * s * s, v.conj().swapaxes(0, 1))
        else:
            w, v = linalg.eigh(x, lower=name == "eigh")
            parts = v, v * w
        return sum(ops.real(y * w).sum() for y, w in zip(parts, weights, strict=True))

    def slope(x):
        return ops.real(ops.grad(total)(x) * weights[1].conj()).sum()

    for function in (total, slope):
        ends = [float(function(Tensor(x + h * step))) for h in (-1e-6, 1e-6)]
        got = ops.grad(function)(Tensor(x)).asnumpy()
        assert (got * step.conj()).real.sum() == pytest.approx((ends[1] - ends[0]) / 2e-6, rel=1e-5, abs=1e-6)
