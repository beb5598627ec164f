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
    print(*FORMS[args.form](args.target, Path(args.output)), sep="\n")
    return 0


def _onnx(target: str, path: Path) -> list[Path]:
    """Of a graph on disk without values: all its parameters are inputs."""
    path = path if path.suffix == ".onnx" else path.with_name(f"{path.name}.onnx")
    if is_source(target):
        written: list[Path] = compiled(target).export(path)
        return written
    return [onnx_file.write(path, graph_of(target), {})]


def _shared(target: str, path: Path) -> list[Path]:
    if not is_source(target):
        raise TargetError(
            f"a shared object is made of a compiled step, {target!r} is none", help="name it as FILE.py:ATTR"
        )
    if path.suffix == ".onnx":
        raise TargetError(f"{str(path)!r} is the name of an ONNX model", help="--as onnx")
    written: list[Path] = compiled(target).export(path)
    return written


#: What `graphc export --as` writes.
FORMS: dict[str, Callable[[str, Path], list[Path]]] = {"onnx": _onnx, "so": _shared}
