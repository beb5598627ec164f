"""`graphc export`: a target in a form that runs without graphc."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from graphc.cli.targets import compiled, graph_of, is_source
from graphc.exports import onnx_file
from graphc.scripts import TargetError


def export(args: Namespace) -> int:
    """Write the target in the form asked for, and print the paths of the files."""
    print(*FORMS[args.form](args), sep="\n")
    return 0


def _onnx(args: Namespace) -> list[Path]:
    """Of a graph on disk without values: all its parameters are inputs."""
    path = Path(args.output)
    path = path if path.suffix == ".onnx" else path.with_name(f"{path.name}.onnx")
    if is_source(args.target):
        written: list[Path] = compiled(args.target).export(path)
        return written
    return [onnx_file.write(path, graph_of(args.target), {})]


def _shared(args: Namespace) -> list[Path]:
    if not is_source(args.target):
        raise TargetError(
            f"a shared object is made of a compiled step, {args.target!r} is none", help="name it as FILE.py:ATTR"
        )
    if Path(args.output).suffix == ".onnx":
        raise TargetError(f"{args.output!r} is the name of an ONNX model", help="--as onnx")
    written: list[Path] = compiled(args.target).export(args.output)
    return written


#: What `graphc export --as` writes, of the parsed arguments.
FORMS: dict[str, Callable[[Namespace], list[Path]]] = {"onnx": _onnx, "so": _shared}
