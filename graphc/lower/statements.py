"""What those share that read and rewrite a program's statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from graphc_codegen.program import (
    Call,
    For,
    If,
    NamedKernel,
    Stmt,
    While,
    blocks,
    contiguous_strides,
    predicates,
    written,
)

#: A statement with blocks.
Branching = If | While | For


def operands(call: Call) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What a call reads, and what it writes."""
    split = len(call.args) - written(call.kernel)
    return call.args[:split], call.args[split:]


def nodes_of(*calls: Call) -> tuple[int, ...]:
    """The ids of the nodes that calls are for, each once."""
    return tuple(dict.fromkeys(id for call in calls for id in call.nodes))


def calls(body: Iterable[Stmt]) -> Iterator[Call]:
    """Every call, in program order, with all that branches and loops hold."""
    for stmt in body:
        if isinstance(stmt, Call):
            yield stmt
        for block in blocks(stmt):
            yield from calls(block)


def touched(stmt: Stmt) -> set[int]:
    """The buffers that a statement reads or writes: of a loop's windows those in which they lie."""
    if isinstance(stmt, Call):
        return set(stmt.args)
    found = set(predicates(stmt)).union(*(touched(inner) for block in blocks(stmt) for inner in block))
    if isinstance(stmt, For):
        found |= {w.within for w in stmt.windows}
        found -= {w.buffer for w in stmt.windows}
    return found


def uses(body: Sequence[Stmt], results: Iterable[int]) -> Counter[int]:
    """How often each buffer is an operand or a predicate; `results`, which are read after the end, count once more.

    So does a window: what lies in another buffer may be read there. To that buffer it is an operand.
    """
    found = Counter(results)
    for stmt in body:
        found.update(stmt.args if isinstance(stmt, Call) else predicates(stmt))
        if isinstance(stmt, For):
            found.update(b for w in stmt.windows for b in (w.buffer, w.within))
        for block in blocks(stmt):
            found.update(uses(block, ()))
    return found


def with_blocks(stmt: Branching, transform: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> Branching:
    """The statement, its blocks transformed in the order in which they may run."""
    if isinstance(stmt, If):
        return replace(stmt, then=transform(stmt.then), orelse=transform(stmt.orelse))
    if isinstance(stmt, For):
        return replace(stmt, body=transform(stmt.body))
    return replace(stmt, condition=transform(stmt.condition), body=transform(stmt.body))


@lru_cache(maxsize=4096)
def row_major(domain: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a loop over a whole array: 0 for axes of size 1."""
    return tuple(0 if n == 1 else s for n, s in zip(domain, contiguous_strides(domain), strict=True))


def params_of(stmt: Stmt | None) -> dict[str, Any]:
    """The parameters of a named kernel that is called; empty for anything else."""
    return dict(stmt.kernel.params) if isinstance(stmt, Call) and isinstance(stmt.kernel, NamedKernel) else {}


def without_half(p: Mapping[str, Any], place: int) -> dict[str, Any]:
    """The parameters of a kernel of which an operand lies in memory as float32 from now on."""
    kept = ((dtype, tuple(k for k in places if k != place)) for dtype, places in p.get("halves", ()))
    halves = tuple((dtype, places) for dtype, places in kept if places)
    return {**{key: value for key, value in p.items() if key != "halves"}, **({"halves": halves} if halves else {})}
