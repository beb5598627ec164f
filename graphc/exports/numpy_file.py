"""Compiled steps in forms that run without graphc."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphc.inspect.numpy_step import write_numpy
from graphc.steps.compiled_step import CompiledStep


def to_numpy(step: CompiledStep, path: str | Path, *inputs: Any) -> list[Path]:
    """Write PATH.py and PATH.npz beside it, which run a compiled step with NumPy alone; returns both paths.

    The file begins with the parameters as they are now, and runs on `inputs`, what the step would be called with; without any
    on zeros. It computes what the step does op by op: float32 sums in another order differ in their last bits.
    Raises ExportError GC193, which names the op, for what cannot be written, SignatureError for other inputs than the step takes,
    ArgumentValueError for a path that does not end in .py.
    """
    graph = step.graph
    nodes = [n for n in map(graph.node, graph.inputs) if n.op.name == "Input"]
    given = step.arrays(*inputs) if inputs else [np.zeros(n.type.shape, n.type.numpy) for n in nodes]
    arrays = dict(zip((n.id for n in nodes), given, strict=True))
    state = {id: p.storage.reshape(p.shape) for id, p in step.state.items()}
    return write_numpy(path, graph, state, arrays)


__all__ = ["to_numpy"]
