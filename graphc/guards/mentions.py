"""Which names a function's code reads: attributes, globals, variables around it, modules it imports."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import CodeType

#: Methods that change their object and return nothing: who only calls these reads nothing.
_WRITING = frozenset(("append", "appendleft", "extend", "insert", "add", "update", "clear"))
#: With these any attribute may be read, whatever its name.
_DYNAMIC = frozenset(("getattr", "vars", "dir", "__dict__", "attrgetter", "asdict", "eval", "exec"))
_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
_AROUND = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_MEMBER = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")
_SIMPLE = ("LOAD_CONST", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_SMALL_INT")


@dataclass(frozen=True, slots=True)
class Mentions:
    """The names that code reads. `names` has attributes and strings that may name some; `dynamic`: any attribute may be read."""

    names: frozenset[str]
    globals: tuple[str, ...]
    around: frozenset[str]
    modules: tuple[str, ...]
    dynamic: bool


@lru_cache(maxsize=4096)
def mentions(code: CodeType) -> Mentions:
    """What a function reads, and the functions in it. A list that it only appends to, and a counter that it only raises, are
    not read.
    """
    members: set[str] = set()
    found: dict[str, None] = {}
    around: set[str] = set()
    modules: dict[str, None] = {}
    for inner in _codes(code):
        members.update(_strings(inner.co_consts))
        instructions = list(dis.get_instructions(inner))
        written = _written(instructions)
        for place, instruction in enumerate(instructions):
            name = instruction.argval
            if instruction.opname == "IMPORT_NAME":
                modules[name] = None
            if place in written:
                continue
            if instruction.opname in _GLOBAL:
                found[name] = None
            elif instruction.opname in _AROUND:
                around.add(name)
            elif instruction.opname in _MEMBER:
                members.add(name)
    dynamic = not _DYNAMIC.isdisjoint(found) or not _DYNAMIC.isdisjoint(members)
    return Mentions(frozenset(members), tuple(found), frozenset(around), tuple(modules), dynamic)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _strings(constants: tuple[object, ...]) -> Iterator[str]:
    for constant in constants:
        if isinstance(constant, str):
            if constant.isidentifier():
                yield constant
        elif isinstance(constant, (tuple, frozenset)):
            yield from _strings(tuple(constant))


def _written(instructions: list[dis.Instruction]) -> set[int]:
    """The places of loads that serve a write alone: x.append(...), x[k] = ..., x[k] += ..., x.k += ..., x += ..."""
    places: set[int] = set()
    for i, (one, two) in enumerate(pairwise(instructions)):
        if two.opname in ("LOAD_ATTR", "LOAD_METHOD") and two.argval in _WRITING:
            places.add(i)
        if one.opname == "COPY" and one.arg == 1 and two.opname == "LOAD_ATTR":
            places.add(i + 1)
        if two.opname == "STORE_SUBSCR" and i and one.opname in _SIMPLE:
            places.add(i - 1)
        if [(x.opname, x.arg) for x in (one, two)] == [("COPY", 2)] * 2 and instructions[i - 1].opname in _SIMPLE:
            places.add(i - 2)
        if two.opname in ("STORE_DEREF", "STORE_GLOBAL") and one.opname == "BINARY_OP" and one.argrepr.endswith("="):
            places.update(_last_load(instructions, i, two.argval))
    return places


def _last_load(instructions: list[dis.Instruction], before: int, name: str) -> Iterator[int]:
    for place in range(before - 1, -1, -1):
        if instructions[place].argval == name and instructions[place].opname in _GLOBAL + _AROUND:
            yield place
            return
