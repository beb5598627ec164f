"""Writes a loop kernel as vector IR: a nest of loops with constant bounds, accumulators in registers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from graphc_codegen.dtypes import HALVES, ITEMSIZE, MEMORY, REGISTER
from graphc_codegen.loops.along_rows import emit_along_rows, piece_of
from graphc_codegen.loops.by_rows import Split, by_rows
from graphc_codegen.loops.check import check
from graphc_codegen.loops.folds import Folds
from graphc_codegen.loops.nest import Line, Nest, plan
from graphc_codegen.program import Instr, LoopKernel, Output
from graphc_codegen.scalars import halves, operations
from graphc_codegen.scalars.arithmetic import Operand
from graphc_codegen.scalars.conversion import cast
from graphc_codegen.writer import Writer, vec

#: Turns of a loop for which it pays to see who is free.
_LARGE = 1 << 16
#: Elements of a result that a thread should write before those of another thread follow: some cache lines.
_OWN = 256
#: Elements that the second cache does not hold beside others; bytes of a line of it.
_FAR, _LINE = 1 << 16, 64


def emit(writer: Writer, kernel: LoopKernel, pointers: Sequence[str]) -> None:
    """Write the body of `kernel`; `pointers` are the SSA names of its operands' addresses, inputs first.

    Raises CodegenError when the kernel is not well formed.
    """
    check(kernel)
    sizes = list(zip(kernel.domain, kernel.reduced, strict=True))
    if any(n == 0 and not reduced for n, reduced in sizes):
        return
    if any(n == 0 for n, _ in sizes):
        _store_neutral(writer, kernel, pointers)
        return
    split = by_rows(kernel, writer.threads) if writer.divides else None
    if split is not None:
        _emit_split(writer, kernel, split, pointers)
    else:
        _emit_nest(writer, kernel, pointers)


def _emit_nest(w: Writer, kernel: LoopKernel, pointers: Sequence[str]) -> None:
    nest = plan(kernel, w.lanes)
    if piece := piece_of(w, kernel, nest):
        emit_along_rows(w, kernel, nest, pointers, piece, partial(_emit_nest, w))
    elif nest.sizes:
        _Emission(w, kernel, nest, pointers).run()
    else:
        w.by_one(_Emission(w, kernel, nest, pointers).run)


def _emit_split(w: Writer, kernel: LoopKernel, split: Split, pointers: Sequence[str]) -> None:
    inputs, first = len(kernel.inputs), list(pointers)
    for each in split.sums:
        first[inputs + each.output] = w.at(w.scratch(0), each.place)
    _emit_nest(w, split.first, first)
    w.meet()
    for each in split.sums:
        _emit_nest(w, each.kernel, [first[inputs + each.output], pointers[inputs + each.output]])


def _store_neutral(writer: Writer, kernel: LoopKernel, pointers: Sequence[str]) -> None:
    """A reduction over nothing stores the neutral elements; outputs that are not reduced have no elements."""
    folded = [k for k, o in enumerate(kernel.outputs) if o.reduce is not None]
    body: list[Instr] = []
    outputs: list[Output] = []
    for k in folded:
        access = kernel.outputs[k].access
        outputs.append(Output(access, len(body)))
        value = operations.neutral(kernel.outputs[k].reduce or "", access.dtype)
        body.append(Instr("const", (), access.dtype, value * kernel.outputs[k].scale))
    domain = tuple(1 if reduced else n for n, reduced in zip(kernel.domain, kernel.reduced, strict=True))
    stores = LoopKernel(domain, (False,) * len(domain), (), tuple(body), tuple(outputs))
    emit(writer, stores, [pointers[len(kernel.inputs) + k] for k in folded])


_Slots = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Point:
    """A place inside the nest: addresses of the operands there, and the values computed so far.

    `slots` are the vectors handled side by side: offset from the place in elements, number of active lanes.
    A value has one name per slot, or a single one when it is the same in all of them.
    """

    pointers: tuple[str, ...]
    indices: dict[int, str | int]
    values: dict[int, tuple[str, ...]]
    slots: _Slots


_Accumulators = list[str]
_Turn = Callable[["_Point", _Accumulators], _Accumulators]


def _divided(nest: Nest, w: Writer) -> int | None:
    """The loop whose turns the threads share: the outermost one with enough of them, so that they write to cache lines of their
    own. Kept ones, if there are any.
    """
    if not w.divides or not nest.sizes:
        return None

    def parts(level: int) -> int:
        return nest.sizes[level] // (w.lanes * nest.unroll) if level == nest.vector else nest.sizes[level]

    def together(level: int) -> int:
        """Elements of a result that a thread writes before those of another one follow."""
        return min((abs(line.strides[level]) for line in nest.outputs), default=0) * (nest.sizes[level] // w.threads)

    levels = range(nest.kept or len(nest.sizes))
    enough = [k for k in levels if parts(k) >= 4 * w.threads or (parts(k) and parts(k) % w.threads == 0)]
    if not nest.kept:
        return next(iter(enough), max(levels, key=parts))
    apart = [k for k in enough if together(k) >= _OWN]
    return next(iter(apart), max(enough, key=together, default=max(levels, key=parts)))


class _Emission:
    def __init__(self, w: Writer, kernel: LoopKernel, nest: Nest, pointers: Sequence[str]) -> None:
        self.w, self.kernel, self.nest = w, kernel, nest
        self.lines: tuple[Line, ...] = (*nest.inputs, *nest.outputs)
        self.dtypes = [a.dtype for a in kernel.inputs] + [o.access.dtype for o in kernel.outputs]
        self.first_output = len(kernel.inputs)
        self.stored = [k for k, o in enumerate(kernel.outputs) if o.reduce is None]
        self.folded = [k for k, o in enumerate(kernel.outputs) if o.reduce is not None]
        self.divided = _divided(nest, w)
        self.hand_out = math.prod(kernel.domain) >= _LARGE
        self.start = tuple(
            w.at(p, line.offset, MEMORY[t]) for p, line, t in zip(pointers, self.lines, self.dtypes, strict=True)
        )

    def run(self) -> None:
        indices: dict[int, str | int] = {i: line.offset for i, line in self.nest.iotas.items()}
        active = 1 if self.nest.vector is None else self.w.lanes
        self._kept(0, self._enter(_Point(self.start, indices, {}, ((0, active),)), 0))

    # ---- the nest

    def _kept(self, level: int, point: _Point) -> None:
        def kept_turn(place: _Point, accumulators: _Accumulators) -> _Accumulators:
            self._kept(level + 1, place)
            return accumulators

        if level == self.nest.kept:
            self._reduce_all(point)
        elif level == self.nest.vector:
            self._vectors(level, point, Folds(self.w, self.nest, (), len(point.slots)), [], kept_turn)
        elif level == self.divided:
            size, step = self.nest.sizes[level], partial(self._step, point, level)
            self.w.share(size, lambda i: self._kept(level + 1, step(i)), hand_out=self.hand_out)
        else:
            self.w.repeat(self.nest.sizes[level], lambda i: self._kept(level + 1, self._step(point, level, i)))

    def _reduce_all(self, point: _Point) -> None:
        """Everything inside the kept loops: the reduced loops, then the stores of their results."""
        folds = Folds(self.w, self.nest, tuple(self.kernel.outputs[k] for k in self.folded), len(point.slots))
        results = folds.gathered(self._reduced(self.nest.kept, point, folds, folds.start()))
        if self.nest.kept or self.divided is None:
            for n, values in enumerate(results):
                self._store_folded(point, folds, n, values)
        elif self.folded:
            self._combine(point, folds, [value for (value,) in results])

    def _combine(self, point: _Point, folds: Folds, parts: Sequence[str]) -> None:
        """Bring together what the threads have folded; the order is that of the threads, so results are reproducible."""
        w = self.w
        mine = w.scratch("%thread")
        for n, value in enumerate(parts):
            t = REGISTER[folds.dtype(n)]
            element = w.op(f"extractelement {vec(t, w.lanes)} {value}, i64 0")
            stored = w.op(f"zext i1 {element} to i8") if t == "i1" else element
            w.store(stored, w.at(mine, 8 * n, "i8"), "i8" if t == "i1" else t)
        w.meet()
        w.by_one(lambda: self._combine_all(point, folds))

    def _combine_all(self, point: _Point, folds: Folds) -> None:
        w = self.w
        for n, o in enumerate(folds.outputs):
            t, total = REGISTER[folds.dtype(n)], ""
            for thread in range(w.threads):
                value = w.load(w.at(w.scratch(thread), 8 * n, "i8"), "i8" if t == "i1" else t)
                value = w.splat(w.op(f"trunc i8 {value} to i1") if t == "i1" else value, t)
                total = operations.combine(w, o.reduce or "", total, value, folds.dtype(n)) if total else value
            self._store_folded(point, folds, n, [total])

    def _store_folded(self, point: _Point, folds: Folds, n: int, values: Sequence[str]) -> None:
        for slot, value in enumerate(values):
            self._store(self.first_output + self.folded[n], point, slot, folds.finished(n, value))

    def _reduced(self, level: int, point: _Point, folds: Folds, accumulators: _Accumulators) -> _Accumulators:
        nest = self.nest
        if level == len(nest.sizes):
            return self._bottom(point, folds, accumulators, 0)
        if level == nest.vector:
            return self._vectors(level, point, folds, accumulators, lambda p, a: self._bottom(p, folds, a, 0))
        if level < len(nest.sizes) - 1:

            def turn(i: str | int, a: _Accumulators) -> _Accumulators:
                return self._reduced(level + 1, self._step(point, level, i), folds, a)

            bounds = self.w.shared_range(nest.sizes[level]) if level == self.divided else (0, nest.sizes[level])
            return folds.loop(level, bounds, accumulators, turn)
        chains = folds.chains

        def side_by_side(i: str | int, a: _Accumulators, count: int) -> _Accumulators:
            for c in range(count):
                a = self._bottom(self._step(point, level, self.w.add(i, c)), folds, a, c * len(point.slots))
            return a

        whole = nest.sizes[level] // chains * chains
        rest = nest.sizes[level] - whole
        accumulators = folds.loop(level, (0, whole), accumulators, lambda i, a: side_by_side(i, a, chains), step=chains)
        return folds.once(level, accumulators, lambda a: side_by_side(whole, a, rest)) if rest else accumulators

    def _vectors(
        self, level: int, point: _Point, folds: Folds, accumulators: _Accumulators, turn: _Turn
    ) -> _Accumulators:
        """Walk the vectorised axis: groups of full vectors, then the remaining ones with a masked tail."""
        w, size = self.w, self.nest.sizes[level]
        group = w.lanes * self.nest.unroll
        whole = size // group * group
        full = tuple((w.lanes * u, w.lanes) for u in range(self.nest.unroll))
        rest = tuple((k, min(w.lanes, size - whole - k)) for k in range(0, size - whole, w.lanes))
        shared = level == self.divided

        ahead = self._ahead(level)

        def one(i: str | int, a: _Accumulators) -> _Accumulators:
            here = self._step(point, level, w.mul(i, group) if shared else i, full)
            self._fetch(here, ahead, group)
            return turn(here, a)

        def tail(a: _Accumulators) -> _Accumulators:
            return folds.once(level, a, lambda b: turn(self._step(point, level, whole, rest), b))

        if not shared:
            accumulators = folds.loop(level, (0, whole), accumulators, one, step=group)
            return tail(accumulators) if rest else accumulators

        def alone(i: str | int) -> None:
            one(i, [])

        if not accumulators:
            w.share(whole // group, alone, hand_out=self.hand_out)
        elif whole:
            accumulators = folds.loop(level, w.shared_range(whole // group), accumulators, one)
        if not rest:
            return accumulators
        # The first thread has the tail. From the thread's number to 1: one turn in the first thread, none in others.
        return w.turns(("%thread", 1), lambda _, a: tail(a), folds.carried(level, accumulators))

    def _ahead(self, level: int) -> list[tuple[int, int]]:
        """What a turn of the vectorised loop asks for: the lines that the next turn of the loop around a sum will read in its
        place, as operands with their distances. What is read in short runs far apart no processor fetches ahead by itself.
        """
        nest = self.nest
        if not nest.kept < level or math.prod(self.kernel.domain) < _FAR:
            return []
        return [
            (k, line.strides[level - 1])
            for k, line in enumerate(self.lines)
            if line.strides[level] == 1 and abs(line.strides[level - 1]) > nest.sizes[level] >= self.w.lanes
        ]

    def _fetch(self, point: _Point, ahead: Sequence[tuple[int, int]], count: int) -> None:
        """Ask for the lines of so many elements of operands, so far from where they are read here."""
        w = self.w
        for k, distance in ahead:
            t = MEMORY[self.dtypes[k]]
            for first in range(0, count, _LINE // ITEMSIZE[self.dtypes[k]]):
                # Not `inbounds`: the last turns name addresses beyond the array, which a prefetch never faults on.
                line = w.at(point.pointers[k], distance + first, t, inside=False)
                w.call_void("llvm.prefetch.p0", [("ptr", line), ("i32", "0"), ("i32", "3"), ("i32", "1")])

    def _step(self, point: _Point, level: int, i: str | int, slots: _Slots | None = None) -> _Point:
        """The place at index `i` of a loop, with the values that belong there."""
        moved = tuple(
            self.w.at(p, self.w.mul(i, line.strides[level]), MEMORY[t])
            for p, line, t in zip(point.pointers, self.lines, self.dtypes, strict=True)
        )
        indices = {
            k: self.w.add(index, self.w.mul(i, self.nest.iotas[k].strides[level])) for k, index in point.indices.items()
        }
        return self._enter(_Point(moved, indices, point.values, slots or point.slots), level + 1)

    def _bottom(self, point: _Point, folds: Folds, accumulators: _Accumulators, first: int) -> _Accumulators:
        """The innermost place: store the unreduced outputs, fold the others into accumulators `first`, ..."""
        outputs = self.kernel.outputs
        for k in self.stored:
            for slot in range(len(point.slots)):
                self._store(self.first_output + k, point, slot, self._value(point, outputs[k].value, slot))
        result = list(accumulators)
        for n, k in enumerate(self.folded):
            for slot, (_, active) in enumerate(point.slots):
                folds.fold(result, (n, first + slot), self._value(point, outputs[k].value, slot), active)
        return result

    # ---- values

    def _enter(self, point: _Point, depth: int) -> _Point:
        """Compute the values whose place is inside exactly `depth` loops."""
        values = dict(point.values)
        here = replace(point, values=values)
        for i, d in self.nest.depth.items():
            if d != depth:
                continue
            count = len(point.slots) if i in self.nest.varies else 1
            values[i] = tuple(self._compute(here, i, slot) for slot in range(count))
        return here

    def _value(self, point: _Point, i: int, slot: int) -> str:
        return point.values[i][slot if i in self.nest.varies else 0]

    def _compute(self, point: _Point, i: int, slot: int) -> str:
        instr = self.kernel.body[i]
        if instr.op == "input":
            return self._load(int(instr.imm or 0), point, slot)
        if instr.op == "const":
            return self.w.constant(halves.number(instr.imm, instr.dtype), REGISTER[instr.dtype])
        if instr.op == "iota":
            return self._iota(i, point, slot)
        args = []
        for a in instr.args:
            source = self.kernel.body[a]
            number = halves.number(source.imm, source.dtype) if source.op == "const" else None
            args.append(Operand(self._value(point, a, slot), source.dtype, number))
        return operations.emit(self.w, instr.op, args, instr.dtype)

    def _iota(self, i: int, point: _Point, slot: int) -> str:
        w, dtype = self.w, self.kernel.body[i].dtype
        step = self.nest.step(self.nest.iotas[i])
        wide = dtype == "int64" or max(self.kernel.domain) >= 2**31
        t = "i64" if wide else "i32"
        base = w.add(point.indices[i], point.slots[slot][0] * step)
        if not wide and isinstance(base, str):
            base = w.op(f"trunc i64 {base} to i32")
        vector = w.constant(base, t) if isinstance(base, int) else w.splat(base, t)
        if step:
            lanes = ", ".join(f"{t} {lane * step}" for lane in range(w.lanes))
            vector = w.binary("add", vector, f"<{lanes}>", t)
        return cast(w, vector, "int64" if wide else "int32", dtype)

    # ---- memory

    def _load(self, operand: int, point: _Point, slot: int) -> str:
        w, dtype = self.w, self.dtypes[operand]
        t = MEMORY[dtype]
        pointer, step = point.pointers[operand], self.nest.step(self.lines[operand])
        offset, active = point.slots[slot]
        if step == 0:
            value = w.splat(w.load(pointer, t), t)
        elif step == 1:
            value = w.vload(w.at(pointer, offset, t), active, t)
        elif step == -1:
            value = w.vload(w.at(pointer, -offset - active + 1, t), active, t)
            value = w.shuffle(value, "poison", [max(active - 1 - lane, 0) for lane in range(w.lanes)], t)
        elif step == 2 and 2 * active > w.lanes:
            # Two vectors, the second of which ends with the last element.
            second = 2 * active - 1 - w.lanes
            pair = [w.vload(w.at(pointer, 2 * offset + k, t), type=t) for k in (0, second)]
            picked = [k if k < w.lanes else w.lanes + k - second for k in range(0, 2 * active, 2)]
            value = w.shuffle(pair[0], pair[1], [*picked, *[None] * (w.lanes - active)], t)
        else:
            value = "zeroinitializer"
            for lane in range(active):
                element = w.load(w.at(pointer, (offset + lane) * step, t), t)
                value = w.op(f"insertelement {vec(t, w.lanes)} {value}, {t} {element}, i64 {lane}")
        if dtype in HALVES:
            return halves.widen(w, value, dtype)
        return w.binary("icmp ne", value, "zeroinitializer", t) if dtype == "bool" else value

    def _store(self, operand: int, point: _Point, slot: int, value: str) -> None:
        w, dtype = self.w, self.dtypes[operand]
        t = MEMORY[dtype]
        if dtype == "bool":
            value = w.convert("zext", value, "i1", t)
        elif dtype in HALVES:
            value = halves.narrow(w, value, dtype)
        pointer, step = point.pointers[operand], self.nest.step(self.lines[operand])
        offset, active = point.slots[slot]
        if step == 1:
            w.vstore(value, w.at(pointer, offset, t), active, t)
            return
        for lane in range(active if step else 1):
            element = w.op(f"extractelement {vec(t, w.lanes)} {value}, i64 {lane}")
            w.store(element, w.at(pointer, (offset + lane) * step, t), t)
