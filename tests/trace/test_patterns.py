"""`match` in compiled functions takes the case that Python takes, and gives the same names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

import graphc
from graphc import GRAPH_MODE, PYNATIVE_MODE, Tensor
from tests.trace.likewise import SAMPLES, plain


class Kind(Enum):
    ONE = 1


@dataclass
class Pair:
    a: Any
    b: Any = 2


def structures(x, m):
    if x.sum() > 100:
        return x
    match m:
        case (0, v) | (v, 0):
            return x * v
        case [int(a), *rest, b] if a > 1:
            x = x * a + b + len(rest)
        case [[a, b], [c, _]]:
            x = x * a * b * c
        case [a, b]:
            x = x * a - b
        case {"k": {"j": v}, **others}:
            x = x * v + len(others)
        case {"k": v}:
            x = x + v
        case {}:
            x = x * 77
        case Pair(0, b=b):
            x = x + b
        case Pair(a=a, b=Pair(a=c, b=d)):
            x = x + a * c + d
        case Pair(a, b) as pair:
            x = x + a * b + pair.b
        case str(s):
            x = x * len(s)
        case (float() | bool()) as z:
            x = x * z * 3
        case Kind.ONE:
            x = x * 50
        case int(n) if n > 5:
            x = x * n
        case None:
            x = -x
        case [*items]:
            x = x + len(items)
        case _:
            x = x * 1000
    return x


def tensors(x, m):
    match (x.sum(), m):
        case (0, v):
            return x + v
        case (s, v) if s > 1:
            x = x * v * s
        case (s, _):
            x = x * s
    match x[0]:
        case 3 | 6:
            x = x + 100
        case first if first > 0:
            x = x * first
    match x:
        case [_, _]:
            return x
        case Tensor():
            return x + 5000


SUBJECTS = [
    (0, 3), (4, 0), (0, 0), [2, 1, 1, 5], [1, 7], [[1, 2], [3, 4]], [], (1,), [1, 2, 3],
    {"k": {"j": 3}, "u": 1}, {"k": 3}, {}, {"z": 1},
    Pair(0, 4), Pair(1, Pair(2, 3)), Pair(5, 6), "abc", 2.5, True, Kind.ONE, 7, 3, None,
]  # fmt: skip


def found(function, mode, sample, m):
    graphc.set_context(mode=mode)
    return plain((graphc.jit(function) if mode == GRAPH_MODE else function)(Tensor(sample, graphc.float32), m))


@pytest.mark.parametrize("m", SUBJECTS, ids=repr)
def test_structures(m, monkeypatch, mode_again):
    monkeypatch.setenv("GRAPHC_JIT", "0")
    assert found(structures, GRAPH_MODE, SAMPLES[0], m) == found(structures, PYNATIVE_MODE, SAMPLES[0], m)


def test_tensors(monkeypatch, mode_again):
    monkeypatch.setenv("GRAPHC_JIT", "0")
    for sample in SAMPLES:
        assert found(tensors, GRAPH_MODE, sample, 2) == found(tensors, PYNATIVE_MODE, sample, 2), sample


def test_too_many_parts(mode_again):
    def parts(x, m):
        match m:
            case Pair(a, b, c):
                return x * a * b * c
        return x if x.sum() > 0 else -x

    for mode in (GRAPH_MODE, PYNATIVE_MODE):
        with pytest.raises(TypeError, match="accepts 2 positional sub-patterns"):
            found(parts, mode, SAMPLES[0], Pair(1))
