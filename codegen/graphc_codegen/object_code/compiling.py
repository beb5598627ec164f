"""From a program's texts to object code.

LLVM compiles the kernels, module by module, while Numba compiles `step.py`, which calls them; a last module has the step
and an entry with a C signature.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from graphc_codegen.object_code.llvm_modules import Compilers
from graphc_codegen.object_code.numba_step import compile_step, render_entry
from graphc_codegen.text.render import ENDED, GOES_ON, LOAD_FLAG, MOVE, TURNS, Ends, Rendered, may_stop

#: What generated kernels may call of each other's modules.
_SUPPORT = ("graphc_meet", "graphc_barrier", "graphc_record")


def compile_objects(
    rendered: Rendered,
    seconds: dict[str, float],
    compile_threads: int,
    beside: Callable[[], object] | None = None,
    functions: Collection[str] = (),
) -> list[bytes]:
    """Compile a program to objects that together export `ENTRY`; `seconds` receives the time of each stage.

    LLVM works on `compile_threads` threads of its own; "llvm" is the time that it takes beyond the other stages. One of them
    does `beside` too, after the kernels. The objects may call users' `functions`, by these names. Raises CodegenError when
    Numba or LLVM refuses a text, naming the kernel.
    """
    program, target = rendered.program, rendered.target
    symbols = list(program.kernels())
    known = {*functions, *_SUPPORT, LOAD_FLAG, GOES_ON, ENDED, MOVE, TURNS, *symbols}
    known |= {f.name for f in rendered.functions}
    with Compilers(target, known, compile_threads) as compilers:
        clock = _Clock(seconds)
        parts = [compilers.submit(text) for text in rendered.modules()]
        if beside is not None:
            compilers.run(beside)
        clock.stop("render")
        import numba  # noqa: F401

        clock.stop("import numba")
        ends = Ends(may_stop(program.kernels()), program.has_loops())
        for function in compile_step(rendered.source, symbols):
            parts.append(compilers.submit(function.ir + render_entry(function, program.threads, target, ends)))
        clock.stop("numba")
        objects = [part.result() for part in parts]
        clock.stop("llvm")
    return objects


class _Clock:
    """Writes down the seconds from each stop to the next."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self._last = time.perf_counter()

    def stop(self, stage: str) -> None:
        now = time.perf_counter()
        self._seconds[stage], self._last = now - self._last, now
