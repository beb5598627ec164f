"""The commands on a step's record: `profile`, `mem`, `why`."""

from __future__ import annotations

import contextlib
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphc.cli.show_commands import emit, width
from graphc.cli.targets import Target, target
from graphc.inspect import plainjson
from graphc.inspect.memory import memory_json, memory_text
from graphc.inspect.saved import read_text
from graphc.inspect.why import find_node, why_json, why_text
from graphc.inspect.why import why as explained
from graphc.scripts import TargetError

if TYPE_CHECKING:
    from graphc.inspect.document import Record


def profile(args: Namespace) -> int:
    """Run a step and print where its time goes; or print what a record says that was measured before."""
    # What is on disk is read without the compiler.
    from graphc.profiling.report import chrome_trace, profile_json, profile_text

    found = target(args.target, args, inputs=True)
    record = found.record() if found.step is None else _measured(found, args.runs)
    if record.profile is None:
        raise TargetError(
            f"{args.target!r} has no times",
            help="graphc profile FILE.py:ATTR, or --script FILE.py, runs and measures a step",
        )
    if args.trace is not None:
        from graphc.files import write_atomic  # What is on disk is read without the compiler.

        write_atomic(Path(args.trace), plainjson.dumps(chrome_trace(record)).encode())
    if args.record is not None:
        from graphc.files import write_atomic  # What is on disk is read without the compiler.

        write_atomic(Path(args.record), plainjson.dumps(record.to_document()).encode())
    text = plainjson.dumps(profile_json(record)) if args.json else profile_text(record, width=width(), rows=args.rows)
    emit(text, colour=False)
    return 0


def _measured(found: Target, runs: int | None) -> Record:
    from graphc.profiling.measure import measure  # What is on disk is read without the compiler.

    assert found.step is not None
    return replace(found.record(), profile=measure(found.step, _arrays(found), runs))


def _arrays(found: Target) -> list[Any]:
    """What to run a step with."""
    if found.arrays is not None:
        return list(found.arrays)
    assert found.step is not None
    return _made_up(found.step) if found.inputs is None else found.step.arrays(*found.inputs)


def _made_up(step: Any) -> list[Any]:
    """Inputs for a step that came without: normal numbers, zeros for integers, True."""
    import numpy as np

    rng = np.random.default_rng(0)
    arrays = []
    for node in (step.graph[id] for id in step.graph.inputs):
        if node.op.name == "Input":
            dtype, shape = node.type.numpy, node.type.shape
            if node.type.dtype == "bool":
                arrays.append(np.ones(shape, dtype))
            elif "int" in node.type.dtype:
                arrays.append(np.zeros(shape, dtype))
            else:
                arrays.append(rng.standard_normal(shape).astype(dtype))
    return arrays


def mem(args: Namespace) -> int:
    """Print what memory a step takes, when, and for what."""
    found = target(args.target, args)
    record = found.record()
    _require_calls(args.target, record)
    if args.at is not None and args.at >= len(record.calls):
        raise TargetError(f"there is no call {args.at}", help=f"the step has calls 0 to {len(record.calls) - 1}")
    rss = _resident(found)
    if args.json:
        emit(plainjson.dumps(memory_json(record, rss, call=args.at)), colour=False)
    else:
        emit(memory_text(record, rss, width=width(), call=args.at, rows=args.rows), colour=False)
    return 0


def _resident(found: Target) -> dict[str, int] | None:
    """Bytes of this process that are in memory before and after a run of the step; None for what is on disk, and on systems that
    do not say.
    """
    if found.step is None or (before := _rss()) is None:
        return None
    from graphc.profiling.measure import run_once  # What is on disk is read without the compiler.

    run_once(found.step, _arrays(found))
    return {"resident before the first run": before, "after it": _rss() or before}


def _rss() -> int | None:
    """Bytes of this process that are in memory; None on systems that do not say."""
    with contextlib.suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return None


def why(args: Namespace) -> int:
    """Print where a node comes from and where it is computed."""
    found = target(args.target, args)
    record = found.record()
    about = explained(record, find_node(record, args.node), _source(found))
    emit(plainjson.dumps(why_json(record, about)) if args.json else why_text(record, about), colour=False)
    return 0


def _source(found: Target) -> str:
    """The text of step.py, if it is at hand."""
    if found.step is not None:
        return found.step.source
    path = Path(found.path)
    file = (path if path.is_dir() else path.parent) / "step.py"
    return read_text(file) if file.is_file() else ""


def _require_calls(name: str, record: Record) -> None:
    if not record.calls:
        raise TargetError(
            f"{name!r} has no schedule: it is a graph, no compiled step", help="name a dump directory, or FILE.py:ATTR"
        )
