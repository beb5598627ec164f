"""A graph with the values of its parameters as an ONNX file."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from graphc.exports.onnx_model.model import NAMES, Names, model_of
from graphc.files import make_directory, write_atomic
from graphc.ir import Graph


def write(
    path: Path,
    graph: Graph,
    values: Mapping[int, np.ndarray[Any, np.dtype[Any]]],
    *,
    names: Names = NAMES,
    parameters_are_inputs: bool = False,
) -> Path:
    """Write the model, complete or not at all; returns its path. `values` are by the ids of Param nodes, maybe more of them; the
    rest is as `model_of` has it.

    Raises what `model_of` raises, and OSError.
    """
    try:
        own = version("graphc")
    except PackageNotFoundError:
        own = "unknown"
    params = [id for id in graph.inputs if graph.node(id).op.name == "Param"]
    known = {id: values[id] for id in params if id in values}
    model = model_of(graph, known, own, names=names, parameters_are_inputs=parameters_are_inputs)
    make_directory(path.parent)
    return write_atomic(path, model.SerializeToString(deterministic=True))
