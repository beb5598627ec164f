"""Turns a finished program into a Numba-jitted CPU step with kernels in LLVM IR, and runs it.

`program` describes what can be compiled, `compile_program` compiles it. This package knows nothing of graphs.
Importing it is cheap: Numba is loaded when something is to be compiled, llvmlite when something is to be run.
"""

from graphc_codegen.errors import CacheWarning, CanaryError, CheckedError, CodegenError, KernelError
from graphc_codegen.program import (
    Access,
    Buffer,
    Call,
    ChainKernel,
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
    symbol,
)
from graphc_codegen.run.bound import Bound
from graphc_codegen.run.executable import Executable, compile_program

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
    "If",
    "Instr",
    "Kernel",
    "KernelError",
    "LoopKernel",
    "NamedKernel",
    "Output",
    "Program",
    "Stmt",
    "UserFunction",
    "While",
    "compile_program",
    "symbol",
]
