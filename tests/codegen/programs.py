"""Small programs for the tests of the generator."""

from __future__ import annotations

from collections.abc import Sequence

from graphc_codegen.program import ALIGNMENT, Access, Buffer, Call, If, Instr, LoopKernel, Output, Program


def add(n: int, number: float) -> LoopKernel:
    """y = x + number on n floats."""
    access = Access("float32", (1,), 0, n)
    body = (
        Instr("input", (), "float32", 0),
        Instr("const", (), "float32", number),
        Instr("add", (0, 1)),
    )
    return LoopKernel((n,), (False,), (access,), body, (Output(access, 2),))


def binary(n: int, op: str) -> LoopKernel:
    """z = x op y on n floats."""
    access = Access("float32", (1,), 0, n)
    body = (Instr("input", (), "float32", 0), Instr("input", (), "float32", 1), Instr(op, (0, 1)))
    return LoopKernel((n,), (False,), (access, access), body, (Output(access, 2),))


def slot(k: int, n: int, gap: int = 0) -> int:
    """Byte position of the k-th arena buffer of n floats."""
    size = -(-(4 * n + gap) // ALIGNMENT) * ALIGNMENT
    return k * size


def chain(n: int = 10, gap: int = 0) -> Program:
    """x (input 0), flag (input 1), w (parameter): t = x + 1; u = t * x; w = w + 10 if flag else u - t."""
    buffers = (
        Buffer(0, "float32", (n,), "input", 0),
        Buffer(1, "bool", (), "input", 1),
        Buffer(2, "float32", (n,), "param", 0),
        Buffer(3, "float32", (n,), "arena", slot(0, n, gap)),
        Buffer(4, "float32", (n,), "arena", slot(1, n, gap)),
    )
    body = (
        Call(add(n, 1.0), (0, 3), "n1 Add"),
        Call(binary(n, "mul"), (3, 0, 4), "n2 Mul"),
        If(
            1,
            (Call(add(n, 10.0), (2, 2), "n3 Add"),),
            (Call(binary(n, "sub"), (4, 3, 2), "n4 Sub"),),
            "n5 If",
            dead=(3, 4),
        ),
    )
    return Program("chain", buffers, body, slot(2, n, gap), gap)


def line(count: int, n: int = 8) -> Program:
    """`count` different additions on one buffer, one after the other: x + 0 + 1 + 2 ..."""
    buffers = (Buffer(0, "float32", (n,), "input", 0), Buffer(1, "float32", (n,), "arena", 0))
    calls: Sequence[Call] = [Call(add(n, float(k)), (1 if k else 0, 1)) for k in range(count)]
    return Program("line", buffers, tuple(calls), slot(1, n))
