"""What the code of a function tells without running it: its definition, names it mentions, and the functions behind these."""

from __future__ import annotations

import ast
import contextlib
import dis
import inspect
import linecache
import os
import sys
import sysconfig
import textwrap
import types
from collections.abc import Iterable
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from graphc.attached import behind
from graphc.errors import SOURCE_MAPS, is_library
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor

#: Folders of Python's own modules, and of installed packages. Looked up at import: sysconfig does not bear several threads at
#: first (Python 3.11).
_PYTHONS, _INSTALLED = (
    tuple(path + os.sep for name, path in sysconfig.get_paths().items() if name in names)
    for names in (("stdlib", "platstdlib"), ("purelib", "platlib"))
)
#: Installed packages, whether a module of theirs uses graphc, and how many modules there were when it was looked.
_USING: dict[str, tuple[bool, int]] = {}
#: What calls nothing.
_PLAIN = (Tensor, int, float, str, types.NoneType, np.ndarray)
_FUNCTIONS = (types.FunctionType, types.MethodType)


@lru_cache(maxsize=4096)
def sets(code: types.CodeType) -> tuple[str, ...]:
    """The attributes that a function sets of its first argument, `self.name = ...`."""
    found: dict[str, None] = {}
    for before, each in pairwise(dis.get_instructions(code) if code.co_argcount else ()):
        if each.opname == "STORE_ATTR" and before.opname.startswith("LOAD_FAST"):
            # From Python 3.13 on one instruction may load two variables.
            loaded = before.argval if isinstance(before.argval, tuple) else (before.argval,)
            if loaded[-1] == code.co_varnames[0]:
                found[each.argval] = None
    return tuple(found)


def parts(fn: Any) -> tuple[Any, Any]:
    """A bound method's function and object; a function and None. Of an object that is called, its `__call__`."""
    if isinstance(fn, partial):
        return parts(fn.func)
    fn = bound_call(fn) or fn
    return (fn.__func__, fn.__self__) if isinstance(fn, types.MethodType) else (fn, None)


def bound_call(value: Any) -> types.MethodType | None:
    """The `__call__` that an object has of a user's class, bound to it; None of everything else, cells among it."""
    if isinstance(value, (*_FUNCTIONS, type, Cell, Tensor)):
        return None
    function = inspect.getattr_static(type(value), "__call__", None)
    return (
        types.MethodType(function, value) if isinstance(function, types.FunctionType) and is_users(function) else None
    )


def is_users(function: types.FunctionType) -> bool:
    file = function.__code__.co_filename
    return is_users_file(file) and file not in SOURCE_MAPS


def is_users_file(file: str) -> bool:
    """Whether code of a file is compiled as the user's: it is neither graphc's, Python's own nor that of an installed package,
    but for packages that use graphc, of which networks and training steps may come.
    """
    if is_library(file) or file.startswith("<frozen "):
        return False
    folder = next((f for f in _INSTALLED if file.startswith(f)), None)
    if folder is None:
        return not file.startswith(_PYTHONS)
    name = file[len(folder) :].partition(os.sep)[0].removesuffix(".py")
    uses, modules = _USING.get(name, (False, 0))
    if not uses and modules != len(sys.modules):
        _USING[name] = uses, _ = _uses_graphc(name), len(sys.modules)
    return uses


def _uses_graphc(package: str) -> bool:
    """Whether a module of a package that is loaded has something of graphc among its globals."""
    modules = [m for n, m in list(sys.modules.items()) if n == package or n.startswith(f"{package}.")]
    values = (v for m in modules for v in list(getattr(m, "__dict__", {}).values()))
    return any(_home(v).partition(".")[0] == __name__.partition(".")[0] for v in values)


def _home(value: Any) -> str:
    """The name of a module, or of the one that a function or class is from."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    return str(value.__module__) if isinstance(value, (types.FunctionType, type)) else ""


def codes(code: types.CodeType) -> Iterable[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


@cache
def mentioned(code: types.CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The names that code mentions, and those of them that it reads as globals: an attribute may have the name of one, too."""
    parts = list(codes(code))
    loads = [i for part in parts for i in dis.get_instructions(part) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    return frozenset(name for part in parts for name in part.co_names), frozenset(i.argval for i in loads)


def called(function: types.FunctionType, instance: Any) -> Iterable[tuple[types.FunctionType, Any]]:
    """The functions whose names a function mentions, each with the object that it is a method of.

    Among globals, closure variables and the object's own; among what these hold by the names mentioned, twice; and among the
    items of containers. Some that are not called may be among them.
    """
    _, loaded = mentioned(function.__code__)
    names = _asked_for(function.__code__)
    cells = [c.cell_contents for c in function.__closure__ or () if _is_filled(c)]
    read = [behind(function.__globals__[n]) for n in loaded if n in function.__globals__]
    closed = [*map(behind, cells)]
    yield from _functions((value, None) for value in read)
    # What a decorator of a method has around it may be the method.
    yield from _functions((value, instance) for value in closed)
    level: list[Any] = [instance, *read, *closed]
    for _ in range(2):
        held = [(value, holder) for holder in level for value in _held(holder, names)]
        yield from _functions(held)
        level = [value for value, _ in held]


def given_to(function: Any, given: Iterable[Any]) -> Iterable[tuple[types.FunctionType, Any]]:
    """The functions among what a user's function is given, and what that has under the names mentioned."""
    others = [x for x in given if not isinstance(x, _PLAIN)]
    if not others or not isinstance(function, types.FunctionType) or not is_users(function):
        return
    names = _asked_for(function.__code__)
    items = [x for x in others if isinstance(x, (list, tuple, dict))]
    inside = [v for x in items for v in (x.values() if isinstance(x, dict) else x) if not isinstance(v, _PLAIN)]
    for value in [*others, *inside]:
        yield from _functions([(value, None), *((v, value) for v in _held(value, names))])


@cache
def _asked_for(code: types.CodeType) -> frozenset[str]:
    """The names under which code may ask for something: texts, too, as of getattr."""
    texts = (c for part in codes(code) for c in part.co_consts if isinstance(c, str) and c.isidentifier())
    return mentioned(code)[0].union(texts)


def _functions(values: Iterable[tuple[Any, Any]]) -> Iterable[tuple[types.FunctionType, Any]]:
    """Those of some values that are functions, or are called like one, each with the object that it is a method of."""
    for value, holder in values:
        function, instance = parts(value)
        if isinstance(value, type):  # Its objects may be called where they are made.
            function = inspect.getattr_static(value, "__call__", None)
        if isinstance(function, types.FunctionType):
            yield function, holder if function is value else instance


def _held(holder: Any, names: Iterable[str]) -> list[Any]:
    """What an object has under some names, and the items of what is a container; no property is run."""
    if isinstance(holder, (*_FUNCTIONS, types.NoneType, Tensor, str, np.ndarray)):
        return []
    own, kind = getattr(holder, "__dict__", {}), type(holder)
    found = [behind(own[n] if n in own else getattr(kind, n, None)) for n in names]
    items = (v.values() if isinstance(v, dict) else v for v in found if isinstance(v, (list, tuple, dict)))
    return [v for v in found if v is not None] + [behind(item) for held in items for item in held]


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def definition(code: types.CodeType) -> ast.stmt | None:
    """The definition that code was compiled from, if its file is to be had; statements at the end that do nothing may lack.

    inspect.getsource would look for the module first, through all there are, and take the text apart to find its end, by
    means that take 7 ms to set up. Raises SyntaxError or TokenError when the file has changed.
    """
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    ends = [end for c in codes(code) for _, end, _, _ in c.co_positions() if end]
    if ends:  # Python can be told to do without.
        with contextlib.suppress(SyntaxError):  # The last brackets close on a line of their own.
            return _parsed(lines[: max(ends) - code.co_firstlineno + 1], code)
    return _parsed(inspect.getblock(lines), code)


def defines(tree: ast.stmt, code: types.CodeType) -> bool:
    """Whether a statement is the definition of code, by its name. All code without a file is said to be in "<string>", for which
    Python keeps one text from 3.13 on: that of `python -c`.
    """
    return code.co_name.startswith("<") or getattr(tree, "name", None) == code.co_name


def _parsed(lines: list[str], code: types.CodeType) -> ast.stmt | None:
    found = next(iter(ast.parse(textwrap.dedent("".join(lines))).body), None)
    return found if found is None or defines(found, code) else None
