"""The same elements under another shape or order of axes; broadcasting."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.declared.rules import normalize_axes
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Axis, Extents, Ints, call, is_eager
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor


def as_shape(shape: Any) -> tuple[int, ...]:
    """Sizes given one by one, as a tuple or list, or as a tensor of them; they may be tensors themselves, of known values."""
    if not hasattr(shape, "__len__"):
        raise ArgumentTypeError(f"a shape is a tuple of integers, got {shape!r}", loc=user_loc())
    if len(shape) == 1 and (isinstance(shape[0], (tuple, list)) or (isinstance(shape[0], Tensor) and shape[0].ndim)):
        shape = shape[0]
    if isinstance(shape, Tensor):
        array = dispatch.known_array(shape)
        if array is None or array.ndim != 1 or array.dtype.kind not in "iu":
            raise ArgumentTypeError(f"a shape consists of integers, got a tensor {shape.tensor_type}", loc=user_loc())
        shape = array.tolist()
    return tuple(_as_size(d) for d in shape)


def whole_numbers(owner: str, name: str, value: Any) -> tuple[int, ...]:
    """An argument of integers: one, a tuple or list, or a tensor of them that is known. ArgumentTypeError for others."""
    given = _plain(value)
    known = [_plain(i) for i in given] if isinstance(given, (tuple, list, range)) else [given]
    if any(isinstance(i, (bool, np.bool_, Tensor)) or not hasattr(i, "__index__") for i in known):
        raise ArgumentTypeError(
            f"{owner}: {name} must be an int or a tuple of them, got {_shown(value)}", loc=user_loc()
        )
    return tuple(operator.index(i) for i in known)


def _plain(value: Any) -> Any:
    """The numbers of a tensor or array that is known, Python's own; anything else as it is."""
    array = dispatch.known_array(value) if isinstance(value, Tensor) else value
    return array.tolist() if isinstance(array, np.ndarray) else value


def _shown(value: Any) -> str:
    return f"a tensor {value.tensor_type}" if isinstance(value, Tensor) else repr(value)


def _as_size(size: Any) -> int:
    known = dispatch.known_array(size) if isinstance(size, Tensor) and size.size == 1 else size
    if known is None:
        raise ArgumentTypeError(
            f"a shape consists of integers, got a tensor {size.tensor_type}, whose value only the run tells",
            loc=user_loc(),
            help="make it of the sizes of tensors: len(x[mask]), n // 2, min(n, 3)",
        )
    kind = np.asarray(known).dtype.kind if isinstance(size, Tensor) else "i"
    if isinstance(known, bool) or not isinstance(known, (int, np.integer, np.ndarray)) or kind not in "iu":
        raise ArgumentTypeError(f"a shape consists of integers, got {size!r}", loc=user_loc())
    return int(known.item()) if isinstance(known, np.ndarray) else int(known)


def reshape(input: Tensor, shape: Sequence[int] | int) -> Tensor:
    """The same elements under another shape; one size may be -1."""
    x = input
    wanted = as_shape(shape if isinstance(shape, (tuple, list)) else (shape,))
    if wanted.count(-1) == 1:
        known = -math.prod(wanted)
        if known == 0 or x.size % known:
            raise ShapeError(
                f"Reshape: {x.tensor_type} cannot be divided into shape {wanted}", code="GC103", loc=user_loc()
            )
        wanted = tuple(x.size // known if d == -1 else d for d in wanted)
    # What has a Parameter's memory in eager calls is no copy of it, nor the Parameter itself.
    as_it_is = wanted == x.shape and not (x.is_parameter and is_eager())
    return x.value() if as_it_is else call("Reshape", x, shape=wanted)


def transpose(input: Tensor, dims: Ints | None = None, *more: Any) -> Tensor:
    """Axes in another order; reversed by default."""
    x = input
    wanted = tuple(range(x.ndim))[::-1] if dims is None else as_shape((dims, *more))
    return call("Transpose", x, perm=tuple(p % x.ndim if -x.ndim <= p < x.ndim else p for p in wanted))


@method()
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two axes in each other's place."""
    x = input
    perm = list(range(x.ndim))
    a, b = check_axis("swapaxes", axis0, x.ndim), check_axis("swapaxes", axis1, x.ndim)
    perm[a], perm[b] = perm[b], perm[a]
    return call("Transpose", x, perm=tuple(perm))


def broadcast_to(input: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor repeated to a shape; -1 keeps its size."""
    x = input
    wanted = as_shape(shape)
    lead = len(wanted) - x.ndim
    if any(d < -1 or (d == -1 and i < lead) for i, d in enumerate(wanted)):
        raise ArgumentValueError(
            f"broadcast_to: {wanted} is no shape for {x.tensor_type}: -1 keeps an axis that is there", loc=user_loc()
        )
    wanted = tuple(x.shape[i - lead] if d == -1 else d for i, d in enumerate(wanted))
    return call("BroadcastTo", x, shape=wanted)


@method()
def expand_dims(input_x: Tensor, axis: int) -> Tensor:
    """A tensor with a new axis of size 1."""
    x = input_x
    at = check_axis("expand_dims", axis, x.ndim + 1)
    return call("Reshape", x, shape=(*x.shape[:at], 1, *x.shape[at:]))


@method()
def squeeze(input: Tensor, axis: Axis = None) -> Tensor:
    """A tensor without axes of size 1: those among `axis`, or all of them for None and ()."""
    axes = normalize_axes("squeeze", tuple(axis) if isinstance(axis, list) else axis, input.ndim)
    return call("Reshape", input, shape=tuple(d for i, d in enumerate(input.shape) if d != 1 or i not in axes))


def flatten(input: Tensor, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """Axes from start_dim to end_dim as one; the first axis is kept by default. What has fewer than two axes becomes a vector.

    order: "C", or "F" for elements of the other order, which is that of the transposed tensor (as in MindSpore).
    """
    if order not in ("C", "F"):
        raise ArgumentValueError(f"flatten: order must be 'C' or 'F', got {order!r}", loc=user_loc())
    x = input if order == "C" else transpose(input)
    a, b = check_axis("flatten", start_dim, max(x.ndim, 2)), check_axis("flatten", end_dim, max(x.ndim, 2))
    if x.ndim < 2:
        return reshape(x, (-1,))
    if a > b:
        raise ArgumentValueError(
            f"flatten: start_dim {start_dim} comes after end_dim {end_dim} of {x.tensor_type}", loc=user_loc()
        )
    made = reshape(x, (*x.shape[:a], math.prod(x.shape[a : b + 1]), *x.shape[b + 1 :]))
    return made.twin() if made is x else made


@method()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """input with a new axis of size 1."""
    return expand_dims(input, dim)


# ---- moving axes


def permute(input: Tensor, axis: Axis, *more: Any) -> Tensor:
    """Axes in another order."""
    return transpose(input, axis, *more)


@method("moveaxis", "movedim")
def moveaxis(x: Tensor, source: Ints, destination: Ints) -> Tensor:
    """Axes moved to other places; the others keep their order."""
    sources, targets = (whole_numbers("moveaxis", n, a) for n, a in (("source", source), ("destination", destination)))
    if len(sources) != len(targets):
        raise ArgumentValueError(f"moveaxis: {len(sources)} axes cannot go to {len(targets)} places", loc=user_loc())
    given, places = ([check_axis("moveaxis", a, x.ndim) for a in axes] for axes in (sources, targets))
    if len(set(given)) < len(given) or len(set(places)) < len(places):
        raise ArgumentValueError(f"moveaxis: {sources} to {targets} names an axis twice", loc=user_loc())
    wanted = dict(zip(places, given, strict=True))
    rest = iter(i for i in range(x.ndim) if i not in given)
    perm = tuple(wanted[i] if i in wanted else next(rest) for i in range(x.ndim))
    return x.value() if perm == tuple(range(x.ndim)) else transpose(x, perm)


@method()
def t(input: Tensor) -> Tensor:
    """A matrix transposed; less than two axes as they are."""
    if input.ndim > 2:
        raise ShapeError(f"t: {input.tensor_type} has more than two axes", loc=user_loc())
    return transpose(input) if input.ndim == 2 else input.value()


@method()
def ravel(input: Tensor) -> Tensor:
    """All elements as a vector."""
    return reshape(input, (-1,))


def expand(input_x: Tensor, size: Extents) -> Tensor:
    """x repeated to a shape; -1 keeps a size."""
    return broadcast_to(input_x, as_shape(size if isinstance(size, (tuple, list)) else (size,)))


@method()
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """x repeated to the shape of another tensor."""
    return broadcast_to(input, other.shape)


def atleast_1d(inputs: Any) -> Any:
    """With at least one axis."""
    if isinstance(inputs, (tuple, list)):
        return tuple(atleast_1d(x) for x in inputs)
    return inputs.value() if inputs.ndim else reshape(inputs, (1,))


def atleast_2d(inputs: Any) -> Any:
    """With at least two axes, new ones in front."""
    if isinstance(inputs, (tuple, list)):
        return tuple(atleast_2d(x) for x in inputs)
    return inputs.value() if inputs.ndim > 1 else reshape(inputs, (1, inputs.size))


def atleast_3d(inputs: Any) -> Any:
    """With at least three axes."""
    if isinstance(inputs, (tuple, list)):
        return tuple(atleast_3d(x) for x in inputs)
    if inputs.ndim < 2:
        return reshape(inputs, (1, inputs.size, 1))
    return expand_dims(inputs, 2) if inputs.ndim == 2 else inputs.value()


def same_shape(input: Tensor, other: Tensor) -> Tensor:
    """x under the shape of another tensor."""
    return reshape(input, other.shape)


__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_to",
    "expand",
    "expand_as",
    "expand_dims",
    "flatten",
    "moveaxis",
    "permute",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
    "t",
    "transpose",
    "unsqueeze",
]
