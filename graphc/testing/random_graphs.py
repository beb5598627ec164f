"""Random graphs whose values are small binary fractions, so that float32, float64, vectors and scalars agree exactly.

`Maker` draws its choices from a function `pick(n)` that gives a number in range(n): hypothesis or a seeded generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from graphc.ir import Data, Graph, Ids, TensorType, Value
from graphc.ops.declared.rules import broadcast_shape

T = TypeVar("T")
Pick = Callable[[int], int]
#: |value| * 2**fraction of a value in the pool stays below LIMIT, of any value below EXACT; float32 is exact to 2**24.
LIMIT = 2**19
EXACT = 2**23
SHAPES = ((), (1,), (3,), (4,), (17,), (2, 3), (3, 2), (1, 4), (4, 1), (3, 3), (2, 3, 4), (1, 1), (5, 16), (2, 1, 3))


class Range(NamedTuple):
    """What is known of a value: its largest magnitude and its bits after the binary point."""

    bound: int
    fraction: int = 0


@dataclass
class Maker:
    """Builds one graph. `pool` holds the values that later nodes may use."""

    pick: Pick
    graph: Graph
    pool: list[Value] = field(default_factory=list)
    ranges: dict[Value, Range] = field(default_factory=dict)
    versions: dict[int, Value] = field(default_factory=dict)
    depth: int = 0
    kinds: tuple[Callable[[Maker], None], ...] = ()

    # ---- choices

    def one(self, options: Sequence[T]) -> T:
        return options[self.pick(len(options))]

    def type(self, value: Value) -> TensorType:
        return self.graph.type(value)

    def some(self, *dtypes: str, rank: int | None = None, low: int = 0) -> Value | None:
        """A value of one of the dtypes (any by default), of a rank or at least of rank `low`; rather a late one."""
        fit = [
            v
            for v in self.pool
            if (not dtypes or self.type(v).dtype in dtypes)
            and (self.type(v).rank == rank if rank is not None else self.type(v).rank >= low)
        ]
        if not fit:
            return None
        chosen: Value = fit[-1 - self.pick(min(4, len(fit)))] if self.pick(2) else self.one(fit)
        return chosen

    def like(self, value: Value) -> Value:
        """A value of the same type, maybe the same one."""
        return self.one([v for v in self.pool if self.type(v) == self.type(value)])

    def beside(self, value: Value) -> Value | None:
        """A value of the same dtype that broadcasts against `value`."""
        fit = [v for v in self.pool if self.type(v).dtype == self.type(value).dtype and self._broadcasts(v, value)]
        return self.one(fit) if fit else None

    def _broadcasts(self, x: Value, y: Value) -> bool:
        a, b = self.type(x).shape, self.type(y).shape
        fits = all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))
        return fits and math.prod(broadcast_shape("", [self.type(x), self.type(y)])) <= 200

    def axes(self, rank: int) -> tuple[int, ...]:
        return tuple(i for i in range(rank) if self.pick(2))

    # ---- adding

    def add(
        self, op: str, inputs: Sequence[Value], range: Range, attrs: dict[str, Any] | None = None, **more: Any
    ) -> Value:
        """Add a node with one result; the first operand instead if the result would not be exact."""
        if range.bound << range.fraction >= EXACT:
            return inputs[0]
        node = self.graph.add(op, inputs, attrs or {}, **more)
        value = node.outputs[0]
        self.note(value, range)
        return value

    def note(self, value: Value, range: Range) -> None:
        """Make a value known, cut down to a small one if it could grow out of exactness."""
        self.ranges[value] = range
        if range.bound << range.fraction >= LIMIT:
            if range.fraction:
                value = self.graph.add("Floor", [value]).outputs[0]
            eight = self.number(8, self.type(value).dtype)
            value = self.graph.add("FloorMod", [value, eight]).outputs[0]
            self.ranges[value] = Range(8)
        self.pool.append(value)

    def number(self, x: float, dtype: str) -> Value:
        type = TensorType(dtype, ())
        data = Data(np.asarray(x, type.numpy), type=type)
        value = self.graph.add("Constant", attrs={"value": data}, types=(type,)).outputs[0]
        self.ranges[value] = Range(max(1, int(abs(x))))
        return value

    def input(self, type: TensorType, op: str = "Input", name: str = "") -> Value:
        value = self.graph.add(op, types=(type,), name=name).outputs[0]
        self.ranges[value] = Range(1 if type.dtype == "bool" else 4)
        self.pool.append(value)
        return value

    def grow(self, steps: int) -> None:
        for _ in range(steps):
            self.one(self.kinds)(self)

    # ---- kinds of nodes

    def unary(self) -> None:
        x = self.some("float32", "float64", "int32", "int64")
        if x is None:
            return
        op = self.one(("Neg", "Abs", "Sign", "Square", "ReLU", "StopGradient"))
        r = self.ranges[x]
        self.add(op, [x], Range(r.bound**2, 2 * r.fraction) if op == "Square" else r)

    def binary(self) -> None:
        x = self.some("float32", "float64", "int32", "int64")
        y = self.beside(x) if x is not None else None
        if x is None or y is None:
            return
        a, b = self.ranges[x], self.ranges[y]
        op = self.one(("Add", "Sub", "Mul", "Maximum", "Minimum"))
        made = Range(a.bound * b.bound, a.fraction + b.fraction)
        if op != "Mul":
            made = Range(a.bound + b.bound, max(a.fraction, b.fraction))
        self.add(op, self.one(([x, y], [y, x])), made)

    def compare(self) -> None:
        x = self.some("float32", "float64", "int32", "int64")
        y = self.beside(x) if x is not None else None
        if x is not None and y is not None:
            self.add(self.one(("Equal", "NotEqual", "Less", "GreaterEqual")), [x, y], Range(1))

    def logic(self) -> None:
        x = self.some("bool")
        y = self.beside(x) if x is not None else None
        if x is None or y is None:
            return
        if self.pick(3) == 0:
            self.add("LogicalNot", [x], Range(1))
        else:
            self.add(self.one(("LogicalAnd", "LogicalOr")), [x, y], Range(1))

    def select(self) -> None:
        c, x = self.some("bool"), self.some()
        y = self.beside(x) if x is not None else None
        if c is None or x is None or y is None or not (self._broadcasts(c, x) and self._broadcasts(c, y)):
            return
        a, b = self.ranges[x], self.ranges[y]
        self.add("Select", [c, x, y], Range(max(a.bound, b.bound), max(a.fraction, b.fraction)))

    def cast(self) -> None:
        x = self.some()
        if x is None:
            return
        dtype = self.one(("float32", "float64", "int32", "int64", "bool"))
        r = self.ranges[x]
        made = Range(1) if dtype == "bool" else Range(r.bound, r.fraction if dtype.startswith("float") else 0)
        self.add("Cast", [x], made, {"dtype": dtype})

    def reduce(self) -> None:
        x = self.some()
        if x is None:
            return
        t, r = self.type(x), self.ranges[x]
        axis = self.axes(t.rank)
        if any(t.shape[i] == 0 for i in axis):
            return
        count = math.prod(t.shape[i] for i in axis)
        attrs = {"axis": axis, "keep_dims": bool(self.pick(2))}
        if t.dtype == "bool":
            self.add(self.one(("ReduceAll", "ReduceAny")), [x], Range(1), attrs)
            return
        op = self.one(("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean"))
        if op == "ReduceMean":
            if t.dtype != "float32" or count & (count - 1):
                return
            self.add(op, [x], Range(r.bound, r.fraction + count.bit_length() - 1), attrs)
        else:
            self.add(op, [x], Range(r.bound * count, r.fraction) if op == "ReduceSum" else r, attrs)

    def reshape(self) -> None:
        x = self.some()
        if x is not None:
            t = self.type(x)
            options = [s for s in SHAPES if math.prod(s) == t.size] + [(t.size,), (1, *t.shape), (*t.shape, 1)]
            self.add(
                "Reshape", [x], self.ranges[x], {"shape": self.one([s for s in options if len(s) < 5] or [t.shape])}
            )

    def transpose(self) -> None:
        x = self.some(low=1)
        if x is not None:
            axes = list(range(self.type(x).rank))
            perm = tuple(axes.pop(self.pick(len(axes))) for _ in range(len(axes)))
            self.add("Transpose", [x], self.ranges[x], {"perm": perm})

    def broadcast(self) -> None:
        x, y = self.some(), self.some()
        if x is not None and y is not None and self._broadcasts(x, y):
            shape = broadcast_shape("", [self.type(x), self.type(y)])
            self.add("BroadcastTo", [x], self.ranges[x], {"shape": shape})

    def slice(self) -> None:
        x = self.some(low=1)
        if x is None:
            return
        parts = []
        for extent in self.type(x).shape:
            step = self.one((1, 1, 2, -1, -2))
            options = range(extent)[::step]
            begin = self.pick(max(1, len(options)))
            size = 1 + self.pick(len(options) - begin) if len(options) else 0
            parts.append((options[begin] if len(options) else 0, size, step))
        begins, sizes, steps = zip(*parts, strict=True)
        self.add("Slice", [x], self.ranges[x], {"begin": begins, "size": sizes, "step": steps})

    def spread(self) -> None:
        """SliceGrad, Pad or Concat: ops that write their result piece by piece."""
        x = self.some("float32", "int32", "int64", low=1)
        if x is None or self.type(x).size > 80:
            return
        shape = self.type(x).shape
        kind = self.pick(3)
        if kind == 0:
            begin = tuple(self.pick(2) for _ in shape)
            step = tuple(1 + self.pick(2) for _ in shape)
            full = tuple(b + d * s + self.pick(2) for b, d, s in zip(begin, shape, step, strict=True))
            self.add("SliceGrad", [x], self.ranges[x], {"shape": full, "begin": begin, "step": step})
        elif kind == 1:
            pads = tuple((self.pick(2), self.pick(3)) for _ in shape)
            self.add("Pad", [x], Range(*map(max, self.ranges[x], (3, 0))), {"paddings": pads, "value": 3})
        else:
            y = self.like(x)
            made = Range(*map(max, self.ranges[x], self.ranges[y]))
            self.add("Concat", self.one(([x, y], [x, x, y], [x])), made, {"axis": self.pick(len(shape))})

    def index(self) -> None:
        """Gather, OneHot or Argmax."""
        x, i = self.some("float32", "int32", "int64", low=1), self.some("int32", "int64")
        if x is not None and self.pick(2):
            axis = self.pick(self.type(x).rank)
            if self.type(x).shape[axis]:
                size = self.type(x).shape[axis]
                self.add("Argmax", [x], Range(size), {"axis": axis, "dtype": self.one(("int32", "int64"))})
        elif x is not None and i is not None and self.type(x).size * self.type(i).size <= 200:
            self.add("Gather", [x, i], self.ranges[x], {"axis": self.pick(self.type(x).rank)})
        elif i is not None and self.type(i).size <= 60:
            self.add(
                "OneHot", [i], Range(2), {"depth": 1 + self.pick(4), "on": 2.0, "dtype": self.one(("float32", "int32"))}
            )

    def matmul(self) -> None:
        x = self.some("float32", rank=2)
        if x is None:
            return
        y = self.one([v for v in self.pool if self.type(v).dtype == "float32" and self.type(v).rank == 2])
        for ta in (False, True):
            for tb in (False, True):
                k, other = self.type(x).shape[0 if ta else 1], self.type(y).shape[1 if tb else 0]
                if k == other:
                    a, b = self.ranges[x], self.ranges[y]
                    made = Range(a.bound * b.bound * max(k, 1), a.fraction + b.fraction)
                    self.add("MatMul", [x, y], made, {"transpose_a": ta, "transpose_b": tb})
                    return

    def channels(self) -> None:
        x = self.some("float32", "int32", low=2)
        if x is None:
            return
        wanted = TensorType(self.type(x).dtype, self.type(x).shape[1:2])
        fit = [v for v in self.pool if self.type(v) == wanted]
        if fit:
            y = self.one(fit)
            a, b = self.ranges[x], self.ranges[y]
            self.add("BiasAdd", [x, y], Range(a.bound + b.bound, max(a.fraction, b.fraction)))

    def uniform(self) -> None:
        dtype, shape = self.one(("float32", "float64", "int32", "int64", "bool")), self.one(SHAPES)
        if self.pick(3):
            value: Any = bool(self.pick(2)) if dtype == "bool" else self.one((0, 1, -2))
            self.add("Fill", [], Range(2), {"dtype": dtype, "shape": shape, "value": value})
            return
        type = TensorType(dtype, shape)
        array = (np.arange(type.size) % (2 if dtype == "bool" else 5)).reshape(shape).astype(type.numpy)
        self.add("Constant", [], Range(4), {"value": Data(array, type=type)}, types=(type,))

    def depend(self) -> None:
        x = self.some()
        if x is not None and self.pick(2):
            after = [i for i in (self.one(self.pool).node for _ in range(2)) if i != x.node]
            self.add("Depend", [x], self.ranges[x], after=after)

    def assign(self) -> None:
        """A new version of a parameter: any value of its type, often another parameter's."""
        if not self.versions:
            return
        param = self.one(list(self.versions))
        old = self.versions[param]
        value = self.like(Value(param)) if self.pick(2) else self.one([v for v in self.versions.values()])
        if self.type(value) != self.type(old):
            return
        self.versions[param] = self.add("Assign", [old, value], self.ranges[value])

    def branch(self) -> None:
        """An If over some values and versions of parameters, which either branch may replace or exchange."""
        pred = next((v for v in reversed(self.pool) if self.type(v) == TensorType("bool", ())), None)
        if pred is None or self.depth > 1:
            return
        params = [p for p in self.versions if self.pick(2)]
        taken = list(dict.fromkeys([*(self.versions[p] for p in params), *(self.one(self.pool) for _ in range(3))]))
        plain = [self.one(taken) for _ in range(self.pick(3))]
        wanted = [self.type(v) for v in plain] + [self.type(Value(p)) for p in params]
        if not wanted:
            return
        subs, ranges = [], []
        for name in ("then", "else"):
            inner, inputs = self._inside(name, taken)
            inner.versions = {
                inputs[taken.index(self.versions[p])].node: inputs[taken.index(self.versions[p])] for p in params
            }
            inner.grow(1 + self.pick(5))
            ends = [inner.one([v for v in inner.pool if inner.type(v) == t]) for t in wanted[: len(plain)]]
            ends += (
                list(inner.versions.values())
                if len(inner.versions) == len(params)
                else [inputs[taken.index(self.versions[p])] for p in params]
            )
            inner.graph.set_results((str(i), v) for i, v in enumerate(ends))
            inner.graph.prune()
            subs.append(inner.graph)
            ranges.append([inner.ranges[v] for v in ends])
        node = self.graph.add("If", [pred, *taken], {"then": subs[0], "else": subs[1]})
        for value, a, b in zip(node.outputs, *ranges, strict=True):
            self.note(value, Range(max(a.bound, b.bound), max(a.fraction, b.fraction)))
        for p, value in zip(params, node.outputs[len(plain) :], strict=True):
            self.versions[p] = value

    def _inside(self, name: str, taken: Sequence[Value]) -> tuple[Maker, list[Value]]:
        inner = Maker(self.pick, Graph(name, self.graph.ids), depth=self.depth + 1, kinds=self.kinds)
        inputs = []
        for v in taken:
            inputs.append(inner.input(self.type(v)))
            inner.ranges[inputs[-1]] = self.ranges[v]
        return inner, inputs

    def loop(self) -> None:
        """A While that carries a counter, rotates some values of one type and reads others."""
        states = [v for v in self.versions.values() if self.pick(3)]
        first = self.one(states) if states else self.some("float32", "int32")
        if first is None or self.depth > 1:
            return
        alike = [v for v in states if self.type(v) == self.type(first)]
        turning = [*alike, first, self.like(first), self.like(first)][: 1 + self.pick(3)]
        read = [v for v in (*states, self.some(), self.some()) if v is not None and self.pick(3)]
        start, end = self.number(0, "int32"), self.number(self.pick(4), "int32")
        operands = [start, *turning, end, *dict.fromkeys(v for v in read)]
        top = max([self.ranges[v].bound for v in turning] + [self.ranges[v].bound for v in read] + [8])
        spare = Range(top, max(self.ranges[v].fraction for v in [*turning, *read]))
        body, inputs = self._inside("body", operands)
        for v in inputs[1 : 1 + len(turning)]:
            body.ranges[v] = spare
        carried = inputs[1 : 1 + len(turning)]
        one = body.number(1, "int32")
        count = body.graph.add("Add", [inputs[0], one]).outputs[0]
        body.grow(self.pick(5))
        fit = [v for v in body.pool if body.type(v) == body.type(carried[0]) and body.ranges[v].bound <= spare.bound]
        fit = [v for v in fit if body.ranges[v].fraction <= spare.fraction]
        ends = [*carried[1:], carried[0]] if self.pick(2) else [body.one(fit) for _ in carried]
        body.graph.set_results([("count", count), *((str(i), v) for i, v in enumerate(ends))])
        body.graph.prune()
        test, seen = self._inside("cond", operands)
        more = test.graph.add("Less", [seen[0], seen[1 + len(turning)]]).outputs[0]
        test.graph.set_results([("more", more)])
        test.graph.prune()
        attrs = {"carried": 1 + len(turning), "cond": test.graph, "body": body.graph}
        node = self.graph.add("While", operands, attrs)
        for value in node.outputs[1:]:
            self.note(value, spare)
        same = [p for p, v in self.versions.items() if self.type(v) == self.type(first)]
        for p, value in zip(same, node.outputs[1:], strict=False):
            if self.pick(2):
                self.versions[p] = value

    def scan(self) -> None:
        """A Scan that rotates some values of one type or makes them anew, reads rows of others, and stacks what it makes."""
        states = [v for v in self.versions.values() if self.pick(3)]
        first = self.one(states) if states else self.some("float32", "int32")
        if first is None or self.depth > 1:
            return
        turns = self.pick(4)
        turning = [first, self.like(first), self.like(first)][: self.pick(4)]
        rows = [v for v in (*self.pool, *states) if self.type(v).shape[:1] == (turns,)][: self.pick(3)]
        for v in [v for v in (self.some(), self.some()) if v is not None][: self.pick(3)]:
            shape = (turns, *self.type(v).shape)
            rows.append(self.graph.add("BroadcastTo", [v], {"shape": shape}).outputs[0])
            self.ranges[rows[-1]] = self.ranges[v]
        read = dict.fromkeys(v for v in (*states, self.some()) if v is not None and self.pick(2))
        operands = [*turning, *rows, *read]
        if not operands:
            return
        top = max([self.ranges[v].bound for v in operands] + [8])
        spare = Range(top, max(self.ranges[v].fraction for v in operands))
        body = Maker(self.pick, Graph("body", self.graph.ids), depth=self.depth + 1, kinds=self.kinds)
        for k, v in enumerate(operands):
            type = self.type(v)
            shape = type.shape[1:] if len(turning) <= k < len(turning) + len(rows) else type.shape
            body.ranges[body.input(TensorType(type.dtype, shape))] = spare if k < len(turning) else self.ranges[v]
        carried = [Value(i) for i in body.graph.inputs[: len(turning)]]
        body.grow(self.pick(6))
        ends = [*carried[1:], *carried[:1]]
        if carried and self.pick(3):
            fit = [
                v for v in body.pool if body.type(v) == body.type(carried[0]) and body.ranges[v].bound <= spare.bound
            ]
            fit = [v for v in fit if body.ranges[v].fraction <= spare.fraction]
            ends = [body.one(fit) for _ in carried]
        ends += [body.one(body.pool) for _ in range(self.pick(3))]
        body.graph.set_results((str(i), v) for i, v in enumerate(ends))
        body.graph.prune()
        stacks = tuple(k for k in range(len(ends)) if k >= len(turning) or not self.pick(3))
        attrs = {
            "length": turns, "carried": len(turning), "scanned": len(rows), "stacks": stacks,
            "reverse": bool(self.pick(2)), "body": body.graph,
        }  # fmt: skip
        node = self.graph.add("Scan", operands, attrs)
        made = [spare for _ in turning] + [spare if k < len(turning) else body.ranges[ends[k]] for k in stacks]
        for value, range_ in zip(node.outputs, made, strict=True):
            self.note(value, range_)
        same = [p for p, v in self.versions.items() if turning and self.type(v) == self.type(first)]
        for p, value in zip(same, node.outputs[: len(turning)], strict=False):
            if self.pick(2):
                self.versions[p] = value


_MAP = (Maker.unary, Maker.binary, Maker.binary, Maker.binary, Maker.select, Maker.compare, Maker.cast, Maker.logic)
_MOVE = (Maker.reshape, Maker.transpose, Maker.broadcast, Maker.slice, Maker.spread, Maker.index, Maker.uniform)
_STATE = (Maker.assign, Maker.assign, Maker.branch, Maker.loop, Maker.scan, Maker.depend)
_FOLD = (Maker.reduce, Maker.reduce, Maker.matmul, Maker.channels)
#: What the steps of one graph may be: a bit of all, mostly loops that fuse, mostly writes.
KINDS = (
    (*_MAP, *_MOVE, *_STATE, *_FOLD),
    (*_MAP, *_MAP, *_FOLD, Maker.broadcast, Maker.assign),
    (*_MAP, *_STATE, *_STATE, Maker.slice, Maker.transpose, Maker.reduce),
)


def random_graph(pick: Pick, steps: int) -> Graph:
    """A graph with inputs and parameters, and results of every kind: inputs, old and new versions, aliases."""
    maker = Maker(pick, Graph("random", Ids()))
    maker.kinds = maker.one(KINDS)
    base = maker.one(SHAPES)
    for k in range(1 + pick(3)):
        shape = base if pick(2) else maker.one(SHAPES)
        maker.input(TensorType(maker.one(("float32", "float32", "int32", "bool")), shape), name=f"x{k}")
    for k in range(pick(4)):
        shape = base if pick(3) else maker.one(SHAPES)
        value = maker.input(TensorType(maker.one(("float32", "float32", "int32")), shape), "Param", f"p{k}")
        maker.versions[value.node] = value
    maker.input(TensorType("bool", ()), name="flag")
    maker.grow(steps)
    results = [maker.one(maker.pool) for _ in range(1 + pick(4))]
    results += [v for v in (*maker.versions.values(), *map(Value, maker.versions)) if pick(3) == 0]
    updates = [(p, v) for p, v in maker.versions.items() if v != Value(p)]
    maker.graph.set_results(((f"r{i}", v) for i, v in enumerate(results)), updates)
    return maker.graph


def seeded_graph(seed: int, steps: int) -> Graph:
    """The random graph of a seed."""
    rng = np.random.default_rng(seed)
    return random_graph(lambda n: int(rng.integers(n)), steps)
