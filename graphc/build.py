"""From a finished program to one that runs, under the switches that are in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphc.debug import cpus, switches
from graphc.errors import CompileError

if TYPE_CHECKING:
    from graphc_codegen import Executable
    from graphc_codegen.program import Program


def build(program: Program, *, checked: bool) -> Executable:
    """Compile a program, or take it from the object cache. Raises CompileError when the code generator refuses it."""
    from graphc_codegen import CodegenError, cache, compile_program

    on = switches()
    directory = None if not on.cache else on.cache_dir or cache.default_directory()
    try:
        return compile_program(program, cache_dir=directory, checked=checked, compile_threads=cpus())
    except CodegenError as error:
        raise CompileError(
            f"the code generator failed: {error}",
            help="this is a bug in graphc: please report it with the file of step.dump()",
        ) from error
