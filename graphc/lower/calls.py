"""The calls that `Kernel` lowerings make, and the loop kernels that groups become."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from graphc.errors import GraphcError, LoweringError
from graphc.ir import Graph, Node, TensorType, Value
from graphc.ir.lowering import CallBuilder, Geometry, Handle, Operand, ScalarRule, Walk
from graphc.ir.op import Kernel as KernelLowering
from graphc.ir.op import Reduce, Scalar, Strided
from graphc.ir.types import HALVES, Array, contiguous_strides
from graphc.lower import packing, precision
from graphc.lower.buffers import Buffers, Constants
from graphc.lower.convolution import calls as convolution
from graphc.lower.expression import Expression
from graphc.lower.fuse import Group
from graphc_codegen.program import Access, Call, Kernel, LoopKernel, NamedKernel, Output, Stmt, UserFunction, facts

Emit = Callable[[Stmt], None]


class Calls:
    """What a `Kernel` lowering sees as `k`: a `CallBuilder` that emits statements, each with a note of the nodes it is for."""

    def __init__(
        self, buffers: Buffers, constants: Constants, emit: Emit, note: str, nodes: tuple[int, ...] = ()
    ) -> None:
        self.buffers = buffers
        self.constants = constants
        self.note = note
        self.nodes = nodes
        self._emit = emit

    def holds(self, whole: Operand, part: Operand) -> bool:
        """Whether an operand of a Concat was made where it belongs in the result."""
        return part.buffer == whole.buffer

    def temp(self, type: TensorType) -> Operand:
        """Scratch memory."""
        return Operand(self.buffers.new(type), type)

    def pairs(self, *operands: Operand) -> bool:
        """Whether all of these are bfloat16 in memory, and a product multiplies them as pairs."""
        return self.buffers.bfloat16() == "pairs" and {self._stored(x) for x in operands} == {"bfloat16"}

    def temp_like(self, source: Operand, shape: tuple[int, ...]) -> Operand:
        """Scratch memory of float32, of bfloat16 if products multiply elements of the source as pairs."""
        dtype = "bfloat16" if self.pairs(source) else "float32"
        return Operand(self.buffers.new(TensorType(dtype, shape)), TensorType("float32", shape))

    def table(self, array: Array) -> Operand:
        """A constant array, which must not change; there is one of each."""
        return Operand(self.constants.table(array, self.buffers), TensorType.of(array))

    def _call(self, kernel: Kernel, *operands: Operand) -> None:
        self._emit(Call(kernel, tuple(x.buffer for x in operands), self.note, nodes=self.nodes))

    def call(self, name: str, inputs: Sequence[Operand], outputs: Sequence[Operand], **params: Any) -> None:
        """A named kernel. Kernels have no sizes of zero: nothing is written to nothing, and a sum of nothing is zero."""
        if not any(x.type.size for x in outputs):
            return
        if all(x.type.size for x in inputs):
            kernel = precision.kernel(name, params)
            if precision.by_rows(kernel):
                self._add_rows(kernel, inputs, outputs)
            elif precision.in_float64(kernel):
                (target,) = outputs
                made = self.temp(TensorType("float64", target.type.shape))
                self._call_on_halves(kernel, inputs, (made,))
                self.elementwise(lambda e, v: e.cast(v, target.type.dtype), (made,), target)
            else:
                self._call_on_halves(kernel, inputs, outputs)
            return
        for x in outputs:
            self.fill(x, 0)

    def _add_rows(self, kernel: NamedKernel, inputs: Sequence[Operand], outputs: Sequence[Operand]) -> None:
        """Of `gather_grad` or `scatter`: the rows that indices name, listed, then added up each at once."""
        p: dict[str, Any] = dict(kernel.params)
        zeros = kernel.name == "gather_grad"
        x, indices, updates = ((), inputs[1], inputs[0]) if zeros else (inputs[:1], inputs[1], inputs[2])
        places = self.temp(TensorType("int32", (p["size"] + 2 + p["count"],)))
        listed = NamedKernel("list_rows", tuple((name, p[name]) for name in ("size", "count", "index_dtype")))
        self._call(listed, indices, places)
        sizes = tuple((name, p[name]) for name in ("outer", "size", "inner", "count"))
        self._call_on_halves(NamedKernel("add_rows", (*sizes, ("zeros", zeros))), (*x, places, updates), outputs)

    def _call_on_halves(self, kernel: NamedKernel, inputs: Sequence[Operand], outputs: Sequence[Operand]) -> None:
        """A call whose operands of float32 may be halves in memory; those that the kernel wants otherwise are converted."""
        taken = facts(kernel).halves(dict(kernel.params))
        given = [*inputs, *outputs]
        halves: dict[str, list[int]] = {}
        widened: dict[int, Operand] = {}
        for k, x in enumerate(given):
            dtype = self._stored(x)
            if dtype == x.type.dtype:
                continue
            if k in taken and not (k == 0 and self._widens_scalars(kernel, given)):
                halves.setdefault(dtype, []).append(k)
            else:
                # All that lies in its buffer: the kernel knows where in there the operand is, and others may be beside it.
                whole = x._replace(type=TensorType(x.type.dtype, (x.room,)), view=None)
                if k >= len(inputs):
                    given[k] = self.temp(whole.type)
                    continue
                if x.buffer not in widened:
                    widened[x.buffer] = self.temp(whole.type)
                    self.elementwise(lambda _, v: v, (whole,), widened[x.buffer])
                given[k] = widened[x.buffer]
        if halves:
            param = tuple((dtype, tuple(places)) for dtype, places in halves.items())
            kernel = replace(kernel, params=(*kernel.params, ("halves", param)))
        self._call(kernel, *given)
        for x, made in zip(outputs, given[len(inputs) :], strict=True):
            if made is not x:
                offset, strides = (0, contiguous_strides(x.type.shape)) if x.view is None else x.view[1:]
                self.copy(made, x, x.type.shape, offset, strides, offset, strides)

    def _widens_scalars(self, kernel: NamedKernel, given: Sequence[Operand]) -> bool:
        """Whether the first operand is made float32 before the call."""
        dtypes = tuple(self._stored(x) for x in given[:2])
        return packing.widens_scalars(kernel, given[0], dtypes, self.buffers.bfloat16())

    def _stored(self, x: Operand) -> str:
        """The dtype of an operand's elements in memory: halves, where a kernel in float32 sees floats."""
        stored = self.buffers.type(x.buffer).dtype
        return stored if x.type.dtype == "float32" and stored in HALVES else x.type.dtype

    def _access(self, walk: Walk) -> Access:
        x = walk.operand
        return Access(self._stored(x), walk.strides, walk.offset, x.room)

    def _whole(self, x: Operand) -> Access:
        return Access(self._stored(x), contiguous_strides(x.type.shape), 0, x.type.size)

    def _evaluated(
        self, e: Expression, fn: ScalarRule, accesses: Sequence[Access], types: Sequence[str], to: str
    ) -> Handle:
        """fn of the inputs as values of these types, to be stored as `to`."""
        handles = [e.input(a, i) for i, a in enumerate(accesses)]
        seen = [h if e.dtype(h) == t else e.cast(h, t) for h, t in zip(handles, types, strict=True)]
        result = fn(e, *seen)
        return e.cast(result, to) if to in HALVES and e.dtype(result) == "float32" else result

    def custom(
        self,
        name: str,
        function: Callable[..., object],
        returns: bool,
        constants: tuple[Any, ...],
        inputs: Sequence[Operand],
        outputs: Sequence[Operand],
        python: int = 0,
    ) -> None:
        """A user's own function, of an op of this name: see `UserFunction`."""
        if not any(x.type.size for x in outputs):
            return
        params = (
            ("function", UserFunction(name, function, returns, constants, python)),
            ("inputs", tuple((x.type.dtype, x.type.shape) for x in inputs)),
            ("outputs", tuple((x.type.dtype, x.type.shape) for x in outputs)),
        )
        self._call_on_halves(NamedKernel("custom", params), inputs, outputs)

    def fill(self, target: Operand, value: float) -> None:
        """One number everywhere."""
        self.elementwise(lambda e: e.number(value, target.type.dtype), (), target)

    def elementwise(self, fn: ScalarRule, inputs: Sequence[Operand], target: Operand) -> None:
        """target = fn(e, *inputs), all of one shape."""
        shape = target.type.shape
        if not target.type.size:
            return
        e = Expression(len(shape))
        accesses = [self._whole(x) for x in inputs]
        whole = self._whole(target)
        output = Output(whole, self._evaluated(e, fn, accesses, [x.type.dtype for x in inputs], whole.dtype))
        self._call(
            LoopKernel(shape, (False,) * len(shape), tuple(accesses), tuple(e.body), (output,)),
            *inputs,
            target,
        )

    def loop(
        self,
        fn: ScalarRule,
        inputs: Sequence[Walk],
        target: Walk,
        domain: Sequence[int],
        *,
        combine: str | None = None,
        axes: Sequence[int] = (),
    ) -> None:
        """target = fn(e, *inputs) at every index of the domain, brought together over `axes`. A sum of nothing is zero."""
        if any(n == 0 for axis, n in enumerate(domain) if axis not in axes):
            return
        reduced = tuple(axis in axes for axis in range(len(domain)))
        if combine is not None and self._stored(target.operand) != target.operand.type.dtype:
            # Only what the loop writes is rounded: the rest of the target may have been written before.
            sizes, steps = ([x for x, r in zip(of, reduced, strict=True) if not r] for of in (domain, target.strides))
            made = self.temp(TensorType(target.operand.type.dtype, tuple(sizes)))
            along = iter(strides := contiguous_strides(made.type.shape))
            into = Walk(made, 0, tuple([0 if r else next(along) for r in reduced]))
            self.loop(fn, inputs, into, domain, combine=combine, axes=axes)
            self.loop(lambda _, v: v, (Walk(made, 0, strides),), target._replace(strides=tuple(steps)), sizes)
            return
        if 0 in domain:
            # What is left is one index along those axes, and nothing is read.
            domain, inputs, fn = [1 if r else n for n, r in zip(domain, reduced, strict=True)], (), self._zero(target)
        accesses = tuple(self._access(x) for x in inputs)
        e, access = Expression(len(domain)), self._access(target)
        result = self._evaluated(e, fn, accesses, [x.operand.type.dtype for x in inputs], access.dtype)
        output = Output(access, result, combine)
        self._call(
            LoopKernel(tuple(domain), reduced, accesses, tuple(e.body), (output,)),
            *(x.operand for x in inputs),
            target.operand,
        )

    @staticmethod
    def _zero(target: Walk) -> ScalarRule:
        return lambda e: e.number(0, target.operand.type.dtype)

    def copy(
        self,
        source: Operand,
        target: Operand,
        domain: Sequence[int],
        source_offset: int,
        source_strides: Sequence[int],
        target_offset: int,
        target_strides: Sequence[int],
    ) -> None:
        """target[offset + index * strides] = source[...] for every index of the domain, in elements."""
        if 0 in domain:
            return
        read = Access(self._stored(source), tuple(source_strides), source_offset, source.room)
        write = Access(self._stored(target), tuple(target_strides), target_offset, target.room)
        e = Expression(len(domain))
        # Halves that only move need no rounding.
        value = e.input(read, 0)
        output = Output(write, value if read.dtype == write.dtype else e.cast(value, write.dtype))
        kernel = LoopKernel(tuple(domain), (False,) * len(domain), (read,), tuple(e.body), (output,))
        self._call(kernel, source, target)

    def duplicate(self, source: Operand, target: Operand) -> None:
        """Copy a whole buffer."""
        size = (source.type.size,)
        self.copy(source, target, size, 0, (1,), 0, (1,))

    def convolve(self, x: Operand, weight: Operand, out: Operand, geometry: Geometry) -> None:
        """out = the convolution of x with weight, by the kernel that is the fastest for it."""
        convolution.convolve(self, x, weight, out, geometry)

    def convolve_input(self, dy: Operand, weight: Operand, dx: Operand, geometry: Geometry) -> None:
        """dx = the gradient of a convolution for its images."""
        convolution.convolve_input(self, dy, weight, dx, geometry)

    def weight_gradient(self, dy: Operand, x: Operand, dw: Operand, geometry: Geometry) -> None:
        """dw = the gradient of a convolution for its weights."""
        convolution.weight_gradient(self, dy, x, dw, geometry)


def note_of(nodes: Sequence[Node]) -> str:
    """Which nodes a call computes, for the comment above it: ids and op names only."""
    names = [f"%{n.id} {n.op.name}" for n in nodes]
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def kernel_node(node: Node, inputs: Sequence[Operand], outputs: Sequence[Operand], k: CallBuilder) -> None:
    """Emit the calls of a node with a `Kernel` lowering; LoweringError GC181/GC182 with the user's line."""
    lower = node.lower
    if not isinstance(lower, KernelLowering):
        help = "call it outside the compiled Cell, or in PYNATIVE_MODE: there it runs by NumPy, gradients too"
        raise LoweringError(
            f"{node.op.name} has no kernel", loc=node.loc, nodes=[node.id], help=help if node.op.ref else None
        )
    halves = {x.type.dtype for x in (*inputs, *outputs)} & {*HALVES} - {*lower.dtypes}
    if halves and "float32" in lower.dtypes:
        (_widened if lower.waits else _in_float32)(node, inputs, outputs, k)
        return
    dtype = inputs[0].type.dtype if inputs else None
    fn = lower.fn
    if dtype == "float64" and lower.double is not None:
        fn = lower.double
    elif dtype is not None and dtype not in lower.dtypes:
        raise LoweringError(
            f"{node.op.name} has no kernel for {dtype}, only for {' and '.join(lower.dtypes)}",
            code="GC181",
            loc=node.loc,
            nodes=[node.id],
        )
    try:
        fn(k, tuple(inputs), tuple(outputs), node.attrs)
    except GraphcError as error:
        error.loc = error.loc or node.loc
        raise


def _in_float32(node: Node, inputs: Sequence[Operand], outputs: Sequence[Operand], k: CallBuilder) -> None:
    """A kernel on halves: it sees operands of float32, and `Calls` knows what is in their memory."""

    def seen(x: Operand) -> Operand:
        return x._replace(type=TensorType("float32", x.type.shape)) if x.type.dtype in HALVES else x

    kernel_node(node, [seen(x) for x in inputs], [seen(x) for x in outputs], k)


def _widened(node: Node, inputs: Sequence[Operand], outputs: Sequence[Operand], k: CallBuilder) -> None:
    """A kernel on halves whose calls wait for each other: operands are widened before them, results rounded behind."""

    def wide(x: Operand) -> Operand:
        return k.temp(TensorType("float32", x.type.shape)) if x.type.dtype in HALVES else x

    widened, made = [wide(x) for x in inputs], [wide(x) for x in outputs]
    for x, w in zip(inputs, widened, strict=True):
        if w is not x:
            k.elementwise(lambda e, v: e.cast(v, "float32"), (x,), w)
    kernel_node(node, widened, made, k)
    for x, w in zip(outputs, made, strict=True):
        if w is not x:
            k.elementwise(lambda e, v, d=x.type.dtype: e.cast(v, d), (w,), x)


def walk(graph: Graph, domain: Sequence[int], node: Node, index: int) -> tuple[int, tuple[int, ...]]:
    """Offset and strides in elements, per axis of the domain, with which a node of a loop reads operand `index`."""
    lower, type = node.lower, graph.type(node.inputs[index])
    if isinstance(lower, Strided):
        return lower.access(type, node.attrs)
    if isinstance(lower, Scalar) and lower.align is not None:
        axes = lower.align([graph.type(v) for v in node.inputs], node.attrs)[index]
        return 0, _along(type.shape, axes)
    return 0, _at_the_last_axes(type.shape, len(domain))


def _along(shape: tuple[int, ...], axes: Sequence[int | None]) -> tuple[int, ...]:
    """The strides with which such axes of a contiguous operand are walked; 0 where it has none, or one of size 1."""
    strides = contiguous_strides(shape)
    return tuple([0 if a is None or shape[a] == 1 else strides[a] for a in axes])


@lru_cache(maxsize=4096)
def _at_the_last_axes(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The strides of an operand that is broadcast to `rank` axes."""
    lead = rank - len(shape)
    return _along(shape, [i - lead if i >= lead else None for i in range(rank)])


class _Read(NamedTuple):
    """What a node of a loop reads: a "number" (it, its dtype), what node number k has "made", or "input" k."""

    kind: str
    what: Any


class LoopBuilder:
    """Turns a group into one loop kernel. `storage` gives the buffer of a value that comes from outside the group."""

    def __init__(
        self,
        graph: Graph,
        group: Group,
        uniform: Mapping[Value, float],
        storage: Callable[[Value], int],
        buffers: Buffers,
    ) -> None:
        self.graph = graph
        self.group = group
        self.uniform = uniform
        self.storage = storage
        self.buffers = buffers
        self.expression = Expression(len(group.domain))
        self.operands: list[int] = []
        self._accesses: list[Access] = []
        self._places: dict[tuple[Any, ...], int] = {}
        self._numbers = {n.outputs[0]: k for k, n in enumerate(group.nodes)}

    def build(self, outputs: Sequence[Value], targets: Sequence[int]) -> tuple[LoopKernel, tuple[int, ...]]:
        """The kernel that computes the group and stores `outputs` in buffers `targets`, and the operands of its call.

        Groups that are alike, as those of equal layers, have one kernel, which is made for the first of them.
        """
        stored = tuple([(self._numbers[v], self.buffers.type(b).size) for v, b in zip(outputs, targets, strict=True)])
        sources: dict[int, int] = {}
        parts = tuple([self._likeness(node, sources) for node in self.group.nodes])
        key = (self.group.domain, self.group.axes, parts, tuple([self.buffers.type(b).size for b in sources]), stored)
        known = self.buffers.loops.get(key)
        if known is None:
            kernel = self._kernel([self._read(node) for node in self.group.nodes], stored)
            known = self.buffers.loops[key] = kernel, tuple([sources[b] for b in self.operands])
        kernel, order = known
        read = tuple(sources)
        return kernel, (*[read[k] for k in order], *targets)

    def _likeness(self, node: Node, sources: dict[int, int]) -> tuple[Any, ...]:
        """All that the kernel depends on of a node; the buffers that it reads are numbered in `sources`.

        repr tells 0.0 from -0.0, which are equal but not the same.
        """
        read: list[Any] = []
        for value in node.inputs[: self._count(node)]:
            if value in self.uniform:
                number = self.uniform[value]
                read.append((repr(number), number))
            elif value in self._numbers:
                read.append(self._numbers[value])
                continue  # Its type is that of its node.
            else:
                buffer = self.storage(value)
                read.append((sources.setdefault(buffer, len(sources)),))
            read.append(self.graph.type(value))
        attrs = (repr(dict(node.attrs)), *node.attrs.values()) if node.attrs else ()
        return node.op, attrs, node.types, *read

    def _count(self, node: Node) -> int:
        """How many operands a node reads: what a reduction may have behind the first is no part of the loop."""
        return 1 if isinstance(node.lower, Reduce) else len(node.inputs)

    def _kernel(self, read: Sequence[Sequence[_Read]], stored: Sequence[tuple[int, int]]) -> LoopKernel:
        """The kernel of nodes that read so, which stores the results of those with such numbers in buffers of such sizes."""
        results: list[tuple[Handle, str | None, float]] = []
        for node, operands in zip(self.group.nodes, read, strict=True):
            handles = [self._handle(x, results) for x in operands]
            lower = node.lower
            if isinstance(lower, Reduce):
                count = self.graph.type(node.inputs[0]).size // max(node.type.size, 1)
                mean = 1.0 / count if count else math.nan
                results.append((handles[0], lower.combine, mean if lower.mean else 1.0))
            elif isinstance(lower, Strided):
                results.append((handles[0], None, 1.0))
            else:
                assert isinstance(lower, Scalar)
                results.append((lower.fn(self.expression, *handles, **node.attrs), None, 1.0))
        domain, axes = self.group.domain, self.group.axes or ()
        reduced, terms = tuple(i in axes for i in range(len(domain))), math.prod(domain[i] for i in axes)
        stores = []
        for number, size in stored:
            handle, combine, scale = results[number]
            strides = list(contiguous_strides(domain))
            if combine is not None:
                kept = iter(contiguous_strides(tuple(d for i, d in enumerate(domain) if i not in axes)))
                strides = [0 if i in axes else next(kept) for i in range(len(domain))]
            # Axes of size 1 are walked with stride 0, as in `walk`: equal accesses must look equal.
            strides = [0 if d == 1 else s for d, s in zip(domain, strides, strict=True)]
            access = Access(self.group.nodes[number].type.dtype, tuple(strides), 0, size)
            block = precision.block(combine, access.dtype, terms) if combine is not None else 0
            stores.append(Output(access, handle, combine, scale, block))
        e = self.expression
        return LoopKernel(domain, reduced, tuple(self._accesses), tuple(e.body), tuple(stores))

    def _handle(self, read: _Read, results: Sequence[tuple[Handle, str | None, float]]) -> Handle:
        if read.kind == "number":
            number, dtype = read.what
            return self.expression.number(number, dtype)
        return (
            results[read.what][0]
            if read.kind == "made"
            else self.expression.input(self._accesses[read.what], read.what)
        )

    def _read(self, node: Node) -> list[_Read]:
        """How a node reads its operands; those from outside the group get their places.

        LoweringError GC181 for complex numbers: loops know their parts alone.
        """
        read = node.inputs[: self._count(node)]
        whole = [t.dtype for t in (*node.types, *map(self.graph.type, read)) if t.is_complex]
        if whole and (node.type.is_complex or not isinstance(node.lower, Strided)):
            raise LoweringError(
                f"{node.op.name} has no kernel for {whole[0]}", code="GC181", loc=node.loc, nodes=[node.id]
            )
        return [self._operand(node, i) for i in range(self._count(node))]

    def _operand(self, node: Node, index: int) -> _Read:
        value = node.inputs[index]
        type = self.graph.type(value)
        if value in self.uniform:
            return _Read("number", (self.uniform[value], type.dtype))
        made = self._numbers.get(value)
        if made is not None:
            return _Read("made", made)
        buffer = self.storage(value)
        offset, strides = walk(self.graph, self.group.domain, node, index)
        key = (buffer, type.dtype, strides, offset)
        place = self._places.setdefault(key, len(self.operands))
        if place == len(self.operands):
            self.operands.append(buffer)
            self._accesses.append(Access(type.part, strides, offset, self.buffers.type(buffer).size))
        return _Read("input", place)
