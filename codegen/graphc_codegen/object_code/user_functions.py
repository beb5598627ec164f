"""Compiles users' functions for "custom" kernels with Numba; plain Python ones are called back."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from graphc_codegen.errors import KernelError
from graphc_codegen.kernels.custom import apply, declared, entry_name
from graphc_codegen.object_code.loading import Imported
from graphc_codegen.object_code.numba_step import COMPILING
from graphc_codegen.program import NamedKernel, Program, UserFunction, is_custom

#: dtype, shape, whether it is read only
Declared = tuple[np.dtype[Any], tuple[int, ...], bool]


def customs(program: Program) -> dict[str, NamedKernel]:
    """The distinct kernels of a program that are users' functions, by the symbol that they call."""
    kernels = [k for k in program.kernels().values() if isinstance(k, NamedKernel) and is_custom(k)]
    return {entry_name(dict(k.params)): k for k in kernels}


def compile_functions(program: Program) -> dict[str, Imported]:
    """What Numba makes of the users' functions of a program, by symbol.

    Raises KernelError when Numba refuses one, or when it gives something else than declared.
    """
    found = {}
    for symbol, kernel in customs(program).items():
        try:
            found[symbol] = _compiled(dict(kernel.params))
        except KernelError as error:
            error.note = next(c.note for c in program.calls() if c.kernel == kernel)
            raise
    return found


def _compiled(p: dict[str, Any]) -> Imported:
    function: UserFunction = p["function"]
    if function.python:
        return _called_back(function, p)
    if not hasattr(function.function, "nopython_signatures"):
        raise KernelError(function.name, "is no function that numba.njit has made; only the checked mode runs it")
    arrays = declared(p)
    with COMPILING:
        return _jitted(function, p, arrays)


def _called_back(function: UserFunction, p: dict[str, Any]) -> Imported:
    """An entry by Numba's convention that calls a Python function, whose exception `failure` of the function keeps."""
    arrays = declared(p)

    def call(_made: int, _raised: int, *addresses: int) -> int:
        try:
            apply(
                function, function.function, p, [_at(a, d, s) for a, (d, s, _) in zip(addresses, arrays, strict=True)]
            )
        except BaseException as error:
            function.function.failure = error
            return 1
        return 0

    entry = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * (2 + len(arrays)))(call)
    return Imported(ctypes.cast(entry, ctypes.c_void_p).value or 0, entry)


def _at(address: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[Any]]:
    """The array at an address."""
    size = dtype.itemsize * math.prod(shape)
    memory: Any = (ctypes.c_char * size).from_address(address) if size else b""
    return np.frombuffer(memory, dtype).reshape(shape)


def _jitted(function: UserFunction, p: dict[str, Any], arrays: Sequence[Declared]) -> Imported:
    numba, types = import_module("numba"), import_module("numba.types")

    try:
        several = _check_results(function, p)
        namespace = {"function": function.function, "carray": numba.carray, "read_only": _read_only()}
        namespace |= {f"c{k}": constant for k, constant in enumerate(function.constants)}
        exec(_wrapper(function, arrays, several), namespace)
        signature = types.void(*(types.CPointer(numba.from_dtype(dtype)) for dtype, _, _ in arrays))
        # Its exceptions and what it allocates are Numba's own affair; what it is called with are addresses.
        made = numba.njit(signature, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(namespace["call"])
    except KernelError:
        raise
    except Exception as error:  # Numba's own errors, and what its parts raise when a library is missing.
        raise KernelError(function.name, f"cannot be compiled: {type(error).__name__}: {error}") from error
    compiled = made.overloads[signature.args]
    return Imported(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name), made)


def _check_results(function: UserFunction, p: dict[str, Any]) -> bool:
    """Compile the function for its arguments, and compare what it returns with the declared results; whether it is a tuple."""
    numba, types = import_module("numba"), import_module("numba.types")
    from numba.np.numpy_support import as_dtype

    inputs = [types.Array(numba.from_dtype(d), len(s), "C", readonly=r) for d, s, r in declared(p)]
    count = len(p["inputs"])
    constants = tuple(map(numba.typeof, function.constants))
    arguments = (*inputs[: count if function.returns else None], *constants)
    function.function.compile(arguments)
    given = function.function.overloads[arguments].signature.return_type
    if not function.returns:
        if given is not types.none:
            raise KernelError(function.name, f"returns {given}; it is to write into its last arguments")
        return False
    results = list(given.types) if isinstance(given, types.BaseTuple) else [given]
    wanted = inputs[count:]
    if len(results) != len(wanted):
        raise KernelError(function.name, f"returns {len(results)} results, the type rule says {len(wanted)}")
    for number, (result, want) in enumerate(zip(results, wanted, strict=True)):
        rank, element = (result.ndim, result.dtype) if isinstance(result, types.Array) else (0, result)
        scalar = isinstance(element, (types.Number, types.Boolean))
        fits = scalar and np.can_cast(as_dtype(element), as_dtype(want.dtype), "same_kind")
        if rank != want.ndim or not fits:
            raise KernelError(function.name, f"returns {result} as result {number}, the type rule says {want}")
    return isinstance(given, types.BaseTuple)


def _read_only() -> Any:
    """A function of jitted code: the array as one that cannot be written, which Numba refuses when it compiles."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def read_only(context: Any, array: Any) -> Any:
        if not isinstance(array, types.Array):
            return None
        return array.copy(readonly=True)(array), lambda context, builder, signature, arguments: arguments[0]

    return read_only


def _wrapper(function: UserFunction, arrays: Sequence[Declared], several: bool) -> str:
    """A function of addresses that calls the user's on arrays, and brings home what it returns."""
    views = [f"read_only(carray(p{k}, {s}))" if r else f"carray(p{k}, {s})" for k, (_, s, r) in enumerate(arrays)]
    constants = [f"c{k}" for k in range(len(function.constants))]
    lines = [f"def call({', '.join(f'p{k}' for k in range(len(arrays)))}):"]
    if not function.returns:
        return "\n".join([*lines, f"    function({', '.join([*views, *constants])})"])
    inputs = [v for v, (_, _, r) in zip(views, arrays, strict=True) if r]
    lines.append(f"    made = function({', '.join([*inputs, *constants])})")
    outputs = [(k, s) for k, (_, s, r) in enumerate(arrays) if not r]
    for number, (k, shape) in enumerate(outputs):
        result = f"made[{number}]" if several else "made"
        if shape:
            lines += [f"    if {result}.shape != {shape}:", "        raise ValueError"]
        lines.append(f"    carray(p{k}, {shape})[...] = {result}")
    return "\n".join(lines)
