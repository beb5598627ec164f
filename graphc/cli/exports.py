"""`graphc export`: a step in a form that runs without graphc."""

from __future__ import annotations

from argparse import Namespace

from graphc.cli.graphs import arrays_of, inputs_of
from graphc.cli.targets import compiled_with_inputs, graph_of, is_source
from graphc.exports import to_numpy
from graphc.inspect.numpy_step import write_numpy
from graphc.scripts import TargetError


def export(args: Namespace) -> int:
    """Write the files, and print where they are."""
    if is_source(args.target):
        step, inputs = compiled_with_inputs(args.target)
        if args.inputs is not None:
            raise TargetError("--inputs is for graphs: FILE.py:ATTR brings its inputs")
        written = to_numpy(step, args.output, *(inputs or ()))
    else:
        graph = graph_of(args.target)
        given = inputs_of(graph, arrays_of(args.inputs))
        written = write_numpy(args.output, graph, given, given)
    print(*written, sep="\n")
    return 0
