"""Products, distances and Fourier transforms as primitives."""

from __future__ import annotations

from graphc.ops import functional as F
from graphc.ops.functional.fourier import fft_with_size
from graphc.ops.functional.operand_checks import require_rank
from graphc.ops.tensor.primitive import REQUIRED, declare
from graphc.ops.tensor.tensor import Tensor

# ---- products


def _matrices(x: Tensor, y: Tensor, transpose_a: bool, transpose_b: bool) -> Tensor:
    """The product of two matrices, each perhaps turned."""
    require_rank("MatMul", "x", x, 2)
    require_rank("MatMul", "y", y, 2)
    return F.matmul(x, y, transpose_a, transpose_b)


MatMul = declare("MatMul", _matrices, transpose_a=False, transpose_b=False)

BatchMatMul = declare("BatchMatMul", F.matmul, transpose_a=False, transpose_b=False)

Ger = declare("Ger", F.ger)
Einsum = declare("Einsum", lambda operands, equation: F.einsum(equation, operands), equation=REQUIRED)
Dense = declare("Dense", F.dense)

TensorDot = declare("TensorDot", F.tensor_dot)

#: MindSpore's number for: the first axis of size 3.
_FIRST = -65530

Cross = declare("Cross", lambda x, y, dim: F.cross(x, y, None if dim == _FIRST else dim), F.cross.__doc__, dim=_FIRST)

Cdist = declare("Cdist", F.cdist, p=2.0)

FFTWithSize = declare(
    "FFTWithSize",
    fft_with_size,
    signal_ndim=REQUIRED,
    inverse=REQUIRED,
    real=REQUIRED,
    norm="backward",
    onesided=True,
    signal_sizes=(),
)


def _stft(
    x: Tensor,
    window: Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    normalized: bool,
    onesided: bool,
    return_complex: bool,
) -> Tensor:
    """Fourier transforms of the windows of signals, which are not padded; see ops.stft."""
    return F.stft(x, n_fft, hop_length, win_length, window, False, "REFLECT", normalized, onesided, return_complex)


STFT = declare(
    "STFT",
    _stft,
    n_fft=REQUIRED,
    hop_length=REQUIRED,
    win_length=REQUIRED,
    normalized=REQUIRED,
    onesided=REQUIRED,
    return_complex=REQUIRED,
)
