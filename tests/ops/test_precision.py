"""Long sums, against float64: equal, graded and cancelling terms, along any axes, on one thread and two, compiled and not.

Nobody edits this file when a reduction is declared; an op with a kernel that sums needs a row in `LONG`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from graphc.errors import LoweringError
from graphc.ir import Graph, Sample, all_ops
from graphc.ir.op import Kernel, Reduce
from graphc.ir.types import numpy_dtype
from graphc.lower import cost, lower
from graphc.ops.declared import reference
from graphc.testing.lowered import calls
from graphc.testing.ops import sample_graph, samples_of
from graphc_codegen import compile_program
from graphc_codegen.program import NamedKernel, facts

Array = np.ndarray[Any, np.dtype[Any]]
#: Of the sum of the terms' sizes.
EXACT = 1e-6
THREADS = (1, 2)


def compiled(graph: Graph, threads: int) -> Callable[[dict[int, Array]], list[Array]]:
    """Runs a graph on arrays by Input; several threads share all that they can."""
    with patch.multiple(cost, _MEET=-1e9, _MEET_EACH=0.0, _DISPATCH=-1e9):
        lowered = lower(graph, threads=threads)
    step = compile_program(lowered.program, cache_dir=None).bind([], list(lowered.constants))

    def run(inputs: dict[int, Array]) -> list[Array]:
        step.run([inputs[i] for i in lowered.inputs])
        return [step.read(buffer).reshape(type.shape).astype(np.float64) for buffer, type in lowered.results]

    return run


def everywhere(
    graph: Graph, inputs: Sequence[dict[int, Array]], check: Callable[[list[Array], int, str], None]
) -> None:
    """`check(results, which inputs, where)` for what compiled steps make, and NumPy."""
    for threads in THREADS:
        run = compiled(graph, threads)
        for k, feed in enumerate(inputs):
            check(run(feed), k, f"on {threads} threads, inputs {k}")
    for k, feed in enumerate(inputs):
        check(reference.run(graph, feed, exact=False).results, k, f"in NumPy, inputs {k}")


# ---- terms


def equal(size: int) -> Array:
    return np.full(size, 0.1)


def graded(size: int) -> Array:
    """From 1 down to 1e-6: what comes last is lost in a sum that is large."""
    return np.geomspace(1, 1e-6, size)


def growing(size: int) -> Array:
    return graded(size)[::-1]


def cancelling(size: int) -> Array:
    """Large numbers first, which the second half takes away again."""
    half = np.random.default_rng(0).uniform(1, 2, size // 2) * 1e3
    return np.concatenate([half, -half, np.ones(size - 2 * len(half))]) + 0.1


TERMS = (equal, graded, growing, cancelling)
#: Shapes and the axes that are reduced: all, the last, the first, one in between, several. The least that went wrong with one
#: float32 accumulator for all terms.
LAYOUTS = (
    ((1 << 18,), (0,)),
    ((64, 64, 64), (0, 1, 2)),
    ((4, 1 << 16), (1,)),
    (((1 << 16) + 5, 3), (0,)),
    ((1 << 13, 32), (0,)),
    ((2, 1 << 15, 4), (1,)),
    ((32, 3, 33, 31), (0, 2, 3)),
)


def laid_out(terms: Array, shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> Array:
    """An array in which every reduction adds up the terms, as many as it takes, in this order."""
    count = int(np.prod([shape[a] for a in axes]))
    kept = [a for a in range(len(shape)) if a not in axes]
    each = np.broadcast_to(terms[:count], (*(shape[a] for a in kept), count))
    whole = each.reshape([shape[a] for a in (*kept, *axes)]).transpose(np.argsort([*kept, *axes]))
    return np.ascontiguousarray(whole).astype(numpy_dtype(dtype))


def summing() -> list[str]:
    return [n for n, d in all_ops().items() if isinstance(d.lower, Reduce) and d.lower.combine in ("sum", "prod")]


@pytest.mark.parametrize("name", summing())
def test_every_reduction(name: str) -> None:
    definition = all_ops()[name]
    assert isinstance(definition.lower, Reduce)
    graph, feeds = Graph(name), []
    if definition.lower.combine == "prod":
        # Near 1, so that no product is infinite or zero; its sizes add up as logarithms.
        kinds: tuple[Callable[[int], Array], ...] = (
            lambda n: np.full(n, 1.00001),
            lambda n: 1 + 1e-3 * np.random.default_rng(1).standard_normal(n),
        )
    else:
        kinds = TERMS
    samples = [Sample((laid_out(np.ones(n), s, a, "float32"),), {"axis": a}) for s, a in LAYOUTS for n in (np.prod(s),)]
    graph, inputs = sample_graph(name, samples)
    for kind in kinds:
        feeds.append(
            {i: laid_out(kind(int(np.prod(s))), s, a, "float32") for i, (s, a) in zip(inputs, LAYOUTS, strict=True)}
        )

    def check(results: list[Array], k: int, where: str) -> None:
        wanted = reference.run(graph, feeds[k]).results
        sizes = wanted if definition.lower.combine == "prod" else _of_sizes(graph, feeds[k])
        for got, want, size, layout in zip(results, wanted, sizes, LAYOUTS, strict=True):
            np.testing.assert_array_less(abs(got - want) / abs(size), EXACT, err_msg=f"{name} of {layout} {where}")

    everywhere(graph, feeds, check)


def _of_sizes(graph: Graph, feed: dict[int, Array]) -> list[Array]:
    return reference.run(graph, {i: abs(x) for i, x in feed.items()}).results


@pytest.mark.parametrize(("dtype", "rounding"), [("float16", 2.0**-11), ("bfloat16", 2.0**-8)])
def test_means_of_halves_are_rounded_once(dtype: str, rounding: float) -> None:
    shapes = (((1 << 18,), (0,)), ((1 << 16, 3), (0,)))
    graph, inputs = sample_graph(
        "ReduceMean", [Sample((laid_out(np.full(1 << 18, 0.1), s, a, dtype),), {"axis": a}) for s, a in shapes]
    )

    def check(results: list[Array], _: int, where: str) -> None:
        for got, want in zip(results, reference.run(graph, inputs).results, strict=True):
            error = abs(got.astype(np.float64) / want - 1)
            np.testing.assert_array_less(error, rounding + EXACT, err_msg=f"{dtype} {where}")

    everywhere(graph, [inputs], check)


@pytest.mark.parametrize("axes", [(0,), (1,)])
def test_the_sum_of_16_million(axes: tuple[int, ...]) -> None:
    shape = (1 << 24,) if axes == (0,) else (1, 1 << 24, 1)
    x = np.full(shape, 0.1, np.float32)
    graph, inputs = sample_graph("ReduceSum", [Sample((x,), {"axis": axes})])
    want = float(np.float32(0.1)) * 2**24
    everywhere(graph, [inputs], lambda got, _, where: np.testing.assert_allclose(got[0], want, EXACT, err_msg=where))


# ---- kernels


def _rows(*, labels: bool = False) -> list[Array]:
    """A row whose exponentials are equal but for the first, and one whose are graded."""
    x = np.stack([np.full(70_001, -2.3), np.linspace(0, -9, 70_001)]).astype(np.float32)
    x[0, 0] = 0
    return [x, np.full(x.shape, 1 / x.shape[1], np.float32)] if labels else [x]


def _indices(count: int) -> Array:
    return (np.arange(count) % 3 % 2).astype(np.int32)


def _geometry(**more: Any) -> dict[str, Any]:
    return {"stride": (1, 1), "dilation": (1, 1), "pad": (0, 0, 0, 0), **more}


_K = 40_000
#: Long operands of every op with a kernel that sums (its facts have `terms`), and attributes.
LONG: dict[str, list[tuple[list[Array], dict[str, Any]]]] = {
    "Softmax": [(_rows(), {})],
    "LogSoftmax": [(_rows(), {})],
    "SoftmaxGrad": [([np.full((2, 70_001), 1e-3, np.float32), np.full((2, 70_001), 0.1, np.float32)], {})],
    "LogSoftmaxGrad": [([np.full((2, 70_001), -9, np.float32), np.full((2, 70_001), 0.1, np.float32)], {})],
    "SparseSoftmaxCrossEntropyWithLogits": [([*_rows(), np.array([5, 7], np.int32)], {})],
    "SoftmaxCrossEntropyWithLogits": [(_rows(labels=True), {})],
    "MatMul": [
        ([np.full(a, 0.1, np.float32), np.full(b, 0.3, np.float32)], {"transpose_a": ta, "transpose_b": tb})
        for a, b, ta, tb in (
            ((3, _K), (_K, 5), False, False),
            ((3, _K), (5, _K), False, True),
            ((_K, 3), (_K, 5), True, False),
            ((_K, 3), (5, _K), True, True),
        )
    ],
    "BatchMatMul": [([np.full((2, 3, _K), 0.1, np.float32), np.full((2, _K, 5), 0.3, np.float32)], {})],
    "AvgPool": [
        ([np.full((1, 2, 600, 601), 0.1, np.float32)], {"kernel": k, "stride": k, "pad": p, "count_include_pad": False})
        for k, p in (((600, 601), (0, 0, 0, 0)), ((300, 299), (1, 1, 1, 1)))
    ],
    "Conv2D": [
        ([np.full((1, 400, 6, 7), 0.1, np.float32), np.full((3, 400, 3, 3), 0.3, np.float32)], _geometry()),
    ],
    "Conv2DBackpropInput": [
        (
            [np.full((1, 400, 6, 7), 0.1, np.float32), np.full((400, 3, 3, 3), 0.3, np.float32)],
            _geometry(shape=(1, 3, 8, 9)),
        )
    ],
    "Conv2DBackpropFilter": [
        (
            [np.full((n, 2, h, w), 0.1, np.float32), np.full((n, 2, h + 1, w + 1), 0.3, np.float32)],
            _geometry(shape=(2, 2, 2, 2)),
        )
        for n, h, w in ((2, 300, 300), (100, 30, 30), (3000, 5, 5))
    ],
    "GroupedConv2D": [
        ([np.full((1, 800, 6, 7), 0.1, np.float32), np.full((6, 400, 3, 3), 0.3, np.float32)], _geometry(groups=2)),
    ],
    "GroupedConv2DBackpropInput": [
        (
            [np.full((1, 800, 6, 7), 0.1, np.float32), np.full((800, 3, 3, 3), 0.3, np.float32)],
            _geometry(shape=(1, 6, 8, 9), groups=2),
        )
    ],
    "GroupedConv2DBackpropFilter": [
        (
            [np.full((n, 2, h, w), 0.1, np.float32), np.full((n, 2, h + 1, w + 1), 0.3, np.float32)],
            _geometry(shape=(2, 1, 2, 2), groups=2),
        )
        for n, h, w in ((2, 300, 300), (100, 30, 30), (3000, 5, 5))
    ],
    "GatherGrad": [([np.full((70_000, 2), 0.1, np.float32), _indices(70_000)], {"shape": (4, 2)})],
    "Scatter": [
        ([np.full((4, 2), 0.5, np.float32), _indices(70_000), np.full((70_000, 2), 0.1, np.float32)], {"mode": "add"})
    ],
    "GatherElementsGrad": [
        ([np.full((70_000, 2), 0.1, np.float32), np.stack([_indices(70_000)] * 2, 1)], {"shape": (4, 2)}),
        ([np.full((2, 70_000), 0.1, np.float32), np.stack([_indices(70_000)] * 2)], {"shape": (2, 4), "axis": 1}),
    ],
    "ScatterElements": [
        (
            [
                np.full((4, 2), 0.5, np.float32),
                np.stack([_indices(70_000)] * 2, 1),
                np.full((70_000, 2), 0.1, np.float32),
            ],
            {"mode": "add"},
        )
    ],
}


def _summing_kernels(name: str, samples: Sequence[Sample]) -> list[NamedKernel]:
    try:
        lowered = lower(sample_graph(name, samples)[0])
    except LoweringError:
        return []
    named = [c.kernel for c in calls(lowered) if isinstance(c.kernel, NamedKernel)]
    return [k for k in named if facts(k).terms is not None]


def test_every_kernel_that_sums_is_here() -> None:
    with_kernels = [n for n, d in all_ops().items() if isinstance(d.lower, Kernel) and d.samples is not None]
    assert {n for n in with_kernels if _summing_kernels(n, samples_of(n))} == set(LONG)


@pytest.mark.parametrize("name", LONG)
def test_every_kernel_that_sums(name: str) -> None:
    samples = [Sample(tuple(arrays), attrs) for arrays, attrs in LONG[name]]
    graph, inputs = sample_graph(name, samples)
    found = _summing_kernels(name, samples)
    assert found
    assert all(dict(k.params).get("block") for k in found)

    def check(results: list[Array], _: int, where: str) -> None:
        for got, want in zip(results, reference.run(graph, inputs).results, strict=True):
            # A few more roundings, and those of the exponentials, than the sum's own.
            np.testing.assert_allclose(got, want, 2 * EXACT, EXACT * np.abs(want).max(), err_msg=f"{name} {where}")

    everywhere(graph, [inputs], check)
