"""Notices of what a user's function does once, when it is traced, where Python would do it at every call: random numbers, clocks,
changes of globals and of containers that outlive the call.

Read from its code; a name is looked up as the function would. Said once per line, by `graphc.validation.unused_arguments.once`.
"""

from __future__ import annotations

import datetime
import dis
import random
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from graphc.attached import attached
from graphc.errors import Loc
from graphc.errors.source_lines import display_path
from graphc.nn.cell.cell import Cell
from graphc.trace.conversion.code_names import called, is_users, sets
from graphc.trace.mutation import outliving
from graphc.validation.unused_arguments import once

_MEMBERS = ("LOAD_ATTR", "LOAD_METHOD")
_FIRST = (
    *("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_BORROW"),
    *("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "STORE_FAST_LOAD_FAST"),
)
_CHANGING = frozenset(
    (
        "append",
        "appendleft",
        "extend",
        "insert",
        "add",
        "update",
        "clear",
        "pop",
        "popleft",
        "popitem",
        "remove",
        "discard",
    )
)
_CONTAINERS = (list, dict, set, deque)
_RANDOM = (random.Random, np.random.RandomState, np.random.Generator)
_ITEMS = ("STORE_SUBSCR", "STORE_SLICE")
_NOTHING = object()


class _Looked(NamedTuple):
    """What is known of a function: the user's functions that it names, and how to get what each is a method of; what to say of
    containers, by the names that it has for them, once they have been changed.
    """

    named: list[tuple[FunctionType, Callable[[], Any]]]
    changed: dict[str, outliving.Notice]


class _Once(NamedTuple):
    """What a line does, and what to do instead; the name of what is changed, and whether `outliving` finds that it has been."""

    line: int
    what: str
    help: str
    name: str
    is_found: bool = False


def notice(fn: Callable[..., Any]) -> None:
    """Say what a function of the user's, and those that it names, do once. Each is looked at once."""
    stack = [(getattr(fn, "__func__", fn), getattr(fn, "__self__", None))]
    seen: set[int] = set()
    while stack:
        function, owner = stack.pop()
        if id(function) in seen or not isinstance(function, FunctionType) or not is_users(function):
            continue
        seen.add(id(function))
        looked: _Looked = attached(function, "looked at", partial(_looked, function, owner))
        outliving.look(function, owner, looked.changed)
        stack += [(each, holder()) for each, holder in looked.named]


def _looked(function: FunctionType, owner: Any) -> _Looked:
    """Say it of one function, but for what is found when it has happened."""
    code = function.__code__
    changed: dict[str, outliving.Notice] = {}
    for each in _found(function, owner):
        notice = f"{each.what} once, when the Cell is compiled, not at every step", _loc(code, each.line), each.help
        if each.is_found:
            changed.setdefault(each.name, notice)
        else:
            once(notice[0], loc=notice[1], help=notice[2])
    later = _called_back(function, owner)
    named = [(each, _weak(holder)) for each, holder in called(function, owner) if id(each) not in later]
    return _Looked(named, changed)


def _called_back(function: FunctionType, owner: Any) -> set[int]:
    """The ids of functions that are nothing but the first argument of what steps call back, such as `ops.Custom`."""
    instructions = [i for i in dis.get_instructions(function.__code__) if i.opname not in ("PUSH_NULL", "CACHE")]
    given: dict[int, int] = {}
    read: dict[int, int] = {}
    for i in range(len(instructions)):
        chain = _chain(instructions, i)
        value = _value(function, owner, chain) if chain else None
        if isinstance(value, FunctionType):
            read[id(value)] = read.get(id(value), 0) + 1
        elif isinstance(value, type) and getattr(value, "calls_back", False):
            argument = _chain(instructions, i + len(chain)) if i + len(chain) < len(instructions) else []
            held = id(_value(function, owner, argument)) if argument else 0
            given[held] = given.get(held, 0) + 1
    return {held for held, count in given.items() if read.get(held) == count}


def _weak(x: Any) -> Callable[[], Any]:
    """x as long as somebody else holds it; None for what cannot be held so."""
    try:
        return weakref.ref(x)
    except TypeError:
        return lambda: None


def _loc(code: CodeType, line: int) -> Loc:
    return Loc(display_path(code.co_filename), line, code.co_qualname)


_DRAW = "draw with ops.normal, ops.uniform or nn.Dropout, or give the numbers to the step as a tensor"
_GIVE = "give it to the step as a tensor"
_STATE = "keep what changes in a Parameter, or return it"


def _found(function: FunctionType, owner: Any) -> Iterator[_Once]:
    instructions = list(dis.get_instructions(function.__code__))
    line = function.__code__.co_firstlineno
    for i, instruction in enumerate(instructions):
        line = (instruction.positions.lineno if instruction.positions else None) or line
        if instruction.opname == "STORE_GLOBAL":
            yield _Once(line, f"the global {instruction.argval} is set", _STATE, str(instruction.argval))
        elif instruction.opname in _ITEMS:
            name, held = _stored_outside(function, owner, _target(instructions[:i]), instruction)
            if name:
                what = "an item of an object that outlives the call is set"
                yield _Once(line, what, _STATE, name, isinstance(held, _CONTAINERS))
        chain = _chain(instructions, i)
        if len(chain) < 2:
            continue
        holder, member = _value(function, owner, chain[:-1]), chain[-1]
        name = ".".join(chain)
        if holder is random or holder is np.random or isinstance(holder, _RANDOM):
            if callable(getattr(holder, member, None)) and not isinstance(getattr(holder, member), type):
                yield _Once(line, f"{name} is called", _DRAW, name)
        elif holder is time or (_is_a_clock(holder) and member in ("now", "utcnow", "today")):
            yield _Once(line, f"{name} is called", _GIVE, name)
        elif isinstance(holder, _CONTAINERS) and member in _CHANGING:
            yield _Once(line, f"{name} is called", _STATE, ".".join(chain[:-1]), is_found=True)


def _is_a_clock(holder: Any) -> bool:
    # By identity: an array compares element by element.
    return holder is datetime.datetime or holder is datetime.date


def _chain(instructions: list[dis.Instruction], i: int) -> list[str]:
    """The dotted name that begins at an instruction: ["self", "rng", "normal"]."""
    first = instructions[i]
    if first.opname not in _FIRST:
        return []
    # From Python 3.13 on one instruction may load two variables.
    chain = [str(first.argval[-1] if isinstance(first.argval, tuple) else first.argval)]
    for following in instructions[i + 1 :]:
        if following.opname not in _MEMBERS:
            break
        chain.append(str(following.argval))
    return chain


def _value(function: FunctionType, owner: Any, chain: list[str]) -> Any:
    """What a dotted name stands for, if it is there before the function runs: global, variable around it, or of `self`."""
    code = function.__code__
    first, *rest = chain
    value = _NOTHING
    if first in code.co_freevars:
        cell = (function.__closure__ or ())[code.co_freevars.index(first)]
        try:
            value = cell.cell_contents
        except ValueError:
            return _NOTHING
    elif first in code.co_varnames:
        value = owner if code.co_varnames[:1] == (first,) and owner is not None else _NOTHING
    elif first in function.__globals__:
        value = function.__globals__[first]
    for name in rest:
        if isinstance(value, Cell) and name in _set_by(type(value)):
            return _NOTHING  # It holds another one by then.
        held = vars(value) if isinstance(value, (ModuleType, Cell)) else {}
        value = held.get(name, _NOTHING)
    return value


def _set_by(cls: type[Cell]) -> set[str]:
    """The attributes that methods of a class set, but for its constructor."""
    methods = (f for c in cls.__mro__[: cls.__mro__.index(Cell)] for n, f in vars(c).items() if n != "__init__")
    return {name for f in methods if isinstance(f, FunctionType) for name in sets(f.__code__)}


def _target(before: list[dis.Instruction]) -> list[dis.Instruction]:
    """What computes x and k of `x[k] = v`, which come last; of `x[k] += v` they are copied first, for the item that is read."""
    if not before or before[-1].opname != "SWAP":
        return before
    at = next((j for j in range(len(before) - 2, 0, -1) if before[j].opname == "COPY" and _reads(before[j + 1])), 0)
    while at and before[at - 1].opname == "COPY":
        at -= 1
    return before[:at]


def _reads(instruction: dis.Instruction) -> bool:
    """Whether an item is read. From Python 3.14 on that is an operator."""
    if instruction.opname == "BINARY_OP":
        return instruction.argrepr == "[]"
    return instruction.opname in ("BINARY_SUBSCR", "BINARY_SLICE")


def _stored_outside(
    function: FunctionType, owner: Any, before: list[dis.Instruction], store: dis.Instruction
) -> tuple[str, Any]:
    """The name of the x of `x[k] = v`, and x, if it is a container from outside, else "": the key, or each bound of a slice, is
    one instruction, and x ends right before it.
    """
    sliced = bool(before) and before[-1].opname == "BUILD_SLICE"
    keys = 2 if store.opname == "STORE_SLICE" else int(before[-1].arg or 0) + 1 if sliced else 1
    for i in range(len(before) - 1, max(-1, len(before) - 8 - keys), -1):
        chain = _chain(before, i)
        if chain and len(before) - i - len(chain) == keys:
            value = _value(function, owner, chain)
            return (".".join(chain) if isinstance(value, (*_CONTAINERS, np.ndarray)) else ""), value
    return "", None
