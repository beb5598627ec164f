"""`step.export`: which form a path's ending means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphc.errors import ArgumentValueError, ExportError, user_loc
from graphc.exports import onnx_file, shared
from graphc.ir import Graph
from graphc.lower import Lowered
from graphc.ops.tensor.parameter import Parameter

if TYPE_CHECKING:
    from graphc_codegen import Executable


def export(
    path: str | Path,
    graph: Graph,
    lowered: Lowered,
    executable: Executable,
    params: Sequence[Parameter],
    *,
    listed: bool,
    parameters: str,
    compiler: str | None,
) -> list[Path]:
    """Write a step as an ONNX model, if the path ends in .onnx, else as a shared object. Returns the paths written.

    listed: whether an optimizer in it goes through a list of learning rates, which Python looks at before each step.
    """
    if listed:
        raise ExportError(
            f"the step {graph.name} takes its learning rates from a list, whose end only Python sees",
            loc=user_loc(),
            help="use a schedule, such as nn.CosineDecayLR, or a number",
        )
    if not (isinstance(path, (str, Path)) and Path(path).suffix == ".onnx"):
        return shared.export(path, graph, lowered, executable, params, parameters=parameters, compiler=compiler)
    if parameters != "embedded" or compiler is not None:
        raise ArgumentValueError(
            "parameters= and compiler= are about shared objects; an ONNX file has its parameters in it", loc=user_loc()
        )
    values = {id: p.storage for id, p in zip(lowered.params, params, strict=True)}
    return [onnx_file.write(Path(path), graph, values)]
