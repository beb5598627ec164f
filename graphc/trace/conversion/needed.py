"""Control flow that Python decides: which functions that branch or loop can run as they are.

A conversion takes tens of milliseconds, and most functions that branch do so by the constants of their cell:

    if self.shortcut is not None:            for block in self.blocks:
        x = self.shortcut(x)                     x = block(x)

Read from the source: the names that such a function decides by, and those that it calls. Their values are looked at before each
call: the former must be plain, no tensors, and none of the latter a function that must be converted. What has anything else in
it is converted.
"""

from __future__ import annotations

import ast
import builtins
import dis
import tokenize
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.dtype import DType
from graphc.ops.tensor.tensor import Tensor
from graphc.trace.conversion.code_names import called, codes, definition, given_to, is_users, mentioned, parts

#: A dotted name: `self.blocks` is ("self", "blocks").
Path = tuple[str, ...]

#: What is converted in any case: it decides by what it makes itself, or means something else once it is converted.
_OTHERS = (
    ast.While, ast.Try, ast.Match, ast.Raise, ast.Assert, ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda, ast.FunctionDef,
    ast.ClassDef, ast.NamedExpr, ast.Global, ast.Nonlocal, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith,
    ast.Import, ast.ImportFrom,
)  # fmt: skip
#: Built-in functions that tell something by which Python can decide, whatever they are given.
_TELLING = ("isinstance", "issubclass", "callable", "hasattr", "len")
#: Attributes of tensors that are known while a Cell is compiled.
_KNOWN_OF_TENSORS = ("shape", "ndim", "dtype", "itemsize", "nbytes")
#: Names under which the sizes of tensors are asked for.
_SIZES = frozenset(("len", "shape", "size", "numel", "nelement"))
#: Built-in functions that go over what they are given.
_GOING = frozenset(("enumerate", "list", "map", "reversed", "sum", "tuple", "zip"))
#: Built-in functions that ask for the values of what they are given, which converted code answers for tensors.
_ASKING = ("any", "all", "max", "min", "int", "float", "bool", "type")
#: Built-in functions that give something plain for what is plain.
_PLAINLY = (*_ASKING, "abs", "divmod", "list", "range", "round", "sorted", "str", "sum", "tuple")
#: Built-in functions whose items are those of their arguments.
_PASSING = ("enumerate", "reversed", "zip", "list", "tuple")
#: Kinds of values that are no tensors and whose truth value and comparisons are none.
_PLAIN = (
    types.NoneType, bool, int, float, complex, str, bytes, tuple, list, dict, set, type, range, np.generic, np.dtype, DType,
    Cell,
)  # fmt: skip
#: Names in a function's code for which it is looked at, though it does not branch.
_TOLD = frozenset(("super", "print", *_ASKING))
#: Instructions by which code branches, loops, tells truth values and handles exceptions, besides jumps.
_DECIDING = ("FOR_ITER", "UNARY_NOT", "CONTAINS_OP", "PUSH_EXC_INFO")
#: Methods of these are all that may be called on values that are not known.
_KNOWN = (Tensor, list, tuple, dict, set, str)


def needs_conversion(fn: Callable[..., Any], given: tuple[Any, ...] = ()) -> bool:
    """Whether a function or bound method is the user's, and branches or loops by what may be a traced tensor, or may call a
    function that does: what it is `given` among them.
    """
    function, instance = parts(fn)
    if any(_branches_itself(*found) for found in given_to(function, given)):
        return True
    if not _branches_itself(function, instance):
        return False
    others = (found for found in called(function, instance) if found[0] is not function)
    return any(_branches_itself(*found) for found in others) or not _by_python(function, instance)


def sees_sizes(fn: Callable[..., Any]) -> bool:
    """Whether a function, or bound method, is the user's and asks for sizes, or decides by what it is given, or calls one that
    does.
    """
    return _sees_sizes(*parts(fn), set())


def _sees_sizes(function: Any, instance: Any, seen: set[types.CodeType]) -> bool:
    if not isinstance(function, types.FunctionType) or not is_users(function) or function.__code__ in seen:
        return False
    code = function.__code__
    seen.add(code)
    names, _ = mentioned(code)
    if not names.isdisjoint(_SIZES) or any(_jumps(c) or _goes_over(c) for c in codes(code)):
        return True
    return any(_sees_sizes(f, owner, seen) for f, owner in called(function, instance))


def _branches_itself(value: Any, instance: Any) -> bool:
    return isinstance(value, types.FunctionType) and is_users(value) and _branches(value, instance, set())


def _branches(function: types.FunctionType, instance: Any, seen: set[types.CodeType]) -> bool:
    """Whether a function branches, loops, prints, uses super(), asks for values or writes to items of items, or calls a user's
    function that does.
    """
    code = function.__code__
    if code in seen:
        return False
    seen.add(code)
    if not _TOLD.isdisjoint(code.co_names) or any(_jumps(c) or _stores_nested(c) for c in codes(code)):
        return True
    return any(is_users(f) and _branches(f, owner, seen) for f, owner in called(function, instance))


@cache
def _jumps(code: types.CodeType) -> bool:
    def decides(name: str) -> bool:
        return ("JUMP" in name and "IF" in name) or name in _DECIDING

    return any(decides(i.opname) for i in dis.get_instructions(code))


@cache
def _goes_over(code: types.CodeType) -> bool:
    return any(i.opname == "LOAD_GLOBAL" and i.argval in _GOING for i in dis.get_instructions(code))


@cache
def _stores_nested(code: types.CodeType) -> bool:
    """Whether there is an `x[i][j] = v`: of a tensor x[i] is a value, and the write is one to x."""
    names = {i.opname for i in dis.get_instructions(code)}
    if names.isdisjoint({"STORE_SUBSCR", "STORE_SLICE"}) or names.isdisjoint(
        {"BINARY_SUBSCR", "BINARY_SLICE", "BINARY_OP"}
    ):
        return False
    try:
        tree = definition(code)
    except (SyntaxError, tokenize.TokenError):
        return False
    return tree is not None and any(
        isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Subscript)
        for n in ast.walk(tree)
    )


# ---- which of them Python decides


def _by_python(function: types.FunctionType, instance: Any) -> bool:
    """Whether a function, bound to `instance` or to None, can run as it is; False where that cannot be told."""
    needs = _needs(function)
    if needs is None:
        return False
    try:
        deciding = [_value(path, function, instance) for path in needs.deciding]
        # What is missing is behind an `if`, or an error in any case.
        called = [_value(path, function, instance, None) for path in needs.called]
        for path in needs.walked:
            called += _items(_value(path, function, instance, ()))
    except _Unknown:
        return False
    return all(isinstance(v, _PLAIN) for v in deciding) and not any(
        _branches_itself(f, instance) for f, instance in map(parts, called)
    )


class _Unknown(Exception):
    """It cannot be told what a function is decided by, or what it calls."""


_UNKNOWN = object()


def _value(path: Path, function: types.FunctionType, instance: Any, missing: Any = _UNKNOWN) -> Any:
    """What a dotted name stands for before the function runs; `missing` where there is no such attribute.

    Properties, which run code, are unknown.
    """
    root, *names = path
    code = function.__code__
    closure = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    try:
        if root == _own(code):
            if instance is None:
                raise _Unknown
            value = instance
        elif root in closure:
            value = closure[root].cell_contents
        else:
            value = function.__globals__[root] if root in function.__globals__ else getattr(builtins, root)
        for name in names:
            if isinstance(getattr(type(value), name, None), property):
                raise _Unknown
            if isinstance(value, Cell) and name not in vars(value) and not hasattr(type(value), name):
                raise AttributeError(name)  # A Cell's own error looks for names that are near.
            value = getattr(value, name)
    except (AttributeError, ValueError):  # ValueError: a variable around the function that has no value yet.
        if missing is _UNKNOWN:
            raise _Unknown from None
        return missing
    return value


def _items(value: Any) -> list[Any]:
    """The items of a container, and of those in it."""
    if isinstance(value, dict):
        value = list(value.values())
    elif isinstance(value, Cell) and isinstance(value, Iterable):
        return list(value)
    if not isinstance(value, (list, tuple)):
        raise _Unknown
    return [x for item in value for x in (_items(item) if isinstance(item, (list, tuple, dict)) else [item])]


def _own(code: types.CodeType) -> str:
    """The name of the first parameter: of a method, the object's."""
    return code.co_varnames[0] if code.co_argcount else ""


@dataclass(slots=True)
class _Needs:
    """The names that a function decides by, those that it calls, and those whose items it calls."""

    deciding: set[Path] = field(default_factory=set)
    called: set[Path] = field(default_factory=set)
    walked: set[Path] = field(default_factory=set)


def _names(target: ast.expr) -> Iterable[ast.Name]:
    return (n for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


_found: dict[types.CodeType, _Needs | None] = {}


def _needs(function: types.FunctionType) -> _Needs | None:
    """Read from a function's source; None where it cannot be told."""
    code = function.__code__
    if code not in _found:
        try:
            _found[code] = _Reader(code).needs
        except (_Unknown, SyntaxError, tokenize.TokenError):
            _found[code] = None
    return _found[code]


class _Reader:
    """Reads a function: every statement and expression once."""

    def __init__(self, code: types.CodeType) -> None:
        tree = definition(code)
        if not isinstance(tree, ast.FunctionDef):
            raise _Unknown
        self.needs = _Needs()
        nodes = [node for statement in tree.body for node in ast.walk(statement)]
        stored = [n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
        self.own = _own(code)
        if self.own in stored:
            raise _Unknown
        arguments = {a.arg for a in ast.walk(tree.args) if isinstance(a, ast.arg)}
        self.local = (arguments | set(stored)) - {self.own}
        looped = self._looped(nodes)
        #: Local names that loops alone set, with what they loop over.
        self.items = {name: [p for paths in found for p in paths] for name, found in looped.items()
                      if name not in arguments and len(found) == stored.count(name)}  # fmt: skip
        self.plain = self._plain_names(nodes, stored, arguments)
        for node in nodes:
            self._read(node)

    def _plain_names(self, nodes: Iterable[ast.AST], stored: list[str], arguments: set[str]) -> set[str]:
        """Local names that are only given what is plain, such as sizes: `b, c = x.shape`."""
        given = [(t, n.value) for n in nodes if isinstance(n, ast.Assign) for t in n.targets]
        self.plain = set(stored) - arguments
        while True:
            sure = [t for t, value in given if self._is_plain(value)]
            names = [n.id for target in sure for n in _names(target)]
            kept = {name for name in self.plain if names.count(name) == stored.count(name)}
            if kept == self.plain:
                return kept
            self.plain = kept

    def _is_plain(self, expression: ast.expr) -> bool:
        """Whether an expression's value can be told to be no tensor, and to hold none."""
        match expression:
            case ast.Constant():
                return True
            case ast.Attribute(attr=name) if name in _KNOWN_OF_TENSORS:
                return True
            case ast.Call(func=ast.Name(id=name)) if name in _TELLING and name not in self.local:
                return True
            case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if name not in self.local:
                return name in _PLAINLY and all(map(self._is_plain, parts))
            case ast.Name(id=name):
                return name in self.plain
            case ast.Subscript(value=part) | ast.UnaryOp(operand=part):
                return self._is_plain(part)
            case ast.BinOp(left=left, right=right):
                return self._is_plain(left) and self._is_plain(right)
            case ast.Compare(left=left, comparators=others):
                return all(map(self._is_plain, (left, *others)))
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.BoolOp(values=parts):
                return all(map(self._is_plain, parts))
            case _:
                return False

    def _looped(self, nodes: Iterable[ast.AST]) -> dict[str, list[list[Path]]]:
        """For each time that a loop sets a name: the containers whose items it may be."""
        found: dict[str, list[list[Path]]] = {}
        for node in nodes:
            if isinstance(node, (ast.For, ast.comprehension)):
                try:
                    paths = self._containers(node.iter)
                except _Unknown:
                    continue
                for target in ast.walk(node.target):
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, []).append(paths)
        return found

    def _containers(self, iterated: ast.expr) -> list[Path]:
        match iterated:
            case ast.Call(func=ast.Name(id="range")):
                return []
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in _PASSING:
                return [path for argument in arguments for path in self._containers(argument)]
            case ast.Call(func=ast.Attribute(value=container, attr="items" | "values"), args=[]):
                return [self._path(container)]
            case _:
                return [self._path(iterated)]

    def _read(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id="super" | "print") | ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                raise _Unknown
            case ast.If(test=test) | ast.IfExp(test=test) | ast.UnaryOp(op=ast.Not(), operand=test):
                self._decide(test)
            case ast.comprehension(ifs=tests) | ast.BoolOp(values=[*tests, _]):
                self._decide(*tests)
            case ast.Compare(ops=[_, _, *_] | [ast.In() | ast.NotIn()]):
                self._decide(node)
            case ast.Call(func=ast.Name(id=name), args=parts) if name == "range" or (
                name in _ASKING and name not in self.local
            ):
                self._decide(*parts)
            case ast.Call(func=callee):
                self._call(callee)
            case _ if isinstance(node, _OTHERS):
                raise _Unknown

    def _decide(self, *tests: ast.expr) -> None:
        """Note by what expressions are true or false, or how long a loop is."""
        for test in tests:
            match test:
                case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                    pass
                case _ if self._is_plain(test):
                    pass
                case ast.BoolOp(values=values) | ast.Tuple(elts=values):
                    self._decide(*values)
                case ast.UnaryOp(operand=operand):
                    self._decide(operand)
                case ast.BinOp(left=left, right=right):
                    self._decide(left, right)
                case ast.Compare(left=left, comparators=others):
                    self._decide(left, *others)
                case _:
                    self.needs.deciding.add(self._path(test))

    def _call(self, callee: ast.expr) -> None:
        """Note what is called."""
        match callee:
            case ast.Name(id=name) if name in self.local:
                if name not in self.items:
                    raise _Unknown
                self.needs.walked.update(self.items[name])
            case ast.Attribute(value=value, attr=name) if self._is_made(value):
                if not any(hasattr(kind, name) for kind in _KNOWN):
                    raise _Unknown
            case ast.Subscript(value=container):
                self.needs.walked.add(self._path(container))
            case _:
                self.needs.called.add(self._path(callee))

    def _is_made(self, value: ast.expr) -> bool:
        """Whether the function makes a value or is given it, so that its methods are not known before."""
        while isinstance(value, ast.Attribute):
            value = value.value
        return not isinstance(value, ast.Name) or value.id in self.local

    def _path(self, expression: ast.expr) -> Path:
        names: list[str] = []
        while isinstance(expression, ast.Attribute):
            names.append(expression.attr)
            expression = expression.value
        if not isinstance(expression, ast.Name) or expression.id in self.local:
            raise _Unknown
        return (expression.id, *reversed(names))
