"""The Python text of functions, for a file that does without graphc: as it was written, without annotations, with every name
that it takes from its module or from a function around it written out, too.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

#: Functions of graphc whose text would need graphc itself, and what stands for them.
_REPLACED = {
    "graphc.ops.declared.special._scipy": "def {name}():\n    import scipy.special\n\n    return scipy.special",
    "graphc.ir.types.numpy_dtype": (
        "def {name}(dtype):\n"
        '    """The NumPy dtype of that name; bfloat16 comes from ml_dtypes."""\n'
        '    if dtype == "bfloat16":\n        import ml_dtypes\n\n        dtype = ml_dtypes.bfloat16\n'
        "    return np.dtype(dtype)"
    ),
}
_DEFINITIONS = (ast.FunctionDef, ast.Lambda)


class NoSourceError(Exception):
    """Of a value that cannot be written as text; the message says which and why."""


class Sources:
    """A collection of definitions, each after those that it uses.

    blocks: their texts in order. imports: the import statements that they need. taken: names that are in use.
    """

    def __init__(self, taken: set[str]) -> None:
        self.blocks: list[str] = []
        self.imports: set[str] = {"import numpy as np"}
        self.taken = set(taken) | {"np"}
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []  # An id means something as long as its object lives.

    def define(self, name: str, function: Callable[..., Any]) -> None:
        """Let a name mean a function. Raises NoSourceError for one that has no text."""
        function = _unwrapped(function)
        if isinstance(function, types.FunctionType) and id(function) not in self._names and not _is_known(function):
            self._function(function, name)
        else:
            self.blocks.append(f"{name} = {self.expression(function)}")
        self.taken.add(name)

    def expression(self, value: Any) -> str:
        """Text that gives a value; definitions and imports that it needs are added. Raises NoSourceError."""
        value = _unwrapped(value)
        if isinstance(value, types.ModuleType):
            return self._module(value.__name__)
        if isinstance(value, functools.partial):
            given = [*map(self.expression, value.args)]
            given += [f"{k}={self.expression(v)}" for k, v in value.keywords.items()]
            self.imports.add("import functools")
            return f"functools.partial({', '.join([self.expression(value.func), *given])})"
        if callable(value):
            return self._callable(value)
        if isinstance(value, dict):
            return "{" + ", ".join(f"{literal(k)}: {self.expression(v)}" for k, v in value.items()) + "}"
        return literal(value)

    def _module(self, name: str) -> str:
        if name == "numpy":
            return "np"
        if name.partition(".")[0] not in sys.stdlib_module_names:
            raise NoSourceError(f"it uses the module {name}")
        self.imports.add(f"import {name}")
        return name

    def _callable(self, value: Any) -> str:
        if id(value) in self._names:
            return self._names[id(value)]
        name = getattr(value, "__name__", "")
        for path, module in (("np", np), ("np.linalg", np.linalg), ("np.fft", np.fft)):
            if getattr(module, name, None) is value:
                return f"{path}.{name}"
        if getattr(builtins, name, None) is value:
            return name
        home = str(getattr(value, "__module__", ""))
        if home.partition(".")[0] in sys.stdlib_module_names and getattr(sys.modules.get(home), name, None) is value:
            self.imports.add(f"from {home} import {name}")
            self.taken.add(name)
            return name
        if isinstance(value, types.FunctionType):
            return self._function(value, self.unique(name if name.isidentifier() else "function"))
        raise NoSourceError(f"it uses {value!r}, which has no source text")

    def unique(self, name: str) -> str:
        """A name that is not in use, like this one."""
        made, count = name, 2
        while made in self.taken:
            made, count = f"{name}_{count}", count + 1
        self.taken.add(made)
        return made

    def _function(self, function: types.FunctionType, name: str) -> str:
        """Add the definition of a function under a name."""
        self._names[id(function)] = name
        self._kept.append(function)
        replaced = _REPLACED.get(f"{function.__module__}.{function.__qualname__}")
        self.blocks.append(replaced.format(name=name) if replaced else self._text(function, name))
        return name

    def _text(self, function: types.FunctionType, name: str) -> str:
        module, node = _found(function)
        edits = list(_annotations(module, node))
        hidden = [(e.start, e.end) for e in edits]
        local = _bound(node)
        free = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for each in ast.walk(node):
            if not isinstance(each, ast.Name) or not isinstance(each.ctx, ast.Load):
                continue
            start, end = module.span(each)
            if any(a <= start < b for a, b in hidden):
                continue
            text = self._name(each.id, function, free, local)
            if text is not None and text != each.id:
                edits.append(_Edit(start, end, text))
        return module.definition(node, name, edits)

    def _name(self, name: str, function: types.FunctionType, free: dict[str, Any], local: set[str]) -> str | None:
        """The text for a name that a function reads; None for its own."""
        if name in free:
            return self.expression(free[name].cell_contents)
        if name in local or (name not in function.__globals__ and hasattr(builtins, name)):
            return None
        if name not in function.__globals__:
            raise NoSourceError(f"{function.__qualname__} reads {name!r}, which nothing defines")
        value = function.__globals__[name]
        if callable(value) or isinstance(value, types.ModuleType):
            return self.expression(value)
        if id(value) not in self._names:
            self._names[id(value)] = made = self.unique(name)
            self._kept.append(value)
            self.blocks.append(f"{made} = {self.expression(value)}")
        return self._names[id(value)]


def literal(value: Any) -> str:
    """The text of a number, string, None, or a tuple or list of these. Raises NoSourceError for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, complex):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, np.dtype):
        return f"np.dtype({value.name!r})"
    raise NoSourceError(f"it uses a {type(value).__name__}, which has no source text")


def _unwrapped(value: Any) -> Any:
    """The function behind `functools.cache`, or behind Numba's jit."""
    if hasattr(value, "cache_info"):
        return getattr(value, "__wrapped__", value)
    python = getattr(value, "py_func", None)
    return python if isinstance(python, types.FunctionType) else value


def _is_known(function: types.FunctionType) -> bool:
    """Whether a function is NumPy's own."""
    return function.__module__.partition(".")[0] == "numpy"


class _Edit(NamedTuple):
    """Bytes of a file to be replaced."""

    start: int
    end: int
    text: str


class _Module:
    """A source file: its bytes and its syntax."""

    def __init__(self, text: str) -> None:
        self.data = text.encode()
        self.tree = ast.parse(text)
        self._lines = [0]
        for line in self.data.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        return self._lines[line - 1] + column

    def span(self, node: Any) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def edited(self, start: int, end: int, edits: list[_Edit]) -> str:
        made = self.data[start:end]
        for a, b, text in sorted(edits, reverse=True):
            if start <= a and b <= end:
                made = made[: a - start] + text.encode() + made[b - start :]
        return made.decode()

    def definition(self, node: Any, name: str, edits: list[_Edit]) -> str:
        """A function, or a lambda as a function, under a name of its own."""
        start, end = self.span(node)
        if isinstance(node, ast.FunctionDef):
            head = self.data.index(b"def", start) + 3
            behind = self.data.index(b"(", head)
            text = self.edited(start, end, [*edits, _Edit(head, behind, f" {name}")])
            return textwrap.dedent(" " * node.col_offset + text)
        arguments = (
            self.edited(start + len(b"lambda"), self.span(node.body)[0], edits).strip().removesuffix("(").rstrip()
        )
        body = self.edited(*self.span(node.body), edits)
        return f"def {name}({arguments.removesuffix(':').strip()}):\n    return {' '.join(body.split())}"


@functools.lru_cache(maxsize=64)
def _module(text: str) -> _Module:
    return _Module(text)


def _found(function: types.FunctionType) -> tuple[_Module, Any]:
    """The file of a function, and its definition there."""
    code = function.__code__
    try:
        module = _module("".join(inspect.findsource(function)[0]))
    except (OSError, TypeError, SyntaxError):
        raise NoSourceError(f"the source of {function.__qualname__} cannot be read") from None
    here = [n for n in ast.walk(module.tree) if isinstance(n, _DEFINITIONS) and _first_line(n) == code.co_firstlineno]
    found = [n for n in here if (n.name if isinstance(n, ast.FunctionDef) else "<lambda>") == function.__name__]
    if not found:
        raise NoSourceError(f"the source of {function.__qualname__} cannot be found in {code.co_filename}")
    # Several lambdas may stand in a line.
    return module, max(found, key=lambda node: _share(module, node, code))


def _first_line(node: Any) -> int:
    decorators = getattr(node, "decorator_list", [])
    return int(min([node.lineno, *(d.lineno for d in decorators)]))


def _share(module: _Module, node: Any, code: types.CodeType) -> int:
    """How much of the code lies where the body of a lambda does."""
    if not isinstance(node, ast.Lambda):
        return 0
    start, end = module.span(node.body)
    places = [(line, column) for line, _, column, _ in code.co_positions()]
    return sum(start <= module.at(line, column) < end for line, column in places if line and column is not None)


def _bound(node: Any) -> set[str]:
    """Names that a function binds, in functions and comprehensions inside it, too."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    names |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    names |= {n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n is not node}
    names |= {n.name for n in ast.walk(node) if isinstance(n, ast.ExceptHandler) and n.name}
    imported = (n for n in ast.walk(node) if isinstance(n, (ast.Import, ast.ImportFrom)))
    return names | {(a.asname or a.name).partition(".")[0] for n in imported for a in n.names}


def _annotations(module: _Module, node: Any) -> Iterator[_Edit]:
    """Edits that remove annotations."""
    for each in ast.walk(node):
        if isinstance(each, ast.arg) and each.annotation is not None:
            start, _ = module.span(each)
            yield _Edit(start + len(each.arg.encode()), module.span(each.annotation)[1], "")
        elif isinstance(each, ast.FunctionDef) and each.returns is not None:
            start, end = module.span(each.returns)
            yield _Edit(module.data.rindex(b")", 0, start) + 1, end, "")
        elif isinstance(each, ast.AnnAssign) and each.value is not None:
            yield _Edit(module.span(each.target)[1], module.span(each.annotation)[1], "")
