"""Random graphs: passes keep their meaning, and what lowering makes of them gives the interpreter's numbers exactly."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from graphc.debug import debug
from graphc.ir import Data, equal, parse, verify, walk
from graphc.lower.fuse import Group, fuse, uniform_values
from graphc.passes import run
from graphc.testing import agree, graphs, seeded_graph, small_integers


@pytest.fixture(autouse=True)
def small_sweeps_join(monkeypatch):
    """As large ones do."""
    monkeypatch.setattr("graphc.lower.fuse._LARGE", 1)


COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=100, **COMMON)
@given(graphs())
def test_small_graphs_in_checked_mode(graph):
    verify(graph)
    inputs = small_integers(graph)
    with debug(verify=2):  # Every pass is compared with the interpreter.
        final = run(graph)[-1].graph
    agree(graph, inputs, checked=True)
    agree(final, inputs, checked=True)


@settings(max_examples=150, **COMMON)
@given(st.integers(0, 10**6))
def test_larger_graphs_in_checked_mode(seed):
    graph = seeded_graph(seed, 40)
    agree(graph, small_integers(graph), checked=True)


@settings(max_examples=50, **COMMON)
@given(st.integers(0, 10**6), st.booleans())
@example(3555, False)  # A loop carries to no use what is made of another one's results.
def test_larger_graphs_in_machine_code(seed, canary):
    graph = run(seeded_graph(seed, 25))[-1].graph
    agree(graph, small_integers(graph), checked=False, canary=canary)


@settings(max_examples=60, **COMMON)
@given(st.integers(0, 10**6))
def test_random_graphs_print_and_parse(seed):
    graph = seeded_graph(seed, 20)
    constants = {}
    for _, node in walk(graph):
        for value in node.attrs.values():
            if isinstance(value, Data):
                constants[value.digest] = value.array
    again = parse(str(graph), constants)
    assert str(again) == str(graph)
    assert equal(again, graph)


def test_the_random_graphs_are_varied(monkeypatch):
    """What the tests above rely on: the generator makes every kind of statement, fusion and write."""
    ops: set[str] = set()
    updates = groups = reductions = branches_with_writes = joined = 0
    for seed in range(150):
        graph = seeded_graph(seed, 25)
        ops |= {n.op.name for _, n in walk(graph)}
        updates += len(graph.updates)
        steps = fuse(graph, uniform_values(graph))
        with monkeypatch.context() as m:
            m.setattr("graphc.lower.fuse._LARGE", 1 << 62)
            joined += len(steps) < len(fuse(graph, uniform_values(graph)))
        for step in steps:
            if isinstance(step, Group):
                groups += len(step.nodes) > 1
                reductions += step.axes is not None and len(step.nodes) > 1
        branches_with_writes += any(
            n.op.name == "Assign"
            for _, o in walk(graph)
            if o.op.name == "If"
            for _, s in o.graphs()
            for _, n in walk(s)
        )
    assert {
        "If",
        "While",
        "Scan",
        "Assign",
        "Transpose",
        "Slice",
        "ReduceSum",
        "MatMul",
        "Concat",
        "Gather",
        "Depend",
    } <= ops
    assert min(updates, groups) > 100
    assert min(reductions, branches_with_writes) > 20
    assert joined > 3
