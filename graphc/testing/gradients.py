"""Gradients and tangents against central differences, all by the interpreter in float64."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, GradientError
from graphc.ir import Graph, Value, verify
from graphc.ops.declared import reference
from graphc.passes import autodiff

#: The step of the differences, and how far both may be apart.
STEP, RELATIVE, ABSOLUTE = 1e-6, 1e-5, 1e-6


def check_gradient(graph: Graph, inputs: Mapping[int, Any], wrt: int, *, result: int = 0, seed: int = 3) -> None:
    """Compare the gradient that `autodiff` makes of a result, for the Input or Param with id `wrt`, with differences; and the
    tangent that forward mode makes.

    The result is weighted with random numbers, the input moved along a random direction, both complex where the values are.
    `inputs` has an array for every Input and Param; floats are taken in float64, complex numbers in complex128. Raises
    AssertionError if the two differ, GradientError if an op on the way has none, ArgumentValueError if `wrt` is no input
    with floats or complex numbers.
    """
    if wrt not in graph.inputs or not graph.node(wrt).type.is_inexact:
        raise ArgumentValueError(f"%{wrt} is no Input or Param with floats or complex numbers of graph @{graph.name}")
    rng = np.random.default_rng(seed)
    feed = {i: _double(inputs[i]) for i in graph.inputs}
    y = graph.results[result].value
    weights = rng.uniform(0.5, 1.5, graph.type(y).shape)
    if graph.type(y).is_complex:
        weights = weights - 1j * rng.uniform(0.5, 1.5, weights.shape)
    direction = rng.standard_normal(feed[wrt].shape)
    if graph.node(wrt).type.is_complex:
        direction = direction + 1j * rng.standard_normal(direction.shape)
    # The real product of complex vectors: dloss = Re <gradient, direction>.
    analytic = float(np.vdot(_analytic(graph, y, wrt, feed, weights), direction).real)

    def loss(at: Any) -> float:
        return float(np.vdot(weights, reference.run(graph, {**feed, wrt: at}).results[result]).real)

    numeric = (loss(feed[wrt] + STEP * direction) - loss(feed[wrt] - STEP * direction)) / (2 * STEP)
    made = {"gradient": analytic}
    # Where what the gradient is made of has none itself, there is no forward mode.
    with contextlib.suppress(GradientError):
        made["tangent"] = float(np.vdot(weights, _tangent(graph, y, wrt, feed, direction)).real)
    for what, got in made.items():
        if not abs(numeric - got) <= max(RELATIVE * abs(got), ABSOLUTE):
            raise AssertionError(
                f"the {what} of {graph.results[result].name} for %{wrt} along a direction is {got},"
                f" differences give {numeric}"
            )


def _analytic(graph: Graph, y: Value, wrt: int, feed: Mapping[int, Any], weights: Any) -> Any:
    """The gradient of sum(weights * y) by the graph that autodiff makes."""
    expanded, sens = gradient_graph(graph, y, wrt)
    return reference.run(expanded, {**feed, sens: weights}).results[0]


def gradient_graph(graph: Graph, y: Value, wrt: int) -> tuple[Graph, int]:
    """The graph of the gradient of y for the input `wrt`, and the id of its Input that holds what y's elements are weighed by.
    Raises GradientError if an op on the way has none.
    """
    made = graph.copy()
    sens = made.add("Input", types=(made.type(y),), name="sens")
    cut = [Value(i) for i in graph.inputs]
    attrs = {"ys": 1, "wrt": (list(graph.inputs).index(wrt),), "names": ("",)}
    grad = made.add("Grad", [y, sens.outputs[0], *cut], attrs)
    made.set_results([("dx", grad.outputs[0])])
    expanded = autodiff(made)
    verify(expanded)
    return expanded, sens.id


def _tangent(graph: Graph, y: Value, wrt: int, feed: Mapping[int, Any], direction: Any) -> Any:
    """The tangent of y along a direction of one input, by the graph that autodiff makes."""
    made = graph.copy()
    moved = made.add("Input", types=(made.node(wrt).type,), name="tangent")
    cut = [Value(i) for i in graph.inputs]
    jvp = made.add("Jvp", [y, moved.outputs[0], *cut], {"ys": 1, "wrt": (list(graph.inputs).index(wrt),)})
    made.set_results([("dy", jvp.outputs[0])])
    expanded = autodiff(made)
    verify(expanded)
    return reference.run(expanded, {**feed, moved.id: direction}).results[0]


def _double(array: Any) -> Any:
    array = np.asarray(array)
    return array.astype({"f": np.float64, "c": np.complex128}.get(array.dtype.kind, array.dtype))
