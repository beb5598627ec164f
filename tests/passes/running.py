"""Runs a graph three ways: the float64 interpreter, checked mode, machine code; they must agree to the last bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from graphc.debug import debug
from graphc.ir import Graph, parse, verify
from graphc.lower import Lowered, cost, lower
from graphc.ops.declared import reference
from graphc_codegen import compile_program
from graphc_codegen.program import Call, If, LoopKernel, Program, Stmt, blocks, written


def graph_of(text: str) -> Graph:
    """The verified graph of a text."""
    graph = parse(text)
    verify(graph)
    return graph


def small_integers(graph: Graph, seed: int = 0) -> dict[int, Any]:
    """Whole numbers from -4 to 4 for every Input and Param: exact in every dtype."""
    rng = np.random.default_rng(seed)
    made = {}
    for id in graph.inputs:
        type = graph.node(id).type
        low, high = (0, 2) if type.dtype == "bool" else (-4, 5)
        made[id] = rng.integers(low, high, type.shape).astype(type.numpy)
    return made


def close_to_reference(graph: Graph, lowered: Lowered) -> None:
    """Run a step on random numbers between canaries; its results are the interpreter's within a few roundings."""
    rng = np.random.default_rng(0)
    feed = {i: rng.standard_normal(graph.node(i).type.shape).astype(np.float32) for i in graph.inputs}
    step = compile_program(lowered.program, cache_dir=None).bind([], list(lowered.constants))
    step.run([feed[i] for i in lowered.inputs])
    step.check_canaries()
    for (buffer, type), want in zip(lowered.results, reference.run(graph, feed).results, strict=True):
        got = step.read(buffer).reshape(type.shape)
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-6 * np.abs(want).max())


#: A cost model that has every call shared that can be.
_SHARE_ALL = {"_MEET": -1e9, "_MEET_EACH": 0.0, "_DISPATCH": -1e9}


def agree(graph: Graph, inputs: Mapping[int, Any], *, checked: bool, canary: bool = False, threads: int = 1) -> Lowered:
    """Run two steps on one binding and compare results and parameters with the interpreter.

    Inputs must stay as they are; between the steps the parameters are made small again. Several threads share all they can.
    """
    with patch.multiple(cost, **_SHARE_ALL), debug(verify=2):
        lowered = lower(graph, canary=canary, threads=threads)
    assert threads == 1 or races(lowered.program) == []
    params = [np.ascontiguousarray(inputs[i]).reshape(inputs[i].shape).copy() for i in lowered.params]
    step = compile_program(lowered.program, cache_dir=None, checked=checked).bind(params, list(lowered.constants))
    feed = {i: np.asarray(x).copy() for i, x in inputs.items()}
    for _ in range(2):
        wanted = reference.run(graph, feed)
        given = [feed[i].copy() for i in lowered.inputs]
        step.run(given)
        step.check_canaries()
        for i, array in zip(lowered.inputs, given, strict=True):
            np.testing.assert_array_equal(array, feed[i], err_msg=f"input %{i} was changed")
        for result, (buffer, type), want in zip(graph.results, lowered.results, wanted.results, strict=True):
            got = step.read(buffer).reshape(type.shape)
            assert got.dtype == type.numpy
            np.testing.assert_array_equal(got, want, err_msg=f"result {result.name} = {result.value}")
        for i, array in zip(lowered.params, params, strict=True):
            np.testing.assert_array_equal(array, wanted.updates.get(i, feed[i]), err_msg=f"parameter %{i}")
            array[...] = np.remainder(array, 4) if array.dtype != bool else array
            feed[i] = array.copy()
    return lowered


def agree_everywhere(graph: Graph, inputs: Mapping[int, Any] | None = None) -> Lowered:
    """Checked mode with memory reuse, and machine code with canaries."""
    inputs = small_integers(graph) if inputs is None else inputs
    lowered = agree(graph, inputs, checked=True)
    agree(graph, inputs, checked=False, canary=True)
    agree(graph, inputs, checked=False, threads=3)
    return lowered


def races(program: Program) -> list[str]:
    """Pairs of calls that different threads may run at the same time though one writes what the other touches.

    Follows every way through the program, loops twice; knows nothing of how the meetings were chosen.
    """
    buffers = {b.id: b for b in program.buffers}
    found: list[str] = []

    def touched(stmt: Stmt) -> list[tuple[str, int, int, bool, bool]]:
        """(space, first byte, last byte + 1, written, by all threads)"""
        ids = stmt.args if isinstance(stmt, Call) else (stmt.pred,)
        first_written = len(ids) - (written(stmt.kernel) if isinstance(stmt, Call) else 0)
        everybody = not isinstance(stmt, Call) or stmt.kernel.threads > 1
        found = []
        for k, b in enumerate(map(buffers.__getitem__, ids)):
            space = b.space if b.space == "arena" else f"{b.space} {b.position}"
            start = b.position if b.space == "arena" else 0
            found.append((space, start, start + b.nbytes, k >= first_written, everybody))
        return found

    def step(stmt: Stmt, since: list[Stmt]) -> list[Stmt]:
        """The statements since the last meeting, after this one."""
        if stmt.wait:
            return [stmt]
        for other in since:
            for a in touched(stmt):
                for b in touched(other):
                    if a[0] == b[0] and a[1] < b[2] and b[1] < a[2] and (a[3] or b[3]) and (a[4] or b[4]):
                        found.append(f"{other.note} / {stmt.note}: bytes {a[1:3]} and {b[1:3]} of {a[0]}")
        return [*since, stmt]

    def walk(body: Sequence[Stmt], since: list[Stmt]) -> list[list[Stmt]]:
        """What may have run since the last meeting at the end of a body, per way through it."""
        ways = [since]
        for stmt in body:
            if isinstance(stmt, Call):
                ways = [step(stmt, way) for way in ways]
            elif isinstance(stmt, If):
                ways = [end for way in ways for part in blocks(stmt) for end in walk(part, step(stmt, way))]
            else:
                after = []
                for way in ways:
                    for once in walk(stmt.condition, way):
                        for turn in walk(stmt.body, step(stmt, once)):
                            after += [step(stmt, w) for w in walk(stmt.condition, turn)]
                        after.append(step(stmt, once))
                ways = after
            ways = ways[:64]
        return ways

    walk(program.body, [])
    return found


def calls(lowered: Lowered) -> list[Call]:
    """Every call of a program, in branches and loops too."""
    found: list[Call] = []
    stack: list[Stmt] = list(reversed(lowered.program.body))
    while stack:
        statement = stack.pop()
        if isinstance(statement, Call):
            found.append(statement)
        else:
            stack += reversed([s for block in blocks(statement) for s in block])
    return found


def copies(lowered: Lowered) -> int:
    """How many buffers are only copied."""
    found = [c.kernel for c in calls(lowered) if c.note.startswith("copy")]
    return sum(k.times for k in found if isinstance(k, LoopKernel))
