"""What makes a `LoopKernel` well formed. A wrong one would read or write memory that is not its own."""

from __future__ import annotations

import math

from graphc_codegen.dtypes import FLOATS, HALVES, INTEGERS, ITEMSIZE, integer_limits
from graphc_codegen.errors import CodegenError
from graphc_codegen.program import Access, Instr, LoopKernel, Output, reach, symbol
from graphc_codegen.scalars.table import SCALAR_OPS

_REDUCTIONS = {
    "sum": (*FLOATS, *INTEGERS), "prod": (*FLOATS, *INTEGERS),
    "max": tuple(ITEMSIZE), "min": tuple(ITEMSIZE), "any": ("bool",), "all": ("bool",),
}  # fmt: skip


def check(kernel: LoopKernel) -> None:
    """Raise CodegenError for a kernel that leaves an operand, mixes dtypes or uses an unknown operation."""
    try:
        _check(kernel)
    except CodegenError as error:
        raise CodegenError(f"loop kernel {symbol(kernel)}: {error}") from None


def _check(kernel: LoopKernel) -> None:
    if len(kernel.reduced) != len(kernel.domain):
        raise CodegenError("`reduced` needs one entry per axis of the domain")
    if any(n < 0 for n in kernel.domain):
        raise CodegenError("the domain has a negative size")
    for position, instr in enumerate(kernel.body):
        _check_instr(kernel, position, instr)
    for j, access in enumerate(kernel.inputs):
        _check_access(kernel.domain, f"input {j}", access)
    # A folded output has elements even where the domain has none.
    results = tuple(1 if r else n for n, r in zip(kernel.domain, kernel.reduced, strict=True))
    for j, output in enumerate(kernel.outputs):
        _check_access(results if output.reduce else kernel.domain, f"output {j}", output.access)
    for j, output in enumerate(kernel.outputs):
        _check_output(kernel, f"output {j}", output)


def _check_access(domain: tuple[int, ...], name: str, access: Access) -> None:
    if len(access.strides) != len(domain):
        raise CodegenError(f"{name} needs one stride per axis of the domain")
    if access.dtype not in ITEMSIZE:
        raise CodegenError(f"{name} has unknown dtype {access.dtype}")
    if 0 in domain:
        return
    low, high = reach(access, domain, 0)
    if low < 0 or high >= access.size:
        raise CodegenError(f"{name} touches elements {low}..{high} of an operand with {access.size}")


def _check_output(kernel: LoopKernel, name: str, output: Output) -> None:
    if not 0 <= output.value < len(kernel.body):
        raise CodegenError(f"{name} names value {output.value} of a body with {len(kernel.body)}")
    dtype = kernel.body[output.value].dtype
    if dtype != output.access.dtype:
        raise CodegenError(f"{name} is {output.access.dtype}, its value {dtype}")
    for n, reduced, stride in zip(kernel.domain, kernel.reduced, output.access.strides, strict=True):
        folded = reduced and output.reduce is not None
        if n > 1 and folded != (stride == 0):
            raise CodegenError(f"{name} must have stride 0 exactly along the axes reduced by it")
    rounds = output.reduce in ("sum", "prod") and dtype in ("float32", *HALVES)
    if output.block < 0 or (output.block and not rounds):
        raise CodegenError(f"{name} has blocks of {output.block}, but is no sum or product of float32")
    if output.reduce is None:
        if output.scale != 1.0:
            raise CodegenError(f"{name} is scaled but not reduced")
        return
    if dtype not in _REDUCTIONS.get(output.reduce, ()):
        raise CodegenError(f"{name}: reduction {output.reduce!r} is not defined for {dtype}")
    if output.scale != 1.0 and dtype not in FLOATS:
        raise CodegenError(f"{name}: only floats can be scaled")
    empty = any(n == 0 and r for n, r in zip(kernel.domain, kernel.reduced, strict=True))
    if empty and output.reduce in ("max", "min"):
        raise CodegenError(f"{name}: {output.reduce} over no elements")


def _fits(number: float | int, dtype: str) -> bool:
    """Whether an integer dtype has the whole part of a number."""
    low, high = integer_limits(dtype)
    return math.isfinite(number) and low <= int(number) <= high


def _check_instr(kernel: LoopKernel, position: int, instr: Instr) -> None:
    name = f"instruction {position} ({instr.op})"
    op = SCALAR_OPS.get(instr.op)
    if op is None or op.operands != len(instr.args):
        raise CodegenError(f"{name} is unknown or has a wrong number of arguments")
    if any(not 0 <= a < position for a in instr.args):
        raise CodegenError(f"{name} uses a value that is not computed before it")
    if instr.dtype not in ITEMSIZE:
        raise CodegenError(f"{name} has unknown dtype {instr.dtype}")
    args = [kernel.body[a].dtype for a in instr.args]
    if instr.op == "input":
        good = isinstance(instr.imm, int) and 0 <= instr.imm < len(kernel.inputs)
        good = good and kernel.inputs[int(instr.imm or 0)].dtype == instr.dtype
    elif instr.op == "const":
        good = instr.imm is not None and (instr.dtype not in INTEGERS or _fits(instr.imm, instr.dtype))
    elif instr.op == "iota":
        good = isinstance(instr.imm, int) and 0 <= instr.imm < len(kernel.domain) and instr.dtype != "bool"
    elif op.result == "choice":
        good = args == ["bool", instr.dtype, instr.dtype]
    elif op.result == "test":
        good = instr.dtype == "bool" and len(set(args)) == 1
    else:
        good = op.result == "own" or set(args) == {instr.dtype}
    if not good:
        raise CodegenError(f"{name} has wrong dtypes or immediate: ({', '.join(args)}) -> {instr.dtype}")
