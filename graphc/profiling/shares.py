"""Whose the time of a step is: kernels exactly, Cells and ops by estimate where one kernel computes nodes of several."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from graphc.errors import ArgumentValueError
from graphc.inspect.document import CallRow, NodeRow, Profile, Record

#: Estimated nanoseconds of a multiply-add in a product or convolution, and of an element of any other result: by these the time
#: of a kernel is divided among its nodes. Only their ratio matters.
_PRODUCT, _ELEMENT = 0.02, 0.1


@dataclass
class Share:
    """The time of a Cell, an op or a kernel in milliseconds per run.

    ms         in all; `estimated` of it is a share of kernels that compute something of others, too
    regions    by region of the step
    calls      how many calls have to do with it, and how many `nodes`
    flops      floating point operations per run, None where they are not known; `bytes` read and written
    threads    milliseconds in which each thread worked
    """

    ms: float = 0.0
    estimated: float = 0.0
    regions: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: int = 0
    nodes: set[int] = field(default_factory=set)
    flops: float | None = 0.0
    bytes: float = 0.0
    threads: list[float] = field(default_factory=list)
    example: CallRow | None = None

    @property
    def gflops(self) -> float | None:
        """Operations per nanosecond."""
        return self.flops / self.ms / 1e6 if self.flops and self.ms else None

    @property
    def gbs(self) -> float | None:
        """Bytes per nanosecond."""
        return self.bytes / self.ms / 1e6 if self.bytes and self.ms else None


def profile_of(record: Record) -> Profile:
    """The profile of a record. Raises ArgumentValueError if nobody has measured it."""
    if record.profile is None:
        raise ArgumentValueError(
            f"the record of {record.name} has no times", help="step.profile(*inputs) or graphc profile measures them"
        )
    return record.profile


def call_ms(record: Record) -> dict[int, float]:
    """Milliseconds of each call: those of the thread that worked longest."""
    return {row.call: max(row.ms, default=0.0) for row in profile_of(record).calls}


def by_kernel(record: Record) -> dict[str, Share]:
    """By symbol, exactly."""
    found: dict[str, Share] = {}
    for row in profile_of(record).calls:
        call = record.calls[row.call]
        share = found.setdefault(call.kernel, Share(threads=[0.0] * len(row.ms), example=call))
        share.ms += max(row.ms, default=0.0)
        share.calls += 1
        share.nodes |= set(call.nodes)
        share.threads = [a + b for a, b in zip(share.threads, row.ms, strict=True)]
        # Of a call in a branch, or a loop, as often as it ran.
        share.bytes += call.bytes * row.count
        share.flops = None if share.flops is None or call.flops is None else share.flops + call.flops * row.count
    return found


def by_op(record: Record) -> dict[str, Share]:
    """By op."""
    return _divided(record, lambda node: node.op)


def by_cell(record: Record) -> dict[str, Share]:
    """By Cell path, without the Cells inside."""
    paths = [cell.path for cell in record.cells]
    return _divided(record, lambda node: paths[node.cell])


def inclusive(shares: Mapping[str, Share]) -> dict[str, Share]:
    """Shares of Cells with all that is inside, for every path and those above it; "" is the whole step."""
    found: dict[str, Share] = defaultdict(Share)
    for path, own in shares.items():
        parts = path.split(".") if path else []
        for k in range(len(parts) + 1):
            total = found[".".join(parts[:k])]
            total.ms += own.ms
            total.estimated += own.estimated
            total.calls += own.calls
            total.nodes |= own.nodes
            for region, ms in own.regions.items():
                total.regions[region] += ms
    return dict(found)


def _divided(record: Record, of: Callable[[NodeRow], str]) -> dict[str, Share]:
    nodes = {n.id: n for n in record.nodes}
    types = {f"%{n.id}{f'#{k}' if k else ''}": t for n in record.nodes for k, t in enumerate(n.types)}
    found: dict[str, Share] = defaultdict(Share)
    for index, ms in call_ms(record).items():
        own = [nodes[id] for id in record.calls[index].nodes]
        weights = [work_of(n, types) for n in own]
        whole = sum(weights)
        keys = {of(n) for n in own}
        for node, weight in zip(own, weights, strict=True):
            part = ms * (weight / whole if whole else 1 / len(own))
            share = found[of(node)]
            share.ms += part
            share.estimated += part if len(keys) > 1 else 0.0
            share.regions[node.region] += part
            share.nodes.add(node.id)
        for key in keys:
            found[key].calls += 1
        if not own:
            found[""].ms += ms
    return dict(found)


def work_of(node: NodeRow, types: Mapping[str, str]) -> float:
    """What a node costs, roughly: nanoseconds on one core with wide vectors. `types` of all values, as the text has them."""
    results = [_shape(t) for t in node.types]
    first, second = ([*(_shape(types.get(v, "")) for v in node.inputs[:2]), (), ()])[:2]
    sizes = sum(map(math.prod, results))
    if node.op in ("MatMul", "BatchMatMul") and results and len(first) > 1:
        # Rows or columns of the first operand that are summed over: what the result does not have of it.
        summed = math.prod(first) // max(math.prod(first[:-2]) * _kept(first, results[0]), 1)
        return _PRODUCT * sizes * summed
    if node.op in _CONVOLUTIONS and results:
        result, weight = {"Conv2DBackpropInput": (first, second), "Conv2DBackpropFilter": (first, results[0])}.get(
            node.op, (results[0], second)
        )
        return _PRODUCT * math.prod(result) * math.prod(weight[1:])
    return _ELEMENT * max(sizes, math.prod(first), math.prod(second))


_CONVOLUTIONS = ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")


def _kept(first: tuple[int, ...], result: tuple[int, ...]) -> int:
    """Of a product's first operand the size that its result has, too."""
    rows = result[-2] if len(result) > 1 else 1
    return rows if rows in first[-2:] else first[-2]


def _shape(type: str) -> tuple[int, ...]:
    return tuple(int(d) for d in type.partition("[")[2].removesuffix("]").split(",") if d)
