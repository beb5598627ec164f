"""Records of training runs: files of one JSON object per line, as docs/report.md describes them.

They may come from anywhere and be of any length: a line is bounded, and of steps no more is kept than a page can show.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphc.errors import RecordError

#: Bytes of a line; steps that are kept apart before neighbours are merged, an even number.
_LINE, _KEPT = 1 << 20, 1600
#: Metrics of a run, numbers of one that is a list, learning rates of a step; characters of a name.
_METRICS, _NUMBERS, _GROUPS, _NAME = 64, 8, 8, 200
#: What the first line is, in words, and how these are shown.
FACTS = (
    "network",
    "optimizer",
    "loss_fn",
    "parameters",
    "epochs",
    "steps_per_epoch",
    "sink",
    "rank",
    "ranks",
    "graphc",
)
_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass(slots=True)
class Steps:
    """Neighbouring steps: their range and number; of the losses that are numbers the sum, least and greatest, and how many others
    there were; overflows; the last loss scale and learning rates; seconds in all; the greatest memory.
    """

    first: int
    last: int
    count: int = 1
    losses: int = 0
    loss: float = 0.0
    least: float = math.inf
    most: float = -math.inf
    nans: int = 0
    infinities: int = 0
    overflows: int = 0
    scale: float | None = None
    rates: tuple[float, ...] = ()
    timed: int = 0
    seconds: float = 0.0
    memory: float | None = None

    def merge(self, later: Steps) -> None:
        """Take those behind these in."""
        self.last = later.last
        for name in ("count", "losses", "loss", "nans", "infinities", "overflows", "timed", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        self.least, self.most = min(self.least, later.least), max(self.most, later.most)
        self.scale = self.scale if later.scale is None else later.scale
        self.rates = later.rates or self.rates
        if later.memory is not None:
            self.memory = max(self.memory or 0.0, later.memory)


@dataclass(slots=True)
class Run:
    """A run: its name, what its first line says, its steps in order, neighbours merged where they are many, metrics by
    name with the steps that they were measured at, how it ended, and what could not be shown.
    """

    name: str
    facts: dict[str, str] = field(default_factory=dict)
    steps: list[Steps] = field(default_factory=list)
    metrics: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    ended: str = "has not ended"
    notes: list[str] = field(default_factory=list)
    width: int = 1
    epoch: int = 0

    def add(self, step: Steps) -> None:
        """Behind the others; neighbours are merged where there are too many."""
        if self.steps and self.steps[-1].count < self.width:
            self.steps[-1].merge(step)
            return
        if len(self.steps) == _KEPT:
            self.width *= 2
            for first, second in zip(self.steps[::2], self.steps[1::2], strict=True):
                first.merge(second)
            self.steps = self.steps[::2]
        self.steps.append(step)

    def note(self, text: str) -> None:
        """Say something once, and no more than a few things."""
        if text not in self.notes and len(self.notes) < 10:
            self.notes.append(text)


def read_run(path: Path) -> Run:
    """The run that a file records. Raises RecordError, with the number of the line, where the file is not what
    docs/report.md says, and OSError.
    """
    run = Run(_shown(f"{path.absolute().parent.name}/{path.stem}"))
    for number, text, whole in _lines(path):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            if not whole:
                run.note("The last line is cut off, as a run that was killed leaves it.")
                break
            raise _wrong(path, number, "it is no JSON") from None
        if not isinstance(line, dict):
            raise _wrong(path, number, "it is no object")
        try:
            _take(run, line, number)
        except (ValueError, OverflowError) as error:
            raise _wrong(path, number, str(error)) from None
    if not run.facts and not run.steps and not run.metrics:
        raise RecordError(f"{str(path)!r} records no run: it is empty")
    return run


def _lines(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Number and text of each line that is not blank, and whether its end is there."""
    with open(path, "rb") as file:
        number = 0
        while data := file.readline(_LINE + 1):
            number += 1
            if len(data) > _LINE:
                raise _wrong(path, number, f"it is longer than {_LINE} bytes")
            whole = data.endswith(b"\n")
            try:
                text = data.decode()
            except UnicodeDecodeError:
                if whole:
                    raise _wrong(path, number, "it is no UTF-8") from None
                text = "{"
            if text.strip():
                yield number, text, whole


def _wrong(path: Path, number: int, why: str) -> RecordError:
    return RecordError(
        f"line {number} of {str(path)!r} records nothing of a run: {why}", help="docs/report.md says what a line holds"
    )


# ---- lines


def _take(run: Run, line: dict[str, Any], number: int) -> None:
    kind = line.get("kind")
    if number == 1 and kind != "run":
        raise ValueError('the first line is of the kind "run"')
    known: dict[Any, Callable[[Run, dict[str, Any]], None]] = {
        "run": _run, "step": _step, "epoch": _epoch, "eval": _epoch, "end": _end,
    }  # fmt: skip
    if not isinstance(kind, str) or kind not in known:
        raise ValueError(f"there is no kind {_shown(repr(kind))}")
    known[kind](run, line)


def _run(run: Run, line: dict[str, Any]) -> None:
    if run.facts:
        raise ValueError("it begins a second run")
    if line.get("schema", line.get("format")) != 1:
        raise ValueError("its schema is not 1, the one that this graphc reads")
    run.name = _shown(line["name"]) if isinstance(line.get("name"), str) and line["name"] else run.name
    run.facts["schema"] = "1"
    custom = line.get("custom")
    for facts, names in ((line, FACTS), (custom if isinstance(custom, dict) else {}, None)):
        for name in names or list(facts)[:_METRICS]:
            value = facts.get(name)
            if value is True:
                run.facts[_shown(name)] = ""
            elif value is not False and isinstance(value, (str, int, float)):
                run.facts[_shown(name)] = f"{value:,}" if isinstance(value, int) else _shown(str(value))


def _step(run: Run, line: dict[str, Any]) -> None:
    number = _count(line, "step")
    if run.steps and number < run.steps[-1].last:
        raise ValueError(f"step {number} stands behind step {run.steps[-1].last}")
    step = Steps(number, number)
    loss = _number(line, "loss")
    if loss is not None:
        step.nans, step.infinities = int(math.isnan(loss)), int(math.isinf(loss))
        if math.isfinite(loss):
            step.losses, step.loss, step.least, step.most = 1, loss, loss, loss
    overflow = line.get("overflow")
    if overflow is not None and not isinstance(overflow, bool):
        raise ValueError("overflow is neither true nor false")
    step.overflows = int(overflow or False)
    step.scale, step.memory = _finite(line, "scale"), _measured(line, "memory")
    step.rates = _rates(line.get("learning_rate"))
    seconds = _measured(line, "seconds")
    if seconds is not None:
        step.timed, step.seconds = 1, seconds
    run.epoch = max(run.epoch, _count(line, "epoch") if line.get("epoch") is not None else 0)
    run.add(step)


def _epoch(run: Run, line: dict[str, Any]) -> None:
    at = _count(line, "step") if line.get("step") is not None else _count(line, "epoch")
    run.epoch = max(run.epoch, _count(line, "epoch") if line.get("epoch") is not None else 0)
    metrics = line.get("metrics") or {}
    if not isinstance(metrics, dict):
        raise ValueError("metrics is no object")
    for name, value in metrics.items():
        values = value if isinstance(value, list) else [value]
        if len(values) > _NUMBERS or any(isinstance(v, (list, dict)) for v in values):
            run.note(f"{_shown(name)} is more than {_NUMBERS} numbers, and is not drawn.")
            continue
        for index, each in enumerate(values):
            shown = _shown(name) + (f" [{index}]" if isinstance(value, list) else "")
            number = _as_number(each, f"metric {shown}")
            if shown not in run.metrics and len(run.metrics) == _METRICS:
                run.note(f"Only {_METRICS} metrics are drawn.")
            elif number is not None:
                run.metrics.setdefault(shown, []).append((at, number))
                run.metrics[shown] = _thinned(run.metrics[shown])


def _thinned(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Every other point, the last included, where there are too many."""
    return points[1::2] if len(points) >= 2 * _KEPT else points


def _end(run: Run, line: dict[str, Any]) -> None:
    reason, error = line.get("reason"), line.get("error")
    run.ended = _shown(reason) if isinstance(reason, str) else "has ended"
    if isinstance(error, str):
        run.note(f"It ended with {_shown(error)}")


# ---- values


def _shown(text: str) -> str:
    return text if len(text) <= _NAME else text[: _NAME - 3] + "..."


def _count(line: dict[str, Any], name: str) -> int:
    value = line.get(name)
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise ValueError(f"{name} is no count")
    return value


def _as_number(value: Any, name: str) -> float | None:
    """A float from a number or one of the words that stand for what JSON lacks; None for null."""
    if value is None:
        return None
    if isinstance(value, str) and value in _WORDS:
        return _WORDS[value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} is no number")
    return float(value)


def _number(line: dict[str, Any], name: str) -> float | None:
    return _as_number(line.get(name), name)


def _finite(line: dict[str, Any], name: str) -> float | None:
    value = _number(line, name)
    return value if value is not None and math.isfinite(value) else None


def _measured(line: dict[str, Any], name: str) -> float | None:
    value = _finite(line, name)
    if value is not None and value < 0:
        raise ValueError(f"{name} is less than nothing")
    return value


def _rates(value: Any) -> tuple[float, ...]:
    """The learning rates of the groups that have one; empty if one is not known."""
    rates = [_as_number(v, "learning_rate") for v in (value if isinstance(value, list) else [value])[:_GROUPS]]
    return tuple(r for r in rates if r is not None and math.isfinite(r)) if None not in rates else ()
