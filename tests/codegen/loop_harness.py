"""Runs kernels alone: compiled without Numba, every operand between canaries."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc_codegen import loops
from graphc_codegen.object_code import llvm_modules, loading
from graphc_codegen.program import Access, ChainKernel, Instr, LoopKernel, Output, symbol, written
from graphc_codegen.target import Target, describe, host
from graphc_codegen.text import render
from tests.codegen.threaded import Runner, same

Loops = LoopKernel | ChainKernel
Array = np.ndarray[Any, np.dtype[Any]]
HOST = host()
#: The same machine without AVX-512: 8 lanes.
AVX2 = describe(
    HOST.triple,
    "haswell",
    dict.fromkeys(("sse4.1", "sse4.2", "avx", "avx2", "fma", "bmi", "bmi2", "f16c"), True) | {"avx512f": False},
)
_MARGIN = 64


def run(
    kernel: Loops, arrays: Sequence[Array], target: Target = HOST, shared: dict[int, int] | None = None
) -> list[Array]:
    """Run the kernel natively on copies of flat arrays and return the copies; on several threads it must do the same.

    `shared` maps an output's operand number to the input whose memory it uses. Fails when anything outside
    the operands changed, or an input that is not shared.
    """
    return run_many([(kernel, arrays)], target, shared)[0]


def run_many(
    jobs: Sequence[tuple[Loops, Sequence[Array]]],
    target: Target = HOST,
    shared: dict[int, int] | None = None,
) -> list[list[Array]]:
    """`run` for several kernels that are compiled into one module."""
    kernels = {symbol(k): k for k, _ in jobs}
    code = llvm_modules.compile_module(render.render_kernels(dict(kernels), target), target)
    loaded = loading.load([code], list(kernels), target)
    runner = Runner([k for k, _ in jobs], target)
    results = []
    for kernel, arrays in jobs:

        def alone(table: Array, k: Loops = kernel) -> None:
            context = np.array([table.ctypes.data] + [0] * 7, np.int64)
            function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
            function(loaded.addresses[symbol(k)])(context.ctypes.data, 0)

        results.append(_call(alone, kernel, arrays, shared or {}))
        if not shared:  # In place, a second run would start from the results of the first.
            divided = _call(lambda table, k=kernel: runner.call(k, table.tolist()), kernel, arrays, {})  # type: ignore[misc]
            for got, want in zip(divided, results[-1], strict=True):
                same(got, want)
    return results


def _call(
    function: Callable[[Array], None], kernel: Loops, arrays: Sequence[Array], shared: dict[int, int]
) -> list[Array]:
    blocks: list[tuple[Array, Array]] = []
    views: list[Array] = []
    for j, array in enumerate(arrays):
        if j in shared:
            views.append(views[shared[j]])
            continue
        # A margin that is no multiple of the vector size, so that nothing is aligned by chance.
        margin = _MARGIN + array.itemsize
        block = np.full(array.nbytes + 2 * margin, 0xC5, np.uint8)
        view = block[margin : margin + array.nbytes].view(array.dtype)
        view[:] = array
        blocks.append((block, view))
        views.append(view)
    function(np.array([v.ctypes.data for v in views], np.int64))
    for block, view in blocks:
        margin = _MARGIN + view.itemsize
        assert (block[:margin] == 0xC5).all(), "the bytes before an operand changed"
        assert (block[margin + view.nbytes :] == 0xC5).all(), "the bytes after an operand changed"
    for j in range(len(arrays) - written(kernel)):
        if j not in shared.values():
            assert views[j].tobytes() == arrays[j].tobytes(), "an input changed"
    return views


def as_the_twin(
    jobs: Sequence[tuple[Loops, Sequence[Array]]],
    target: Target,
    compare: Callable[[Array, Array], None] = np.testing.assert_array_equal,
) -> None:
    """Every operand of every job is afterwards what the twin makes of it."""
    for (kernel, arrays), got in zip(jobs, run_many(jobs, target), strict=True):
        for value, want in zip(got, expected(kernel, arrays), strict=True):
            compare(value, want)


def expected(kernel: Loops, arrays: Sequence[Array]) -> list[Array]:
    """What the NumPy twin makes of copies of the arrays."""
    copies = [a.copy() for a in arrays]
    if isinstance(kernel, ChainKernel):
        loops.chain_twin(kernel, *copies)
    else:
        loops.twin(kernel, *copies)
    return copies


def contiguous(shape: Sequence[int], dtype: str = "float32") -> Access:
    """Row-major access to an operand of exactly this shape."""
    strides = [1] * len(shape)
    for k in range(len(shape) - 2, -1, -1):
        strides[k] = strides[k + 1] * shape[k + 1]
    return Access(dtype, tuple(strides), 0, int(np.prod(shape, dtype=np.int64)))


def pointwise(op: str, args: Sequence[str], result: str, n: int, constant: tuple[int, Any] | None = None) -> LoopKernel:
    """One operation on vectors of n elements; argument `constant[0]` is the number `constant[1]`."""
    body: list[Instr] = []
    inputs: list[Access] = []
    for k, dtype in enumerate(args):
        if constant is not None and constant[0] == k:
            body.append(Instr("const", (), dtype, constant[1]))
        else:
            body.append(Instr("input", (), dtype, len(inputs)))
            inputs.append(contiguous((n,), dtype))
    body.append(Instr(op, tuple(range(len(args))), result))
    return LoopKernel((n,), (False,), tuple(inputs), tuple(body), (Output(contiguous((n,), result), len(args)),))


def _access(shape: tuple[int, ...], held: tuple[bool, ...]) -> Access:
    """Row-major over the axes that `held` names, broadcast along the others."""
    strides, step = [], 1
    for n, holds in reversed(list(zip(shape, held, strict=True))):
        strides.append(step if holds else 0)
        step *= n if holds else 1
    return Access("float32", tuple(strides[::-1]), 0, step)


def random_sums(rng: np.random.Generator) -> LoopKernel:
    """sum (max, ...) of x * y over some axes but not the last, perhaps the product too, and the sum of x."""
    rank = int(rng.integers(2, 5))
    shape = (
        *(int(n) for n in rng.choice([1, 2, 3, 5, 6, 9, 12, 17], rank - 1)),
        int(rng.choice([1, 3, 16, 33, 130])),
    )
    reduced = (*(bool(b) for b in rng.integers(0, 2, rank - 1)), False)
    if not any(reduced):
        reduced = (True, *reduced[1:])
    inputs = (_access(shape, (True,) * rank), _access(shape, tuple(bool(b) for b in rng.integers(0, 2, rank))))
    body = (Instr("input", (), "float32", 0), Instr("input", (), "float32", 1), Instr("mul", (0, 1), "float32"))
    folded = _access(shape, tuple(not r for r in reduced))
    how = str(rng.choice(["sum", "max", "min", "prod"]))
    block = int(rng.choice([0, 1, 2, 32])) if how in ("sum", "prod") else 0
    outputs = [Output(folded, 2, how, float(rng.choice([1.0, 0.25])), block)]
    if rng.integers(2):
        outputs.append(Output(_access(shape, (True,) * rank), 2))
    if rng.integers(2):
        outputs.append(Output(folded, 0, "sum", 1 / math.prod(n for n, r in zip(shape, reduced, strict=True) if r)))
    return LoopKernel(shape, reduced, inputs, body, tuple(outputs))


def random_operands(kernel: LoopKernel, rng: np.random.Generator) -> list[Array]:
    inputs = [rng.uniform(0.5, 1.5, a.size).astype(np.float32) for a in kernel.inputs]
    return inputs + [np.full(o.access.size, 7, np.float32) for o in kernel.outputs]
