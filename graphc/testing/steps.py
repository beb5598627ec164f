"""Runs a graph three ways: the float64 interpreter, checked mode, machine code; they must agree to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import numpy as np

from graphc.debug import debug, second_cache
from graphc.ir import Graph
from graphc.lower import Lowered, cost, lower
from graphc.ops.declared import reference
from graphc.steps.build import multiplies_bfloat16
from graphc.testing.lowered import races
from graphc_codegen import compile_program


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
        got = step.read(buffer, type.shape, type.dtype)
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-6 * np.abs(want).max())


def agree(graph: Graph, inputs: Mapping[int, Any], *, checked: bool, canary: bool = False, threads: int = 1) -> Lowered:
    """Run two steps on one binding and compare results and parameters with the interpreter.

    Inputs must stay as they are; between the steps the parameters are made small again. Several threads share all they can.
    Raises AssertionError, CheckedError, CanaryError. Returns what the graph was lowered to.
    """
    # A cost model that has every call shared that can be.
    with patch.multiple(cost, _MEET=-1e9, _MEET_EACH=0.0, _DISPATCH=-1e9), debug(verify=2):
        lowered = lower(graph, canary=canary, threads=threads, bfloat16=multiplies_bfloat16, cache=second_cache)
    found = races(lowered.program) if threads > 1 else []
    if found:
        raise AssertionError("threads come into each other's way: " + "; ".join(found))
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
            got = step.read(buffer, type.shape, type.dtype)
            if got.dtype != type.numpy:
                raise AssertionError(f"result {result.name} has dtype {got.dtype}, not {type}")
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
