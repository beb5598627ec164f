"""Convolutions that are followed by max pooling pool what they make, and their gradients read that of the pooled image.

    conv2d(x, w) -> c          max_pool(c) -> y            conv2d_batch_winograd(x, w) -> index, y
    max_pool_grad(c, dy) -> d  filter_grad(x, d) -> dw     filter_grad(x, dy, index) -> dw

Neither c nor d, which are several times as large as y and dy, is ever in memory as a whole. A bias may be added to c first; its
gradient, the sum of d, is that of dy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphc.ir import TensorType
from graphc.ir.types import HALVES
from graphc.lower.buffers import Buffers
from graphc.lower.convolution import batch, choice
from graphc.lower.convolution.sizes import Sizes, Window
from graphc.lower.rewrite import Context, Statements
from graphc.lower.statements import nodes_of, operands, params_of, row_major, touched, uses, with_blocks
from graphc_codegen.program import (
    Access,
    Call,
    LoopKernel,
    NamedKernel,
    Output,
    Stmt,
)

#: The operand of a kernel that may be the gradient of a pooled image.
_UNPOOLS = {"conv2d_batch_winograd": 0, "conv2d_filter_grad_batch_winograd": 1}
#: Dtypes of images in memory.
_DTYPES = ("float32", *HALVES)


def pool_convolutions(body: Statements, context: Context) -> Statements:
    """Take pooling and its gradient into convolutions where that is possible and pays.

    before:  b3 = conv2d(b0, b1)                            b4 = max_pool(b3)
             b5 = max_pool_grad(b3, b2)                     b6 = conv2d_filter_grad(b0, b5)
    after:   b7, b8, b4 = conv2d_batch_winograd(b0, b1)     b6 = conv2d_filter_grad(b0, b2, b8)

    b8 has the place of each maximum, b7 is scratch memory.
    """
    return _block(body, uses(body, context.results), context.buffers)


def _block(body: Statements, count: Counter[int], buffers: Buffers) -> Statements:
    done: list[Stmt | None] = []
    uses = _Uses(count)
    for at, stmt in enumerate(body):
        if not isinstance(stmt, Call):
            stmt = with_blocks(stmt, lambda block: _block(block, count, buffers))
        done.append(stmt)
        uses.note(stmt, at)
    for at in range(len(done)):
        if (found := _Pattern.at(done, at, uses)) is not None:
            found.rewrite(done, buffers)
            for k in found.places():
                uses.note(done[k], k)
    return tuple(s for s in done if s is not None)


@dataclass(slots=True)
class _Uses:
    """Who uses what in a block: how often each buffer is used anywhere, and the places of the calls that do, or did."""

    count: Counter[int]
    places: dict[int, set[int]] = field(default_factory=dict)

    def note(self, stmt: Stmt | None, at: int) -> None:
        for buffer in _args(stmt):
            self.places.setdefault(buffer, set()).add(at)

    def readers(self, body: Sequence[Stmt | None], buffer: int) -> list[int]:
        """The calls that read what another one writes to a buffer; none if others use the buffer, too."""
        calls = sorted(k for k in self.places.get(buffer, ()) if buffer in _args(body[k]))
        reads = [k for k in calls if buffer in _inputs(body[k])]
        everything = sum(_args(body[k]).count(buffer) for k in calls)
        return reads if everything == self.count[buffer] == len(reads) + 1 else []


@dataclass(frozen=True, slots=True)
class _Pattern:
    """Where in a block the convolution stands, perhaps a bias, the pooling, and gradients of that with all that read them.

    `place` is where one call may make the pooled image: the convolution's place, or the bias's if that is made in between.
    """

    conv: int
    bias: int | None
    pool: int
    gradients: dict[int, list[int]]
    sizes: Sizes
    window: Window
    place: int

    @classmethod
    def at(cls, body: Sequence[Stmt | None], conv: int, uses: _Uses) -> _Pattern | None:
        """The pattern that begins with this call; None if there is none, or if it is faster as it is."""
        sizes = _sizes(body[conv])
        if sizes is None:
            return None
        readers = uses.readers(body, _args(body[conv])[-1])
        bias = readers[0] if len(readers) == 1 and _addend(body[readers[0]], sizes) is not None else None
        if bias is not None:
            readers = uses.readers(body, _args(body[bias])[-1])
        pools = [k for k in readers if _name(body[k]) == "max_pool"]
        gradients = {k: uses.readers(body, _args(body[k])[-1]) for k in readers if _name(body[k]) == "max_pool_grad"}
        if len(pools) != 1 or len(readers) != 1 + len(gradients) or conv > pools[0]:
            return None
        window = _window(body[pools[0]], sizes)
        if window is None or any(_wide(params_of(body[k])) != _wide(params_of(body[pools[0]])) for k in gradients):
            return None
        made = bias is not None and any(_writes(stmt, _args(body[bias])[1]) for stmt in body[conv + 1 : bias])
        found = cls(conv, bias, pools[0], gradients, sizes, window, bias if made and bias is not None else conv)
        whole = found._is_ordered(body) and all(found._unpools(body, k) for k in gradients)
        return found if whole and choice.pools(sizes, window, len(gradients)) else None

    def _is_ordered(self, body: Sequence[Stmt | None]) -> bool:
        """Whether the pooled image may be made where the convolution stands."""
        between, addend = body[self.conv + 1 : self.pool], self._addend(body)
        changed = addend is not None and any(_writes(stmt, addend) for stmt in body[self.place + 1 : self.pool])
        before = body[self.conv + 1 : self.place]
        changed = changed or any(_writes(stmt, b) for stmt in before for b in _args(body[self.conv])[:2])
        return not changed and not any(_touches(stmt, _args(body[self.pool])[-1]) for stmt in between)

    def _addend(self, body: Sequence[Stmt | None]) -> int | None:
        """The buffer of the bias."""
        return None if self.bias is None else _addend(body[self.bias], self.sizes)

    def _unpools(self, body: Sequence[Stmt | None], gradient: int) -> bool:
        """Whether all that read a gradient can read that of the pooled image instead."""
        _, dy, unpooled = _args(body[gradient])
        readers = self.gradients[gradient]
        fit = all(self._unpools_in(body[k], unpooled) for k in readers)
        return bool(readers) and fit and not any(_writes(s, dy) for s in body[gradient + 1 : max(readers) + 1])

    def _unpools_in(self, stmt: Stmt | None, unpooled: int) -> bool:
        at = _args(stmt).index(unpooled)
        return at == _UNPOOLS.get(_name(stmt)) or _is_sum(stmt, self.sizes)

    def rewrite(self, body: list[Stmt | None], buffers: Buffers) -> None:
        """Put the new calls in the places of the old ones."""
        call, pool = body[self.conv], body[self.pool]
        assert isinstance(call, Call)
        assert isinstance(pool, Call)
        params, index = batch.pooled_params(self.sizes, self.window, indexed=bool(self.gradients)), []
        if self.gradients:
            size = batch.index_size(self.sizes, self.window)
            index.append(buffers.new(TensorType("uint8", (size,))))
        scratch = buffers.new(TensorType("float32", (params["scratch"],)))
        joined, addend = [call], self._addend(body)
        if self.bias is not None and addend is not None:
            added = body[self.bias]
            assert isinstance(added, Call)
            joined.append(added)
            params["bias"], body[self.bias] = True, None
        args = (*call.args[:2], *([] if addend is None else [addend]), scratch, *index, pool.args[-1])
        kernel = _on_halves("conv2d_batch_winograd", params, args, buffers)
        note = ", ".join(c.note for c in (*joined, pool))
        body[self.conv] = body[self.pool] = None
        body[self.place] = Call(kernel, args, note, nodes=nodes_of(*joined, pool))
        for k, readers in self.gradients.items():
            gradient = body[k]
            assert isinstance(gradient, Call)
            _, dy, unpooled = gradient.args
            for reader in readers:
                made = self._unpooling(body[reader], unpooled, (dy, *index), buffers)
                body[reader] = replace(made, nodes=nodes_of(gradient, made))
            body[k] = None

    def places(self) -> list[int]:
        """Where calls stand that `rewrite` changes."""
        return [self.conv, self.place, self.pool, *(k for readers in self.gradients.values() for k in readers)]

    def _unpooling(self, call: Stmt | None, unpooled: int, instead: tuple[int, ...], buffers: Buffers) -> Call:
        assert isinstance(call, Call)
        at, z = call.args.index(unpooled), self.sizes
        if isinstance(call.kernel, LoopKernel):
            domain = (z.n, z.co, *z.pooled(self.window))
            access = Access(call.kernel.inputs[0].dtype, row_major(domain), 0, math.prod(domain))
            return replace(
                call, kernel=replace(call.kernel, domain=domain, inputs=(access,)), args=(instead[0], *call.args[1:])
            )
        assert isinstance(call.kernel, NamedKernel)
        args = (*call.args[:at], *instead, *call.args[at + 1 :])
        kernel = _on_halves(call.kernel.name, params_of(call) | {"unpool": self.window}, args, buffers)
        return replace(call, kernel=kernel, args=args)


def _on_halves(name: str, params: Mapping[str, Any], args: Sequence[int], buffers: Buffers) -> NamedKernel:
    """A kernel of float32 that is told which of its operands hold halves."""
    dtypes = [buffers.type(b).dtype for b in args]
    found = tuple((t, tuple(k for k, dtype in enumerate(dtypes) if dtype == t)) for t in HALVES if t in dtypes)
    return NamedKernel(name, (*_wide(params).items(), *((("halves", found),) if found else ())))


def _wide(params: Mapping[str, Any]) -> dict[str, Any]:
    """Params of a kernel without what they say of the operands' memory."""
    return {key: value for key, value in params.items() if key != "halves"}


def _touches(stmt: Stmt | None, buffer: int) -> bool:
    """Whether a statement reads or writes a buffer."""
    return stmt is not None and buffer in touched(stmt)


def _writes(stmt: Stmt | None, buffer: int) -> bool:
    """Whether a statement may write a buffer."""
    return buffer in operands(stmt)[1] if isinstance(stmt, Call) else _touches(stmt, buffer)


def _args(stmt: Stmt | None) -> tuple[int, ...]:
    return stmt.args if isinstance(stmt, Call) else ()


def _inputs(stmt: Stmt | None) -> tuple[int, ...]:
    return operands(stmt)[0] if isinstance(stmt, Call) else ()


def _name(stmt: Stmt | None) -> str:
    return stmt.kernel.name if isinstance(stmt, Call) and isinstance(stmt.kernel, NamedKernel) else ""


def _sizes(stmt: Stmt | None) -> Sizes | None:
    """Of a convolution that the kernel that pools can make."""
    name, p = _name(stmt), params_of(stmt)
    if name not in ("conv2d", "conv2d_batch_winograd") or p["transposed"] or "pool" in p or "groups" in p:
        return None
    if name == "conv2d" and not p["stride"] == p["dilation"] == (1, 1):
        return None
    return Sizes.of_kernel(p)


def _walks(stmt: Stmt | None, z: Sizes) -> LoopKernel | None:
    """The loop, if it goes over the elements of a convolution's result and has one output."""
    if not isinstance(stmt, Call) or not isinstance(stmt.kernel, LoopKernel):
        return None
    kernel = stmt.kernel
    whole = kernel.domain == (z.n, z.co, z.oh, z.ow) and kernel.times == len(kernel.outputs) == 1
    return kernel if whole else None


def _addend(stmt: Stmt | None, z: Sizes) -> int | None:
    """The buffer of numbers that a loop adds to the channels of a convolution's result; None if it does something else."""
    kernel = _walks(stmt, z)
    if kernel is None or [(i.op, *i.args) for i in kernel.body] != [("input",), ("input",), ("add", 0, 1)]:
        return None
    dtypes, shape = {i.dtype for i in kernel.body}, (z.n, z.co, z.oh, z.ow)
    dtype = kernel.body[-1].dtype
    if dtypes != {dtype} or dtype not in _DTYPES:
        return None
    image = Access(dtype, row_major(shape), 0, math.prod(shape))
    bias = Access(dtype, (0, int(z.co > 1), 0, 0), 0, z.co)
    stores = kernel.outputs[0] == Output(image, 2) and not any(kernel.reduced)
    return _args(stmt)[1] if stores and kernel.inputs == (image, bias) else None


def _is_sum(stmt: Stmt | None, z: Sizes) -> bool:
    """Whether a loop sums up all pixels of the result's channels."""
    kernel = _walks(stmt, z)
    if kernel is None or [i.op for i in kernel.body] != ["input"] or kernel.body[0].dtype not in _DTYPES:
        return False
    image = Access(kernel.body[0].dtype, row_major(kernel.domain), 0, math.prod(kernel.domain))
    return kernel.inputs == (image,) and kernel.outputs[0].reduce == "sum" and all(kernel.reduced[2:])


def _window(pool: Stmt | None, z: Sizes) -> Window | None:
    """The window of a pooling of the convolution's result, if windows tile it from its first corner."""
    p = params_of(pool)
    window = p["kh"], p["kw"]
    tiles = window == (p["sh"], p["sw"]) and p["pt"] == p["pl"] == 0
    same = (p["planes"], p["h"], p["w"]) == (z.n * z.co, z.oh, z.ow)
    return window if tiles and same and (p["oh"], p["ow"]) == z.pooled(window) else None
