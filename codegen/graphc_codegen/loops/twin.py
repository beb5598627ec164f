"""Loop kernels in NumPy: the oracle of the tests and the kernels of the checked mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from graphc_codegen.dtypes import HALVES
from graphc_codegen.errors import CheckedError
from graphc_codegen.loops.check import check
from graphc_codegen.program import Access, Instr, LoopKernel, Output
from graphc_codegen.scalars.halves import nearest, numpy_dtype
from graphc_codegen.scalars.table import SCALAR_OPS
from graphc_codegen.scalars.twins import Array, cast


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
    function = SCALAR_OPS[instr.op].twin
    if function is None:
        raise CheckedError(f"loop operation {instr.op!r} has no twin")
    return np.asarray(function(*args)).astype(dtype, copy=False)


def _wide(x: Array) -> Array:
    """A half array as float32; others as they are."""
    return x.astype(np.float32) if x.dtype.name in HALVES else x


_FOLDS: dict[str, Callable[..., Any]] = {"max": np.max, "min": np.min, "any": np.any, "all": np.all}
