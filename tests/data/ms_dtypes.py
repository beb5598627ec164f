"""Complex functions, Fourier transforms and their gradients by MindSpore, for tests/ops/test_complex.py.

Run with MindSpore's Python in an empty folder: python ms_dtypes.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Z = np.array([1 + 2j, -0.5 + 0.25j, 0.3, 3 - 1j])
W = np.array([2 - 1j, 1 + 1j, 1j, -2 + 0.5j])
X = np.arange(6, dtype=np.float64).reshape(2, 3) - 1.5
SIGNAL = np.array([0.5, 1, -2, 3, 0.25, -1, 2, 0.5, 1, 4, -3, 2, 1, 0, -1, 2.5])
WINDOW = np.array([1.0, 2.0, 2.0, 1.0])

ONE = [
    "neg", "angle", "conj", "real", "imag", "exp", "log", "sqrt", "rsqrt", "square", "reciprocal", "sin", "cos", "tan", "sinh",
    "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sigmoid", "isreal", "sum", "mean", "prod",
    "view_as_real", "expm1", "log1p",
]  # fmt: skip
TWO = ["add", "sub", "mul", "div", "pow", "equal", "not_equal"]
FOURIER = [
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2", "fftn", "ifftn",
    "rfftn", "irfftn", "hfftn", "ihfftn",
]  # fmt: skip
NORMS = ("forward", "ortho")

Case = Callable[[Any, Any], Any]
#: name -> what it computes from the framework's `ops` and what makes a tensor of an array.
CASES: dict[str, Case] = {
    **{f"{n}(z)": lambda ops, t, n=n: getattr(ops, n)(t(Z.astype(np.complex64))) for n in ONE},
    **{f"{n}(z128)": lambda ops, t, n=n: getattr(ops, n)(t(Z)) for n in ("exp", "angle", "sum", "view_as_real")},
    **{
        f"{n}(z, w)": lambda ops, t, n=n: getattr(ops, n)(t(Z.astype(np.complex64)), t(W.astype(np.complex64)))
        for n in TWO
    },
    "matmul": lambda ops, t: ops.matmul(t(Z.reshape(2, 2)), t(W.reshape(2, 2))),
    "cumsum": lambda ops, t: ops.cumsum(t(Z), 0),
    "concat": lambda ops, t: ops.concat((t(Z), t(W))),
    "gather": lambda ops, t: ops.gather(t(Z), t(np.array([2, 0], np.int32)), 0),
    "transpose": lambda ops, t: ops.transpose(t(Z.reshape(2, 2)), (1, 0)),
    "masked_fill": lambda ops, t: ops.masked_fill(t(Z), t(Z.real > 0.5), t(np.zeros((), np.complex128))),
    "Complex": lambda ops, t: ops.Complex()(t(np.float32([1, 2])), t(np.float32([3, -1]))),
    "polar": lambda ops, t: ops.polar(t(np.float32([1, 2])), t(np.float32([3, -1]))),
    "x + z": lambda ops, t: t(Z.real.astype(np.float32)) + t(W.astype(np.complex64)),
    "z + x64": lambda ops, t: t(Z.astype(np.complex64)) + t(W.real),
    "z * 2.5": lambda ops, t: t(Z.astype(np.complex64)) * 2.5,
    **{f"{n}(x)": lambda ops, t, n=n: getattr(ops, n)(t(X.astype(np.float32))) for n in FOURIER},
    **{
        f"{n}(ints)": lambda ops, t, n=n: getattr(ops, n)(t((2 * X).astype(np.int32))) for n in ("fft", "rfft2", "hfft")
    },
    **{f"{n}(x64)": lambda ops, t, n=n: getattr(ops, n)(t(X)) for n in ("fft2", "irfftn", "ihfft")},
    **{f"{n}(z)": lambda ops, t, n=n: getattr(ops, n)(t(Z)) for n in ("fft", "ifft", "irfft", "hfft")},
    **{
        f"{n}, {norm}": lambda ops, t, n=n, norm=norm: getattr(ops, n)(t(X), norm=norm)
        for n in ("fft", "irfft2", "hfft", "ihfftn")
        for norm in NORMS
    },
    "fft, n=5": lambda ops, t: ops.fft(t(X), 5),
    "fft, n=2, dim=0": lambda ops, t: ops.fft(t(X), 2, 0),
    "irfft, n=5": lambda ops, t: ops.irfft(t(X), 5),
    "fft2, s": lambda ops, t: ops.fft2(t(X), (3, 2)),
    "irfftn, s": lambda ops, t: ops.irfftn(t(X), (3, 4), (0, 1)),
    "rfftn, s alone": lambda ops, t: ops.rfftn(t(X), (3,)),
    "fftshift": lambda ops, t: ops.fftshift(t(X)),
    "ifftshift": lambda ops, t: ops.ifftshift(t(X), 1),
    "fftfreq": lambda ops, t: ops.fftfreq(5, 0.5),
    "rfftfreq": lambda ops, t: ops.rfftfreq(6),
    **{
        f"FFTWithSize {inverse} {real} {half} {norm}": lambda ops, t, inverse=inverse, real=real, half=half, norm=norm: (
            ops.FFTWithSize(1, inverse, real, norm, half)(
                t(X.astype(np.float32 if real and not inverse else np.complex64))
            )
        )
        for inverse in (False, True)
        for real in (False, True)
        for half in (False, True)
        for norm in ("backward", "ortho")
    },
    "stft": lambda ops, t: ops.stft(t(SIGNAL), 4, 2),
    "stft, complex": lambda ops, t: ops.stft(t(SIGNAL), 4, return_complex=True),
    "stft, window": lambda ops, t: ops.stft(t(SIGNAL), 4, 2, window=t(WINDOW), center=False, normalized=True),
    "stft, both sides": lambda ops, t: ops.stft(t(SIGNAL), 6, 3, 4, onesided=False, pad_mode="CONSTANT"),
}
GRADIENTS: dict[str, tuple[Any, Case]] = {
    "real": (Z, lambda ops, z: ops.real(z).sum()),
    "imag": (Z, lambda ops, z: ops.imag(z).sum()),
    "abs": (Z, lambda ops, z: ops.real(ops.abs(z)).sum()),
    "fft": (Z, lambda ops, z: ops.real(ops.fft(z)).sum() + 2 * ops.imag(ops.fft(z)).sum()),
    "ifft": (Z, lambda ops, z: ops.real(ops.ifft(z)).sum()),
    "irfft": (Z, lambda ops, z: (ops.irfft(z) ** 2).sum()),
    # Of complex128 it has another sign in some places; finite differences say what it is of complex64.
    "hfft": (Z.astype(np.complex64), lambda ops, z: (ops.hfft(z) ** 2).sum()),
    "fft of reals": (SIGNAL, lambda ops, x: ops.real(ops.abs(ops.fft(x))).sum()),
    "rfft of reals": (SIGNAL, lambda ops, x: ops.real(ops.rfft(x)).sum() + 2 * ops.imag(ops.rfft(x)).sum()),
}


def as_lists(a: Any) -> dict[str, Any]:
    """Shape, dtype and numbers; complex ones as real parts, then imaginary parts."""
    flat = a.reshape(-1)
    numbers = [*flat.real.tolist(), *flat.imag.tolist()] if flat.dtype.kind == "c" else flat.tolist()
    return {"shape": list(a.shape), "dtype": str(a.dtype), "values": [float(f"{v:.8g}") for v in numbers]}


def main() -> None:
    """Record all cases."""
    import mindspore as ms

    ms.set_context(mode=ms.PYNATIVE_MODE, pynative_synchronize=True)
    made = {name: as_lists(case(ms.ops, ms.Tensor).asnumpy()) for name, case in CASES.items()}
    for name, (x, case) in GRADIENTS.items():
        made["gradient of " + name] = as_lists(ms.grad(lambda x, case=case: case(ms.ops, x))(ms.Tensor(x)).asnumpy())
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(made, file)
        file.write("\n")


if __name__ == "__main__":
    main()
