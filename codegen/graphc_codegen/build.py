"""From the generated texts to object code, and from object code to a function that can be called.

Numba compiles `step.py`; the result is linked with `kernels.ll` and an entry with a C signature, and LLVM
makes one object of it. Numba is imported in here only, and only by `compile_object`.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from graphc_codegen.errors import CodegenError
from graphc_codegen.render import LOAD_FLAG, MOVE, Rendered
from graphc_codegen.target import Target, machine

#: The C entry of an object: `int32 graphc_entry(int64 ctx)`, 0 for success. `ctx` is the first thread's context.
ENTRY = "graphc_entry"
_FLUSH = 0x8040  # MXCSR: flush denormal results to zero, take denormal operands as zero
#: Functions of the C library that generated code calls.
_LIBC = ("sched_yield", "syscall")
_DEFINE = re.compile(r"^define .*?@([A-Za-z0-9_]+)\(.*?^}$", re.DOTALL | re.MULTILINE)


def compile_object(rendered: Rendered, symbols: Sequence[str], target: Target, seconds: dict[str, float]) -> bytes:
    """Compile the texts to an object file that exports `ENTRY`; `seconds` receives the time of each stage.

    Raises CodegenError when Numba or LLVM refuses a text, naming the kernel.
    """
    started = time.perf_counter()
    import numba  # noqa: F401

    seconds["import numba"] = time.perf_counter() - started
    started = time.perf_counter()
    step_ir, callee = _compile_step(rendered.source, symbols)
    seconds["numba"] = time.perf_counter() - started
    started = time.perf_counter()
    code = _link(step_ir, render_entry(callee, rendered.threads, target), rendered.kernels, target)
    seconds["llvm"] = time.perf_counter() - started
    return code


def compile_kernels(kernels: str, target: Target) -> bytes:
    """Compile kernels.ll alone, every kernel exported. Raises CodegenError as `compile_object` does."""
    return compile_module(kernels, target)


def compile_module(text: str, target: Target) -> bytes:
    """Compile LLVM IR that stands alone to an object. Raises CodegenError when LLVM refuses it."""
    module = _parse_kernels(text)
    emitter = machine(target)
    module.triple, module.data_layout = target.triple, str(emitter.target_data)
    return bytes(emitter.emit_object(module))


# ---- Numba


def _compile_step(source: str, symbols: Sequence[str]) -> tuple[str, str]:
    """LLVM IR of the jitted step, and the name of its function."""
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
    """The IR of the C entry around Numba's function `callee`; with several threads the pool of the context runs it."""
    from graphc_codegen.render import WORDS, template

    text: str = template("entry.ll.j2").render(
        callee=callee, entry=ENTRY, flush=_FLUSH if target.x86 else 0, threads=threads, pool=WORDS["pool"]
    )
    return text


def _link(step_ir: str, entry: str, kernels: str, target: Target) -> bytes:
    import llvmlite.binding as llvm

    emitter = machine(target)
    module = llvm.parse_assembly(step_ir)
    for part in (_parse_kernels(kernels), llvm.parse_assembly(entry)):
        part.triple, part.data_layout = module.triple, module.data_layout
        module.link_in(part)
    missing = []
    for function in module.functions:
        if function.is_declaration:
            missing += [function.name] if not function.name.startswith("llvm.") and function.name not in _LIBC else []
        elif function.name != ENTRY:
            function.linkage = "internal"
    if missing:
        raise CodegenError(f"the step calls functions that do not exist: {', '.join(sorted(missing))}")
    try:
        module.verify()
    except RuntimeError as error:
        raise CodegenError(f"LLVM refused the step: {error}") from None
    return bytes(emitter.emit_object(module))


def _parse_kernels(text: str) -> Any:
    """Parse and verify kernels.ll; an error names the first kernel that LLVM refuses."""
    import llvmlite.binding as llvm

    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        name, message = _culprit(text, str(error))
        raise CodegenError(f"LLVM refused kernel {name}: {message}") from None
    return module


def _culprit(text: str, message: str) -> tuple[str, str]:
    """The first function of the module that does not stand on its own, and LLVM's words on it."""
    import llvmlite.binding as llvm

    shared = _DEFINE.sub("", text)
    for match in _DEFINE.finditer(text):
        try:
            llvm.parse_assembly(f"{shared}\n{match.group(0)}\n").verify()
        except RuntimeError as error:
            return match.group(1), str(error)
    return "(none in particular)", message


# ---- loading


@dataclass(frozen=True)
class Loaded:
    """Object code in memory and the `addresses` of its exported symbols; unloaded with the last reference."""

    addresses: dict[str, int]
    _keep: tuple[Any, ...]

    def function(self, name: str, *, words: int = 1) -> Callable[..., int]:
        """A callable int32 (int64, ...) for a symbol; it releases the GIL."""
        return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * words)(self.addresses[name])


def load(code: bytes, exported: Sequence[str], target: Target) -> Loaded:
    """Link an object into this process. Raises CodegenError when it needs symbols that do not exist."""
    import llvmlite.binding as llvm

    try:
        jit = llvm.create_lljit_compiler(machine(target))
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in exported:
            builder = builder.export_symbol(name)
        tracker = builder.link(jit, "graphc")
        addresses = {name: tracker[name] for name in exported}
    except RuntimeError as error:
        raise CodegenError(f"cannot load the compiled step: {error}") from None
    return Loaded(addresses, (tracker, jit))
