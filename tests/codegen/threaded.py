"""Runs one kernel on several threads of the pool, without Numba."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphc_codegen.object_code import llvm_modules, loading
from graphc_codegen.program import Kernel, symbol
from graphc_codegen.run import threads
from graphc_codegen.run.bound import aligned_bytes
from graphc_codegen.target import Target
from graphc_codegen.text import render
from graphc_codegen.thread_context import CONTEXT, SCRATCH, WORDS

THREADS = 3


class Runner:
    """Kernels, each divided among THREADS threads; `call` runs one on addresses."""

    def __init__(self, kernels: Sequence[Kernel], target: Target) -> None:
        self.pool = threads.pool(THREADS, None)
        self.pool.start()
        divided = {symbol(k): k for k in (replace(k, threads=THREADS) for k in kernels)}
        text = render.render_kernels(dict(divided), target, threads=THREADS)
        # Twice, the second time after a meeting: what the first left behind must not matter.
        entries = [
            f"define i32 @run_{name}(i64 %ctx) {{\n"
            f"  call void @{name}(i64 %ctx, i64 0)\n  call void @{name}(i64 %ctx, i64 -1)\n  ret i32 0\n}}\n"
            for name in divided
        ]
        exported = [f"run_{name}" for name in divided]
        code = llvm_modules.compile_module(text + "\n".join(entries), target)
        self.loaded = loading.load([code], exported, target)

    def call(self, kernel: Kernel, addresses: Sequence[int]) -> None:
        table = np.array(addresses, np.int64)
        shared = aligned_bytes(128 + THREADS * SCRATCH)
        tickets = np.zeros((THREADS, len(table)), np.int64)
        rows = aligned_bytes(THREADS * CONTEXT).view(np.int64).reshape(THREADS, -1)
        rows[:, WORDS["table"]] = table.ctypes.data
        rows[:, WORDS["thread"]] = range(THREADS)
        rows[:, WORDS["barrier"]] = shared.ctypes.data
        rows[:, WORDS["scratch"]] = shared.ctypes.data + 128
        rows[:, WORDS["tickets"]] = [row.ctypes.data for row in tickets]
        name = f"run_{symbol(replace(kernel, threads=THREADS))}"
        run = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * 3)(int(self.pool._memory[threads.WORDS["run"]]))
        assert run(self.pool.address, self.loaded.addresses[name], rows.ctypes.data) == 0
        assert not tickets.any()


def same(got: Any, want: Any) -> None:
    """Equal, but for the order in which floats were added up."""
    if want.dtype.kind == "f" or want.dtype.name == "bfloat16":
        with np.errstate(invalid="ignore"):  # signalling NaN
            wide, exact = got.astype(np.float64), want.astype(np.float64)
        finite = np.abs(exact[np.isfinite(exact)])
        scale = float(finite.max()) if finite.size else 1.0
        tolerance = 64 * {2: 2.0**-8, 4: 2.0**-23, 8: 2.0**-52}[want.dtype.itemsize] * scale
        np.testing.assert_allclose(wide, exact, rtol=0, atol=tolerance)
    else:
        np.testing.assert_array_equal(got, want)
