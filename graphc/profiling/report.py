"""A profile as text for people, as plain data, and as a trace for Chrome and Perfetto."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphc.inspect.document import CallRow, Profile, Record, document
from graphc.inspect.flow import shown
from graphc.inspect.layout import cut, table
from graphc.profiling.shares import Share, by_cell, by_kernel, by_op, inclusive, profile_of

#: Rows of a table that are shown, and the share of the step below which a Cell is not.
_ROWS, _LEAST = 15, 0.01
_REGIONS = ("forward", "backward", "overflow", "optimizer")


def profile_text(record: Record, *, width: int | None = None, rows: int = _ROWS) -> str:
    """Time by Cell, op and kernel; at most so many rows of each. A `~` marks an estimate."""
    profile = profile_of(record)
    kernels, ops, cells = by_kernel(record), by_op(record), inclusive(by_cell(record))
    total = sum(share.ms for share in kernels.values()) or 1.0
    lines = [*_head(record, profile, total), ""]
    lines += _cells(record, cells, total, rows, width)
    lines += ["", *_ops(ops, total, rows, width), "", *_kernels(record, profile, kernels, total, rows, width)]
    if any(share.estimated for share in (*ops.values(), *cells.values())):
        lines += ["", "~ an estimate: a kernel that computes nodes of several is divided among them by their work"]
    return "\n".join(lines)


def _head(record: Record, profile: Profile, total: float) -> list[str]:
    waited = sum(row.waited[0] for row in profile.calls if row.waited)
    threads = record.target.threads
    more = profile.counted_ms / profile.step_ms - 1 if profile.step_ms else 0.0
    lines = [
        f"{shown(record.name)}: {profile.step_ms:.3f} ms a step, the median of {profile.runs} runs"
        f" on {threads} thread{'s' if threads > 1 else ''}",
        f"kernels take {total:.3f} ms"
        + (f", the first thread waits {waited:.3f} ms for others" if threads > 1 else ""),
        f"counted in a build that takes {abs(more):.1%} {'more' if more >= 0 else 'less'};"
        f" its calls account for {profile.covered:.1%} of it",
    ]
    if profile.gflops is not None and profile.gbs is not None:
        lines.append(f"this machine's peak: {profile.gflops:.1f} GFLOP/s (float32), {profile.gbs:.1f} GB/s from memory")
    return lines


def _cells(record: Record, cells: Mapping[str, Share], total: float, most: int, width: int | None) -> list[str]:
    classes = {cell.path: cell.class_ for cell in record.cells}
    rows = []
    for path in _opened(cells, total, most):
        share, depth = cells[path], path.count(".") + 1 if path else 0
        name = "  " * depth + (shown(path.rpartition(".")[2]) if path else shown(record.name))
        rows.append(
            [
                f"{name} ({classes[path]})" if classes.get(path) and path else name,
                *(_ms(share.regions[r]) if share.regions.get(r) else "" for r in _REGIONS),
                _marked(share),
                f"{share.ms / total:.1%}",
            ]
        )
    return table(["Cell, with those inside", *_REGIONS, "ms", "share"], rows, width=width)


def _opened(cells: Mapping[str, Share], total: float, most: int) -> list[str]:
    """The Cells to show, in the order of the tree: the largest is opened again and again."""
    children: dict[str, list[str]] = {}
    for path in cells:
        if path:
            children.setdefault(path.rpartition(".")[0], []).append(path)
    shown_cells, closed = {""}, [""]
    while closed:
        path = max(closed, key=lambda p: cells[p].ms)
        closed.remove(path)
        inside = [p for p in children.get(path, ()) if cells[p].ms >= _LEAST * total]
        if len(shown_cells) + len(inside) > 2 * most:
            break
        shown_cells |= set(inside)
        closed += inside
    order: list[str] = []

    def follow(path: str) -> None:
        order.append(path)
        for inner in children.get(path, ()):
            if inner in shown_cells:
                follow(inner)

    follow("")
    return order


def _ops(ops: Mapping[str, Share], total: float, most: int, width: int | None) -> list[str]:
    ranked = sorted(ops.items(), key=lambda item: -item[1].ms)
    rows = [[op or "-", str(len(s.nodes)), str(s.calls), _marked(s), f"{s.ms / total:.1%}"] for op, s in ranked[:most]]
    return [*table(["op", "nodes", "calls", "ms", "share"], rows, width=width), *_left(ranked, most, total)]


def _kernels(
    record: Record, profile: Profile, kernels: Mapping[str, Share], total: float, most: int, width: int | None
) -> list[str]:
    ranked = sorted(kernels.items(), key=lambda item: -item[1].ms)
    rows = []
    for symbol, s in ranked[:most]:
        rows.append(
            [
                symbol,
                str(s.calls),
                _ms(s.ms),
                f"{s.ms / total:.1%}",
                _figure(s.gflops),
                _of_peak(s.gflops, profile.gflops),
                _figure(s.gbs),
                _of_peak(s.gbs, profile.gbs),
                _what(record, s.example),
            ]
        )
    head = ["kernel", "calls", "ms", "share", "GFLOP/s", "of peak", "GB/s", "of peak", "computes"]
    return [*table(head, rows, left=(0, len(head) - 1), width=width), *_left(ranked, most, total)]


def _left(ranked: list[tuple[str, Share]], most: int, total: float) -> list[str]:
    left = ranked[most:]
    ms = sum(s.ms for _, s in left)
    return [f"and {len(left)} more, {ms:.3f} ms ({ms / total:.1%})"] if left else []


def _what(record: Record, call: CallRow | None) -> str:
    """The ops of a call, and the Cell of its first node."""
    if call is None or not call.nodes:
        return ""
    nodes = {n.id: n for n in record.nodes}
    ops = list(dict.fromkeys(nodes[id].op for id in call.nodes))
    path = record.cells[nodes[call.nodes[0]].cell].path
    return f"{' '.join(ops[:4])}{' ...' if len(ops) > 4 else ''}{f' in {shown(path)}' if path else ''}"


def _ms(ms: float) -> str:
    return f"{ms:.3f}"


def _marked(share: Share) -> str:
    return f"{'~' if share.estimated > 0.005 * share.ms else ''}{share.ms:.3f}"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _of_peak(value: float | None, peak: float | None) -> str:
    return "" if value is None or not peak else f"{value / peak:.0%}"


# ---- as data


def profile_json(record: Record) -> dict[str, Any]:
    """The same figures as plain data, without rounding."""
    profile_of(record)
    sections = record.to_document()
    shares = {
        "cells": [{"cell": path, **_share(s)} for path, s in by_cell(record).items()],
        "ops": [{"op": op, **_share(s)} for op, s in by_op(record).items()],
        "kernels": [
            {
                "kernel": symbol,
                "family": s.example.family if s.example else "",
                "calls": s.calls,
                "ms": s.ms,
                "threads_ms": s.threads,
                "flops": s.flops,
                "bytes": s.bytes,
                "gflops": s.gflops,
                "gbs": s.gbs,
                "nodes": sorted(s.nodes),
            }
            for symbol, s in by_kernel(record).items()
        ],
    }
    return document(name=record.name, target=sections["target"], profile=sections["profile"], shares=shares)


def _share(share: Share) -> dict[str, Any]:
    return {
        "ms": share.ms,
        "estimated_ms": share.estimated,
        "regions": dict(share.regions),
        "calls": share.calls,
        "nodes": sorted(share.nodes),
    }


def chrome_trace(record: Record) -> dict[str, Any]:
    """One run as a trace in the format of Chrome's tracing, which Perfetto reads, too: a track per thread, microseconds."""
    profile = profile_of(record)
    nodes = {n.id: n for n in record.nodes}
    counts = {row.call: row.count for row in profile.calls}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": f"{record.name} (graphc)"}},
        *(
            {"ph": "M", "name": "thread_name", "pid": 0, "tid": t, "args": {"name": f"thread {t}"}}
            for t in range(record.target.threads)
        ),
    ]
    for slice in profile.timeline:
        call = record.calls[slice.call]
        own = [nodes[id] for id in call.nodes]
        where = record.cells[own[0].cell].path if own else ""
        args = {
            "kernel": call.kernel,
            "nodes": " ".join(f"%{n.id}" for n in own),
            "cell": where,
            "line of step.py": call.line,
            "flops": call.flops,
            "bytes": call.bytes,
            "times": counts.get(slice.call),
            "branch": " ".join(f"{arm} of %{id}" for id, arm in call.branch),
        }
        at = {"pid": 0, "tid": slice.thread, "ph": "X"}
        if slice.waited:
            events.append(
                at
                | {"name": "wait for other threads", "cat": "wait", "ts": slice.start * 1e3, "dur": slice.waited * 1e3}
            )
        name = cut(" ".join(dict.fromkeys(n.op for n in own)) or call.family, 80)
        events.append(
            at
            | {
                "name": name,
                "cat": own[0].region if own else "step",
                "ts": (slice.start + slice.waited) * 1e3,
                "dur": slice.ms * 1e3,
                "args": args,
            }
        )
    return {"traceEvents": events, "displayTimeUnit": "ms"}
