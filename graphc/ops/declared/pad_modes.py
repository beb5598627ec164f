"""Borders that repeat what is inside: NumPy's pad with the modes reflect, symmetric, edge and wrap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc.errors import ArgumentValueError
from graphc.ir import REQUIRED, Sample, TensorType, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ops.declared import padding_places
from graphc.ops.declared.batching import prefixed
from graphc.ops.declared.rules import ONLY_MOVED, Array, booleans, floats, integers

Pairs = Sequence[tuple[int, int]]


def longest(mode: str, size: int) -> int:
    """The most places on one side of an axis of this size; of edges so many that sums of their gradients stay short."""
    return {"reflect": size - 1, "symmetric": size, "wrap": size, "edge": 16 if size else 0}[mode]


def fits(mode: str, shape: Sequence[int], paddings: Pairs) -> bool:
    """Whether the op has borders (before, after) of these sizes, one pair for each axis."""
    return len(paddings) == len(shape) and all(
        min(pair) >= 0 and max(pair) <= max(longest(mode, size), 0) for size, pair in zip(shape, paddings, strict=True)
    )


def _checked(x: str, shape: Sequence[int], attrs: Attrs) -> None:
    if attrs["mode"] not in ("reflect", "symmetric", "edge", "wrap"):
        raise ArgumentValueError(f"BorderPad: mode {attrs['mode']!r} is none of reflect, symmetric, edge and wrap")
    if not fits(attrs["mode"], shape, attrs["paddings"]):
        raise ArgumentValueError(f"BorderPad: {x} has no borders {attrs['paddings']} by the mode {attrs['mode']}")


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    _checked(str(x), x.shape, attrs)
    return (TensorType(x.dtype, tuple(d + a + b for d, (a, b) in zip(x.shape, attrs["paddings"], strict=True))),)


def _grad_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (dy,) = types
    shape = tuple(d - sum(pair) for d, pair in zip(dy.shape, attrs["paddings"], strict=False))
    _checked(f"an array whose gradient is {dy}", shape, attrs)
    return (TensorType(dy.dtype, shape),)


def _axes(shape: Sequence[int], paddings: Pairs) -> tuple[int, tuple[tuple[int, int, int], ...]]:
    """The axes as a kernel wants them: neighbours without borders as one, and first ones apart."""
    made: list[tuple[int, int, int]] = []
    for size, (before, after) in zip(shape, paddings, strict=True):
        if made and made[-1][1:] == (0, 0) == (before, after):
            made[-1] = (made[-1][0] * size, 0, 0)
        else:
            made.append((size, before, after))
    outer = made.pop(0)[0] if len(made) > 1 and made[0][1:] == (0, 0) else 1
    return outer, tuple(made or [(1, 0, 0)])


def _lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    x = inputs[0].type
    outer, axes = _axes(x.shape, attrs["paddings"])
    k.call("border_pad", inputs, outputs, outer=outer, axes=axes, mode=attrs["mode"], dtype=x.dtype)


def _grad_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    dx = outputs[0].type
    outer, axes = _axes(dx.shape, attrs["paddings"])
    k.call("border_pad_grad", inputs, outputs, outer=outer, axes=axes, mode=attrs["mode"], dtype=dx.dtype)


def _grad_ref(dy: Array, paddings: Pairs, mode: str) -> Array:
    sizes = [whole - sum(pair) for whole, pair in zip(dy.shape, paddings, strict=True)]
    shown = [np.pad(np.arange(n), pair, mode) for n, pair in zip(sizes, paddings, strict=True)]  # type: ignore[call-overload]
    made = np.zeros(sizes, np.result_type(dy.dtype, np.float64))
    np.add.at(made, np.ix_(*shown), dy)
    return made.astype(dy.dtype)


op(
    "BorderPad",
    "x",
    attrs={"paddings": REQUIRED, "mode": REQUIRED},
    infer=_infer,
    ref=lambda x, paddings, mode: np.pad(x, paddings, mode),
    grad=lambda g, n, dy: [g.BorderPadGrad(dy, paddings=n.paddings, mode=n.mode)],
    lower=Kernel(_lower, ONLY_MOVED),
    batch=prefixed(paddings=(0, 0)),
    pad=padding_places.repeated_border,
    samples=lambda: [
        Sample((floats(3, 17),), {"paddings": ((1, 2), (2, 3)), "mode": "reflect"}, grad=(0,)),
        Sample((floats(2, 3, 5, 4),), {"paddings": ((0, 0), (3, 1), (0, 0), (2, 2)), "mode": "symmetric"}, grad=(0,)),
        Sample((floats(4, 6, 3),), {"paddings": ((0, 0), (9, 2), (0, 0)), "mode": "edge"}, grad=(0,)),
        Sample((floats(5),), {"paddings": ((5, 4),), "mode": "wrap"}, grad=(0,)),
        Sample((integers(2, 3),), {"paddings": ((0, 1), (2, 0)), "mode": "reflect"}),
        Sample((booleans(4, 2),), {"paddings": ((0, 0), (1, 1)), "mode": "wrap"}),
    ],
    doc="x with a border that repeats what is inside",
)


op(
    "BorderPadGrad",
    "dy",
    attrs={"paddings": REQUIRED, "mode": REQUIRED},
    infer=_grad_infer,
    ref=_grad_ref,
    grad=lambda g, n, d: [g.BorderPad(d, paddings=n.paddings, mode=n.mode)],
    lower=Kernel(_grad_lower, ("float32", "float64")),
    batch=prefixed(paddings=(0, 0)),
    samples=lambda: [
        Sample((floats(6, 22),), {"paddings": ((1, 2), (2, 3)), "mode": "reflect"}, grad=(0,)),
        Sample((floats(2, 7, 9),), {"paddings": ((0, 0), (2, 2), (1, 3)), "mode": "edge"}, grad=(0,)),
    ],
    doc="each element of a BorderPad's gradient added to that of the element which it shows",
)
