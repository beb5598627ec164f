"""The same records as event files, which TensorBoard reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from graphc.errors import MissingPackageError, RecordError
from graphc.report.runs import Run, read_run


def write_events(records: Sequence[Path], folder: Path) -> list[Path]:
    """Write one folder of event files per run into `folder`, named like the record. Returns these folders.

    Scalars: loss, scale, overflows, seconds, memory in bytes, learning_rate, and metrics/NAME, each at the step where it was
    measured; of a run of more steps than a page keeps apart, the means of neighbours at the last of them. What the first line
    says is the text `run`. All records are read before anything is written. Raises RecordError for a file that is none, and for
    a folder of events that is there already, MissingPackageError without tensorboardX, and OSError.
    """
    try:
        from tensorboardX import SummaryWriter
    except ImportError as error:
        raise MissingPackageError(
            "files for TensorBoard are written by tensorboardX, which is not installed",
            help="pip install 'graphc[tensorboard]'",
        ) from error
    runs = [(read_run(path), target) for path, target in zip(records, _folders(records, folder), strict=True)]
    for run, target in runs:
        with SummaryWriter(str(target)) as writer:
            for tag, value, step in _scalars(run):
                writer.add_scalar(tag, value, step)
            writer.add_text("run", _described(run))
    return [target for _, target in runs]


def _folders(records: Sequence[Path], folder: Path) -> list[Path]:
    """Where each run goes: TensorBoard calls a run what its folder is called."""
    found: list[Path] = []
    for path in records:
        names = [path.stem, *(f"{path.stem}-{k}" for k in range(2, len(records) + 1))]
        target = next(folder / name for name in names if folder / name not in found)
        if target.exists():
            raise RecordError(f"{str(target)!r} is there already", help="TensorBoard would show both runs as one")
        found.append(target)
    return found


def _scalars(run: Run) -> Iterator[tuple[str, float, int]]:
    """(tag, value, step) of everything that is drawn."""
    for steps in run.steps:
        values: list[tuple[str, Any]] = [("scale", steps.scale), ("memory", steps.memory)]
        if steps.losses or steps.nans or steps.infinities:
            bad = float("nan") if steps.nans else float("inf")
            values.append(("loss", steps.loss / steps.losses if steps.losses else bad))
        if steps.timed:
            values.append(("seconds", steps.seconds / steps.timed))
        groups = len(steps.rates)
        values += [(f"learning_rate/{k}" if groups > 1 else "learning_rate", r) for k, r in enumerate(steps.rates)]
        yield from ((tag, value, steps.last) for tag, value in values if value is not None)
    overflows = 0
    for steps in run.steps:
        overflows += steps.overflows
        if steps.overflows:
            yield "overflows", float(overflows), steps.last
    for name, points in run.metrics.items():
        yield from ((f"metrics/{name}", value, step) for step, value in points)


def _described(run: Run) -> str:
    """A Markdown table of the facts."""
    rows = [*((name, value or "yes") for name, value in run.facts.items() if name != "schema"), ("ended", run.ended)]
    return "\n".join(["| | |", "|---|---|", *(f"| {_cell(name)} | {_cell(value)} |" for name, value in rows)])


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
