"""Functions of `math` in converted code: of a number that only the run tells they are one, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from graphc.ops import functional as F
from graphc.ops.functional.traced_numbers import python_number
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor
from graphc.trace.conversion.truth import is_traced
from graphc.trace.dynamic.size_numbers import decided

#: By their names; a float32 number of the run, where Python would raise for the argument NaN or infinity.
_REAL = (
    "sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "erf", "fabs",
)  # fmt: skip
_WHOLE = ("floor", "ceil", "trunc")
_TELLING = ("isnan", "isinf", "isfinite")


def _of_numbers(name: str, dtype: str) -> Callable[..., Any]:
    plain: Callable[..., Any] = getattr(math, name)
    made: Callable[[Tensor], Tensor] = getattr(F, "abs" if name == "fabs" else name)

    def function(*args: Any) -> Any:
        if name == "log" and len(args) == 2 and any(map(_is_open, args)):
            return F.div(function(args[0]), function(args[1]))
        if len(args) != 1 or not _is_open(args[0]):
            return plain(*args)
        x = decided(args[0])
        whole = not x.tensor_type.is_float
        if whole and name in _WHOLE:
            return x if isinstance(args[0], Tensor) else args[0]
        real = F.cast(x, "float32") if whole else x
        return python_number(made(real), real.tensor_type.dtype if dtype == "float32" else dtype)

    return function


def _is_open(x: Any) -> bool:
    return isinstance(x, Deferred) or (is_traced(x) and x.shape in ((), (1,)))


#: What is called for functions of `math`.
MATH: Mapping[Any, Callable[..., Any]] = {
    getattr(math, name): _of_numbers(name, dtype)
    for names, dtype in ((_REAL, "float32"), (_WHOLE, "int64"), (_TELLING, "bool"))
    for name in names
}
