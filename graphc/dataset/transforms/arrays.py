"""Transforms of arrays of any kind (MindSpore: mindspore.dataset.transforms)."""

from __future__ import annotations

from enum import IntEnum
from types import EllipsisType
from typing import Any

import numpy as np

from graphc.dataset.checks import integer, number
from graphc.dataset.core.rows import to_array
from graphc.dataset.schema import numpy_dtype
from graphc.dataset.transforms.base import Transform, WholeTransform
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.ops.tensor.dtype import bool_

Array = np.ndarray[Any, np.dtype[Any]]


class TypeCast(WholeTransform):
    """The value in another dtype: one of graphc's, NumPy's or a name. Out of range integers wrap around, as in C. Text becomes no
    bool: to NumPy "False" would be true.
    """

    def __init__(self, data_type: Any) -> None:
        self.dtype = numpy_dtype("TypeCast", data_type)

    def whole(self, values: Array) -> Array:
        if values.dtype.kind in "US" and self.dtype.kind != values.dtype.kind:
            return self._of_text(values)
        with np.errstate(invalid="ignore"):
            return values.astype(self.dtype)

    def _of_text(self, values: Array) -> Array:
        try:
            if self.dtype.kind != "b":
                return values.astype(self.dtype)
        except (ValueError, OverflowError):
            pass
        text = next(v for v in values.ravel().tolist() if self.dtype.kind == "b" or not self._means(v))
        raise DataError(f"TypeCast: {text!r} is no {self.dtype}", code="GC201")

    def _means(self, text: str | bytes) -> bool:
        try:
            self.dtype.type(text)
        except (ValueError, OverflowError):
            return False
        return True


class OneHot(WholeTransform):
    """A label, int [], [n] or [n, 1], as a row of num_classes, 1 at its place and 0 elsewhere; of n labels
    it is [n, num_classes].

    smoothing_rate s, from 0 to 1: the row times 1 - s, plus s / num_classes, float64. Without it the dtype is the
    label's. DataError for a label outside of 0 .. num_classes - 1.
    """

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0) -> None:
        self.num_classes = integer("OneHot", "num_classes", num_classes, 1)
        self.smoothing_rate = number("OneHot", "smoothing_rate", smoothing_rate, 0, 1)

    def whole(self, values: Array) -> Array:
        if values.dtype.kind not in "iu":
            raise DataError(f"OneHot: labels must be integers, got {values.dtype}", code="GC201")
        if values.ndim == 3 and values.shape[2] == 1:
            values = values[..., 0]
        if values.ndim > 2:
            raise DataError(f"OneHot: labels must be [], [n] or [n, 1], got {list(values.shape[1:])}", code="GC201")
        if values.size and (values.min() < 0 or values.max() >= self.num_classes):
            odd = values[(values < 0) | (values >= self.num_classes)].flat[0]
            raise DataError(f"OneHot: label {odd} does not lie in 0 .. {self.num_classes - 1}", code="GC201")
        hot = values[..., None] == np.arange(self.num_classes)
        if self.smoothing_rate == 0:
            plain: Array = hot.astype(values.dtype)
            return plain
        smooth: Array = hot * (1 - self.smoothing_rate) + self.smoothing_rate / self.num_classes
        return smooth


class Concatenate(Transform):
    """Several inputs, one after the other along their first axis, between `prepend` and `append`. axis: 0 or -1.

    All must have one axis where something is prepended or appended.
    """

    def __init__(self, axis: int = 0, prepend: Any = None, append: Any = None) -> None:
        self.axis = integer("Concatenate", "axis", axis, -1, 0)
        self.prepend, self.append = _end("prepend", prepend), _end("append", append)

    def __call__(self, *inputs: Any) -> Array:
        arrays = [a for a in (self.prepend, *map(to_array, inputs), self.append) if a is not None]
        if len({a.ndim for a in arrays}) > 1 or len({a.dtype.kind in "US" for a in arrays}) > 1:
            shown = ", ".join(f"{a.dtype} {list(a.shape)}" for a in arrays)
            raise DataError(
                f"Concatenate: inputs must have one number of axes and be all text or none: {shown}", code="GC201"
            )
        if any(a.dtype != arrays[0].dtype for a in arrays) and arrays[0].dtype.kind not in "US":
            shown = ", ".join(str(a.dtype) for a in arrays)
            raise DataError(f"Concatenate: inputs must have one dtype, got {shown}", code="GC201")
        return np.concatenate(arrays, axis=self.axis)


def _end(name: str, value: Any) -> Array | None:
    if value is None:
        return None
    array = to_array(value)
    if array.ndim != 1:
        kind = ArgumentValueError if isinstance(value, np.ndarray) else ArgumentTypeError
        raise kind(f"Concatenate: {name} must have one axis, got shape {array.shape}", loc=user_loc())
    return array


class Duplicate(Transform):
    """The value twice, for two columns."""

    def __call__(self, *inputs: Any) -> tuple[Array, Array]:
        if len(inputs) != 1:
            raise DataError(f"Duplicate takes one value, got {len(inputs)}", code="GC201")
        array = to_array(inputs[0])
        return array, array


class Fill(WholeTransform):
    """An array of the same shape and dtype with fill_value everywhere: a number for numbers, a text for text."""

    def __init__(self, fill_value: Any) -> None:
        if not isinstance(fill_value, (str, bytes, bool, int, float, np.generic)):
            raise ArgumentTypeError(
                f"Fill: fill_value must be a number or a text, got {type(fill_value).__name__}", loc=user_loc()
            )
        self.fill_value = fill_value

    def whole(self, values: Array) -> Array:
        text = values.dtype.kind in "US"
        if text != isinstance(self.fill_value, (str, bytes)):
            raise DataError(f"Fill: {self.fill_value!r} cannot fill an array of {values.dtype}", code="GC201")
        dtype = np.asarray(self.fill_value).dtype if text else values.dtype
        return np.full(values.shape, self.fill_value).astype(dtype)


class Relational(IntEnum):
    """How Mask compares."""

    EQ = 0
    NE = 1
    GT = 2
    GE = 3
    LT = 4
    LE = 5


_COMPARISONS: dict[Relational, Any] = {
    Relational.EQ: np.equal,
    Relational.NE: np.not_equal,
    Relational.GT: np.greater,
    Relational.GE: np.greater_equal,
    Relational.LT: np.less,
    Relational.LE: np.less_equal,
}


class Mask(WholeTransform):
    """Where the value compares with `constant` so: bool, or `dtype`, of the same shape."""

    def __init__(self, operator: Relational, constant: Any, dtype: Any = bool_) -> None:
        if not isinstance(operator, Relational):
            raise ArgumentTypeError(f"Mask: operator must be a Relational, got {operator!r}", loc=user_loc())
        if not isinstance(constant, (str, bytes, bool, int, float, np.generic)):
            raise ArgumentTypeError(
                f"Mask: constant must be a number or a text, got {type(constant).__name__}", loc=user_loc()
            )
        self.operator, self.constant = operator, constant
        self.dtype = numpy_dtype("Mask", dtype)

    def whole(self, values: Array) -> Array:
        if (values.dtype.kind in "US") != isinstance(self.constant, (str, bytes)):
            raise DataError(f"Mask: {values.dtype} cannot be compared with {self.constant!r}", code="GC201")
        # In the dtype of the values, as MindSpore compares.
        constant = np.asarray(self.constant)
        if values.dtype.kind not in "US":
            constant = constant.astype(values.dtype)
        return np.asarray(_COMPARISONS[self.operator](values, constant)).astype(self.dtype)


class PadEnd(WholeTransform):
    """The value filled up, or cut off, at the end of each axis to pad_shape; None keeps an axis.

    pad_value: a number, or a text for text; 0 or "" by default.
    """

    def __init__(self, pad_shape: Any, pad_value: Any = None) -> None:
        if not isinstance(pad_shape, (list, tuple)):
            raise ArgumentTypeError(
                f"PadEnd: pad_shape must be a list of ints, got {type(pad_shape).__name__}", loc=user_loc()
            )
        self.pad_shape = [None if s is None else integer("PadEnd", "pad_shape", s, 1) for s in pad_shape]
        if pad_value is not None and not isinstance(pad_value, (str, bytes, bool, int, float, np.generic)):
            raise ArgumentTypeError(
                f"PadEnd: pad_value must be a number or a text, got {type(pad_value).__name__}", loc=user_loc()
            )
        self.pad_value = pad_value

    def whole(self, values: Array) -> Array:
        if values.ndim - 1 != len(self.pad_shape):
            raise DataError(
                f"PadEnd: the value has {values.ndim - 1} axes, pad_shape {len(self.pad_shape)}", code="GC201"
            )
        text = values.dtype.kind in "US"
        value = ("" if text else 0) if self.pad_value is None else self.pad_value
        if text != isinstance(value, (str, bytes)):
            raise DataError(f"PadEnd: {value!r} cannot fill up an array of {values.dtype}", code="GC201")
        shape = [have if want is None else want for have, want in zip(values.shape[1:], self.pad_shape, strict=True)]
        dtype = np.result_type(values.dtype, np.asarray(value).dtype) if text else values.dtype
        result = np.full((len(values), *shape), np.asarray(value).astype(dtype), dtype)
        inside = tuple(slice(0, min(a, b)) for a, b in zip(values.shape[1:], shape, strict=True))
        result[(slice(None), *inside)] = values[(slice(None), *inside)]
        return result


class Slice(Transform):
    """What slices choose along each axis, in their order: an int or a list of ints, which keep the axis, or a slice; None, True
    or ... choose all, and so do axes beyond the last slice.
    """

    def __init__(self, *slices: Any) -> None:
        for choice in slices:
            listed = isinstance(choice, list) and all(type(i) is int for i in choice)
            if choice is False or not (choice is None or listed or isinstance(choice, (int, slice, EllipsisType))):
                raise ArgumentTypeError(
                    f"Slice: slices must be ints, lists of ints, slices, None or ..., got {choice!r}", loc=user_loc()
                )
        self.slices = slices

    def apply(self, value: Array) -> Array:
        if len(self.slices) > value.ndim:
            raise DataError(f"Slice: {len(self.slices)} slices of a value with {value.ndim} axes", code="GC201")
        for axis, choice in enumerate(self.slices):
            if choice is None or choice is True or choice is ...:
                continue
            places = np.arange(value.shape[axis])
            try:
                chosen = places[choice if isinstance(choice, slice) else np.atleast_1d(np.array(choice, np.int64))]
            except IndexError as error:
                raise DataError(f"Slice: {error}", code="GC201") from None
            value = value.take(chosen, axis)
        return value


class Unique(Transform):
    """The different values, flattened, in the order in which they first occur; where each element is among them, int32; how often
    each occurs, int32.
    """

    def __call__(self, *inputs: Any) -> tuple[Array, Array, Array]:
        if len(inputs) != 1:
            raise DataError(f"Unique takes one value, got {len(inputs)}", code="GC201")
        flat = to_array(inputs[0]).reshape(-1)
        different, first, places, counts = np.unique(flat, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order))
        return different[order], rank[places.reshape(-1)], counts[order].astype(np.int32)
