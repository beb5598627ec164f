"""What a command's argument names: a dump directory, a .ir or .json file, or FILE.py:ATTR, which is compiled."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from graphc.debug import switches
from graphc.errors import ArgumentTypeError, ArgumentValueError, GraphcError
from graphc.inspect.dump import load, load_passes
from graphc.ir import Graph

if TYPE_CHECKING:
    from collections.abc import Iterator


class TargetError(ArgumentValueError):
    """An argument that names nothing that can be shown, or a user's file that fails."""


def is_source(target: str) -> bool:
    """Whether an argument has the form FILE.py:ATTR."""
    file, colon, attr = target.rpartition(":")
    return bool(colon) and file.endswith(".py") and bool(attr)


def graph_of(target: str) -> Graph:
    """The graph that an argument names. Raises TargetError, ParseError, and what compiling raises."""
    if is_source(target):
        graph: Graph = compiled(target).graph
        return graph
    _refuse_python(target)
    return load(target)


def passes_of(target: str) -> list[tuple[str, Graph | None]]:
    """(name, graph after it) of each pass; None where a pass of a dump changed nothing."""
    if is_source(target):
        return list(compiled(target).passes)
    _refuse_python(target)
    if not Path(target).is_dir():
        raise TargetError(f"{target!r} is no dump directory", help="passes are read from a dump, or from FILE.py:ATTR")
    return load_passes(target)


def _refuse_python(target: str) -> None:
    if target.endswith(".py"):
        raise TargetError(
            f"{target!r} does not say what to compile", help=f"name a function of the file, for example {target}:build"
        )


def compiled(target: str) -> Any:
    """The CompiledStep that FILE.py:ATTR names: ATTR itself, what it returns, or what compiling the (cell, inputs) it
    returns gives.

    Raises TargetError if the file or attribute does not exist or the user's code fails, and what graphc.compile raises.
    """
    file, _, attr = target.rpartition(":")
    module = _load_module(Path(file))
    if not hasattr(module, attr):
        import difflib

        public = [n for n in vars(module) if not n.startswith("_")]
        near = difflib.get_close_matches(attr, public, n=1)
        raise TargetError(f"{file} has no attribute {attr!r}", help=f"did you mean {file}:{near[0]}?" if near else None)
    found = getattr(module, attr)
    if not _is_step(found) and callable(found):
        with _user_code(f"{target} failed"):
            found = found()
    if _is_step(found):
        return found
    cell, inputs = _cell_and_inputs(target, found)
    from graphc.api import compile

    return compile(cell, *inputs)


def _is_step(value: object) -> bool:
    from graphc.api import CompiledStep

    return isinstance(value, CompiledStep)


def _cell_and_inputs(target: str, found: object) -> tuple[Any, Sequence[Any]]:
    from graphc.nn.cell.cell import Cell

    if isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], Cell):
        inputs = found[1]
        return found[0], inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    what = f"a tuple of {len(found)}" if isinstance(found, tuple) else type(found).__name__
    raise ArgumentTypeError(
        f"{target} gives {what}; it must give (cell, inputs) or a compiled step",
        help="write a function without arguments that returns (cell, inputs), inputs being a tuple of Tensors",
    )


def _load_module(path: Path) -> ModuleType:
    if not path.is_file():
        raise TargetError(f"there is no file {str(path)!r}")
    spec = importlib.util.spec_from_file_location(f"_graphc_target_{path.stem}", path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # As `python FILE.py` does: the file's own directory is where its imports are looked for first.
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[module.__name__] = module
    with _user_code(f"{path} cannot be imported"):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _user_code(what: str) -> Iterator[None]:
    """Turns an exception of the user's code into a TargetError with its line; GRAPHC_TRACEBACK=full lets it through."""
    try:
        yield
    except (GraphcError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if switches().full_traceback:
            raise
        frames = traceback.extract_tb(error.__traceback__)
        where = [f"{frames[-1].filename}:{frames[-1].lineno}  {frames[-1].line or ''}".rstrip()] if frames else []
        if isinstance(error, SyntaxError):
            where = [f"{error.filename}:{error.lineno}  {(error.text or '').strip()}".rstrip()]
        raise TargetError(
            f"{what}: {type(error).__name__}: {error}",
            details=where,
            help="GRAPHC_TRACEBACK=full shows the whole traceback",
        ) from None
