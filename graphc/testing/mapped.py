"""Batching rules against a loop: what vmap makes of an op, and the op for each index of the batch axis."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from graphc.ir import Graph, Sample, TensorType, Value, get_op, verify
from graphc.lower import lower
from graphc.ops.declared import reference
from graphc.ops.declared.transforms import mapped_type
from graphc.passes import autodiff, split_complex

#: The length of the batch axis.
SIZE = 3


def check_mapped(name: str, sample: Sample) -> None:
    """An op under vmap gives what the op gives for each index, for every choice of mapped operands; and it compiles.

    Index k has the sample's operands, their elements shifted by k places. Raises AssertionError if numbers differ, and what
    autodiff, the verifier and lowering raise.
    """
    arrays = [np.asarray(x) for x in sample.operands]
    for mapped in _choices(len(arrays)):
        graph, inputs = _graph(name, sample, arrays, mapped)
        made = autodiff(graph)
        verify(made)
        if get_op(name).lower is not None:
            lower(split_complex(made))
        got = reference.run(made, inputs).results
        wanted = [
            _single(name, sample, [_shifted(x, k) if m else x for x, m in zip(arrays, mapped, strict=True)])
            for k in range(SIZE)
        ]
        for slot, (mine, *loop) in enumerate(zip(got, *wanted, strict=True)):
            np.testing.assert_allclose(
                mine, np.stack(loop), 1e-9, 1e-9, err_msg=f"{name}, result {slot}, mapped operands {mapped}"
            )


def _choices(count: int) -> Iterator[tuple[bool, ...]]:
    """Each operand alone, and all subsets of at most three."""
    for size in range(1, count + 1):
        if size == 1 or size == count or count <= 3:
            for chosen in combinations(range(count), size):
                yield tuple(i in chosen for i in range(count))


def _shifted(x: Any, k: int) -> Any:
    return np.roll(x.ravel(), k).reshape(x.shape)


def _graph(name: str, sample: Sample, arrays: list[Any], mapped: tuple[bool, ...]) -> tuple[Graph, dict[int, Any]]:
    """A graph with the op under vmap, and its inputs."""
    graph = Graph(name)
    body = Graph("body", graph.ids)
    inputs: dict[int, Any] = {}
    for x, has in zip(arrays, mapped, strict=True):
        type = TensorType.of(x)
        body.add("Input", types=(type,), region="state")
        node = graph.add("Input", types=(mapped_type(type, SIZE) if has else type,))
        inputs[node.id] = np.stack([_shifted(x, k) for k in range(SIZE)]) if has else x
    results = body.add(name, [Value(i) for i in body.inputs], sample.attrs).outputs
    body.set_results((str(i), v) for i, v in enumerate(results))
    attrs = {"body": body, "size": SIZE, "mapped": mapped, "fronts": (True,) * len(results)}
    made = graph.add("Vmap", [Value(i) for i in graph.inputs], attrs)
    graph.set_results((str(i), v) for i, v in enumerate(made.outputs))
    return graph, inputs


def _single(name: str, sample: Sample, arrays: list[Any]) -> list[Any]:
    graph = Graph(name)
    nodes = [graph.add("Input", types=(TensorType.of(x),)) for x in arrays]
    made = graph.add(name, [n.outputs[0] for n in nodes], sample.attrs)
    graph.set_results((str(i), v) for i, v in enumerate(made.outputs))
    return reference.run(graph, dict(zip(graph.inputs, arrays, strict=True))).results
