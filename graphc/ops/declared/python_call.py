"""The ops that call a Python function of arrays while a step runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import REQUIRED, TensorType, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, Operands
from graphc.ops.declared.rules import Array

#: What stands where a tensor comes, among arguments that are given with the function.
PLACE = object()
_DTYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")
_numbers = itertools.count(1)


class PythonFunction:
    """A function of arrays and of arguments that are known, which gives arrays of these types. Two of equal parts are equal.

    arguments: the values, PLACE for each array. The arrays have the dtypes `given`, and are the function's own.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        arguments: Sequence[Any],
        given: Sequence[str],
        types: Sequence[TensorType],
    ) -> None:
        self.name = name
        self.function = function
        self.arguments = tuple(arguments)
        self.given = tuple(given)
        self.types = tuple(types)
        self.number = next(_numbers)
        #: What it has raised in a compiled step.
        self.failure: BaseException | None = None

    def __call__(self, *arrays: Array) -> tuple[Array, ...]:
        """The results, in the dtypes of `types`. ShapeError where one has another shape or cannot have that dtype."""
        own = iter([np.array(a, TensorType(d, ()).numpy, order="C") for a, d in zip(arrays, self.given, strict=True)])
        made = self.function(*(next(own) if a is PLACE else a for a in self.arguments))
        results = tuple(map(np.asarray, made if isinstance(made, (tuple, list)) else (made,)))
        if len(results) != len(self.types):
            raise ShapeError(f"{self.name} gives {len(results)} results, {len(self.types)} are declared")
        return tuple(self._as_declared(r, t) for r, t in zip(results, self.types, strict=True))

    def _as_declared(self, result: Array, type: TensorType) -> Array:
        single = result.size == type.size == 1 and result.dtype.kind != "O"
        if (result.shape != type.shape and not single) or not np.can_cast(result.dtype, type.numpy, "same_kind"):
            raise ShapeError(
                f"{self.name} gives {result.dtype.name}[{', '.join(map(str, result.shape))}], {type} is declared"
            )
        return result.astype(type.numpy).reshape(type.shape)

    def _key(self) -> tuple[Any, ...]:
        return self.function, tuple((type(a), a) for a in self.arguments), self.given, self.types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PythonFunction) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.name, self.given, self.types))

    def __repr__(self) -> str:
        return self.name


class ByReference(Kernel):
    """What `by_reference` makes."""

    __slots__ = ()


def by_reference(name: str, reference: Callable[..., Any]) -> Kernel:
    """The lowering of an op of this name whose NumPy reference a compiled step calls back: what iterates until it is exact, and
    what SciPy computes. Exported libraries have no Python, and refuse it.
    """

    def lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
        types = [x.type for x in outputs]
        function = called(name, reference, attrs, [x.type.dtype for x in inputs], types)
        k.custom(name, function, True, (), inputs, outputs, function.number)

    return ByReference(lower, _DTYPES)


def called(
    name: str, reference: Callable[..., Any], attrs: Attrs, given: Sequence[str], types: Sequence[TensorType]
) -> PythonFunction:
    """The reference of an op as a function of arrays of the dtypes `given`."""

    def computed(*arrays: Array) -> Any:
        with np.errstate(all="ignore"):
            return reference(*arrays, **attrs)

    return PythonFunction(name, computed, [PLACE] * len(given), given, types)


def _lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    function: PythonFunction = attrs["function"]
    k.custom(function.name, function, True, (), inputs, outputs, function.number)


for name, effect, when in (
    ("PythonCall", False, "a compiled step calls it back"),
    ("PythonEffect", True, "a compiled step calls it back each time it is asked for"),
):
    op(
        name,
        "*operands",
        attrs={"function": REQUIRED},
        infer=lambda types, attrs: attrs["function"].types,
        ref=lambda *operands, function: function(*operands),
        lower=Kernel(_lower, _DTYPES),
        effect=effect,
        doc=f"what a Python function makes of arrays: {when}",
    )
