"""A compiled step as a shared object with a C header."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphc.checkpoint import safetensors_file
from graphc.errors import ArgumentTypeError, ArgumentValueError, ExportError, Loc, user_loc
from graphc.files import make_directory, write_atomic
from graphc.ir import Graph
from graphc.lower import Lowered
from graphc.ops.functional.printing import PrintLog
from graphc.ops.tensor.parameter import Parameter
from graphc.passes.replicated import is_collective
from graphc_codegen.errors import CodegenError
from graphc_codegen.program import is_custom
from graphc_codegen.shared_object.library import Array, Exported, identifier, link

if TYPE_CHECKING:
    from graphc_codegen import Executable

#: Tried in this order.
_COMPILERS = ("cc", "gcc", "clang")
_LINES = 8


def export(
    path: str | Path,
    graph: Graph,
    lowered: Lowered,
    executable: Executable,
    params: Sequence[Parameter],
    *,
    parameters: str,
    compiler: str | None,
) -> list[Path]:
    """Write PATH.so, PATH.h and, unless the parameters are embedded, PATH.safetensors; returns their paths.

    Raises ArgumentValueError, ArgumentTypeError for arguments, ExportError GC193 where there is no compiler or it refuses,
    OSError for the files.
    """
    target = _target(path)
    if parameters not in ("embedded", "file"):
        raise ArgumentValueError(f"parameters={parameters!r}: where they go is 'embedded' or 'file'", loc=user_loc())
    _refuse_what_needs_python(graph, lowered, executable, params)
    _refuse_users_functions(lowered, {n.id: n.loc for n in graph if n.loc is not None})
    _refuse_same_names(params)
    command = _compiler(compiler)
    values = tuple(_bytes(p.storage) for p in params)
    exported = _described(identifier(target.name), graph, lowered, params, values if parameters == "embedded" else None)
    make_directory(target.parent)
    with tempfile.TemporaryDirectory(prefix="graphc-export-") as folder:
        try:
            library, header = link(
                exported, executable.rendered, executable.objects(), Path(folder), f"{target.name}.h", command
            )
        except (CodegenError, OSError) as error:
            raise ExportError(
                f"{command} cannot link the step {graph.name}",
                loc=user_loc(),
                details=str(error).splitlines()[:_LINES],
                help=f"{exported.name!r} may mean something else to C: try another file name",
            ) from error
    written = [
        write_atomic(target.with_name(f"{target.name}.so"), library),
        write_atomic(target.with_name(f"{target.name}.h"), header.encode()),
    ]
    if parameters == "file":
        ordered = (values[k] for k in exported.in_file)
        written.append(write_atomic(target.with_name(f"{target.name}.safetensors"), [exported.head], ordered))
    return written


def _target(path: str | Path) -> Path:
    """The path without the ending .so."""
    if not isinstance(path, (str, Path)):
        raise ArgumentTypeError(f"a path is needed, got {type(path).__name__}", loc=user_loc())
    target = Path(path)
    if target.suffix == ".so":
        target = target.with_suffix("")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.\-]*", target.name):
        raise ArgumentValueError(
            f"the functions of the library are called after its file, and {target.name!r} is no name for them",
            loc=user_loc(),
            help="letters, digits and _ , such as step.export('out/lenet')",
        )
    if not sys.platform.startswith("linux"):
        raise ExportError(f"a shared object can be made on Linux, this is {sys.platform}", loc=user_loc())
    return target


def _compiler(given: str | None) -> str:
    if given is not None and not isinstance(given, str):
        raise ArgumentTypeError(f"compiler= is the name of a C compiler, got {type(given).__name__}", loc=user_loc())
    names = _COMPILERS if given is None else (given,)
    found = next((path for path in map(shutil.which, names) if path), None)
    if found is None:
        raise ExportError(
            f"linking a shared object needs a C compiler, and there is no {' or '.join(names)} here",
            loc=user_loc(),
            help="install gcc (Debian: apt install gcc libc6-dev), or name one: step.export(path, compiler=...)",
        )
    return found


def _refuse_what_needs_python(
    graph: Graph, lowered: Lowered, executable: Executable, params: Iterable[Parameter]
) -> None:
    reason = help = ""
    if executable.checked or lowered.program.profile:
        switch = "GRAPHC_JIT=0" if executable.checked else "GRAPHC_PROFILE=1"
        reason, help = f"was compiled with {switch}", "compile it without, then export it"
    elif any(isinstance(p, PrintLog) for p in params):
        reason, help = "prints, which only Python does", "leave out ops.print_"
    elif any(is_collective(n) for n in graph):
        reason, help = (
            "talks to other processes",
            "compile it in a process that mpiexec has not started, then export it",
        )
    if reason:
        raise ExportError(f"the step {graph.name} {reason}", loc=user_loc(), help=help)


def _refuse_users_functions(lowered: Lowered, locations: Mapping[int, Loc]) -> None:
    """ExportError, naming the first, where the step calls functions of the user's own."""
    call = next((c for c in lowered.program.calls() if is_custom(c.kernel)), None)
    if call is None:
        return
    nodes = [int(id) for id in re.findall(r"%(\d+)", call.note)]
    raise ExportError(
        f"the step calls {_function_name(call.kernel)}, which this process alone has: Python's, or one compiled by Numba",
        loc=next((locations[id] for id in nodes if id in locations), None),
        nodes=nodes,
        help="a shared object holds graphc's own kernels only: compose the op of graphc.ops",
    )


def _function_name(kernel: Any) -> str:
    return str(kernel["function"].name)


def _refuse_same_names(params: Iterable[Parameter]) -> None:
    twice = [name for name, count in Counter(p.name for p in params).items() if count > 1]
    if twice:
        raise ExportError(
            f"two parameters of the step are called {twice[0]!r}", loc=user_loc(), help="give one another name"
        )


def _described(
    name: str, graph: Graph, lowered: Lowered, params: Sequence[Parameter], values: tuple[bytes, ...] | None
) -> Exported:
    inputs = [
        Array(n.name or f"input_{k}", n.type.dtype, n.type.shape) for k, n in enumerate(map(graph.node, lowered.inputs))
    ]
    held = [
        Array(p.name, graph.node(id).type.dtype, graph.node(id).type.shape)
        for id, p in zip(lowered.params, params, strict=True)
    ]
    results = [
        (Array(_result_name(r.name), type.dtype, type.shape), buffer)
        for r, (buffer, type) in zip(graph.results, lowered.results, strict=True)
    ]
    head, names = safetensors_file.head({a.name: (a.dtype, a.shape, a.nbytes) for a in held}, {"format": "ms"})
    numbers = {a.name: k for k, a in enumerate(held)}
    return Exported(
        name,
        tuple(inputs),
        tuple(results),
        tuple(held),
        tuple(map(_bytes, lowered.constants)),
        values,
        head,
        tuple(numbers[n] for n in names),
    )


def _result_name(name: str) -> str:
    """Results of a tuple are numbered."""
    return f"result_{name}" if name.isdigit() else name


def _bytes(array: np.ndarray[Any, np.dtype[Any]]) -> bytes:
    return np.ascontiguousarray(array).tobytes()
