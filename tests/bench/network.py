"""Several hosts on this machine: what a network costs graphc's ranks. As root, on Linux:

    python tests/bench/network.py [--quick] [--write] [--json FILE]

A host is a network namespace with one interface, a veth pair to a bridge in a namespace of its own; both ends of each pair let
through `--rates` Gbit/s (tc's tbf; 0: as much as they can). mpiexec runs in the first host and starts ranks in the others by `ip
netns exec`. Both graphc and MPICH are told to use TCP alone: they would find the memory
that all share. Everything made is removed again.

For 2 and 4 hosts, and each rate, are measured

sweep     an allreduce of 8 bytes to 4 MiB in graphc's communicator, the least of many; alpha and beta of `predict.py` are
          fitted to that of two
steps     a workload's step, the same without reductions (quiet), and its reductions alone (blocking), as in `ranks.py`

and compared with what predict.py says from alpha, beta and quiet. Hosts share this machine's CPUs: the more there are, the
longer the same step takes on each, which `quiet` has in it, and the kernel's TCP takes its part of them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jobs
import predict
from processes import LeftOut
from ranks import PAGE, busy, milliseconds, slowest, steps_in, write
from report import machine_name, table
from workloads import WORKLOADS

SIZES = (*(8 << k for k in range(0, 20, 3)), 4 << 20)
HOSTS, NAMES = (2, 4), ("resnet20", "gpt")
#: Neither graphc's, nor MPICH's own shared memory between ranks of one machine, nor UCX's.
TCP_ALONE = {"GRAPHC_SHARED_MEMORY": "0", "MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"}
#: Bytes of a frame. tbf lets each go by a timer of its own, which takes the CPUs that compute: with frames of 1500 bytes at
#: 1 Gbit/s nearly all of them, and what goes on while messages are under way cannot be seen.
FRAME = 9000
#: Bytes that may leave at once, for each Gbit/s.
BURST = 2 * FRAME


class Network:
    """So many hosts, `rate` Gbit/s each way; a context. RuntimeError with what `ip` or `tc` says where one may not be made."""

    def __init__(self, hosts: int, rate: float) -> None:
        self._hosts, self._rate = hosts, rate
        self._prefix = f"bench{os.getpid()}"
        self._made: list[str] = []
        self._folder = tempfile.TemporaryDirectory()

    def __enter__(self) -> Network:
        try:
            switch = self._namespace("switch")
            self._run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
            self._run("ip", "-n", switch, "link", "set", "bridge", "up")
            for number in range(1, self._hosts + 1):
                self._host(number, switch)
        except BaseException:
            self.__exit__()
            raise
        launcher = Path(self._folder.name) / "launch"
        # What mpiexec calls like ssh: options, host, command.
        launcher.write_text(
            '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nhost=$1; shift\n'
            f'exec ip netns exec {self._prefix}-"${{host##*.}}" sh -c "$*"\n'
        )
        launcher.chmod(0o755)
        return self

    def __exit__(self, *error: object) -> None:
        for name in reversed(self._made):
            subprocess.run(["ip", "netns", "del", name], check=False)
        self._made.clear()
        self._folder.cleanup()

    def _namespace(self, name: str) -> str:
        name = f"{self._prefix}-{name}"
        self._run("ip", "netns", "add", name)
        self._made.append(name)
        return name

    def _host(self, number: int, switch: str) -> None:
        host, port = self._namespace(str(number)), f"port{number}"
        self._run("ip", "link", "add", "net", "netns", host, "type", "veth", "peer", "name", port, "netns", switch)
        self._run("ip", "-n", host, "addr", "add", f"10.77.0.{number}/24", "dev", "net")
        self._run("ip", "-n", switch, "link", "set", port, "master", "bridge")
        for namespace, device in ((host, "net"), (switch, port)):
            self._run("ip", "-n", namespace, "link", "set", device, "mtu", str(FRAME))
        for namespace, device in ((host, "lo"), (host, "net"), (switch, port)):
            self._run("ip", "-n", namespace, "link", "set", device, "up")
        if self._rate:
            for namespace, device in ((host, "net"), (switch, port)):
                limits = (
                    "rate",
                    f"{self._rate:g}gbit",
                    "burst",
                    f"{max(1.0, self._rate) * BURST:.0f}",
                    "latency",
                    "50ms",
                )
                self._run("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf", *limits)

    def _run(self, *command: str) -> None:
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", "") or error
            raise RuntimeError(f"{' '.join(command)}: {str(said).strip()}") from None

    def job(self, workload: str, ranks: int, cache: str, limit: float) -> jobs.Job:
        """A rank on each of the first hosts."""
        addresses = ",".join(f"10.77.0.{k}" for k in range(1, ranks + 1))
        start = jobs.mpiexec(sys.executable, ranks)
        where = ["-launcher", "ssh", "-launcher-exec", f"{self._folder.name}/launch", "-hosts", addresses]
        command = ["ip", "netns", "exec", f"{self._prefix}-1", start[0], *where, *start[1:]]
        script = [sys.executable, jobs.SCRIPT, "graphc", workload, str(ranks), "together"]
        return jobs.Job([([*command, *script], TCP_ALONE)], ranks, cache, limit)


def main() -> int:
    args = _parser().parse_args()
    measured: dict[str, Any] = {"load": os.getloadavg()[0], "rates": {}}
    with tempfile.TemporaryDirectory() as scratch:
        measured["local"] = predict.fit(SIZES, _local_sweep(scratch, args))
        for rate in args.rates:
            name = f"{rate:g} Gbit/s" if rate else "no limit"
            entry = measured["rates"].setdefault(name, {})
            for hosts in HOSTS:
                try:
                    with Network(hosts, rate) as network:
                        entry[str(hosts)] = _measure(network, hosts, scratch, args)
                except (LeftOut, RuntimeError) as reason:
                    print(f"{hosts} hosts, {name} left out: {reason}", file=sys.stderr)
            if "2" in entry:
                entry["link"] = predict.fit(SIZES, entry["2"]["sweep"])
    lines = report(measured)
    print("\n".join(lines))
    if args.json:
        Path(args.json).write_text(json.dumps(measured, indent=1))
    if args.write:
        write(PAGE, "network bench", lines)
    return 0 if all({"2", "4"} <= set(entry) for entry in measured["rates"].values()) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", type=lambda text: [float(t) for t in text.split(",")], default=[1.0, 10.0])
    parser.add_argument(
        "--workloads", default=",".join(NAMES), help="some of mlp, lenet256, resnet20, gpt (%(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="turns of each measurement (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.4, help="of timed steps per turn (default %(default)s)")
    parser.add_argument("--limit", type=float, default=90, help="seconds for one answer (default %(default)s)")
    parser.add_argument("--quick", action=Quick, nargs=0, help="the gpt's steps alone, 2 rounds")
    parser.add_argument("--json", help="write every number here, for predict.py --network")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/parallel.md")
    return parser


class Quick(argparse.Action):
    """Sets what `--quick` stands for."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.workloads, namespace.rounds, namespace.seconds = "gpt", 2, 0.2


def _local_sweep(scratch: str, args: argparse.Namespace) -> list[float]:
    """That of two ranks which share this machine's memory."""
    job = jobs.together("graphc", sys.executable, "mlp_small", 2, scratch, args.limit)
    try:
        job.answers()
        return list(job.ask(sweep=SIZES, turns=6 * args.rounds)[0]["sweep"])
    finally:
        job.close()


def _measure(network: Network, hosts: int, scratch: str, args: argparse.Namespace) -> dict[str, Any]:
    """The sweep, and of every workload the seconds of its steps, medians."""
    found: dict[str, Any] = {"steps": {}}
    for workload in args.workloads.split(","):
        job = network.job(workload, hosts, scratch, args.limit)
        try:
            first = job.answers()
            steps = steps_in(args.seconds, slowest(first, "step"))
            times: dict[str, list[float]] = {"step": [], "quiet": [], "blocking": []}
            processor: list[float] = []
            for _ in range(args.rounds):
                times["step"].append(slowest(job.ask(steps=steps), "step"))
                quiet = job.ask(steps=steps, reductions=False)
                times["quiet"].append(slowest(quiet, "step"))
                processor.append(slowest(quiet, "processor"))
                times["blocking"].append(slowest(job.ask(blocking=5), "blocking"))
            medians = {k: statistics.median(v) for k, v in times.items()} | {"processor": min(processor)}
            found["steps"][workload] = medians | job.ask(facts=20)[0]
            if "sweep" not in found:
                found["sweep"] = job.ask(sweep=SIZES, turns=6 * args.rounds)[0]["sweep"]
        finally:
            job.close()
    return found


# ---- tables


def report(measured: dict[str, Any]) -> list[str]:
    """The lines that belong between the marks in docs/parallel.md."""
    local = predict.Link(*measured["local"])
    lines = [
        f"{machine_name()}. Load average of the machine before the run: {measured['load']:.1f}. Two ranks in one memory: "
        f"alpha {local.alpha * 1e6:.1f} µs, beta {local.beta * 1e9:.2f} ns a byte.",
        *busy(measured["load"]),
    ]
    for name, entry in measured["rates"].items():
        if "link" not in entry:
            continue
        link = predict.Link(*entry["link"])
        lines += ["", f"**{name}**: alpha {link.alpha * 1e6:.1f} µs, beta {link.beta * 1e9:.2f} ns a byte"]
        lines[-1] += f" ({8e-9 / link.beta:.2f} Gbit/s)." if link.beta else "."
        lines += ["", *sweep_table(entry, link), "", *steps_table(entry, link)]
    return lines + predict.predictions(measured)


def sweep_table(entry: dict[str, Any], link: predict.Link) -> list[str]:
    """Allreduces as measured, and as predicted by the best algorithm."""
    rows = []
    for k, size in enumerate(SIZES):
        row = [f"{size:,}"]
        for hosts in HOSTS:
            if str(hosts) in entry:
                expected, name = predict.best(hosts, size, predict.Cluster(link))
                row += [f"{entry[str(hosts)]['sweep'][k] * 1e6:.0f}", f"{expected * 1e6:.0f} ({name})"]
        rows.append(row)
    heads = [f"{hosts} hosts, {what}" for hosts in HOSTS if str(hosts) in entry for what in ("µs", "predicted")]
    return table(["bytes", *heads], rows)


def steps_table(entry: dict[str, Any], link: predict.Link) -> list[str]:
    """Steps as measured, and as predicted with reductions that go on while a rank computes, and only while it waits."""
    rows = []
    for hosts in HOSTS:
        for workload, facts in entry.get(str(hosts), {"steps": {}})["steps"].items():

            def reduction(size: float, hosts: int = hosts) -> float:
                return predict.best(hosts, size, predict.Cluster(link))[0]

            ways = [
                predict.step_time(predict.measured_step(facts, facts["quiet"], overlaps), reduction)
                for overlaps in (False, True)
            ]
            hidden = 1 - (facts["step"] - facts["quiet"]) / facts["blocking"]
            row = [f"{hosts} hosts: {WORKLOADS[workload].title}"]
            row += [milliseconds(facts[name]) for name in ("quiet", "blocking", "step")]
            rows.append([*row, f"{hidden:.0%}", *(milliseconds(seconds) for seconds in ways)])
    heads = ["ms", "quiet", "blocking", "step", "hidden", "predicted, none hidden", "predicted, overlapping"]
    return table(heads, rows)


if __name__ == "__main__":
    sys.exit(main())
