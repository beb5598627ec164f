"""Tensors and the memory they have: that of a buffer, or another tensor's in exchange (MindSpore: frombuffer, swap_tensors)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, TraceTypeError, user_loc
from graphc.ir.types import numpy_dtype
from graphc.ops.tensor.arrays import note_write
from graphc.ops.tensor.dtype import DType
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import exact_int


def frombuffer(buffer: Any, dtype: DType, count: int = -1, offset: int = 0) -> Tensor:
    """[count] with the elements that lie in a buffer from the byte `offset` on; -1 for all of them.

    The tensor has the buffer's memory: what is written to one is in the other. Where that may not be written, as in bytes, or
    does not lie as elements do, and of bool_, the tensor has a copy. ArgumentTypeError for what is no buffer and no dtype,
    ArgumentValueError for a count or an offset that does not fit.
    """
    if not isinstance(dtype, DType):
        raise ArgumentTypeError(f"frombuffer: dtype must be a dtype of graphc's, got {dtype!r}", loc=user_loc())
    for name, value in (("count", count), ("offset", offset)):
        exact_int("frombuffer", name, value)
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ArgumentTypeError(f"frombuffer: {type(buffer).__name__} is no buffer", loc=user_loc()) from None
    if not view.c_contiguous:
        raise ArgumentValueError("frombuffer: the buffer does not lie in order", loc=user_loc())
    kind = numpy_dtype(dtype.name)
    _check_place(view.nbytes, kind.itemsize, count, offset)
    array = np.frombuffer(
        view.cast("B") if view.ndim else view, np.uint8, -1 if count == -1 else count * kind.itemsize, offset
    )
    if kind.kind == "b":  # Other bytes than 0 and 1 are true, too.
        return Tensor(array != 0)
    elements = array.view(kind)
    if not (elements.flags.writeable and elements.flags.aligned):
        return Tensor(elements)
    note_write(elements, by_others=True)
    dispatch.touch()
    return Tensor.wrap(elements)


def _check_place(size: int, itemsize: int, count: int, offset: int) -> None:
    """Refuse elements that do not lie in a buffer of `size` bytes."""
    if count < -1 or count == 0:
        raise ArgumentValueError(f"frombuffer: count must be -1 or 1 and more, got {count}", loc=user_loc())
    if not 0 <= offset < size:
        raise ArgumentValueError(
            f"frombuffer: the byte {offset} does not lie in a buffer of {size} bytes", loc=user_loc()
        )
    left = size - offset
    if count == -1 and left % itemsize:
        raise ArgumentValueError(
            f"frombuffer: {left} bytes from the byte {offset} on are no whole number of elements of {itemsize}",
            loc=user_loc(),
        )
    if count * itemsize > left:
        raise ArgumentValueError(
            f"frombuffer: {count} elements of {itemsize} bytes do not lie in {left} bytes from the byte {offset} on",
            loc=user_loc(),
        )


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Let two tensors, or two Parameters, be each other: elements, dtype, shape, of Parameters names and settings, too.

    Whoever has one of them has the other's from then on. ArgumentTypeError for a Parameter and a tensor, which no Cell could
    have in its place; TraceTypeError in construct.
    """
    for name, value in (("t1", t1), ("t2", t2)):
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(
                f"swap_tensors: {name} must be a Tensor, got {type(value).__name__}", loc=user_loc()
            )
    if t1._is_traced() or t2._is_traced():
        raise TraceTypeError(
            "swap_tensors in construct, which runs once for all steps",
            loc=user_loc(),
            help="exchange the names: a, b = b, a; of Parameters what they hold, with ops.assign",
        )
    if type(t1) is not type(t2):
        raise ArgumentTypeError(
            f"swap_tensors: a {type(t1).__name__} and a {type(t2).__name__}, two of one kind are needed",
            loc=user_loc(),
            help="of a Parameter and a Tensor: p.set_data(x)",
        )
    held = dict(vars(t1))
    for one, other in ((t1, dict(vars(t2))), (t2, held)):
        moves = one.moves
        vars(one).clear()
        vars(one).update(other)
        if not one.is_parameter:
            one.moves = moves + 1
    if t1.is_parameter:
        Parameter.moves += 1
    dispatch.touch()


__all__ = ["frombuffer", "swap_tensors"]
