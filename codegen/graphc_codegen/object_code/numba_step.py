"""From `step.py` to LLVM IR, by Numba, which is imported in here only; and an entry with a C signature around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from graphc_codegen.errors import CodegenError
from graphc_codegen.forks import lock
from graphc_codegen.target import Target
from graphc_codegen.text.render import ENDED, GOES_ON, LOAD_FLAG, MOVE, TURNS, Ends, template
from graphc_codegen.thread_context import WORDS

#: The C entry of an object: `int32 graphc_entry(int64 ctx)`, 0 for success. `ctx` is the first thread's context.
ENTRY = "graphc_entry"
#: What the entry returns where a kernel has failed, and where a loop was interrupted.
FAILED, INTERRUPTED = 1, 2
#: Held by who has Numba compile.
COMPILING = lock()


@dataclass(frozen=True, slots=True)
class Jitted:
    """A function of step.py that Numba has compiled: its LLVM IR, and what the function is called there."""

    name: str
    arguments: int
    ir: str
    symbol: str


def compile_step(source: str, symbols: Iterable[str]) -> list[Jitted]:
    """The functions of step.py; kernels and each other they call by name. Raises CodegenError when Numba refuses one."""
    operations = {name: (name, 2, "void") for name in symbols}
    operations |= {"move": (MOVE, 2, "void"), "load_flag": (LOAD_FLAG, 2, "int64")}
    operations |= {"turns": (TURNS, 2, "int64")}
    return compile_source(source, operations | {"goes_on": (GOES_ON, 2, "int64"), "ended": (ENDED, 1, "int64")})


def compile_source(source: str, operations: Mapping[str, tuple[str, int, str]]) -> list[Jitted]:
    """The functions of a generated module. They call each other, and `operations`: name there -> (symbol of another module,
    number of int64 operands, type of the result). Raises CodegenError when Numba refuses one.
    """
    namespace: dict[str, Any] = {name: _external(*operation) for name, operation in operations.items()}
    namespace |= {"__name__": "graphc_step"}
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

    Numba's compiler serves one thread at a time. Its lock keeps the user's jitted functions out, but it must not be held
    where the first of these is made: that makes Numba's usual contexts, which takes the lock itself, inside a lock of
    `functools.cached_property` (Python 3.11). So graphc has one as well.
    """
    from numba.core import compiler, config, cpu, sigutils
    from numba.core.compiler_lock import global_compiler_lock

    if getattr(config, "DISABLE_JIT"):  # noqa: B009  # Made of the environment, so that type checkers do not see it.
        raise CodegenError("Numba's compiler is off (NUMBA_DISABLE_JIT); only the checked mode runs without it")
    with COMPILING, global_compiler_lock:
        typing, target = _contexts()
        arguments, result = sigutils.normalize_signature(signature)  # type: ignore[no-untyped-call]
        flags = compiler.Flags()  # type: ignore[no-untyped-call]
        cpu.CPUTargetOptions.parse_as_flags(flags, {"nopython": True, **options})  # type: ignore[no-untyped-call]
        compiled = compiler.compile_extra(  # type: ignore[no-untyped-call]
            typing, target, function, arguments, result, flags, {}, pipeline_class=_pipeline()
        )
        ir = compiled.library.get_llvm_str()
    return Jitted(function.__name__, len(arguments), ir, compiled.fndesc.llvm_func_name)


@cache
def _contexts() -> tuple[Any, Any]:
    """What Numba knows of types and of machine code for a generated step: integers, conditions and loops.

    Making its usual contexts takes four times as long as compiling a step of a hundred calls: they know arrays, strings
    and dictionaries, and import SciPy. Nothing here needs Numba's runtime, which is therefore neither made nor linked.
    """
    import numba.core.typing.builtins
    import numba.cpython.builtins
    import numba.cpython.numbers
    import numba.cpython.rangeobj  # noqa: F401
    from numba.core import cpu
    from numba.core.typing import templates
    from numba.core.typing.context import Context

    class Types(Context):
        def load_additional_registries(self) -> None:
            pass

        def _load_builtins(self) -> None:
            self.install_registry(own)  # type: ignore[no-untyped-call]

    class Code(cpu.CPUContext):
        def load_additional_registries(self) -> None:
            pass

        def post_lowering(self, module: Any, library: Any) -> None:
            pass

    # Not the attributes: most belong to arrays, and each asks for the usual contexts.
    own = templates.Registry()  # type: ignore[no-untyped-call]
    own.functions += templates.builtin_registry.functions
    own.globals += templates.builtin_registry.globals
    known = Types()  # type: ignore[no-untyped-call]
    return known, Code(known, "cpu")  # type: ignore[no-untyped-call]


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


def render_entry(function: Jitted, threads: int, target: Target, ends: Ends) -> str:
    """C functions to stand behind the IR of a function of step.py: what the others call it by; for `step`, `ENTRY`."""
    text: str = template("entry.ll.j2").render(
        function=function,
        entry=ENTRY if function.name == "step" else "",
        flushing=target.flushing,
        threads=threads,
        stops=ends.fails,
        loops=ends.interrupts,
        words=WORDS,
        failed=FAILED,
        interrupted=INTERRUPTED,
    )
    return text
