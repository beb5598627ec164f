"""A user's own Python files: run as a module, and what they hold looked up by name."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from graphc.debug import switches
from graphc.errors import ArgumentValueError, GraphcError, is_hidden
from graphc.errors.suggestions import nearest, question


class TargetError(ArgumentValueError):
    """An argument that names nothing that can be shown or run, or a user's file that fails."""


def load(path: Path) -> ModuleType:
    """The module that a file makes; the one that is there already where the file has been imported.

    Raises TargetError if there is no such file or its code fails.
    """
    if not path.is_file():
        raise TargetError(f"there is no file {str(path)!r}")
    path = path.resolve()
    for known in list(sys.modules.values()):
        file = getattr(known, "__file__", None)
        if file and file.endswith(path.name) and Path(file).resolve() == path:
            return known
    spec = importlib.util.spec_from_file_location(f"_graphc_target_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # As `python FILE.py` does: the file's own directory is where its imports are looked for first.
    sys.path.insert(0, str(path.parent))
    sys.modules[module.__name__] = module
    try:
        with user_code(f"{path} cannot be imported"):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module


def attribute(where: str, name: str) -> Any:
    """What a file (`FILE.py`) or a module (`package.module`) holds under a name.

    Raises TargetError if either does not exist, or if its code fails.
    """
    if where.endswith(".py"):
        module = load(Path(where))
    else:
        try:
            found = importlib.util.find_spec(where)
        except (ImportError, ValueError):
            found = None
        if found is None:
            raise TargetError(
                f"there is no module {where!r}", help=f"name a file, for example {where.rpartition('.')[2]}.py:{name}"
            )
        with user_code(f"{where} cannot be imported"):
            module = importlib.import_module(where)
    if not hasattr(module, name):
        near = nearest(name, [n for n in vars(module) if not n.startswith("_")])
        raise TargetError(f"{where} has no attribute {name!r}", help=question(near, f"{where}:"))
    return getattr(module, name)


def run_main(file: str) -> None:
    """Run a file as `python FILE.py` does, in a module of its own that is `__main__` from now on. OSError if it cannot be read.

    At its end Python clears `__main__` so that files left open there are written to their end. From a module that is gone by
    then, as those of runpy are, what is not written yet would be lost.
    """
    code = compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)
    module = ModuleType("__main__")
    vars(module).update(__file__=file, __builtins__=builtins, __cached__=None, __annotations__={})
    sys.modules["__main__"] = module
    exec(code, vars(module))


@contextmanager
def user_code(what: str) -> Iterator[None]:
    """Turns an exception of the user's code into a TargetError with its line; GRAPHC_TRACEBACK=full lets it through."""
    try:
        yield
    except (GraphcError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if switches().full_traceback:
            raise
        frames = [f for f in traceback.extract_tb(error.__traceback__) if not is_hidden(f.filename)]
        where = [f"{frames[-1].filename}:{frames[-1].lineno}  {frames[-1].line or ''}".rstrip()] if frames else []
        if isinstance(error, SyntaxError) and error.filename is None:  # Null bytes, and the like.
            where = []
        elif isinstance(error, SyntaxError):
            where = [f"{error.filename}:{error.lineno}  {(error.text or '').strip()}".rstrip()]
        raise TargetError(
            f"{what}: {type(error).__name__}: {error}",
            details=where,
            help="GRAPHC_TRACEBACK=full shows the whole traceback",
        ) from None
