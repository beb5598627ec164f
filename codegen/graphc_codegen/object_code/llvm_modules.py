"""LLVM IR to object code, on several threads: every module in a context of its own."""

from __future__ import annotations

import ctypes
import re
import sys
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

from graphc_codegen.errors import CodegenError
from graphc_codegen.forks import lock
from graphc_codegen.target import Target, machine
from graphc_codegen.writer import STAGE

#: Functions of the C library that generated code calls.
_LIBC = ("sched_yield", "syscall", "clock_gettime", "getrusage")
_DEFINE = re.compile(r"^define .*?@([A-Za-z0-9_]+)\(.*?^}$", re.DOTALL | re.MULTILINE)


def compile_module(text: str, target: Target, known: Collection[str] | None = None) -> bytes:
    """Compile LLVM IR to an object. Several Python threads can do so at a time.

    Raises CodegenError when LLVM refuses the text, naming the first function that it refuses, or when there are `known`
    functions and the text calls others.
    """
    import llvmlite.binding as llvm

    emitter = _own.machine(target)
    with llvm.create_context() as context:
        try:
            module = _verified(text, context)
        except RuntimeError as error:
            name, message = _culprit(text, str(error))
            raise CodegenError(f"LLVM refused kernel {name}: {message}") from None
        with module:
            module.triple, module.data_layout = target.triple, str(emitter.target_data)
            if known is not None:
                _refuse_unknown(module, known)
            return _emit(emitter, module)


def _verified(text: str, context: Any) -> Any:
    """A module, to be closed before its context is. Raises RuntimeError when LLVM refuses it."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text, context)
    try:
        module.verify()
    except RuntimeError:
        module.close()
        raise
    return module


class _Own(threading.local):
    """What each thread has for itself: making a target machine takes longer than compiling a small module."""

    def __init__(self) -> None:
        self._machines: dict[Target, Any] = {}

    def machine(self, target: Target) -> Any:
        if target not in self._machines:
            self._machines[target] = machine(target)
        return self._machines[target]


_own = _Own()


class _Haste:
    """Inside, Python's threads wait less for the interpreter; with the last one out it is as before.

    A thread that compiles returns from LLVM a dozen times per module. Where another thread is busy in Python, as the one
    that renders and runs Numba is, each time may take a switch interval, of 5 ms: together a twentieth of the time of compiling.
    """

    SECONDS = 5e-4

    def __init__(self) -> None:
        self._lock = lock()
        self._inside = 0
        self._before = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(min(self._before, self.SECONDS))
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                sys.setswitchinterval(self._before)


_haste = _Haste()


class Compilers:
    """So many threads; `submit` is `compile_module` on one of them. Leaving waits for all, or drops them."""

    def __init__(self, target: Target, known: Collection[str], threads: int) -> None:
        self._target, self._known = target, known
        self._threads = ThreadPoolExecutor(threads, "graphc-compile")

    def submit(self, text: str) -> Future[bytes]:
        return self._threads.submit(compile_module, text, self._target, self._known)

    def run(self, task: Callable[[], object]) -> None:
        """Do something else on one of the threads; whoever needs its result does it again, and gets its errors."""
        self._threads.submit(task)

    def __enter__(self) -> Compilers:
        _haste.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, frames: TracebackType | None) -> None:
        try:
            self._threads.shutdown(cancel_futures=kind is not None)
        finally:
            _haste.__exit__()


def _refuse_unknown(module: Any, known: Collection[str]) -> None:
    declared = (f.name for f in module.functions if f.is_declaration)
    missing = [n for n in declared if not n.startswith(("llvm.", STAGE)) and n not in _LIBC and n not in known]
    if missing:
        raise CodegenError(f"the step calls functions that do not exist: {', '.join(sorted(missing))}")


def _emit(emitter: Any, module: Any) -> bytes:
    """What `emitter.emit_object(module)` gives. llvmlite lets one thread into LLVM at a time; this lets all of them in.

    That is safe because the module's context and the target machine are this thread's own.
    """
    from llvmlite.binding import ffi

    emit = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    # The function without llvmlite's lock. There is no public way around that; without `_cfn` modules compile one by one.
    emit = getattr(emit, "_cfn", emit)
    with ffi.OutputString() as error:
        buffer = emit(emitter, module, 1, error)
        if not buffer:
            raise CodegenError(f"LLVM cannot make an object: {error}")
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def _culprit(text: str, message: str) -> tuple[str, str]:
    """The first function of the module that does not stand on its own, and LLVM's words on it."""
    import llvmlite.binding as llvm

    functions = list(_DEFINE.finditer(text))
    # Each may call the others.
    heads = {f.group(1): re.sub(r" %[\w.]+", "", f.group(0).partition(" #0")[0]) for f in functions}
    declared = {name: head.replace("define", "declare", 1) for name, head in heads.items()}
    shared = _DEFINE.sub("", text)
    with llvm.create_context() as context:
        for match in functions:
            others = "\n".join(line for name, line in declared.items() if name != match.group(1))
            try:
                _verified(f"{shared}\n{others}\n{match.group(0)}\n", context).close()
            except RuntimeError as error:
                return match.group(1), str(error)
    return "(none in particular)", message
