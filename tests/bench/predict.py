"""Data-parallel training on 2 to 1,024 ranks, from what a few of them were measured to need:

    python tests/bench/predict.py --alpha 40e-6 --beta 0.8e-9 --step 21e-3 --bytes 3.3e6 [--network FILE.json]

The network is the usual two numbers: a message of n bytes takes alpha + n beta seconds, whoever sends at the same time, and a
rank sends and receives one message at a time. An allreduce of n bytes over p ranks is one of

ring          2 (p - 1) messages of n / p bytes, around
doubling      a tree: log2 p times all of it, with partners at distance 1, 2, 4, ...
halving       a tree: as many times half of what is left, added up, and the same way back (Rabenseifner)
hierarchical  ranks of one node add up and share slices by a ring, slices are reduced across nodes by the best of the others

Trees over a number of ranks that is no power of two have the surplus give their data away first and get the result at the end.
Ranks of one node share its link to the others: who sends there at the same time has a part of it. Adding up costs `gamma`
seconds a byte. Buckets are reduced one after the other, each as soon as it is ready (`step_time`); an update follows the last.
Nothing is known here of congestion, of stragglers, nor of the processor time that sending takes.

Sources: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH" (2005); Patarasuk, Yuan,
"Bandwidth optimal all-reduce algorithms for clusters of workstations" (2009).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Link(NamedTuple):
    """Seconds for a message, seconds for each byte of it, and for each byte that is added up."""

    alpha: float
    beta: float
    gamma: float = 0.0


class Cluster(NamedTuple):
    """`per_node` ranks on each node, which have `local` among themselves, and share `across` to other nodes."""

    across: Link
    local: Link = Link(1e-6, 1e-10)
    per_node: int = 1


def ring(p: int, n: float, cluster: Cluster) -> float:
    """Each step is as slow as its slowest link; only one rank of a node sends to another node."""
    if p == 1:
        return 0.0
    link = cluster.across if p > cluster.per_node else cluster.local
    return 2 * (p - 1) * (link.alpha + n / p * link.beta) + (p - 1) / p * n * link.gamma


def doubling(p: int, n: float, cluster: Cluster) -> float:
    """All n bytes at each distance."""
    return _tree(p, cluster, lambda k: (n, n), lambda k: 0.0, n)


def halving(p: int, n: float, cluster: Cluster) -> float:
    """Half of what is left at each distance, and back."""
    return _tree(p, cluster, lambda k: (n / 2 ** (k + 1), n / 2 ** (k + 1)), lambda k: n / 2 ** (k + 1), n)


def _tree(
    p: int, cluster: Cluster, there: Callable[[int], tuple[float, float]], back: Callable[[int], float], n: float
) -> float:
    """Exchanges at distance 1, 2, 4, ...: `there` gives the bytes sent and added up at step k, `back` those of the way back."""
    levels = p.bit_length() - 1
    total = 0.0
    for k in range(levels):
        link = _link_at(1 << k, cluster)
        sent, added = there(k)
        total += link.alpha + sent * link.beta + added * link.gamma
        if returned := back(k):
            total += link.alpha + returned * link.beta
    if p > 1 << levels:
        link = _link_at(1, cluster)
        total += 2 * (link.alpha + n * link.beta) + n * link.gamma
    return total


def _link_at(distance: int, cluster: Cluster) -> Link:
    """What a rank has to the one at this distance, when all others of its node talk that far, too."""
    if distance < cluster.per_node:
        return cluster.local
    return cluster.across._replace(beta=cluster.across.beta * cluster.per_node)


def hierarchical(p: int, n: float, cluster: Cluster) -> float:
    """Reduce-scatter within nodes, allreduce of each slice across them, all-gather within nodes."""
    g = min(cluster.per_node, p)
    nodes = math.ceil(p / g)
    within = (g - 1) * (2 * cluster.local.alpha + n / g * (2 * cluster.local.beta + cluster.local.gamma))
    # All ranks of a node have a slice on the way at the same time.
    shared = Cluster(cluster.across._replace(beta=cluster.across.beta * g))
    return within + min(f(nodes, n / g, shared) for f in (ring, doubling, halving))


ALGORITHMS: dict[str, Callable[[int, float, Cluster], float]] = {
    "ring": ring,
    "doubling": doubling,
    "halving": halving,
    "hierarchical": hierarchical,
}
#: What MPI's own flat allreduce chooses from.
FLAT = ("ring", "doubling", "halving")


def best(p: int, n: float, cluster: Cluster, among: Sequence[str] = FLAT) -> tuple[float, str]:
    """The seconds of the fastest algorithm, and its name."""
    return min((ALGORITHMS[name](p, n, cluster), name) for name in among)


class Step(NamedTuple):
    """A training step of one rank without reductions: seconds until each bucket is ready, and its bytes; of the whole step.

    `begins` is when the update begins, which needs all buckets; `overlaps` is whether a reduction goes on while the rank
    computes, or only while it waits.
    """

    seconds: float
    begins: float
    buckets: tuple[tuple[float, float], ...]
    overlaps: bool = True


def step_time(step: Step, reduction: Callable[[float], float]) -> float:
    """Seconds of the step with these reductions, given as a function of bytes."""
    free = 0.0
    for ready, size in step.buckets:
        free = max(free, ready if step.overlaps else step.begins) + reduction(size)
    return step.seconds + max(0.0, free - step.begins)


def weak_efficiency(step: Step, p: int, cluster: Cluster, algorithm: str) -> float:
    """The share of its time that a rank computes, when each of p ranks has the same rows as before."""
    return step.seconds / step_time(step, lambda n: ALGORITHMS[algorithm](p, n, cluster))


def strong_speedup(step: Step, p: int, cluster: Cluster, algorithm: str) -> float:
    """How many times faster p ranks are than one with the same global batch; the update is not divided."""
    smaller = Step(
        step.begins / p + step.seconds - step.begins,
        step.begins / p,
        tuple((ready / p, size) for ready, size in step.buckets),
        step.overlaps,
    )
    return step.seconds / step_time(smaller, lambda n: ALGORITHMS[algorithm](p, n, cluster))


def fit(sizes: Sequence[float], seconds: Sequence[float], messages: int = 1, share: float = 1.0) -> Link:
    """alpha and beta of seconds = messages alpha + share n beta, the sum of squares of relative errors the least; none below 0.

    For an allreduce of two ranks by doubling, messages and share are 1.
    """
    # The equations are divided by their right sides.
    a = [messages / t for t in seconds]
    b = [share * n / t for n, t in zip(sizes, seconds, strict=True)]
    aa, ab, bb = (sum(x * y for x, y in zip(u, v, strict=True)) for u, v in ((a, a), (a, b), (b, b)))
    determinant = aa * bb - ab * ab
    alpha, beta = (sum(a) * bb - sum(b) * ab) / determinant, (sum(b) * aa - sum(a) * ab) / determinant
    if alpha < 0:
        return Link(0.0, sum(b) / bb)
    return Link(sum(a) / aa, 0.0) if beta < 0 else Link(alpha, beta)


def measured_step(facts: Mapping[str, Any], seconds: float, overlaps: bool = True) -> Step:
    """A step of so many seconds without reductions, whose buckets get ready as `network.py` has measured it: shares of them."""
    buckets = tuple((share * seconds, size) for share, size in facts["buckets"])
    return Step(seconds, facts["begins"] * seconds, buckets, overlaps)


# ---- tables

COUNTS = tuple(1 << k for k in range(1, 11))
SHOWN = (2, 4, 16, 64, 256, 1024)
Algorithms = Mapping[str, tuple[str, Cluster]]


def algorithms(across: Link, local: Link, per_node: int) -> Algorithms:
    """What is compared, by title: flat ones between nodes of one rank each, and where nodes have several."""
    one, several = Cluster(across), Cluster(across, local, per_node)
    flat = {name: (name, one) for name in FLAT}
    return flat | {
        f"{name}, {per_node} a node": (name, several) for name in ("halving", "hierarchical") if per_node > 1
    }


def scaling_table(step: Step, ways: Algorithms) -> list[str]:
    """Of some numbers of ranks and every algorithm: the reductions of a step, and the weak efficiency."""
    lines = [f"| ranks: ms (efficiency) | {' | '.join(ways)} |", "|---:|" + "---:|" * len(ways)]
    for p in SHOWN:
        cells = []
        for name, cluster in ways.values():
            total = sum(ALGORITHMS[name](p, size, cluster) for _, size in step.buckets)
            cells.append(f"{total * 1e3:.3g} ({weak_efficiency(step, p, cluster, name):.2f})")
        lines.append(f"| {p:,} | {' | '.join(cells)} |")
    return lines


def verdict(step: Step, ways: Algorithms) -> list[str]:
    """Where each way stops and why."""
    lines = []
    for title, (name, cluster) in ways.items():
        weak = {p: weak_efficiency(step, p, cluster, name) for p in COUNTS}
        strong = {p: strong_speedup(step, p, cluster, name) for p in COUNTS}
        peak = max(COUNTS, key=lambda p: strong[p])
        below = next((p for p in COUNTS if weak[p] < 0.5), None)
        free = cluster._replace(across=cluster.across._replace(alpha=0.0), local=cluster.local._replace(alpha=0.0))
        last = below or COUNTS[-1]
        total, of_bytes = (sum(ALGORITHMS[name](last, n, c) for _, n in step.buckets) for c in (cluster, free))
        why = f"{of_bytes / total:.0%} of the reductions' time there is bytes, the rest messages" if total else ""
        lines.append(
            f"- {title}: with the same batch on each rank "
            + (
                f"less than half of the time is computing from {below:,} ranks on"
                if below
                else "computing is most, to 1,024"
            )
            + f" ({why}); with the same global batch "
            + (
                f"{strong[peak]:.1f} times as fast as one rank at most, by {peak:,}."
                if strong[peak] > 1
                else "one rank is best."
            )
        )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--alpha", type=float, default=50e-6, help="seconds a message, across nodes (default %(default)s)"
    )
    parser.add_argument("--beta", type=float, default=8e-10, help="seconds a byte, across nodes (default %(default)s)")
    parser.add_argument("--local-alpha", type=float, default=1e-6, help="the same within a node (default %(default)s)")
    parser.add_argument("--local-beta", type=float, default=3e-10, help="the same within a node (default %(default)s)")
    parser.add_argument("--per-node", type=int, default=16, help="ranks of a node (default %(default)s)")
    parser.add_argument("--step", type=float, default=21e-3, help="seconds of a rank's step (default %(default)s)")
    parser.add_argument("--update", type=float, default=1e-3, help="of these, of the update (default %(default)s)")
    parser.add_argument("--bytes", type=float, default=3.3e6, help="of all gradients (default %(default)s)")
    parser.add_argument(
        "--buckets", type=int, default=1, help="of one size, over the backward part (default %(default)s)"
    )
    parser.add_argument("--no-overlap", action="store_true", help="reductions go on only while a rank waits")
    parser.add_argument("--network", help="alpha, beta and steps from what network.py has written with --json")
    args = parser.parse_args()
    if args.network:
        print("\n".join(predictions(json.loads(Path(args.network).read_text()), args.per_node)))
        return 0
    ways = algorithms(Link(args.alpha, args.beta), Link(args.local_alpha, args.local_beta), args.per_node)
    step = even_step(args.step, args.update, args.bytes, args.buckets, not args.no_overlap)
    print("\n".join([*scaling_table(step, ways), "", *verdict(step, ways)]))
    return 0


def even_step(seconds: float, update: float, size: float, buckets: int, overlaps: bool) -> Step:
    """Forward a third of what is not the update; then buckets of one size get ready one by one until the update begins."""
    begins = seconds - update
    first = begins / 3
    ready = [first + (begins - first) * (k + 1) / buckets for k in range(buckets)]
    return Step(seconds, begins, tuple((r, size / buckets) for r in ready), overlaps)


def predictions(network: Mapping[str, Any], per_node: int = 16) -> list[str]:
    """Tables for every rate and workload of what `network.py` has measured."""
    lines: list[str] = []
    local = Link(*network["local"])
    for name, entry in network["rates"].items():
        for workload, facts in entry["2"]["steps"].items() if "link" in entry else ():
            # Elsewhere each rank has a CPU of its own.
            step, ways = measured_step(facts, facts["processor"]), algorithms(Link(*entry["link"]), local, per_node)
            lines += [
                "",
                f"**Predicted: {name}, {workload}**",
                "",
                *scaling_table(step, ways),
                "",
                *verdict(step, ways),
            ]
    return lines


if __name__ == "__main__":
    sys.exit(main())
