"""Complex numbers: their parts, and what is made of parts. Not here: arithmetic, which takes them as any other numbers.

Gradients follow `graphc.passes.autodiff`: a rule with a complex result gets and gives conjugates.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphc.errors import DTypeError
from graphc.ir import Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder, Operand
from graphc.ir.op import Attrs, Kernel, Operands, Strided, TypeRule, Types
from graphc.ir.types import COMPLEX, contiguous_strides
from graphc.ops.declared import padding
from graphc.ops.declared.rules import Array, broadcast_shape, check_dtype, floats, same_dtype, unbroadcast

#: The complex dtype whose parts are of a dtype.
WHOLE = {"float32": "complex64", "float64": "complex128"}


def complexes(*shape: int, seed: int = 0) -> Array:
    """Uniform complex64 numbers, both parts in [-2, 2)."""
    return floats(*shape, seed=seed) + np.complex64(1j) * floats(*shape, seed=seed + 50)


def _complex_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    part = same_dtype("Complex", types)
    if part not in WHOLE:
        raise DTypeError(
            f"Complex: real is {types[0]}, expected dtype float32 or float64",
            help="cast it: ops.cast(x, graphc.float32)",
        )
    return (TensorType(WHOLE[part], broadcast_shape("Complex", types)),)


def _complex_ref(real: Array, imag: Array) -> Array:
    # Not real + 1j imag: an infinite part would make the other one NaN.
    made = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real.dtype, np.complex64))
    made.real, made.imag = real, imag
    return made


def _complex_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """In memory parts take turns."""
    (whole,) = outputs
    shape = whole.type.shape
    memory = Operand(whole.buffer, TensorType(whole.type.part, (*shape, 2)))
    for place, x in enumerate(inputs):
        lead = len(shape) - x.type.rank
        own = contiguous_strides(x.type.shape)
        strides = [0 if a < lead or x.type.shape[a - lead] == 1 else own[a - lead] for a in range(len(shape))]
        k.copy(x, memory, shape, 0, strides, place, [2 * step for step in contiguous_strides(shape)])


op(
    "Complex",
    "real imag",
    infer=_complex_infer,
    ref=_complex_ref,
    # The second is that of the conjugate.
    grad=lambda g, n, dy: [unbroadcast(g, g.Real(dy), n.real), unbroadcast(g, g.Neg(g.Imag(dy)), n.imag)],
    lower=Kernel(_complex_lower, tuple(WHOLE)),
    pad=padding.elementwise,
    samples=lambda: [
        Sample((floats(3, 5), floats(3, 5, seed=1)), grad=(0, 1)),
        Sample((floats(3, 1), floats(4, seed=1)), grad=(0, 1)),
        Sample((floats(), floats(2, seed=1)), grad=(0, 1)),
    ],
    doc="real + i imag, broadcast",
)


def _of_complex(name: str, part: bool) -> TypeRule:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        check_dtype(name, "x", types[0], COMPLEX)
        return (TensorType(types[0].part if part else types[0].dtype, types[0].shape),)

    return infer


def _part_of(place: int) -> Callable[[TensorType, Attrs], tuple[int, tuple[int, ...]]]:
    """In memory complex numbers are pairs: how one part of all is walked."""
    return lambda x, attrs: (
        place,
        tuple(0 if n == 1 else 2 * step for n, step in zip(x.shape, contiguous_strides(x.shape), strict=True)),
    )


def _samples(*, grad: bool = True) -> list[Sample]:
    numbers = (0,) if grad else ()
    return [Sample((complexes(3, 5),), grad=numbers), Sample((complexes(),), grad=numbers), Sample((complexes(0, 2),))]


def _imag_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    return [g.Complex(g.like(0.0, dy), dy)]


op(
    "Conj",
    "x",
    infer=_of_complex("Conj", False),
    ref=np.conj,
    grad=lambda g, n, dy: [g.Conj(dy)],
    pad=padding.alike,
    samples=_samples,
    doc="the conjugate",
)

op(
    "Real",
    "x",
    infer=_of_complex("Real", True),
    ref=np.real,
    grad=lambda g, n, dy: [g.Cast(dy, dtype=n.type(n.x).dtype)],
    lower=Strided(_part_of(0)),
    pad=padding.alike,
    samples=_samples,
    doc="the real part",
)

op(
    "Imag",
    "x",
    infer=_of_complex("Imag", True),
    ref=np.imag,
    grad=_imag_grad,
    lower=Strided(_part_of(1)),
    pad=padding.alike,
    samples=_samples,
    doc="the imaginary part",
)
