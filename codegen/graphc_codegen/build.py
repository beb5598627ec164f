"""From a program's texts to object code, and from object code to a function that can be called.

LLVM compiles the kernels, module by module, while Numba compiles `step.py`, which calls them; a last module has the step
and an entry with a C signature. Numba is imported in here only, and only by `compile_objects`.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from graphc_codegen.errors import CodegenError
from graphc_codegen.objects import Compilers
from graphc_codegen.render import LOAD_FLAG, MOVE, Rendered
from graphc_codegen.target import Target, machine

#: The C entry of an object: `int32 graphc_entry(int64 ctx)`, 0 for success. `ctx` is the first thread's context.
ENTRY = "graphc_entry"
_FLUSH = 0x8040  # MXCSR: flush denormal results to zero, take denormal operands as zero
#: What generated kernels may call of each other's modules.
_SUPPORT = ("graphc_meet", "graphc_barrier", "graphc_record")


def compile_objects(rendered: Rendered, seconds: dict[str, float]) -> list[bytes]:
    """Compile a program to objects that together export `ENTRY`; `seconds` receives the time of each stage.

    "llvm" is the time that LLVM takes beyond the other stages, during which it works, too. Raises CodegenError when
    Numba or LLVM refuses a text, naming the kernel.
    """
    program, target = rendered.program, rendered.target
    symbols = list(program.kernels())
    with Compilers(target, {*_SUPPORT, *symbols, LOAD_FLAG, MOVE}) as compilers:
        clock = _Clock(seconds)
        parts = [compilers.submit(text) for text in rendered.modules()]
        clock.stop("render")
        import numba  # noqa: F401

        clock.stop("import numba")
        step, callee = compile_step(rendered.source, symbols)
        parts.append(compilers.submit(step + render_entry(callee, program.threads, target)))
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


# ---- Numba


def compile_step(source: str, symbols: Iterable[str]) -> tuple[str, str]:
    """LLVM IR of the jitted step, and the name of its function. Raises CodegenError when Numba refuses it."""
    from numba import njit, types

    void = types.void(types.int64, types.int64)
    namespace: dict[str, Any] = {name: _external(name, void) for name in symbols}
    namespace["load_flag"] = _external(LOAD_FLAG, types.int64(types.int64, types.int64))
    namespace["move"] = _external(MOVE, void)
    namespace |= {"njit": partial(njit, pipeline_class=_pipeline()), "__name__": "graphc_step"}
    try:
        exec(compile(source, "<graphc step>", "exec"), namespace)
        step = namespace["step"]
        if not hasattr(step, "inspect_llvm"):
            raise CodegenError("Numba's compiler is off (NUMBA_DISABLE_JIT); only the checked mode runs without it")
        signature = step.signatures[0]
        return step.inspect_llvm(signature), step.overloads[signature].fndesc.llvm_func_name
    except CodegenError:
        raise
    except Exception as error:
        raise CodegenError(f"Numba refused the generated step: {type(error).__name__}: {error}") from error


@cache
def _pipeline() -> Any:
    """Numba's compiler with the passes that a generated step needs; it has no variables, closures or overloads.

    Takes two thirds of the time of the default pipeline.
    """
    from numba.core import typed_passes, untyped_passes
    from numba.core.compiler import CompilerBase
    from numba.core.compiler_machinery import PassManager

    passes = (
        untyped_passes.TranslateByteCode,
        untyped_passes.FixupArgs,
        untyped_passes.IRProcessing,
        typed_passes.NopythonTypeInference,
        typed_passes.AnnotateTypes,
        typed_passes.IRLegalization,
        typed_passes.NativeLowering,
        typed_passes.NoPythonBackend,
    )

    class StepCompiler(CompilerBase):
        def define_pipelines(self) -> list[Any]:
            manager = PassManager("graphc")  # type: ignore[no-untyped-call]
            for each in passes:
                manager.add_pass(each, each.__name__)  # type: ignore[no-untyped-call]
            manager.finalize()  # type: ignore[no-untyped-call]
            return [manager]

    return StepCompiler


def _external(name: str, signature: Any) -> Any:
    """What calls the symbol `name` of kernels.ll from a jitted function."""
    import llvmlite.binding as llvm
    from numba import types

    # Numba loads the module it compiles, and LLVM aborts the process when a symbol is missing then.
    llvm.add_symbol(name, _placeholder_address())
    return types.ExternalFunction(name, signature)


def _refuse() -> None:
    raise AssertionError("a kernel was called through Numba's own copy of the step")


_placeholder = ctypes.CFUNCTYPE(None)(_refuse)


def _placeholder_address() -> int:
    return ctypes.cast(_placeholder, ctypes.c_void_p).value or 0


# ---- LLVM


def render_entry(callee: str, threads: int, target: Target) -> str:
    """The C entry, to stand behind the IR of Numba's function `callee`; with several threads the pool of the context runs it."""
    from graphc_codegen.render import WORDS, template

    text: str = template("entry.ll.j2").render(
        callee=callee, entry=ENTRY, flush=_FLUSH if target.x86 else 0, threads=threads, pool=WORDS["pool"]
    )
    return text


# ---- loading


@dataclass(frozen=True)
class Loaded:
    """Object code in memory and the `addresses` of its exported symbols; unloaded with the last reference."""

    addresses: dict[str, int]
    _keep: tuple[Any, ...]

    def function(self, name: str, *, words: int = 1) -> Callable[..., int]:
        """A callable int32 (int64, ...) for a symbol; it releases the GIL."""
        return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * words)(self.addresses[name])


def load(objects: Sequence[bytes], exported: Sequence[str], target: Target) -> Loaded:
    """Link objects into this process. Raises CodegenError when they need symbols that do not exist."""
    import llvmlite.binding as llvm

    try:
        jit = llvm.create_lljit_compiler(machine(target))
        builder = llvm.JITLibraryBuilder().add_current_process()
        for code in objects:
            builder = builder.add_object_img(code)
        for name in exported:
            builder = builder.export_symbol(name)
        tracker = builder.link(jit, "graphc")
        addresses = {name: tracker[name] for name in exported}
    except RuntimeError as error:
        raise CodegenError(f"cannot load the compiled step: {error}") from None
    return Loaded(addresses, (tracker, jit))
