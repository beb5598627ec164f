"""A loop that runs on several sets of operands."""

from __future__ import annotations

from dataclasses import replace

from graphc_codegen.loops.emit import emit
from graphc_codegen.program import LoopKernel
from graphc_codegen.writer import Writer


def emit_sets(w: Writer, kernel: LoopKernel) -> None:
    """The loop on one set of operands after the other; threads share the sets, or the work on each.

    The addresses of its operands, which may be too many to have names, are loaded from `%operands`.
    """
    inputs, outputs = len(kernel.inputs), len(kernel.outputs)

    def pointer(place: str | int) -> str:
        return w.load(w.at("%operands", place, "i64"), "ptr")

    def one(k: str | int) -> None:
        first = w.linear((k, outputs), (kernel.times * inputs, 1))
        pointers = [pointer(w.linear((k, inputs), (j, 1))) for j in range(inputs)]
        emit(w, replace(kernel, times=1), pointers + [pointer(w.add(first, j)) for j in range(outputs)])

    if any(kernel.reduced) or kernel.times % w.threads == 0 or kernel.times >= 4 * w.threads:
        w.share(kernel.times, one)
    else:
        w.repeat(kernel.times, one)
