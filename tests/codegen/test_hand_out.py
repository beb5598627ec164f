"""Loops whose turns are handed out to the threads: every turn is made once, whoever makes it, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from graphc_codegen.declarations import Declarations
from graphc_codegen.kernels import EMITTERS
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.program import NamedKernel
from graphc_codegen.target import host
from graphc_codegen.writer import Writer
from tests.codegen.threaded import THREADS, Runner

_COUNTS = (1, 2, 35, 36, 37, 71, 191, 192, 193, 500, 1000)


def _operands(p: Params) -> tuple[Operand, ...]:
    return (Operand("float32", p["count"], "out"), Operand("float32", p["count"], "out"))


def _emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Adds one to every element of the first operand, at a pace that changes; the second gets the first, turned around."""
    here, there = pointers
    count = p["count"]

    def more(place: str, _: object = None) -> None:
        w.store(w.op(f"fadd float {w.load(place)}, 1.0"), place)

    def first(i: str | int) -> None:
        more(w.at(here, i))
        # Turns at the end take longer than those at the beginning: the first thread has to help the others.
        w.turns((0, w.mul(i, 50)), lambda j, _: w.do(f'call void asm sideeffect "", "r"(i64 {j})'))

    def second(i: str | int) -> None:
        source = w.load(w.at(here, w.op(f"sub nsw i64 {count - 1}, {i}")))
        w.store(source, w.at(there, i))

    w.share(count, first, hand_out=True)
    w.meet()
    w.share(count, second, hand_out=True)


def _twin(p: Params, here: Array, there: Array) -> None:
    here += 1
    there[:] = here[::-1]


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setitem(EMITTERS, "turns", Emitter(_operands, _emit, _twin))
    return Runner([NamedKernel("turns", (("count", count),)) for count in _COUNTS], host())


@pytest.mark.parametrize("count", _COUNTS)
def test_every_turn_is_made_once(runner: Runner, count: int) -> None:
    here, there = np.arange(count, dtype=np.float32), np.zeros(count, np.float32)
    kernel = NamedKernel("turns", (("count", count),))
    for _ in range(20):
        runner.call(kernel, [here.ctypes.data, there.ctypes.data])
    # The runner calls a kernel twice, and asserts that all tickets are given back.
    np.testing.assert_array_equal(here, np.arange(count) + 40)
    np.testing.assert_array_equal(there, here[::-1])


def test_a_loop_inside_another_is_divided_evenly() -> None:
    """Its second turn would find the tickets of the first."""

    def lines(*, inside: bool) -> str:
        w = Writer(Declarations(), 16, threads=THREADS)
        share = lambda _: w.share(1000, lambda i: w.do(f"; turn {i}"), hand_out=True)  # noqa: E731
        w.repeat(2, share) if inside else share(0)
        return "\n".join(w.lines)

    assert "atomicrmw" in lines(inside=False)
    assert "atomicrmw" not in lines(inside=True)


def test_one_loop_between_two_meetings_is_handed_out() -> None:
    w = Writer(Declarations(), 16, threads=THREADS)
    for _ in range(2):
        w.share(1000, lambda i: w.do(f"; turn {i}"), hand_out=True)
    assert "\n".join(w.lines).count("atomicrmw") == 1
    w.meet()
    w.share(1000, lambda i: w.do(f"; turn {i}"), hand_out=True)
    assert "\n".join(w.lines).count("atomicrmw") == 2


@pytest.mark.parametrize(("outer", "inner"), [(7, 11), (1, 90), (40, 3), (16, 54)])
def test_pairs_owned_by_the_inner_index_are_all_made(monkeypatch: pytest.MonkeyPatch, outer: int, inner: int) -> None:
    def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
        def pair(i: str | int, j: str | int) -> None:
            place = w.at(pointers[0], w.linear((i, inner), (j, 1)))
            w.store(w.op(f"fadd float {w.load(place)}, 1.0"), place)

        w.hand_out_inner(outer, inner, pair)

    monkeypatch.setitem(EMITTERS, "turns", Emitter(lambda p: (Operand("float32", outer * inner, "out"),), emit, _twin))
    kernel = NamedKernel("turns", ())
    made = np.zeros(outer * inner, np.float32)
    Runner([kernel], host()).call(kernel, [made.ctypes.data])
    np.testing.assert_array_equal(made, 2)
