"""From a program's texts to object code, and from object code to a function that can be called.

LLVM compiles the kernels, module by module, while Numba compiles `step.py`, which calls them; a last module has the step
and an entry with a C signature. Numba is imported in here only, and only by `compile_objects`.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from graphc_codegen.errors import CodegenError
from graphc_codegen.render import LOAD_FLAG, MOVE, Rendered
from graphc_codegen.target import Target, machine
from graphc_codegen.threads import pool

#: The C entry of an object: `int32 graphc_entry(int64 ctx)`, 0 for success. `ctx` is the first thread's context.
ENTRY = "graphc_entry"
_FLUSH = 0x8040  # MXCSR: flush denormal results to zero, take denormal operands as zero
#: What generated kernels may call of each other's modules.
_SUPPORT = ("graphc_meet", "graphc_barrier", "graphc_record")
#: Held by who has Numba compile.
COMPILING = threading.Lock()


def compile_objects(
    rendered: Rendered,
    seconds: dict[str, float],
    cache_dir: Path | None,
    compile_threads: int,
    functions: Collection[str] = (),
) -> list[bytes]:
    """Compile a program to objects that together export `ENTRY`; `seconds` receives the time of each stage.

    LLVM works on `compile_threads` threads of its own; "llvm" is the time that it takes beyond the other stages. The
    thread pool is made ready for the program meanwhile, with what `cache_dir` has of it. The objects may call users'
    `functions`, by these names. Raises CodegenError when Numba
    or LLVM refuses a text, naming the kernel.
    """
    from graphc_codegen.objects import Compilers

    program, target = rendered.program, rendered.target
    symbols = list(program.kernels())
    known = {*functions, *_SUPPORT, LOAD_FLAG, MOVE, *symbols, *(f.name for f in rendered.functions)}
    with Compilers(target, known, compile_threads) as compilers:
        clock = _Clock(seconds)
        parts = [compilers.submit(text) for text in rendered.modules()]
        if program.threads > 1:
            compilers.run(lambda: pool(program.threads, cache_dir))
        clock.stop("render")
        import numba  # noqa: F401

        clock.stop("import numba")
        for function in compile_step(rendered.source, symbols):
            parts.append(
                compilers.submit(function.ir + render_entry(function, program.threads, target, bool(functions)))
            )
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


@dataclass(frozen=True, slots=True)
class Jitted:
    """A function of step.py that Numba has compiled: its LLVM IR, and what the function is called there."""

    name: str
    arguments: int
    ir: str
    symbol: str


def compile_step(source: str, symbols: Iterable[str]) -> list[Jitted]:
    """The functions of step.py; kernels and each other they call by name. Raises CodegenError when Numba refuses one."""
    namespace: dict[str, Any] = {name: _external(name, 2) for name in symbols}
    namespace |= {"move": _external(MOVE, 2), "load_flag": _external(LOAD_FLAG, 2, "int64"), "__name__": "graphc_step"}
    made: list[Jitted] = []

    def njit(signature: str, **options: Any) -> Callable[[Any], Any]:
        def compiled(function: Any) -> Any:
            made.append(_jitted(function, signature, options))
            return _external(function.__name__, made[-1].arguments)

        return compiled

    try:
        exec(compile(source, "<graphc step>", "exec"), namespace | {"njit": njit})
    except CodegenError:
        raise
    except Exception as error:
        raise CodegenError(f"Numba refused the generated step: {type(error).__name__}: {error}") from error
    return made


def _jitted(function: Any, signature: str, options: dict[str, Any]) -> Jitted:
    """Compile to LLVM IR and no further: Numba neither links nor loads what it has compiled.

    Numba's compiler serves one thread at a time. Its lock keeps the user's jitted functions out, which it does for
    `Dispatcher.compile`, but it must not be held where a dispatcher is made: the first one makes Numba's contexts,
    which takes the lock itself, inside a lock of `functools.cached_property` (Python 3.11). So graphc has one as well.
    """
    import numba
    from numba.core import sigutils
    from numba.core.compiler_lock import global_compiler_lock

    with COMPILING:
        dispatcher = numba.njit(pipeline_class=_pipeline(), **options)(function)
        if not hasattr(dispatcher, "_compiler"):
            raise CodegenError("Numba's compiler is off (NUMBA_DISABLE_JIT); only the checked mode runs without it")
        with global_compiler_lock:
            arguments, result = sigutils.normalize_signature(signature)  # type: ignore[no-untyped-call]
            compiled = dispatcher._compiler.compile(arguments, result)
            ir = compiled.library.get_llvm_str()
    return Jitted(function.__name__, len(arguments), ir, compiled.fndesc.llvm_func_name)


@cache
def _pipeline() -> Any:
    """Numba's compiler with the passes that a generated step needs: it has no variables, closures or overloads, and
    nothing in it counts references, so that nobody needs to know where a value is last used.

    Takes half of the time of the default pipeline.
    """
    from numba.core import typed_passes, untyped_passes
    from numba.core.compiler import CompilerBase
    from numba.core.compiler_machinery import PassManager

    passes = (
        untyped_passes.TranslateByteCode,
        untyped_passes.FixupArgs,
        untyped_passes.IRProcessing,
        typed_passes.NopythonTypeInference,
        typed_passes.NativeLowering,
        typed_passes.NoPythonBackend,
    )

    class StepCompiler(CompilerBase):
        def define_pipelines(self) -> list[Any]:
            self.state.flags.no_compile = True
            manager = PassManager("graphc")  # type: ignore[no-untyped-call]
            for each in passes:
                manager.add_pass(each, each.__name__)  # type: ignore[no-untyped-call]
            manager.finalize()  # type: ignore[no-untyped-call]
            return [manager]

    return StepCompiler


def _external(name: str, arguments: int, result: str = "void") -> Any:
    """What calls the symbol `name` of another module from a jitted function; its arguments are int64."""
    from numba import types

    return types.ExternalFunction(name, getattr(types, result)(*[types.int64] * arguments))


# ---- LLVM


def render_entry(function: Jitted, threads: int, target: Target, stops: bool = False) -> str:
    """C functions to stand behind the IR of a function of step.py: what the others call it by; for `step`, `ENTRY`."""
    from graphc_codegen.render import template
    from graphc_codegen.writer import WORDS

    text: str = template("entry.ll.j2").render(
        function=function,
        entry=ENTRY if function.name == "step" else "",
        flush=_FLUSH if target.x86 else 0,
        threads=threads,
        pool=WORDS["pool"],
        stops=stops,
        failure=WORDS["failure"],
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


@dataclass(frozen=True)
class Imported:
    """Machine code of Numba's in this process, as long as it is referred to."""

    address: int
    _keep: Any


def load(
    objects: Sequence[bytes], exported: Sequence[str], target: Target, functions: Mapping[str, Imported] | None = None
) -> Loaded:
    """Link objects into this process, which may call `functions`. Raises CodegenError when they need what does not exist."""
    import llvmlite.binding as llvm

    try:
        jit = llvm.create_lljit_compiler(machine(target))
        builder = llvm.JITLibraryBuilder().add_current_process()
        for code in objects:
            builder = builder.add_object_img(code)
        for name in exported:
            builder = builder.export_symbol(name)
        for name, function in (functions or {}).items():
            builder = builder.import_symbol(name, function.address)
        tracker = builder.link(jit, "graphc")
        addresses = {name: tracker[name] for name in exported}
    except RuntimeError as error:
        raise CodegenError(f"cannot load the compiled step: {error}") from None
    return Loaded(addresses, (tracker, jit, functions))
