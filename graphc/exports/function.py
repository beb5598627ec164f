"""`graphc.export`, as MindSpore has it: a network for inference as a file of another format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphc import dispatch, passes
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.exports.onnx_file import write
from graphc.ir import Graph
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.inputs import as_inputs
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tree import flatten
from graphc.trace import trace
from graphc.tracebacks import clean

#: Formats of MindSpore's that are files for its own runtime.
_OTHERS = ("MINDIR", "AIR", "GEIR")


def export(net: Cell, *inputs: Any, file_name: str | Path, file_format: str = "ONNX", **kwargs: Any) -> Path:
    """Write a network as an ONNX model for inference: what `net(*inputs)` computes after net.set_train(False). Returns the path.

    inputs: tensors or arrays of the shapes and dtypes that the model is for; other Python values are constants in it.
    file_name: ".onnx" is added unless it ends so. Nothing is run, and the network is in its former mode afterwards; a
    training step, with its state, is exported by `graphc.compile(cell, *inputs).export("step.onnx")`. MindSpore's other formats
    and its options for them are refused by name. Raises ExportError GC193 with the user's line for an op that ONNX has
    nothing for, MissingPackageError without the package onnx.
    """
    try:
        return _export(net, inputs, file_name, file_format, kwargs)
    except BaseException as error:
        clean(error)
        raise


def _export(net: Any, inputs: tuple[Any, ...], file_name: Any, file_format: Any, kwargs: dict[str, Any]) -> Path:
    checked(net, file_name)
    if file_format != "ONNX":
        known = (
            f"{file_format} is a format of MindSpore's own runtime"
            if file_format in _OTHERS
            else "there is no such format"
        )
        raise ArgumentValueError(
            f"file_format={file_format!r}: {known}",
            code="GC112",
            loc=user_loc(),
            help='file_format="ONNX"; for C, step.export writes a shared object',
        )
    if kwargs:
        raise ArgumentValueError(
            f"export has no {', '.join(kwargs)} for ONNX",
            code="GC112",
            loc=user_loc(),
            help="leave it out: encryption, quantization and obfuscation are MindSpore's, for MINDIR",
        )
    graph, params = inference_graph(net, inputs)
    return write(onnx_path(file_name), graph, {id: p.storage for id, p in params.items()})


def checked(net: Any, file_name: Any) -> None:
    """ArgumentTypeError for a net that is no Cell, and a file name that is no path."""
    if not isinstance(net, Cell):
        raise ArgumentTypeError(f"export needs a Cell, got {type(net).__name__}", loc=user_loc())
    if not isinstance(file_name, (str, Path)):
        raise ArgumentTypeError(f"file_name is a path, got {type(file_name).__name__}", loc=user_loc())


def onnx_path(file_name: str | Path) -> Path:
    """The path with the suffix .onnx."""
    path = Path(file_name)
    return path if path.suffix == ".onnx" else path.with_name(f"{path.name}.onnx")


def inference_graph(net: Cell, inputs: tuple[Any, ...]) -> tuple[Graph, dict[int, Parameter]]:
    """What `net(*inputs)` computes after net.set_train(False), and its parameters by node; its mode stays what it is."""
    leaves, structure = flatten((as_inputs(inputs), {}))
    modes = [(cell, cell.training) for _, cell in net.cells_and_names()]
    try:
        net.set_train(False)
        traced = trace(net, leaves, structure)
    finally:
        for cell, training in modes:
            object.__setattr__(cell, "training", training)
        dispatch.touch()
    # ONNX has no such op of every version.
    chosen = [p for p in passes.PIPELINE if p is not passes.fuse_attention]
    graph = passes.run(traced.graph, chosen)[-1].graph
    return graph, traced.params
