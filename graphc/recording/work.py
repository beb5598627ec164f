"""What calls do: floating point operations, and bytes that they move at least."""

from __future__ import annotations

import math
from collections.abc import Mapping

from graphc_codegen.program import (
    ITEMSIZE,
    Access,
    Buffer,
    Call,
    ChainKernel,
    Instr,
    Kernel,
    LoopKernel,
    NamedKernel,
    facts,
    result_domain,
)

#: Scalar operations that compute nothing with floats.
_FREE = frozenset(("input", "const", "iota", "cast", "select"))
_FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))


def flops_of(kernel: Kernel) -> int | None:
    """Floating point operations of a call, a multiply-add being two, a function such as exp one; None where that is not known."""
    if isinstance(kernel, LoopKernel):
        return _loop(kernel)
    if isinstance(kernel, ChainKernel):
        return sum(_loop(loop) for loop in kernel.loops)
    return _named(kernel)


def _loop(kernel: LoopKernel) -> int:
    turns = math.prod(kernel.domain)
    folds = sum(o.reduce is not None and o.access.dtype in _FLOATS for o in kernel.outputs)
    return turns * (_operations(kernel.body) + folds) * kernel.times


def _operations(body: tuple[Instr, ...]) -> int:
    return sum(i.dtype in _FLOATS and i.op not in _FREE for i in body)


def _named(kernel: NamedKernel) -> int | None:
    work, params = facts(kernel).work, dict(kernel.params)
    if work is None:
        return None
    done = work(params)
    epilogue = params.get("epilogue", ())
    domain = result_domain(NamedKernel(kernel.name, tuple((k, v) for k, v in kernel.params if k != "epilogue")))
    after = math.prod(domain) * _operations(epilogue) if epilogue and domain is not None else 0  # type: ignore[arg-type]
    return int(2 * done.products) + after


def bytes_of(call: Call, buffers: Mapping[int, Buffer]) -> int:
    """Bytes of all that a call reads and writes, each operand counted once, of a loop's operands what it touches."""
    kernel = call.kernel
    whole = {b: buffers[b].nbytes for b in call.args}
    if isinstance(kernel, LoopKernel) and kernel.times == 1:
        touched: dict[int, int] = {}
        for b, access in zip(call.args, kernel.accesses(), strict=True):
            touched[b] = touched.get(b, 0) + _touched(access, kernel.domain)
        return sum(min(n, whole[b]) for b, n in touched.items())
    return sum(whole.values())


def _touched(access: Access, domain: tuple[int, ...]) -> int:
    elements = math.prod(n for n, stride in zip(domain, access.strides, strict=True) if stride)
    return elements * ITEMSIZE[access.dtype]
