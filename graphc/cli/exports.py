"""`graphc export`: a step in a form that runs without graphc."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from graphc.cli.graphs import arrays_of, inputs_of
from graphc.cli.targets import target
from graphc.scripts import TargetError


def export(args: Namespace) -> int:
    """Write the target in the form asked for, and print the paths of the files."""
    print(*FORMS[args.form](args), sep="\n")
    return 0


def _numpy(args: Namespace) -> list[Path]:
    from graphc.exports.numpy_file import to_numpy
    from graphc.inspect.numpy_step import write_numpy

    found = target(args.target, args, inputs=True)
    if found.step is not None:
        if args.inputs is not None:
            raise TargetError("--inputs is for graphs: FILE.py:ATTR and scripts bring theirs")
        return to_numpy(found.step, args.output, *(found.arrays or found.inputs or ()))
    graph = found.graph()
    given = inputs_of(graph, arrays_of(args.inputs))
    return write_numpy(args.output, graph, given, given)


#: What `graphc export --as` writes, of the parsed arguments.
FORMS = {"numpy": _numpy}
