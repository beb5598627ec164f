"""Turns a finished program into a Numba-jitted CPU step with kernels in LLVM IR, and runs it.

`program` describes what can be compiled, `compile_program` compiles it. This package knows nothing of graphs.
Importing it is cheap: its names are imported when they are asked for, Numba when something is to be compiled, llvmlite when
something is to be run.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphc_codegen.errors import (
        CacheWarning,
        CanaryError,
        CheckedError,
        CodegenError,
        KernelError,
        OtherMessage,
        OutOfRange,
    )
    from graphc_codegen.program import (
        Access,
        Buffer,
        Call,
        ChainKernel,
        For,
        If,
        Instr,
        Kernel,
        LoopKernel,
        NamedKernel,
        Output,
        Program,
        Stmt,
        UserFunction,
        While,
        Window,
        symbol,
    )
    from graphc_codegen.run.bound import Bound
    from graphc_codegen.run.executable import Executable, compile_program

#: What is not in `program`.
_ELSEWHERE = {
    **dict.fromkeys(
        ("CacheWarning", "CanaryError", "CheckedError", "CodegenError", "KernelError", "OtherMessage", "OutOfRange"),
        "errors",
    ),
    "Bound": "run.bound",
    "Executable": "run.executable",
    "compile_program": "run.executable",
}

__all__ = [
    "Access",
    "Bound",
    "Buffer",
    "CacheWarning",
    "Call",
    "CanaryError",
    "ChainKernel",
    "CheckedError",
    "CodegenError",
    "Executable",
    "For",
    "If",
    "Instr",
    "Kernel",
    "KernelError",
    "LoopKernel",
    "NamedKernel",
    "OtherMessage",
    "OutOfRange",
    "Output",
    "Program",
    "Stmt",
    "UserFunction",
    "While",
    "Window",
    "compile_program",
    "symbol",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'graphc_codegen' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"graphc_codegen.{_ELSEWHERE.get(name, 'program')}"), name)
    return value
