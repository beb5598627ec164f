"""Training steps side by side, in one command:

    python tests/bench/run.py --peers torch=PYTHON,torch-compile=PYTHON,jax=PYTHON,mindspore=PYTHON

PYTHON is an interpreter in whose environment that peer is installed; graphc runs in this one. Every peer trains in a process
of its own. The processes of one workload live side by side and are timed in turns, so that a busy moment hits everybody; a
process that waits for its turn does nothing. With `--threads 1` all are pinned to one CPU, and every library is told to use
one thread; with `all` everything is left at its default. Python may keep bytecode, whatever PYTHONDONTWRITEBYTECODE says here:
a warm start finds that of every peer.

Prints Markdown tables of medians and their ratios to graphc, and writes everything measured with --json FILE. A measurement
that fails or takes longer than --limit is left out, with a line that says why. With all peers and all workloads it takes most of
an hour on two CPUs; `--quick` with torch and JAX about five minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from processes import LeftOut, Overdue, Process, interpreters, last_cpu
from report import Key, Results, machine_name, report
from workloads import OTHERS, VARIANTS, WORKLOADS

THREADS = ("1", "all")
#: One of each family, those that compile fast everywhere.
QUICK = ("mlp", "lenet", "gpt", "lstm64", "depthwise", "dilated", "bert")


def main() -> int:
    args = _parser().parse_args()
    pythons, left_out = interpreters(args.peers)
    results = Results(load=os.getloadavg()[0], rounds=args.rounds)
    results.left_out += left_out
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(args, pythons, scratch, results)
        with contextlib.closing(bench):
            for threads in args.threads:
                bench.machine(threads)
                for workload in args.workloads:
                    for variant in args.variants:
                        bench.steps(threads, workload, variant)
        for workload in args.workloads:
            bench.facts(workload)
        bench.dispatch()
    print("\n".join(report(results)))
    if args.json:
        Path(args.json).write_text(json.dumps({"machine": machine_name(), **results.plain()}, indent=1))
    wanted = [(t, w, v, "graphc") for t in args.threads for w in args.workloads for v in args.variants]
    return 0 if all(results.found[key].get("step") for key in wanted) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default="", help="NAME=PYTHON,... of torch, torch-compile, jax, mindspore")
    for name, known in (("workloads", tuple(WORKLOADS)), ("variants", VARIANTS), ("threads", THREADS)):
        default, without = [k for k in known if k not in OTHERS], [k for k in known if k in OTHERS]
        help = f"some of {','.join(known)}" + (f"; by default all but {','.join(without)}" if without else "")
        parser.add_argument(f"--{name}", type=_names(known), default=tuple(default), help=help)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each process (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.3, help="of timed steps per turn (default %(default)s)")
    parser.add_argument("--limit", type=float, default=90, help="seconds for one measurement (default %(default)s)")
    parser.add_argument("--cpu", type=int, default=last_cpu(), help="the CPU for one thread (default %(default)s)")
    parser.add_argument("--quick", action=Quick, nargs=0, help=f"{','.join(QUICK)}, plain, one round of short turns")
    parser.add_argument("--json", help="write every number here")
    return parser


class Quick(argparse.Action):
    """Sets what `--quick` stands for; options behind it change that."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.workloads, namespace.variants, namespace.rounds, namespace.seconds = QUICK, ("plain",), 1, 0.2


def _names(known: tuple[str, ...]) -> Any:
    """Reads names separated by commas, all of them known."""

    def names(text: str) -> tuple[str, ...]:
        made = tuple(text.split(","))
        for name in made:
            if name not in known:
                raise argparse.ArgumentTypeError(f"unknown name {name!r}; known are {', '.join(known)}")
        return made

    return names


class Bench:
    """Measures into `results`. Every peer keeps its compiled code in directories under `scratch`."""

    def __init__(self, args: argparse.Namespace, pythons: dict[str, str], scratch: str, results: Results) -> None:
        self.args, self.pythons, self.scratch, self.results = args, pythons, scratch, results
        self.seen: set[tuple[str, str]] = set()
        self.overdue: set[tuple[str, str]] = set()
        self.measures: Process | None = None

    def steps(self, threads: str, workload: str, variant: str) -> None:
        """All peers on one workload: start them one after the other, then time them in turns."""
        running: dict[str, Process] = {}
        try:
            for peer in self.pythons:
                self._start((threads, workload, variant, peer), running)
            for turn in range(self.args.rounds):
                self._distance(f"threads {threads}, {workload}, {variant}, round {turn + 1}", threads)
                for peer in list(running):
                    self._turn((threads, workload, variant, peer), running)
        finally:
            for process in running.values():
                process.close()
        print(f"threads {threads}, {workload}, {variant} done", file=sys.stderr)

    def _distance(self, where: str, threads: str) -> None:
        """Print how far the processors are apart, where several are used: on virtual machines that changes."""
        if threads == "1":
            return
        if self.measures is None:
            cache = os.path.join(self.scratch, "facts")
            self.measures = Process(sys.executable, ["machine.py", "distance"], cache, None, self.args.limit)
        try:
            distance = self.measures.ask("distance")["distance"]
        except LeftOut as reason:
            self.results.left_out.append(f"{where}: distance left out: {reason}")
            self.close()
            return
        self.results.distances.append(distance)
        print(f"{where}: {'not known' if distance is None else f'{distance:.0f} ns'} apart", file=sys.stderr)

    def close(self) -> None:
        """End the process that measures distances."""
        if self.measures is not None:
            self.measures.close()
        self.measures = None

    def _start(self, key: Key, running: dict[str, Process]) -> None:
        """Start a peer. With the last number of threads asked for, by default all, its first process for a workload finds no
        compiled code; a second one then starts with that.
        """
        threads, workload, _, peer = key
        cold = threads == self.args.threads[-1] and (workload, peer) not in self.seen
        if cold:
            self.seen.add((workload, peer))
        if (workload, peer) in self.overdue:
            return
        numbers = self.results.found[key]
        try:
            running[peer] = self._process(key, "cold" if cold else "warm")
            first = running[peer].ask()
            self.results.versions[peer] = first["version"]
            numbers["loss"].append(first["loss"])
        except LeftOut as reason:
            self._left_out(key, running, reason)
            return
        if cold:
            for name in ("cold_wall", "cold_cpu", "rss"):
                numbers[name].append(first[name])
            self._warm_start(key, numbers)

    def _warm_start(self, key: Key, numbers: dict[str, list[float]]) -> None:
        threads, workload, variant, peer = key
        try:
            warm = self._process(key, "warm").ask_once()
        except LeftOut as reason:
            where = f"{workload} {variant}, threads {threads}"
            self.results.left_out.append(f"the warm start of {peer} left out for {where}: {reason}")
        else:
            numbers["start"].append(warm["start"])
            numbers["warm_rss"].append(warm["rss"])

    def _process(self, key: Key, mode: str) -> Process:
        threads, workload, variant, peer = key
        # torch compiles its headers once per directory. MindSpore's cache takes one step for another.
        parts = (threads,) if peer.startswith("torch") else (workload, variant, threads)
        cache = os.path.join(self.scratch, peer, *parts)
        arguments = ["worker.py", peer, workload, variant, mode]
        return Process(self.pythons[peer], arguments, cache, self._cpu(threads), self.args.limit)

    def _turn(self, key: Key, running: dict[str, Process]) -> None:
        try:
            answer = running[key[3]].ask(repr(self.args.seconds))
        except LeftOut as reason:
            self._left_out(key, running, reason)
        else:
            for name in ("step", "steps"):
                self.results.found[key][name].append(answer[name])

    def _left_out(self, key: Key, running: dict[str, Process], reason: LeftOut) -> None:
        """Note it. What takes too long once is not tried again with another variant or other threads."""
        threads, workload, variant, peer = key
        running.pop(peer).close()
        if isinstance(reason, Overdue):
            self.overdue.add((workload, peer))
            self.results.left_out.append(f"{peer} left out for {workload}: {reason} ({variant}, threads {threads})")
        else:
            self.results.left_out.append(f"{peer} left out for {workload} {variant}, threads {threads}: {reason}")

    # ---- of graphc alone

    def machine(self, threads: str) -> None:
        """The peaks of the processor."""
        self._fact(f"machine {threads}", ["machine.py"], self._cpu(threads))

    def facts(self, workload: str) -> None:
        """Multiply-adds, memory plan, and the seconds in kernels of a plain and of a scaled step."""
        self._fact(f"step {workload}", ["facts.py", "step", workload, repr(5 * self.args.seconds)], self.args.cpu)

    def dispatch(self) -> None:
        """What a call costs."""
        self._fact("dispatch", ["facts.py", "dispatch", repr(self.args.seconds)], self.args.cpu)

    def _fact(self, name: str, arguments: list[str], cpu: int | None) -> None:
        cache = os.path.join(self.scratch, "facts")
        try:
            self.results.facts[name] = Process(sys.executable, arguments, cache, cpu, self.args.limit).ask_once()
        except LeftOut as reason:
            self.results.left_out.append(f"{name} left out: {reason}")

    def _cpu(self, threads: str) -> int | None:
        return self.args.cpu if threads == "1" else None


if __name__ == "__main__":
    sys.exit(main())
