"""Runs a random program in every way that there is; all must agree with NumPy in float64, and with each other.

compiled for one thread and for two, from a cold cache and a warm one, with canaries; checked mode; the graph's interpreter in
float64. Gradients: all of these against the interpreter, and the interpreter against differences of the NumPy side.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import graphc
from graphc import Tensor
from graphc.debug import debug
from graphc.ops.declared import reference
from tests.fuzz.kinds import Array, is_float
from tests.fuzz.program import Net, Program, WithGradients

#: Of the largest element of a result: what rounding alone may move it, by bytes of an element.
NEAR = {2: 2e-2, 4: 2e-4, 8: 2e-4}


class Disagreement(AssertionError):
    """What differs, and in which way of running."""


def check(program: Program, cache: Path | None = None) -> None:
    """Raise Disagreement unless everything agrees. `cache`: a folder for the object cache; no warm start without."""
    values, p = program.evaluate()
    leaves = program.leaves()
    wanted = [values[i] for i in leaves]
    rounded = program.evaluate(exact=False)[0]
    coarse = [rounded[i] for i in leaves]
    gradients = program.parameter is None and any(is_float(x) for x in program.inputs)
    weights = _weights(program, wanted) if gradients else {}
    first: list[Array] | None = None
    for way, switches in _ways(cache):
        with debug(**switches):
            net = Net(program)
            cell = WithGradients(net, weights) if gradients else net
            inputs = [Tensor(x) for x in program.inputs]
            step = graphc.compile(cell, *inputs)
            made = step(*inputs)
        results, grads = made if gradients else (made, ())
        got = [_array(r) for r in (results if isinstance(results, tuple) else (results,))]
        for i, (g, w, c) in enumerate(zip(got, wanted, coarse, strict=True)):
            _same(f"{way}: result v{leaves[i]}", g, w, c)
        if p is not None:
            _same(f"{way}: the parameter", net.p.asnumpy(), p, p)  # type: ignore[union-attr]
        flat = [*got, *map(_array, grads if isinstance(grads, tuple) else (grads,))]
        if gradients:
            exact = _interpreted(step, program)[len(got) :]
            rough = _interpreted(step, program, exact=False)[len(got) :]
            for i, (g, w, c) in enumerate(zip(flat[len(got) :], exact, rough, strict=True)):
                _same(f"{way}: gradient of v{i}", g, w, c)
            if first is None and program.is_smooth and all(v.dtype != np.float16 for v in rounded):
                _differences(program, weights, leaves, exact)
        if first is not None and way == "warm":
            for a, b in zip(first, flat, strict=True):
                if a.tobytes() != b.tobytes():
                    raise Disagreement(f"{way}: other bits than from a cold cache")
        first = flat if first is None else first


def _ways(cache: Path | None) -> list[tuple[str, dict[str, Any]]]:
    kept = {"cache": cache is not None, "cache_dir": cache}
    ways = [("one thread", {"threads": 1, **kept}), ("two threads", {"threads": 2, "cache": False})]
    if cache is not None:
        ways.insert(1, ("warm", {"threads": 1, **kept}))
    return [*ways, ("canaries", {"threads": 1, "canary": True, "cache": False}), ("checked", {"jit": False})]


def _array(x: Any) -> Array:
    return np.asarray(x.asnumpy() if isinstance(x, Tensor) else x)


def _weights(program: Program, wanted: list[Array]) -> dict[int, Array]:
    rng = np.random.default_rng(7)
    return {i: np.asarray(rng.standard_normal(w.shape)).astype(np.float32) for i, w in enumerate(wanted) if is_float(w)}


def _interpreted(step: Any, program: Program, exact: bool = True) -> list[Array]:
    """The results of the step's graph, after all passes, by the NumPy interpreter."""
    graph = step.graph
    given = [n for n in map(graph.node, graph.inputs) if n.op.name == "Input"]
    feed = {n.id: x for n, x in zip(given, program.inputs, strict=True)}
    return [np.asarray(r) for r in reference.run(graph, feed, exact=exact).results]


def _same(what: str, got: Array, want: Array, coarse: Array) -> None:
    if got.shape != want.shape:
        raise Disagreement(f"{what}: shape {got.shape}, expected {want.shape}")
    if not is_float(got):
        if is_float(want) or not np.array_equal(got, want):
            raise Disagreement(f"{what}: {got.dtype} {got.ravel()[:6]}, expected {want.dtype} {want.ravel()[:6]}")
        return
    if not got.size:
        return
    size = got.dtype.itemsize
    got, coarse = got.astype(np.float64), coarse.astype(np.float64)
    largest = max(1.0, float(np.abs(want).max()))
    bound = NEAR[size] * largest + 30 * float(np.abs(coarse - want).max(initial=0))
    off = np.abs(got - want)
    if not (off <= bound).all():
        worst = int(np.nanargmax(np.where(np.isnan(off), np.inf, off)))
        raise Disagreement(
            f"{what}: {got.ravel()[worst]} at {worst}, expected {want.ravel()[worst]} within {bound:.1e}"
        )


def _differences(program: Program, weights: dict[int, Array], leaves: list[int], grads: list[Array]) -> None:
    """The interpreter's gradients against central differences of the NumPy side, in a random direction per input.

    Not for float16: what is constant was rounded to it when the step was compiled.
    """

    def total(inputs: list[Array]) -> float:
        values, _ = program.evaluate(inputs)
        return float(sum((values[leaves[i]] * w).sum(dtype=np.float64) for i, w in weights.items()))

    rng = np.random.default_rng(3)
    at = [x.astype(np.float64) if is_float(x) else x for x in program.inputs]
    for i, x in enumerate(at):
        if not is_float(x) or not x.size:
            continue
        way = np.asarray(rng.standard_normal(x.shape))
        h = 1e-5
        ends = [[*at[:i], x + s * h * way, *at[i + 1 :]] for s in (1, -1)]
        wanted = (total(ends[0]) - total(ends[1])) / (2 * h)
        got = float((grads[i].astype(np.float64) * way).sum())
        scale = float(np.abs(grads[i] * way).sum()) + abs(wanted) + 1
        if not abs(got - wanted) <= 1e-4 * scale:
            raise Disagreement(f"gradient of v{i}: {got} along a direction, differences give {wanted}")
