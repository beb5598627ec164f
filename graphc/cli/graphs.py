"""Commands that take a graph through the compiler by hand: `opt` runs passes, `lower` lowers, `run` runs."""

from __future__ import annotations

import io
import sys
import zipfile
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphc import passes
from graphc.debug import debug, second_cache, switches, threads
from graphc.errors import LoweringError, ParseError, ShapeError
from graphc.errors.suggestions import nearest, question
from graphc.files import write_atomic
from graphc.inspect.dump import load
from graphc.ir import Graph, TensorType, parse, to_text, verify
from graphc.ops.declared.transforms import REQUESTS
from graphc.scripts import TargetError

if TYPE_CHECKING:
    from graphc.lower import Lowered

Array = np.ndarray[Any, np.dtype[Any]]


def read(target: str) -> Graph:
    """The verified graph of a .ir or .json file, a dump directory, or `-`: standard input.

    Raises TargetError, ParseError, VerifyError.
    """
    if target.endswith(".py") or ".py:" in target:
        raise TargetError(
            f"{target!r} is no graph", help=f"graphc dump {target} --as text prints the one of a compiled step"
        )
    graph = _from_stdin() if target == "-" else load(target)
    verify(graph)
    return graph


def _from_stdin() -> Graph:
    try:
        return parse(sys.stdin.read())
    except ParseError as error:
        error.details = ("in the text on standard input", *error.details)
        raise


def opt(args: Namespace) -> int:
    """Run passes and print the graph after the last one."""
    graph = read(args.graph)
    chosen = passes.PIPELINE
    if args.passes is not None:
        chosen = tuple(passes.find(name) for name in args.passes.split(",") if name)
    if args.stop_after is not None:
        chosen = passes.up_to(chosen, args.stop_after)
    with debug(verify=2 if args.verify else max(1, switches().verify)):
        stages = passes.run(graph, chosen)
    if args.timing:
        for stage in stages[1:]:
            effect = f"{stage.graph.count():6} nodes" if stage.changed else "   unchanged"
            print(f"{stage.seconds * 1e3:9.3f} ms {effect}  {stage.name}", file=sys.stderr)
    text = to_text(stages[-1].graph)
    if args.output is not None:
        write_atomic(Path(args.output), f"{text}\n".encode())
    else:
        print(text)
    return 0


def lower(args: Namespace) -> int:
    """Print the statements that a graph is lowered to; with `--stages` as they are after fusion and after each rewrite."""
    texts = _lowered(read(args.graph), args).texts()
    if args.stages:
        print("\n\n".join(f"; {name}\n{text}" for name, text in texts))
    else:
        print(texts[-1][1])
    return 0


def _lowered(graph: Graph, args: Namespace) -> Lowered:
    """What a graph is lowered to, as it stands. Raises LoweringError if gradients are left in it."""
    from graphc.lower import lower  # Only `lower` and `run` lower.
    from graphc.steps.build import multiplies_bfloat16  # Only `run` generates code.

    left = next((n for n in graph if n.op.name in REQUESTS), None)
    if left is not None:
        raise LoweringError(
            f"node %{left.id} is a {left.op.name}, which only a pass can expand",
            nodes=[left.id],
            help=f"graphc opt {args.graph} runs the passes; its output can be lowered",
        )
    on = switches()
    return lower(
        graph,
        canary=on.canary,
        profile=on.profile and on.jit,
        threads=threads() if args.threads is None else args.threads,
        bfloat16=multiplies_bfloat16,
        cache=second_cache,
    )


# ---- run


def run(args: Namespace) -> int:
    """Compile a graph as it stands, run it once, and print or write its results and the new values of its parameters."""
    from graphc.steps.build import build  # Only `run` generates code.

    graph = read(args.script)
    given = inputs_of(graph, arrays_of(args.inputs))
    args.graph = args.script
    lowered = _lowered(graph, args)
    on = switches()
    params = [given[i].copy() for i in lowered.params]
    step = build(lowered.program, checked=not on.jit).bind(params, list(lowered.constants))
    step.run([given[i] for i in lowered.inputs])
    if on.canary:
        step.check_canaries()
    results = {r.name: step.read(b, t.shape, t.dtype) for r, (b, t) in zip(graph.results, lowered.results, strict=True)}
    updated = {u.param for u in graph.updates}
    names = _names(graph)
    changed = {names[i]: p for i, p in zip(lowered.params, params, strict=True) if i in updated}
    _write(args.output, results, changed)
    return 0


def _names(graph: Graph) -> dict[int, str]:
    """What each Input and Param is called in a file of arrays: its name, or %3 where it has none of its own."""
    names = [graph.node(i).name for i in graph.inputs]
    return {i: n if n and names.count(n) == 1 else f"%{i}" for i, n in zip(graph.inputs, names, strict=True)}


def arrays_of(file: str | None) -> dict[str, Array]:
    """The arrays of an .npz file. Raises TargetError if there is none, ParseError if it cannot be read."""
    if file is None:
        return {}
    try:
        with np.load(io.BytesIO(Path(file).read_bytes()), allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except OSError as error:
        raise TargetError(f"{file!r} cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise ParseError(f"{file!r} is no file of arrays as numpy.savez writes it: {error}") from None


def inputs_of(graph: Graph, arrays: dict[str, Array]) -> dict[int, Array]:
    """An array for each Input and Param, by node id. Raises TargetError for missing and unknown names, ShapeError for types.

    bfloat16, which .npz files do not know, is given as float32.
    """
    nodes = {name: graph.node(i) for i, name in _names(graph).items()}
    missing = [n for n in nodes if n not in arrays]
    unknown = [n for n in arrays if n not in nodes]
    if missing or unknown:
        details = [f"missing: {n}  {nodes[n].type}" for n in missing]
        for name in unknown:
            details.append(f"unknown: {name}  {question(nearest(name, nodes)) or ''}")
        raise TargetError(
            f"the arrays given are not those that graph @{graph.name} takes",
            details=[d.rstrip() for d in details],
            help="graphc run FILE.ir --inputs x.npz: numpy.savez('x.npz', **{name: array, ...}) writes it",
        )
    made = {}
    wrong = []
    for name, node in nodes.items():
        array, type = arrays[name], node.type
        stored = "float32" if type.dtype == "bfloat16" else type.dtype
        if array.shape != type.shape or array.dtype.name != stored:
            wrong.append(f"{name} is {array.dtype.name}{list(array.shape)}, wanted {stored}{list(type.shape)}")
        else:
            made[node.id] = np.ascontiguousarray(array, type.numpy).reshape(type.shape)
    if wrong:
        raise ShapeError(f"the arrays given do not fit graph @{graph.name}", details=wrong)
    return made


def _write(file: str | None, results: dict[str, Array], changed: dict[str, Array]) -> None:
    if file is None:
        for what, arrays in (("", results), ("update ", changed)):
            for name, array in arrays.items():
                text = np.array2string(array, threshold=100, separator=", ")
                print(f"{what}{name}: {TensorType.of(array)}\n{text}")
        return
    both = sorted(results.keys() & changed.keys())
    if both:
        raise TargetError(f"results and updated parameters have the same names: {', '.join(both)}")
    buffer = io.BytesIO()
    # Not numpy.savez, to which a name might be one of its own parameters.
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in {**results, **changed}.items():
            member = io.BytesIO()
            stored = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
            np.save(member, stored, allow_pickle=False)
            archive.writestr(f"{name}.npy", member.getvalue())
    print(write_atomic(Path(file), buffer.getvalue()))
