"""Repeated runs of calls become functions of step.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc_codegen import compile_program
from graphc_codegen.program import Buffer, Call, If, Program
from graphc_codegen.text.repeats import repeated
from tests.codegen.programs import add, slot


def covered(runs: list[tuple[tuple[int, ...], int]]) -> list[int]:
    return [k for starts, length in runs for start in starts for k in range(start, start + length)]


def test_the_run_that_saves_most_is_taken_first() -> None:
    layer = [f"kernel {k}" for k in range(20)]
    items = ["first", *layer, *layer, "between", *layer, "last"]
    assert repeated(items) == [((1, 21, 42), 20)]


def test_what_is_equal_to_nothing_stays_out_of_runs() -> None:
    layer = [f"kernel {k}" for k in range(40)]
    assert repeated([*layer[:10], None, *layer[10:], *layer[:10], None, *layer[10:]]) == [((11, 52), 30)]


def test_few_calls_are_left_alone() -> None:
    assert repeated(["a", "b", "c"] * 4) == []
    assert repeated([]) == []


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([*"abcdefgh", None]), max_size=12), st.integers(1, 12), st.randoms(use_true_random=False)
)
def test_runs_are_equal_and_apart(layer: list[str | None], times: int, random: object) -> None:
    items = (layer + ["x"] * 3) * times
    runs = repeated(items)
    assert len(covered(runs)) == len(set(covered(runs)))
    for starts, length in runs:
        run = items[starts[0] : starts[0] + length]
        assert None not in run
        assert all(items[k : k + length] == run for k in starts)


def stack(layers: int, n: int = 8) -> Program:
    """A branch around `layers` equal layers of 30 additions each, on a buffer of their own."""
    buffers = [Buffer(0, "float32", (n,), "input", 0), Buffer(1, "bool", (), "input", 1)]
    buffers += [Buffer(2 + k, "float32", (n,), "arena", slot(k, n)) for k in range(layers + 1)]
    body = [Call(add(n, 0.0), (0, 2), "n0 Copy")]
    for k in range(layers):
        body.append(Call(add(n, 1.0), (2 + k, 3 + k), f"n{k + 1} First"))
        body += [Call(add(n, float(j)), (3 + k, 3 + k), f"n{k + 1} Next") for j in range(2, 31)]
    return Program("stack", tuple(buffers), (If(1, tuple(body), tuple(body[:1]), "n99 If"),), slot(layers + 1, n))


@pytest.mark.parametrize("checked", [True, False])
def test_layers_share_a_function_and_compute_the_same(checked: bool) -> None:
    layers = 5
    program = stack(layers)
    made = compile_program(program, cache_dir=None, checked=checked)
    assert made.source.count(" shared_0(ctx, ") == layers + 1  # the definition and the uses
    assert made.source.count("map_") == 30 + 2  # one layer, and the copy in both branches
    bound = made.bind([], [])
    x = np.arange(8, dtype=np.float32)
    for _ in range(2):
        bound.run([x, np.array(True)])
        for k in range(layers + 1):
            np.testing.assert_array_equal(bound.read(2 + k), x + k * sum(range(1, 31)))
    bound.run([x, np.array(False)])
    np.testing.assert_array_equal(bound.read(2), x)


def test_places_of_a_profile_build_are_all_different() -> None:
    made = compile_program(replace(stack(5), profile=True), cache_dir=None)
    bound = made.bind([], [])
    for _ in range(3):
        bound.run([np.zeros(8, np.float32), np.array(True)])
    seconds = [found for call, found in bound.timings()]
    assert len(seconds) == 1 + 5 * 30 + 1
    assert all(s.shape == (1, 2) for s in seconds)
    taken = [float(s[0, 1]) for s in seconds[1:-1]]
    assert all(t > 0 for t in taken)
