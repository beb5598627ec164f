"""Primitives of MindSpore's `_scalar_ops` and `_sequence_ops`: numbers, tuples and lists, by Python's own operators."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.functional.dynamic import known_values
from graphc.ops.tensor.primitive import declare
from graphc.ops.tensor.tensor import Tensor


def _number(owner: str, value: Any) -> Any:
    """A number, or the value of a tensor of one that is known. ArgumentTypeError for anything else."""
    if isinstance(value, Tensor) and value.size == 1:
        return known_values(owner, value).item()
    if isinstance(value, (bool, int, float, np.generic)):
        return value
    raise ArgumentTypeError(f"{owner}: expected a number, got {type(value).__name__}", loc=user_loc())


def _of_numbers(name: str, of: Callable[..., Any], sign: str, two: bool = True) -> type[Any]:
    def binary(x: Any, y: Any) -> Any:
        return of(_number(name, x), _number(name, y))

    def unary(x: Any) -> Any:
        return of(_number(name, x))

    return declare(name, binary if two else unary, f"{sign} of Python's numbers, by Python's own operator.")


def _divided(x: Any, y: Any) -> float:
    if not y:
        raise ArgumentValueError("ScalarDiv: y must not be 0", loc=user_loc())
    made: float = x / y
    return made


ScalarAdd, ScalarSub = _of_numbers("ScalarAdd", operator.add, "x + y"), _of_numbers("ScalarSub", operator.sub, "x - y")
ScalarMul, ScalarDiv = _of_numbers("ScalarMul", operator.mul, "x * y"), _of_numbers("ScalarDiv", _divided, "x / y")
ScalarFloorDiv = _of_numbers("ScalarFloorDiv", operator.floordiv, "x // y")
ScalarMod, ScalarPow = _of_numbers("ScalarMod", operator.mod, "x % y"), _of_numbers("ScalarPow", operator.pow, "x ** y")
ScalarEq, ScalarGt = _of_numbers("ScalarEq", operator.eq, "x == y"), _of_numbers("ScalarGt", operator.gt, "x > y")
ScalarGe, ScalarLt = _of_numbers("ScalarGe", operator.ge, "x >= y"), _of_numbers("ScalarLt", operator.lt, "x < y")
ScalarLe = _of_numbers("ScalarLe", operator.le, "x <= y")
ScalarMax, ScalarMin = _of_numbers("ScalarMax", max, "The larger"), _of_numbers("ScalarMin", min, "The smaller")
ScalarUadd = _of_numbers("ScalarUadd", operator.pos, "+x", False)
ScalarUsub = _of_numbers("ScalarUsub", operator.neg, "-x", False)
ScalarLog = _of_numbers("ScalarLog", math.log, "The logarithm", False)
ScalarBool = _of_numbers("ScalarBool", bool, "Whether it is not zero", False)
bool_not = _of_numbers("bool_not", operator.not_, "not x", False)
bit_and, bit_or = _of_numbers("bit_and", operator.and_, "x & y"), _of_numbers("bit_or", operator.or_, "x | y")

# ---- tuples and lists


def _sequence(owner: str, name: str, given: Any) -> Any:
    if not isinstance(given, (tuple, list)):
        raise ArgumentTypeError(f"{owner}: {name} must be a tuple or list, got {type(given).__name__}", loc=user_loc())
    return given


def _tensors(owner: str, given: Any) -> Sequence[Tensor]:
    held: Sequence[Tensor] = _sequence(owner, "the sequence", given)
    if not held or not all(isinstance(x, Tensor) for x in held):
        raise ArgumentTypeError(f"{owner}: expected a tuple of one or more tensors", loc=user_loc())
    return held


def _same(owner: str, a: Any, b: Any) -> tuple[Any, Any]:
    first, second = _sequence(owner, "x", a), _sequence(owner, "y", b)
    if isinstance(first, list) is not isinstance(second, list):
        raise ArgumentTypeError(f"{owner}: expected two tuples or two lists", loc=user_loc())
    return first, second


def _of_two(name: str, of: Callable[[Any, Any], Any], sign: str) -> type[Any]:
    return declare(name, lambda x, y: of(*_same(name, x, y)), f"x {sign} y of two tuples or two lists.")


SequenceAdd = _of_two("SequenceAdd", operator.add, "+")
tuple_greater_than, list_greater_than = (_of_two(f"{n}_greater_than", operator.gt, ">") for n in ("tuple", "list"))
tuple_greater_equal, list_greater_equal = (_of_two(f"{n}_greater_equal", operator.ge, ">=") for n in ("tuple", "list"))
tuple_lt, list_lt = (_of_two(f"{n}_lt", operator.lt, "<") for n in ("tuple", "list"))
tuple_le, list_le = (_of_two(f"{n}_le", operator.le, "<=") for n in ("tuple", "list"))


def _append(sequence: list[Any], value: Any) -> list[Any]:
    """A list with one more element; the one given stays as it is."""
    return [*_sequence("ListAppend", "sequence", sequence), value]


def _insert(sequence: list[Any], index: int, value: Any) -> list[Any]:
    """A list with an element inserted; the one given stays as it is."""
    made = list(_sequence("ListInsert", "sequence", sequence))
    made.insert(operator.index(_number("ListInsert", index)), value)
    return made


def _set_slice(sequence: Any, value: Any, start: int, stop: int, step: int) -> Any:
    """A tuple or list with those of a slice replaced; the one given stays as it is. ArgumentValueError where lengths differ."""
    owner = "SequenceSliceSetItem"
    given = _sequence(owner, "sequence", sequence)
    made = list(given)
    try:
        made[start:stop:step] = _sequence(owner, "value", value)
    except ValueError as error:
        raise ArgumentValueError(f"{owner}: {error}", loc=user_loc()) from None
    return type(given)(made)


def _place(sequence: Any, value: Any, start: int = 0, end: int | None = None) -> int:
    """The place of the first element that is equal to a value. ArgumentValueError where there is none."""
    given = list(_sequence("SequenceIndex", "sequence", sequence))
    try:
        return given.index(value, start, len(given) if end is None else end)
    except ValueError:
        raise ArgumentValueError(f"SequenceIndex: {value!r} is not among {given!r}", loc=user_loc()) from None


def _zeros(sequence: Any) -> Any:
    """A tuple or list with a zero of each element's kind in its place."""
    given = _sequence("SequenceZerosLike", "sequence", sequence)
    return type(given)(ops.zeros_like(x) if isinstance(x, Tensor) else type(x)(0) for x in given)


def _unstacked(x: Tensor, axis: int) -> tuple[Tensor, ...]:
    return tuple(ops.unstack(x, axis))


def _as_tensor(sequence: Any, dtype: Any = None) -> Tensor:
    """Numbers as a vector: integers in int64, floats in float32, or in a dtype."""
    return Tensor(list(_sequence("TupleToTensor", "the sequence", sequence)), dtype)


TupleToTensor, ListToTensor = declare("TupleToTensor", _as_tensor), declare("ListToTensor", _as_tensor)
TensorToList = declare(
    "TensorToList",
    lambda x: known_values("TensorToList", x).tolist(),
    "The elements of a tensor as a list of Python's numbers; not in a compiled Cell.",
)
ListAppend, ListInsert = declare("ListAppend", _append), declare("ListInsert", _insert)
SequenceSliceSetItem = declare("SequenceSliceSetItem", _set_slice)
SequenceSlice = declare(
    "SequenceSlice",
    lambda sequence, start, stop, step: _sequence("SequenceSlice", "sequence", sequence)[start:stop:step],
    "sequence[start:stop:step] of a tuple or list.",
)
InSequence = declare(
    "InSequence",
    lambda x, sequence: x in _sequence("InSequence", "sequence", sequence),
    "Whether x is in a tuple or list.",
)
SequenceCount = declare(
    "SequenceCount",
    lambda sequence, value: list(_sequence("SequenceCount", "sequence", sequence)).count(value),
    "How many elements of a tuple or list are equal to a value.",
)
SequenceIndex = declare("SequenceIndex", _place)
SequenceMul = declare(
    "SequenceMul",
    lambda sequence, scalar: (
        _sequence("SequenceMul", "sequence", sequence) * operator.index(_number("SequenceMul", scalar))
    ),
    "A tuple or list repeated.",
)
SequenceMax = declare(
    "SequenceMax", lambda sequence: max(_sequence("SequenceMax", "sequence", sequence)), "The largest element."
)
SequenceMin = declare(
    "SequenceMin", lambda sequence: min(_sequence("SequenceMin", "sequence", sequence)), "The smallest element."
)
SequenceAddN = declare(
    "SequenceAddN", lambda sequence: ops.addn(_tensors("SequenceAddN", sequence)), "The sum of tensors of one shape."
)
SequenceStack = declare(
    "SequenceStack",
    lambda sequence, axis: ops.stack(tuple(_tensors("SequenceStack", sequence)), axis),
    "Tensors of one shape along a new axis.",
    axis=0,
)
SequenceUnstack = declare("SequenceUnstack", _unstacked, "The parts of a tensor along an axis, as a tuple.", axis=0)
SequenceZerosLike = declare("SequenceZerosLike", _zeros)
sequence_len = declare(
    "sequence_len",
    lambda sequence: len(_sequence("sequence_len", "sequence", sequence)),
    "How many elements there are.",
)

__all__ = [
    "InSequence", "ListAppend", "ListInsert", "ListToTensor", "ScalarAdd", "ScalarBool", "ScalarDiv", "ScalarEq",
    "ScalarFloorDiv", "ScalarGe", "ScalarGt", "ScalarLe", "ScalarLog", "ScalarLt", "ScalarMax", "ScalarMin", "ScalarMod",
    "ScalarMul", "ScalarPow", "ScalarSub", "ScalarUadd", "ScalarUsub", "SequenceAdd", "SequenceAddN", "SequenceCount",
    "SequenceIndex", "SequenceMax", "SequenceMin", "SequenceMul", "SequenceSlice", "SequenceSliceSetItem", "SequenceStack",
    "SequenceUnstack", "SequenceZerosLike", "TensorToList", "TupleToTensor", "bit_and", "bit_or", "bool_not",
    "list_greater_equal", "list_greater_than", "list_le", "list_lt", "sequence_len", "tuple_greater_equal",
    "tuple_greater_than", "tuple_le", "tuple_lt",
]  # fmt: skip
