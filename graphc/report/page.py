"""The page: data, style and script in one file, under a policy that lets it load and run nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from graphc.errors import RecordError
from graphc.files import write_atomic
from graphc.report.runs import Run, read_run

#: As many as there are colours.
MOST = 8
#: The greatest number that is drawn; its inverse is the least.
_MOST = 1e300


def write_report(records: Sequence[Path], page: Path) -> Path:
    """Write a page about one run or several, for comparison. Returns its path.

    records: files as docs/report.md describes them, at most 8. page: the HTML file; it appears complete or not at all. Raises
    RecordError for a file that is none, or too many, and OSError.
    """
    if not 1 <= len(records) <= MOST:
        raise RecordError(f"a page shows 1 to {MOST} runs, not {len(records)}")
    runs = [read_run(path) for path in records]
    for index, run in enumerate(runs):
        same = sum(other.name == run.name for other in runs[:index])
        run.name += f" ({same + 1})" if same else ""
    return write_atomic(page, page_of(runs).encode())


def page_of(runs: Sequence[Run]) -> str:
    """The page as HTML."""
    room = files("graphc.report")
    style, script = ((room / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    # In a script element only "<" can end it.
    data = json.dumps({"runs": [_data(run) for run in runs]}, allow_nan=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    title = html.escape(", ".join(run.name for run in runs))
    body = (room / "page.html").read_text(encoding="utf-8")
    parts = {"policy": policy, "style": style, "script": script, "data": data, "title": title, "runs": _table(runs)}
    # Cut before anything is put in: names may hold what looks like a place.
    pieces = body.split("@")
    pieces[1::2] = [parts[name] for name in pieces[1::2]]
    return "".join(pieces)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# ---- what is in it


def _clean(value: float | None) -> float | None:
    """As many digits as can be seen, in a range that a chart can compute with; JSON has no NaN and no infinity."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{max(-_MOST, min(value, _MOST)):.7g}") if abs(value) > 1 / _MOST else 0.0


def _data(run: Run) -> dict[str, Any]:
    steps = run.steps
    groups = max((len(s.rates) for s in steps), default=0)
    return {
        "name": run.name,
        "width": run.width,
        "first": [s.first for s in steps],
        "last": [s.last for s in steps],
        "loss": [_clean(s.loss / s.losses) if s.losses else None for s in steps],
        "least": [_clean(s.least) for s in steps],
        "most": [_clean(s.most) for s in steps],
        "nans": [s.nans for s in steps],
        "infinities": [s.infinities for s in steps],
        "overflows": [s.overflows for s in steps],
        "scale": [_clean(s.scale) for s in steps],
        "rates": [[_clean(s.rates[g]) if g < len(s.rates) else None for s in steps] for g in range(groups)],
        "seconds": [_clean(s.seconds / s.timed) if s.timed else None for s in steps],
        "memory": [_clean(s.memory) for s in steps],
        "metrics": {n: [[at for at, _ in p], [_clean(v) for _, v in p]] for n, p in run.metrics.items()},
    }


def _table(runs: Sequence[Run]) -> str:
    """The runs in numbers, which are there without the script, too."""
    rows = []
    for index, run in enumerate(runs):
        facts = [html.escape(f"{k.replace('_', ' ')} {v}".strip()) for k, v in run.facts.items() if k != "schema"]
        notes = "".join(f'<p class="note">{html.escape(text)}</p>' for text in run.notes)
        cells = "".join(f'<td data-label="{label}">{html.escape(value)}</td>' for label, value in _figures(run))
        about = f'<p class="facts">{" · ".join(facts)}</p>' if facts else ""
        rows.append(
            f'<tr><th scope="row"><span class="swatch c{index}"></span><span class="name">{html.escape(run.name)}</span>'
            f"{about}{notes}</th>{cells}</tr>"
        )
    heads = "".join(f'<th scope="col">{label}</th>' for label, _ in _figures(runs[0]))
    return f'<table><thead><tr><th scope="col">Run</th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _figures(run: Run) -> list[tuple[str, str]]:
    """What a row of the table shows, by its column."""
    steps = run.steps
    losses = [s for s in steps if s.losses]
    timed = sorted(s.seconds / s.timed for s in steps if s.timed)
    memory = max((s.memory for s in steps if s.memory is not None), default=None)
    scales = [s.scale for s in steps if s.scale is not None]
    return [
        ("Steps", f"{steps[-1].last:,}" if steps else "0"),
        ("Epochs", f"{run.epoch:,}"),
        ("Last loss", f"{losses[-1].loss / losses[-1].losses:.4g}" if losses else "none"),
        ("Least loss", f"{min(s.least for s in losses):.4g}" if losses else "none"),
        ("Not finite", f"{sum(s.nans + s.infinities for s in steps):,}"),
        ("Overflows", f"{sum(s.overflows for s in steps):,}"),
        ("Loss scale", f"{scales[-1]:,.6g}" if scales else "none"),
        ("Step time", _seconds(timed[len(timed) // 2]) if timed else "not recorded"),
        ("Peak memory", _bytes(memory) if memory is not None else "not recorded"),
        ("End", run.ended),
    ]


def _seconds(value: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.2g} µs"


def _bytes(value: float) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"
