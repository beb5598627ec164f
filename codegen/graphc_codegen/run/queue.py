"""Many runs of a program over a queue of batches in memory, in one native loop.

The loop (`queue.py.j2`) is the same for every program: it writes the addresses of a batch into the program's pointer table,
calls its entry, and copies what is to be kept of the step. A plan says where all of this lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from graphc_codegen.object_code.loading import Loaded, load
from graphc_codegen.object_code.support import compiled_once
from graphc_codegen.run.bound import Array
from graphc_codegen.target import Target, host
from graphc_codegen.text.render import Ends, template

#: The words of a plan, by name. From `first` on stand three words per entry of the pointer table that is an input: the entry's
#: address, that of the queue, the bytes of a batch; then three per result that is kept: its address, where to, its bytes.
WORDS = {"entry": 0, "steps": 1, "inputs": 2, "kept": 3, "done": 4, "status": 5, "first": 8}
QUEUE = "graphc_queue"


def make_plan(
    entry: int, steps: int, inputs: Sequence[tuple[int, int, int]], kept: Sequence[tuple[int, int, int]]
) -> Array:
    """A plan as int64 words."""
    plan = np.zeros(WORDS["first"] + 3 * (len(inputs) + len(kept)), np.int64)
    plan[WORDS["entry"]], plan[WORDS["steps"]] = entry, steps
    plan[WORDS["inputs"]], plan[WORDS["kept"]] = len(inputs), len(kept)
    plan[WORDS["first"] :] = [word for three in (*inputs, *kept) for word in three]
    return plan


def run_plan(code: Loaded, context: int, plan: Array) -> tuple[int, int]:
    """Run it without going back to Python. Returns how many steps are done, and the status of the one that failed, or 0."""
    code.function(QUEUE, words=2)(context, int(plan.ctypes.data))
    return int(plan[WORDS["done"]]), int(plan[WORDS["status"]])


@cache
def loop(cache_dir: Path | None) -> Loaded:
    """The loaded loop."""

    def make(target: Target) -> list[bytes]:
        # A step from the object cache needs no emitter.
        from graphc_codegen.object_code import llvm_modules, numba_step

        source, support = (template(f"queue.{kind}.j2").render(words=WORDS) for kind in ("py", "ll"))
        steps = numba_step.compile_source(source, _OPERATIONS)
        whole = [each.ir + numba_step.render_entry(each, 1, target, Ends(False, False)) for each in steps]
        return [llvm_modules.compile_module(text, target) for text in (support, *whole)]

    return load(compiled_once("queue", QUEUE, cache_dir, make), [QUEUE], host())


#: What the loop calls: name there -> (symbol, operands, result).
_OPERATIONS: dict[str, tuple[str, int, str]] = {
    "load": ("graphc_load", 1, "int64"),
    "store": ("graphc_store", 2, "void"),
    "call": ("graphc_call", 2, "int64"),
    "copy": ("graphc_copy", 3, "void"),
}
