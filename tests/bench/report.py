"""Markdown tables of what has been measured."""

from __future__ import annotations

import os
import platform
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from workloads import WORKLOADS, untouched

#: Threads, workload, variant, peer.
Key = tuple[str, str, str, str]
Numbers = dict[str, list[float]]
#: The measurements of one table row by peer.
Row = dict[str, Numbers]

#: Losses after the same number of steps may differ by float32 rounding only.
LOSS_TOLERANCE = 2e-3
_SETTINGS = {"1": "one thread", "all": "all threads"}
_VARIANTS = {"plain": "plain", "scaled": "loss-scaled"}


@dataclass
class Results:
    """`found`: numbers by key and name, one per round or process. `facts`: what is measured of graphc alone, by name.
    `distances`: nanoseconds between processors before each round with several threads, None where that was not known.
    """

    load: float = 0.0
    rounds: int = 0
    found: dict[Key, Numbers] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    distances: list[float | None] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        names = ("threads", "workload", "variant", "peer")
        measured = [
            dict(zip(names, key, strict=True)) | dict(numbers) for key, numbers in self.found.items() if numbers
        ]
        return {
            "versions": self.versions,
            "load": self.load,
            "measured": measured,
            "facts": self.facts,
            "distances": self.distances,
            "left_out": self.left_out,
        }

    def peers(self) -> list[str]:
        """Those of which anything was measured."""
        return list(dict.fromkeys(peer for (*_, peer), numbers in self.found.items() if numbers))

    def rows(self, threads: str) -> dict[tuple[str, str], Row]:
        """What was measured with this setting, by workload and variant."""
        made: dict[tuple[str, str], Row] = {}
        for (setting, workload, variant, peer), numbers in self.found.items():
            if setting == threads and numbers:
                made.setdefault((workload, variant), {})[peer] = numbers
        return made

    def median(self, key: Key, name: str) -> float | None:
        numbers = self.found[key].get(name) if key in self.found else None
        return statistics.median(numbers) if numbers else None


def report(results: Results) -> list[str]:
    """The lines that belong between the marks in docs/performance.md."""
    lines = [
        f"{machine_name()}; medians of {results.rounds} rounds; in brackets the ratio to graphc. "
        f"Load average of the machine before the run: {results.load:.1f}.",
        f"Versions: {', '.join(results.versions.values())}.",
        *_distance_lines(results),
        *(["", *(f"- {line}" for line in results.left_out)] if results.left_out else []),
    ]
    for threads in _settings(results):
        lines += ["", *step_table(results, threads)]
        for (workload, variant), row in results.rows(threads).items():
            odd = disagreeing(row)
            if odd:
                lines += ["", f"{_title(workload, variant)}: losses differ, so not all compute the same thing: {odd}"]
    for threads in _settings(results):
        lines += _section(f"Share of the processor's peak, {_SETTINGS[threads]}", peak_table(results, threads))
    where = "".join(f", {_SETTINGS[threads]}" for threads in _settings(results)[-1:])
    lines += _section(f"The first step, one process each{where}", start_tables(results))
    lines += _section("What loss scale, overflow check and skip add to a step's kernels", scaling_table(results))
    lines += _section("Memory plan of a plain step", memory_table(results))
    lines += _section("A step that does next to nothing", dispatch_lines(results))
    return lines


def _distance_lines(results: Results) -> list[str]:
    known = sorted(d for d in results.distances if d is not None)
    if not known:
        return []
    return [
        f"Before each round with several threads a line of the cache took {known[0]:.0f} to {known[-1]:.0f} ns from one CPU to "
        f"another, in the median {statistics.median(known):.0f}."
    ]


def machine_name() -> str:
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} CPUs, {platform.system()}, Python {platform.python_version()}"


# ---- step times


def step_table(results: Results, threads: str) -> list[str]:
    """Step times of all peers, and graphc's against the best of them."""
    peers = results.peers()
    lines = []
    for (workload, variant), row in results.rows(threads).items():
        cells = [cell(row, peer, "step", 1e3, 3) for peer in peers]
        lines.append([_title(workload, variant), *cells, against_best(row), f"{WORKLOADS[workload].goal:g}"])
    return table([f"step, ms, {_SETTINGS[threads]}", *peers, "graphc / best peer", "goal"], lines)


def cell(row: Row, peer: str, name: str, factor: float, digits: int) -> str:
    """The median of a peer, and its ratio to graphc's; empty if it was not measured."""
    numbers = row.get(peer, {}).get(name)
    if not numbers:
        return ""
    value, base = statistics.median(numbers), row.get("graphc", {}).get(name)
    ratio = f" ({value / statistics.median(base):.2f})" if peer != "graphc" and base else ""
    return f"{value * factor:.{digits}f}{ratio}"


def against_best(row: Row) -> str:
    """graphc's step time as a share of the fastest peer's."""
    medians = {peer: statistics.median(numbers["step"]) for peer, numbers in row.items() if numbers.get("step")}
    own = medians.pop("graphc", None)
    if own is None or not medians:
        return ""
    best = min(medians, key=lambda peer: medians[peer])
    return f"{own / medians[best]:.2f} ({best})"


def disagreeing(row: Row) -> str:
    """The losses, if they differ by more than rounding."""
    losses = {peer: numbers["loss"][0] for peer, numbers in row.items() if numbers.get("loss")}
    spread = max(losses.values(), default=0) - min(losses.values(), default=0)
    return "" if spread <= LOSS_TOLERANCE else ", ".join(f"{p} {x:.5f}" for p, x in losses.items())


# ---- graphc against the machine


def peak_table(results: Results, threads: str) -> list[str]:
    """Operations and least memory traffic of graphc's plain step, per second and as a share of what is possible."""
    peak = results.facts.get(f"machine {threads}")
    lines = []
    for workload, facts in _of_steps(results):
        seconds = results.median((threads, workload, "plain", "graphc"), "step")
        if peak is None or seconds is None:
            continue
        rate = 2 * facts["multiply_adds"] / seconds
        # Weights and optimizer state are read and written once, of a table the rows that are used.
        moved = 2 * (facts["memory"]["params"] - untouched(workload)) + facts["memory"]["inputs"]
        lines.append(
            [
                WORKLOADS[workload].title,
                f"{facts['multiply_adds'] / 1e6:.1f}",
                f"{rate / 1e9:.1f}",
                f"{rate / peak['flops']:.0%}",
                f"{moved / 1e6:.2f}",
                f"{moved / seconds / peak['bandwidth']:.0%}",
            ]
        )
    if peak is None or not lines:
        return []
    return [
        f"Measured in the same run: {peak['flops'] / 1e9:.0f} GFLOP/s of float32 multiply-adds in registers, "
        f"{peak['bandwidth'] / 1e9:.1f} GB/s read from memory, {peak['threads']} thread(s).",
        "",
        *table(["plain step", "multiply-adds, M", "GFLOP/s", "of peak", "least traffic, MB", "of bandwidth"], lines),
    ]


def scaling_table(results: Results) -> list[str]:
    """From profiling builds: the seconds in kernels of a scaled step, against those of a plain one."""
    lines = []
    for workload, facts in _of_steps(results):
        plain, scaled = facts["plain"], facts["scaled"]
        own = facts["overflow"]
        cells = [f"{plain * 1e6:.1f}", f"{scaled * 1e6:.1f}", f"{scaled / plain - 1:+.1%}"]
        cells += [f"{own * 1e6:.2f}", f"{own / plain:.2%}"]
        lines.append([WORKLOADS[workload].title, *cells])
    head = ["plain, µs", "loss-scaled, µs", "difference", "scale, check and decide, µs", "of the plain step"]
    return table(["one thread", *head], lines)


def memory_table(results: Results) -> list[str]:
    """The arena, and the most bytes that live at one time: no arena can be smaller."""
    lines = []
    for workload, facts in _of_steps(results):
        arena, bound = facts["memory"]["arena"], facts["memory"]["lower_bound"]
        cells = [f"{arena:,}", f"{bound:,}", f"{arena / bound - 1:+.1%}"]
        lines.append([WORKLOADS[workload].title, *cells])
    return table(["", "arena, bytes", "lower bound", "above it"], lines)


def dispatch_lines(results: Results) -> list[str]:
    facts = results.facts.get("dispatch")
    if facts is None:
        return []
    return [
        f"Called from Python: {facts['python'] * 1e6:.2f} µs. "
        f"Its native entry, called from a jitted loop: {facts['native'] * 1e9:.0f} ns."
    ]


def start_tables(results: Results) -> list[str]:
    """Compilation, start and memory of all peers, a table each."""
    lines: list[str] = []
    for name, title, digits in (
        ("cold_wall", "cold compile, s", 2),
        ("start", "warm start to first step, s", 2),
        ("rss", "peak memory, MB", 0),
        ("warm_rss", "peak memory after a warm start, MB", 0),
    ):
        made = []
        for threads in _settings(results):
            for (workload, variant), row in results.rows(threads).items():
                cells = [cell(row, peer, name, 1, digits) for peer in results.peers()]
                made += [[_title(workload, variant), *cells]] if any(cells) else []
        lines += ["", *table([title, *results.peers()], made)] if made else []
    return lines[1:]


# ---- parts


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table, the first column to the left; nothing without rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}", *lines] if lines else []


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", f"**{title}**", "", *lines] if lines else []


def _settings(results: Results) -> list[str]:
    return list(dict.fromkeys(threads for threads, *_ in results.found))


def _of_steps(results: Results) -> Iterable[tuple[str, dict[str, Any]]]:
    for workload in WORKLOADS:
        if f"step {workload}" in results.facts:
            yield workload, results.facts[f"step {workload}"]


def _title(workload: str, variant: str) -> str:
    return f"{WORKLOADS[workload].title}, {_VARIANTS[variant]}"
