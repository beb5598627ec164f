"""Loop kernels in NumPy: the oracle of the tests and the kernels of the checked mode."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from graphc_codegen.errors import CheckedError
from graphc_codegen.loops.check import check
from graphc_codegen.program import HALVES, Access, Instr, LoopKernel, Output
from graphc_codegen.scalars.halves import nearest, numpy_dtype

Array = np.ndarray[Any, np.dtype[Any]]


def twin(kernel: LoopKernel, *arrays: Array) -> None:
    """Evaluate `kernel` on flat arrays, inputs then outputs; the outputs are written in place.

    Every array has the dtype and exactly the number of elements that its access declares, else CheckedError.
    Raises CodegenError when the kernel is not well formed; so no view below can leave its array. Reductions
    of floats are added up in float64 and rounded once, those of integers wrap in their own dtype. Half types
    are computed in float32 and rounded after every instruction, as native kernels do.
    """
    if kernel.times > 1:
        split = len(kernel.inputs) * kernel.times
        if len(arrays) != split + len(kernel.outputs) * kernel.times:
            raise CheckedError(f"a loop kernel with {kernel.times} sets of operands got {len(arrays)}")
        inputs, outputs = arrays[:split], arrays[split:]
        for k in range(kernel.times):
            a, b = len(kernel.inputs), len(kernel.outputs)
            twin(replace(kernel, times=1), *inputs[k * a : (k + 1) * a], *outputs[k * b : (k + 1) * b])
        return
    check(kernel)
    accesses = kernel.accesses()
    if len(arrays) != len(accesses):
        raise CheckedError(f"a loop kernel with {len(accesses)} operands got {len(arrays)}")
    for k, (array, access) in enumerate(zip(arrays, accesses, strict=True)):
        if array.ndim != 1 or array.size != access.size or array.dtype.name != access.dtype:
            raise CheckedError(
                f"operand {k} is {array.dtype.name}[{array.size}], declared {access.dtype}[{access.size}]"
            )
    if any(n == 0 and not r for n, r in zip(kernel.domain, kernel.reduced, strict=True)):
        return
    values: list[Any] = []
    with np.errstate(all="ignore"):
        for instr in kernel.body:
            values.append(_evaluate(kernel, instr, values, arrays))
        # An output may share its array with an input: all results first, then all writes.
        results = [_result(kernel, o, values[o.value]) for o in kernel.outputs]
    for o, array, result in zip(kernel.outputs, arrays[len(kernel.inputs) :], results, strict=True):
        _view(array, o.access, result.shape)[...] = result


def _view(array: Array, access: Access, domain: tuple[int, ...]) -> Array:
    """The elements an access touches; axes with stride 0 have size 1."""
    shape = tuple(1 if s == 0 and n else n for n, s in zip(domain, access.strides, strict=True))
    if 0 in shape:
        return np.empty(shape, array.dtype)
    strides = tuple(s * array.itemsize for s in access.strides)
    return np.lib.stride_tricks.as_strided(array[access.offset :], shape, strides)


def _result(kernel: LoopKernel, output: Output, value: Any) -> Array:
    """The array to store for an output, in a fresh array; reduced axes have size 1."""
    full = np.broadcast_to(np.asarray(value), kernel.domain)
    if output.reduce is None:
        return full.copy()
    axes = tuple(k for k, reduced in enumerate(kernel.reduced) if reduced)
    half = output.access.dtype in HALVES
    if half:
        full = full.astype(np.float32)
    exact = np.float64 if full.dtype == np.float32 else full.dtype
    if output.reduce in ("sum", "prod"):
        add = np.sum if output.reduce == "sum" else np.prod
        folded = add(full, axis=axes, keepdims=True, dtype=exact)
    else:
        folded = _FOLDS[output.reduce](full, axis=axes, keepdims=True)
    result = np.asarray(folded).astype(full.dtype)
    result = result * full.dtype.type(output.scale) if output.scale != 1.0 else result
    return result.astype(numpy_dtype(output.access.dtype)) if half else result


def _evaluate(kernel: LoopKernel, instr: Instr, values: list[Any], arrays: tuple[Array, ...]) -> Any:
    dtype = numpy_dtype(instr.dtype)
    if instr.op == "input":
        operand = int(instr.imm or 0)
        return _view(arrays[operand], kernel.inputs[operand], kernel.domain)
    if instr.op == "const":
        number = (
            nearest(float(0 if instr.imm is None else instr.imm), instr.dtype) if instr.dtype in HALVES else instr.imm
        )
        return np.full((1,) * len(kernel.domain), number, dtype)
    if instr.op == "iota":
        axis = int(instr.imm or 0)
        shape = tuple(n if k == axis else 1 for k, n in enumerate(kernel.domain))
        return np.arange(kernel.domain[axis]).astype(dtype).reshape(shape)
    args = [_wide(values[a]) for a in instr.args]
    if instr.op == "cast":
        return cast(args[0], dtype)
    if instr.op == "pow" and dtype.kind in "iu":
        return _integer_power(*args)
    return np.asarray(_FUNCTIONS[instr.op](*args)).astype(dtype, copy=False)


def _wide(x: Array) -> Array:
    """A half array as float32; others as they are."""
    return x.astype(np.float32) if x.dtype.name in HALVES else x


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """`astype`, but floats saturate when they become integers, and NaN becomes 0."""
    if x.dtype.kind != "f" or dtype.kind not in "iu":
        return x.astype(dtype)
    limits = np.iinfo(dtype)
    high = x >= x.dtype.type(limits.max)
    low = x <= x.dtype.type(limits.min)
    inside = np.where(high | low | np.isnan(x), x.dtype.type(0), x).astype(dtype)
    return np.where(high, dtype.type(limits.max), np.where(low, dtype.type(limits.min), inside))


def _integer_power(x: Array, y: Array) -> Array:
    unit = np.abs(x) == 1
    # A negative exponent of 1 or -1 counts only by its lowest bit.
    exponent = np.where(y >= 0, y, y & 1)
    return np.where((y >= 0) | unit, np.power(x, exponent), x.dtype.type(0))


def _erf(x: Array) -> Array:
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x.astype(np.float64))).astype(x.dtype)


def _logical(bits: Callable[..., Any], logical: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: (logical if args[0].dtype == np.bool_ else bits)(*args)


def _shift_right(x: Array, y: Array) -> Array:
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return np.asarray(x.astype(unsigned) >> y.astype(unsigned)).astype(x.dtype)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "max": np.maximum, "min": np.minimum, "neg": np.negative,
    "abs": np.abs, "sign": np.sign, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "floor": np.floor,
    "round": np.round, "sin": np.sin, "cos": np.cos, "erf": _erf,
    "isfinite": np.isfinite, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "and": _logical(np.bitwise_and, np.logical_and),
    "or": _logical(np.bitwise_or, np.logical_or), "xor": _logical(np.bitwise_xor, np.logical_xor),
    "shr": _shift_right, "not": _logical(np.invert, np.logical_not),
    "select": np.where,
}  # fmt: skip

_FOLDS: dict[str, Callable[..., Any]] = {"max": np.max, "min": np.min, "any": np.any, "all": np.all}
