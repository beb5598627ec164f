"""Runs a graph three ways: the float64 interpreter, checked mode, machine code; they must agree to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphc.ir import Graph, parse, verify
from graphc.lower import Lowered, lower
from graphc.ops import reference
from graphc_codegen import compile_program
from graphc_codegen.program import Call, Stmt, blocks


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


def agree(graph: Graph, inputs: Mapping[int, Any], *, checked: bool, canary: bool = False) -> Lowered:
    """Run two steps on one binding and compare results and parameters with the interpreter.

    Inputs must stay as they are; between the steps the parameters are made small again.
    """
    lowered = lower(graph, canary=canary)
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
    return lowered


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
    """How many calls only copy a buffer."""
    return sum(c.note == "copy" for c in calls(lowered))
