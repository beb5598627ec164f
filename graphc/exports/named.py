"""`mindspore.onnx.export`: a network for inference as an ONNX model whose inputs and results have names of the user's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.exports.function import checked, inference_graph, onnx_path
from graphc.exports.onnx_file import write
from graphc.exports.onnx_model.model import Names
from graphc.ir import Graph
from graphc.nn.cell.cell import Cell
from graphc.tracebacks import clean

__all__ = ["export"]


def export(
    net: Cell,
    *inputs: Any,
    file_name: str | Path,
    input_names: list[str] | None = None,
    output_names: list[str] | None = None,
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: dict[str, dict[int, str]] | None = None,
) -> Path:
    """As `graphc.export`, with (MindSpore: mindspore.onnx.export)

    input_names, output_names: names of the first inputs and results, in order. export_params: with False the model takes the
    parameters as inputs. keep_initializers_as_inputs: it takes them as inputs, too, whose defaults they are.
    dynamic_axes: refused: what is written is for the shapes of `inputs`. Raises ArgumentTypeError and ArgumentValueError for
    these, and what `graphc.export` raises.
    """
    try:
        checked(net, file_name)
        if dynamic_axes:
            raise ArgumentValueError(
                f"onnx.export has no dynamic_axes: {dynamic_axes!r}",
                code="GC112",
                loc=user_loc(),
                help="leave it out, and write a model for each shape: shapes are fixed in it",
            )
        graph, params = inference_graph(net, inputs)
        ids = [id for id in graph.inputs if graph.node(id).op.name == "Input"]
        names = Names(
            _names("input_names", input_names, len(ids)), _names("output_names", output_names, len(graph.results))
        )
        _refuse_same(graph, names)
        values = {id: p.storage for id, p in params.items()} if export_params else {}
        return write(
            onnx_path(file_name), graph, values, names=names, parameters_are_inputs=keep_initializers_as_inputs
        )
    except BaseException as error:
        clean(error)
        raise


def _names(argument: str, names: Any, most: int) -> Sequence[str]:
    if names is None:
        return ()
    if not isinstance(names, list) or not all(isinstance(n, str) and n for n in names):
        raise ArgumentTypeError(f"{argument} is a list of names, got {names!r}", loc=user_loc())
    if len(names) > most:
        raise ArgumentValueError(f"{argument} has {len(names)} names, there are {most}", loc=user_loc())
    return names


def _refuse_same(graph: Graph, names: Names) -> None:
    parameters = [graph.node(id).name for id in graph.inputs if graph.node(id).op.name == "Param"]
    for name, times in Counter([*names.inputs, *names.results, *parameters]).items():
        if times > 1:
            raise ArgumentValueError(
                f"{name!r} names {times} of the model's inputs, results and parameters", loc=user_loc()
            )
