"""`graphc export`: a target in a form that runs without graphc."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from graphc.cli.graphs import arrays_of, inputs_of
from graphc.cli.targets import target
from graphc.exports import numpy_file, onnx_file
from graphc.inspect.numpy_step import write_numpy
from graphc.scripts import TargetError


def export(args: Namespace) -> int:
    """Write the target in the form asked for, and print the paths of the files."""
    if args.inputs is not None and args.form != "numpy":
        raise TargetError("--inputs is about --as numpy: the other forms are given theirs when they run")
    print(*FORMS[args.form](args), sep="\n")
    return 0


def _numpy(args: Namespace) -> list[Path]:
    found = target(args.target, args, inputs=True)
    if found.step is not None:
        if args.inputs is not None:
            raise TargetError("--inputs is for graphs: FILE.py:ATTR and scripts bring theirs")
        return numpy_file.to_numpy(found.step, args.output, *(found.arrays or found.inputs or ()))
    graph = found.graph()
    given = inputs_of(graph, arrays_of(args.inputs))
    return write_numpy(args.output, graph, given, given)


def _onnx(args: Namespace) -> list[Path]:
    """Of a graph on disk without values: all its parameters are inputs."""
    path = Path(args.output)
    path = path if path.suffix == ".onnx" else path.with_name(f"{path.name}.onnx")
    found = target(args.target, args)
    if found.step is not None:
        return found.step.export(path)
    return [onnx_file.write(path, found.graph(), {})]


def _shared(args: Namespace) -> list[Path]:
    if Path(args.output).suffix == ".onnx":
        raise TargetError(f"{args.output!r} is the name of an ONNX model", help="--as onnx")
    found = target(args.target, args)
    if found.step is None:
        raise TargetError(
            f"a shared object is made of a compiled step, {args.target!r} is none", help="name it as FILE.py:ATTR"
        )
    return found.step.export(args.output)


#: What `graphc export --as` writes, of the parsed arguments.
FORMS: dict[str, Callable[[Namespace], list[Path]]] = {"numpy": _numpy, "onnx": _onnx, "so": _shared}
