"""Chooses the loop nest of a kernel: which axes remain, in which order, and which one is vectorised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from graphc_codegen.program import LoopKernel
from graphc_codegen.scalars.table import SCALAR_OPS

#: Elements as many apart are as good as woven from vectors: those of stride 2 are, LLVM does it for some of the others.
_WOVEN = (2, 3, 4)
#: Elements that the nearest cache does not hold beside others.
_NEAR = 1 << 12


@dataclass(frozen=True, slots=True)
class Line:
    """A number that depends on the loop indices: `offset + sum(index[i] * strides[i])`."""

    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Nest:
    """The loops from outside to inside: `kept` loops of the result first, then the reduced ones.

    `vector` is the vectorised loop, normally the last kept or the last reduced one; None without loops.
    `depth[i]` says how many loops stand around instruction i (only instructions that an output needs),
    `varies` which of them differ between the lanes. `unroll` is the number of vectors per turn of the
    vectorised loop.
    """

    sizes: tuple[int, ...]
    kept: int
    vector: int | None
    inputs: tuple[Line, ...]
    outputs: tuple[Line, ...]
    iotas: dict[int, Line]
    depth: dict[int, int]
    varies: frozenset[int]
    unroll: int

    def step(self, line: Line) -> int:
        """The line's stride from lane to lane."""
        return 0 if self.vector is None else line.strides[self.vector]


@dataclass(slots=True)
class _Axis:
    size: int
    reduced: bool
    strides: list[int]  # of every line


def plan(kernel: LoopKernel, lanes: int) -> Nest:
    """Normalise a kernel with a non-empty domain."""
    live = _live(kernel)
    accesses = kernel.accesses()
    offsets = [a.offset for a in accesses]
    strides = [a.strides for a in accesses]
    iotas = [i for i in live if kernel.body[i].op == "iota"]
    for i in iotas:
        offsets.append(0)
        strides.append(tuple(int(axis == kernel.body[i].imm) for axis in range(len(kernel.domain))))
    axes = [_Axis(n, kernel.reduced[k], [s[k] for s in strides]) for k, n in enumerate(kernel.domain) if n != 1]
    _flip(axes, offsets)
    axes = _collapse(sorted(axes, key=lambda a: -sum(map(abs, a.strides))))
    weight = sum(SCALAR_OPS[kernel.body[i].op].weight for i in live)
    vector = min(axes, key=lambda a: (_cost(kernel, axes, a, lanes, weight), _scatters(kernel, a)), default=None)
    inner = _inside(axes, vector, lanes) or _read_again(kernel, axes, vector)
    between = _of_one_line(axes, vector, inner, lanes)
    order = [a for a in axes if not a.reduced and a is not vector and a is not inner and a is not between]
    order += [a for a in (vector, between, inner) if a is not None and not a.reduced]
    kept = len(order)
    order += [a for a in axes if a.reduced and a is not vector]
    order += [a for a in axes if a is vector and a.reduced]
    position = next((k for k, a in enumerate(order) if a is vector), None)
    lines = [Line(tuple(a.strides[k] for a in order), offset) for k, offset in enumerate(offsets)]
    inputs, outputs = lines[: len(kernel.inputs)], lines[len(kernel.inputs) : len(accesses)]
    lines_of_iotas = dict(zip(iotas, lines[len(accesses) :], strict=True))
    depth, varies = _depths(kernel, live, inputs, lines_of_iotas, position)
    scattered = position is not None and (
        any(line.strides[position] not in (0, 1, 2) for line in (*inputs, *lines_of_iotas.values()))
        or any(line.strides[position] not in (0, 1) for line in outputs)
    )
    unroll = 1 if scattered else 2 if weight > 12 else 4
    if (
        unroll == 4
        and position is not None
        and position < kept < len(order)
        and _takes_more(kernel, order[position], lanes)
    ):
        unroll = 8
    return Nest(
        tuple(a.size for a in order),
        kept,
        position,
        tuple(inputs),
        tuple(outputs),
        lines_of_iotas,
        depth,
        varies,
        unroll,
    )


def _takes_more(kernel: LoopKernel, axis: _Axis, lanes: int) -> bool:
    """Whether sums over rows may take 8 vectors of each at a time, so that more of a row is read at once.

    There must be registers for them, and turns for all threads.
    """
    turns, sums = axis.size // (8 * lanes), sum(o.reduce is not None for o in kernel.outputs)
    shared = kernel.threads == 1 or turns >= 4 * kernel.threads or (turns > 0 and turns % kernel.threads == 0)
    return 8 * sums <= lanes and shared


def _live(kernel: LoopKernel) -> list[int]:
    """Positions of the instructions that some output needs, in order."""
    needed = {o.value for o in kernel.outputs}
    for i in range(len(kernel.body) - 1, -1, -1):
        if i in needed:
            needed.update(kernel.body[i].args)
    return sorted(needed)


def _flip(axes: Sequence[_Axis], offsets: list[int]) -> None:
    """Walk an axis backwards when nobody walks it forwards."""
    for axis in axes:
        if max(axis.strides, default=0) <= 0 and min(axis.strides, default=0) < 0:
            for k, s in enumerate(axis.strides):
                offsets[k] += (axis.size - 1) * s
                axis.strides[k] = -s


def _collapse(axes: Sequence[_Axis]) -> list[_Axis]:
    """Merge neighbours that every line walks as one axis."""
    merged: list[_Axis] = []
    for axis in axes:
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.reduced == axis.reduced
            and all(a == axis.size * b for a, b in zip(last.strides, axis.strides, strict=True))
        ):
            merged[-1] = _Axis(last.size * axis.size, axis.reduced, axis.strides)
        else:
            merged.append(axis)
    return merged


def _cost(kernel: LoopKernel, axes: Sequence[_Axis], axis: _Axis, lanes: int, weight: int) -> float:
    """Estimated work per element when `axis` is vectorised."""

    def touch(stride: int) -> float:
        """Lanes that lie apart are touched one by one, as many as there are."""
        return {0: 0.25, 1: 1.0, -1: 1.5}.get(stride, float(min(lanes, axis.size)))

    def read(stride: int) -> float:
        """Every second element comes from two vectors, every fourth from four."""
        return 2.0 * stride - 1.0 if stride in _WOVEN and axis.size >= lanes else touch(stride)

    per_vector = math.ceil(axis.size / lanes) / axis.size
    reduced = math.prod(a.size for a in axes if a.reduced)
    work = float(weight) + sum(read(s) for s in axis.strides[: len(kernel.inputs)])
    rare = 0.0
    for k, output in enumerate(kernel.outputs):
        stride = axis.strides[len(kernel.inputs) + k]
        if output.reduce is None:
            work += touch(stride)
        elif axis.reduced:
            rare += 14.0 / reduced
        else:
            rare += touch(stride) * per_vector / reduced
    return work * per_vector + rare


def _scatters(kernel: LoopKernel, axis: _Axis) -> bool:
    """Whether lanes along the axis are written apart, which takes a transposition a third longer than to read them so."""
    return any(abs(s) > 1 for s in axis.strides[len(kernel.inputs) : len(kernel.inputs) + len(kernel.outputs)])


def _inside(axes: Sequence[_Axis], vector: _Axis | None, lanes: int) -> _Axis | None:
    """The loop to put inside the vectorised one, if any.

    In a transposition the lanes of a vector come from as many cache lines; walking along these lines next
    finds them in the cache (512 x 512: 0.42 instead of 2.6 ns per element).
    """
    if vector is None or vector.reduced:
        return None
    for axis in axes:
        if axis is not vector and not axis.reduced and (axis.size >= 4 or _of_one_line(axes, vector, axis, lanes)):
            pairs = zip(axis.strides, vector.strides, strict=True)
            if any(abs(along) == 1 and abs(across) > 1 for along, across in pairs):
                return axis
    return None


def _of_one_line(axes: Sequence[_Axis], vector: _Axis | None, inner: _Axis | None, lanes: int) -> _Axis | None:
    """The loop to put between the two of a transposition whose inner one is shorter than a line, if any: the one that goes on
    along these lines, so that they are whole before they leave the cache.
    """
    if vector is None or inner is None or inner.size >= lanes:
        return None
    for axis in axes:
        if axis is not vector and axis is not inner and not axis.reduced:
            triples = zip(axis.strides, inner.strides, vector.strides, strict=True)
            if any(one == 1 and along == inner.size < abs(across) for along, one, across in triples):
                return axis
    return None


def _read_again(kernel: LoopKernel, axes: Sequence[_Axis], vector: _Axis | None) -> _Axis | None:
    """The loop to put inside the vectorised one of a reduction of all pairs, if any.

    For every turn of it the same lines are read. If they are more than the nearest cache holds, those of some vectors are
    read for all turns before the next ones are.
    """
    reduced = math.prod(a.size for a in axes if a.reduced)
    if vector is None or vector.reduced or vector.size * reduced < _NEAR:
        return None
    inputs, outputs = range(len(kernel.inputs)), range(len(kernel.inputs), len(kernel.accesses()))
    for axis in axes:
        if axis is vector or axis.reduced or any(abs(vector.strides[k]) != 1 or not axis.strides[k] for k in outputs):
            continue
        pairs = [(axis.strides[k], vector.strides[k]) for k in inputs]
        if any(not mine and abs(across) == 1 for mine, across in pairs) and not any(a and b for a, b in pairs):
            return axis
    return None


def _depths(
    kernel: LoopKernel,
    live: Sequence[int],
    inputs: Sequence[Line],
    iotas: dict[int, Line],
    vector: int | None,
) -> tuple[dict[int, int], frozenset[int]]:
    """How deep every instruction stands in the nest, and which ones differ between lanes."""
    depth: dict[int, int] = {}
    varies: set[int] = set()
    for i in live:
        instr = kernel.body[i]
        line = iotas.get(i)
        if instr.op == "input":
            line = inputs[int(instr.imm or 0)]
        used = [k for k, s in enumerate(line.strides) if s] if line is not None else []
        depth[i] = max([0, *(k + 1 for k in used), *(depth[a] for a in instr.args)])
        if vector in used or any(a in varies for a in instr.args):
            varies.add(i)
    return depth, frozenset(varies)
