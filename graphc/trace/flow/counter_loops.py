"""`while i < n: ...; i += 1`: loops that make as many turns as their condition tells when they begin, as a `for` does."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from graphc.trace.dynamic.size_numbers import arithmetic

#: What changes the order in which statements are done.
_JUMPS = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Raise, ast.Global, ast.Nonlocal)
_SIGNS: dict[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Ticks:
    """The condition `number < bound`, or with another sign, of a loop each turn of which adds `step` to the number."""

    name: str
    number: Any
    sign: str
    bound: Any
    step: int

    @property
    def stop(self) -> Any:
        """The end of the range of its numbers."""
        return {"<": self.bound, "<=": self.bound + 1, ">": self.bound, ">=": self.bound - 1}[self.sign]


_told: ContextVar[list[Ticks] | None] = ContextVar("graphc_ticks", default=None)


def ticking(name: str, number: Any, sign: str, bound: Any, by: int) -> Any:
    """The condition of such a loop, which goes up or down by so much."""
    told = _told.get()
    if told is not None:
        told.append(Ticks(name, number, sign, bound, by if "<" in sign else -by))
    return arithmetic(sign, number, bound)


def ticks_of(test: Callable[[], Any]) -> tuple[Any, Ticks | None]:
    """The value of the condition of a loop, and how it counts, if it does."""
    told: list[Ticks] = []
    token = _told.set(told)
    try:
        return test(), told[0] if len(told) == 1 else None
    finally:
        _told.reset(token)


# ---- in the source


def counting_test(node: ast.While) -> list[ast.expr] | None:
    """The condition of a loop that counts, as the arguments of `ticking`: it compares a name, to which one statement of the body
    adds a number, with what the body does not change. None for another loop.
    """
    match node.test:
        case ast.Compare(left=ast.Name(id=name), ops=[sign], comparators=[bound]) if type(sign) in _SIGNS:
            text = _SIGNS[type(sign)]
        case ast.Compare(left=bound, ops=[sign], comparators=[ast.Name(id=name)]) if type(sign) in _SIGNS:
            text = _MIRRORED[_SIGNS[type(sign)]]
        case _:
            return None
    inside = [n for statement in node.body for n in ast.walk(statement)]
    used = _sizes_in(bound)
    if node.orelse or used is None or name in used or any(isinstance(n, _JUMPS) for n in inside):
        return None
    steps = [step for statement in node.body if (step := _step(statement, name)) is not None]
    stored = [n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    if len(steps) != 1 or stored.count(name) != 1 or used & set(stored) or steps[0] * (1 if "<" in text else -1) <= 0:
        return None
    number = ast.Name(id=name, ctx=ast.Load())
    return [ast.Constant(name), number, ast.Constant(text), copy.deepcopy(bound), ast.Constant(abs(steps[0]))]


def _step(statement: ast.stmt, name: str) -> int | None:
    """What `name += 1` and the like add."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=target), op=ast.Add() | ast.Sub() as op, value=ast.Constant(value=step)):
            pass
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.BinOp(left=ast.Name(id=left), op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=step)),
        ) if left == target:
            pass
        case _:
            return None
    if target != name or type(step) is not int:
        return None
    return step if isinstance(op, ast.Add) else -step


def _sizes_in(bound: ast.expr) -> set[str] | None:
    """The names in a sum or product of numbers, names, lengths and sizes of axes; None for what may be anything else."""
    match bound:
        case ast.Constant(value=int()):
            return set()
        case ast.Name(id=name):
            return {name}
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
            return {name}
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant()):
            return {name}
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv(), right=right):
            one, other = _sizes_in(left), _sizes_in(right)
            return None if one is None or other is None else one | other
        case _:
            return None
