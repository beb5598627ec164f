"""A user's own function as a kernel: the first thread calls what Numba has made of it, on the addresses of its operands.

The function sees arrays, the inputs read-only; it returns its results or writes them into its last arguments. When it raises,
the step does nothing more: see `stops` in kernels.ll.j2.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphc_codegen.errors import KernelError
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params, note_failure
from graphc_codegen.program import UserFunction
from graphc_codegen.scalars.halves import numpy_dtype
from graphc_codegen.writer import Writer


def entry_name(p: Params) -> str:
    """The symbol of what Numba makes of the function; `graphc_codegen.object_code.user_functions` defines it."""
    content = repr((p["function"], p["inputs"], p["outputs"]))
    return f"graphc_custom_{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def custom_operands(p: Params) -> tuple[Operand, ...]:
    """The arrays that the function takes, then those that it gives: `inputs` and `outputs`, each (dtype, shape)."""
    return (
        *(Operand(dtype, math.prod(shape), "in") for dtype, shape in p["inputs"]),
        *(Operand(dtype, math.prod(shape), "out") for dtype, shape in p["outputs"]),
    )


def custom_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Calls the function by Numba's convention: two places for what it gives and raises, then the operands; not 0 is failure."""
    places = [w.op("alloca ptr, i64 1, align 8"), w.op("alloca ptr, i64 1, align 16")]
    for place in places:
        w.store("null", place, "ptr")
    status = w.call(entry_name(p), "i32", [("ptr", x) for x in (*places, *pointers)])
    note_failure(w, w.op(f"icmp ne i32 {status}, 0"))


def custom_twin(p: Params, *arrays: Array) -> None:
    """The Python function, on arrays that check their indices. Raises KernelError for whatever it raises."""
    function: UserFunction = p["function"]
    apply(function, getattr(function.function, "py_func", function.function), p, arrays)


def apply(function: UserFunction, called: Any, p: Params, arrays: Sequence[Array]) -> None:
    """Call `called`, which stands for the function, on flat arrays; the last ones receive the results.

    Raises KernelError for what it raises, and when it returns something else than declared.
    """
    views = [a.reshape(shape) for a, (_, shape) in zip(arrays, (*p["inputs"], *p["outputs"]), strict=True)]
    inputs, outputs = views[: len(p["inputs"])], views[len(p["inputs"]) :]
    for x in inputs:
        x.flags.writeable = False
    try:
        made = called(*inputs, *(() if function.returns else outputs), *function.constants)
    except Exception as error:
        raise KernelError(function.name, f"raised {type(error).__name__}: {error}") from error
    if not function.returns:
        if made is not None:
            raise KernelError(function.name, f"returns {type(made).__name__}; it is to write into its last arguments")
        return
    results = made if isinstance(made, tuple) else (made,)
    if len(results) != len(outputs):
        raise KernelError(function.name, f"returns {len(results)} results, the type rule says {len(outputs)}")
    for number, (result, out) in enumerate(zip(results, outputs, strict=True)):
        result = np.asarray(result)
        if result.shape != out.shape or not np.can_cast(result.dtype, out.dtype, "same_kind"):
            raise KernelError(
                function.name,
                f"returns {_described(result)} as result {number}, the type rule says {_described(out)}",
            )
        out[...] = result


def _described(array: Array) -> str:
    return f"{array.dtype.name}[{','.join(map(str, array.shape))}]"


def declared(p: Mapping[str, Any]) -> list[tuple[np.dtype[Any], tuple[int, ...], bool]]:
    """(dtype, shape, whether it is read only) of every array that the function gets or gives."""
    inputs = [(numpy_dtype(dtype), shape, True) for dtype, shape in p["inputs"]]
    return [*inputs, *((numpy_dtype(dtype), shape, False) for dtype, shape in p["outputs"])]


CUSTOM = Emitter(custom_operands, custom_emit, custom_twin)
