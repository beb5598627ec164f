"""Causal attention: where a softmax gives nothing to what lies above the diagonal, nobody computes it.

    gemm(q, k) + mask -> s      softmax(s) -> p          gemm(p, v) -> y
    gemm(dy, v) -> d            softmax_grad(p, d) -> e   gemm(p^T, dy), gemm(e, k), gemm(e^T, q)

A mask is a constant that is added to the scores or put in their place. It is causal if it is -1e9, or what bfloat16 makes of
that, or less above the diagonal, and nowhere else that low. Then p and e have zeros there: products with them need not multiply
these, and what s and d hold there does not matter. The same numbers come out, unless scores are NaN, or as large as the mask.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from graphc.ir.types import Array
from graphc.lower.rewrite import Context, Statements
from graphc.lower.statements import operands, params_of, row_major, touched, uses, with_blocks
from graphc_codegen.program import Access, Call, Instr, LoopKernel, NamedKernel, Param, Stmt

#: What a mask holds where nothing is to be seen, at the most; and the size of what it holds elsewhere.
_HIDDEN, _SEEN = -9.9e8, 1e6
#: The fewest rows of a matrix of which some is worth leaving out.
_LEAST = 32


def mark_causal(body: Statements, context: Context) -> Statements:
    """Tell causal softmaxes, and the products around them, that they are.

    before:  b4 = gemm(b0, b1, b2)                     b5 = softmax(b4)                   b6 = gemm(b5, b3)
    after:   b4 = gemm(b0, b1, b2) {triangle=c}        b5 = softmax(b4) {causal=True}     b6 = gemm(b5, b3) {triangle=a}

    b2 is the mask.
    """
    return _block(body, uses(body, context.results), context)


def _block(body: Statements, count: Counter[int], context: Context) -> Statements:
    done = [
        stmt if isinstance(stmt, Call) else with_blocks(stmt, lambda block: _block(block, count, context))
        for stmt in body
    ]
    softmaxes = [at for at, stmt in enumerate(done) if isinstance(stmt, Call) and stmt.kernel.family == "softmax"]
    if softmaxes:
        block = _Block(done, count, context)
        for at in softmaxes:
            block.softmax(at)
    return tuple(done)


def _told(kernel: NamedKernel, what: tuple[str, Param]) -> NamedKernel:
    return NamedKernel(kernel.name, (*kernel.params, what))


@dataclass(slots=True)
class _Block:
    """Statements that are being told. `writers` and `readers` are the places of those that write and read a buffer."""

    body: list[Stmt]
    count: Counter[int]
    context: Context
    writers: dict[int, list[int]] = field(default_factory=dict)
    readers: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for at, stmt in enumerate(self.body):
            read, written = operands(stmt) if isinstance(stmt, Call) else (touched(stmt), touched(stmt))
            for places, buffers in ((self.readers, read), (self.writers, written)):
                for b in buffers:
                    places.setdefault(b, []).append(at)

    def softmax(self, at: int) -> None:
        """If this softmax is causal, tell it, its gradients and the products that make and read their operands."""
        call = self.body[at]
        assert isinstance(call, Call)
        scores, shares = call.args
        size = params_of(call)["cols"]
        maker = self._maker(scores, at)
        if size < _LEAST or maker is None or not self._hides(maker, size):
            return
        self._tell(at, ("causal", True))
        self._skip_results(maker, scores, size)
        self._skip_zeros(shares, at, size)
        for k in self.readers.get(shares, ()):
            gradient = self.body[k]
            if isinstance(gradient, Call) and gradient.kernel.family == "softmax_grad" and gradient.args[0] == shares:
                self._gradient(k, size)

    def _gradient(self, at: int, size: int) -> None:
        call = self.body[at]
        assert isinstance(call, Call)
        dy, stores = call.args[1], params_of(call).get("stores", (0,))
        maker = self._maker(dy, at)
        self._tell(at, ("causal", True))
        if maker is not None:
            self._skip_results(maker, dy, size)
        body = params_of(call).get("epilogue")
        if len(stores) == 1 and (body is None or _keeps_zero(body, stores[0], (0,))):
            self._skip_zeros(call.args[-1], at, size)

    def _tell(self, at: int, what: tuple[str, Param]) -> None:
        call = self.body[at]
        assert isinstance(call, Call)
        assert isinstance(call.kernel, NamedKernel)
        self.body[at] = replace(call, kernel=self.context.once(_told, call.kernel, how=(what,)))

    def _maker(self, buffer: int, reader: int) -> int | None:
        """The call that makes a buffer which nobody reads but `reader`."""
        made = self.writers.get(buffer, ())
        return made[0] if len(made) == 1 and made[0] < reader and self.count[buffer] == 2 else None

    def _hides(self, maker: int, size: int) -> bool:
        """Whether a call masks what it stores."""
        call = self.body[maker]
        assert isinstance(call, Call)
        if isinstance(call.kernel, LoopKernel):
            k = call.kernel
            if len(k.outputs) != 1 or not _is_elementwise(k, k.outputs[0].access, size):
                return False
            strides = [a.strides if a.offset == 0 else () for a in k.inputs]
            return self._masked(k.body, k.outputs[0].value, list(zip(call.args, strides, strict=False)), size)
        p = params_of(call)
        if call.kernel.family != "gemm" or (p["m"], p["n"]) != (size, size) or len(p.get("stores", ())) != 1:
            return False
        own = (-1, ())
        return self._masked(p["epilogue"], p["stores"][0], [own, *zip(call.args[2:], p["extras"], strict=False)], size)

    def _masked(
        self, body: Sequence[Instr], value: int, inputs: Sequence[tuple[int, tuple[int, ...]]], size: int
    ) -> bool:
        """Whether a value of a loop is a score with a causal mask; `inputs` are buffers with their strides."""

        def known(k: int) -> Array | None:
            """The constant at every place of a matrix."""
            instr = body[k]
            if instr.op == "const":
                return np.full((size, size), instr.imm)
            if instr.op != "input":
                return None
            buffer, strides = inputs[int(instr.imm or 0)]
            array = self.context.constants.get(buffer)
            if array is None or not strides or any(strides[:-2]):
                return None
            down, across = strides[-2:]
            places = down * np.arange(size)[:, None] + across * np.arange(size)
            return array.reshape(-1)[places] if places.min() >= 0 and places.max() < array.size else None

        last = body[value]
        if last.op == "add":
            masks = [m for m in map(known, last.args) if m is not None]
            return len(masks) == 1 and _is_causal(masks[0])
        if last.op == "select":
            where, one, other = map(known, last.args)
            if where is not None and one is not None and other is None:
                return _is_causal(np.where(where, one, 0.0))
            if where is not None and one is None and other is not None:
                return _is_causal(np.where(where, 0.0, other))
        return False

    def _skip_results(self, maker: int, buffer: int, size: int) -> None:
        """Let the product behind what only a causal softmax reads leave out what is above the diagonal."""
        call = self.body[maker]
        assert isinstance(call, Call)
        if isinstance(call.kernel, LoopKernel):
            for read, access in zip(call.args, call.kernel.inputs, strict=False):
                before = self._maker(read, maker)
                if before is not None and _is_elementwise(call.kernel, access, size):
                    self._skip_results(before, read, size)
            return
        p = params_of(call)
        whole = call.kernel.family == "gemm" and (p["m"], p["n"]) == (size, size) and "c" not in p
        if whole and not p["accumulate"] and len(p.get("stores", (0,))) == 1 and not {"marks", "triangle"} & p.keys():
            self._tell(maker, ("triangle", "c"))

    def _skip_zeros(self, buffer: int, maker: int, size: int) -> None:
        """Let products with matrices that have zeros above the diagonal leave these out, also behind loops that keep them."""
        if self.writers[buffer] != [maker]:
            return
        for at in dict.fromkeys(self.readers.get(buffer, ())):
            call = self.body[at]
            if at < maker or not isinstance(call, Call):
                continue
            p = params_of(call)
            if call.kernel.family == "gemm" and call.args[0] == buffer:
                if p["m"] == p["k"] == size and not {"a", "triangle"} & p.keys():
                    self._tell(at, ("triangle", "a"))
            elif isinstance(call.kernel, LoopKernel) and len(call.kernel.outputs) == 1:
                k, output = call.kernel, call.kernel.outputs[0]
                same = [n for n, a in enumerate(k.inputs) if call.args[n] == buffer and _is_elementwise(k, a, size)]
                if _is_elementwise(k, output.access, size) and _keeps_zero(k.body, output.value, same):
                    self._skip_zeros(call.args[-1], at, size)


def _is_elementwise(kernel: LoopKernel, access: Access, size: int) -> bool:
    """Whether a loop goes over square matrices, and walks an operand from its first to its last element."""
    plain = kernel.times == 1 and not any(kernel.reduced) and kernel.domain[-2:] == (size, size)
    return plain and access.strides == row_major(kernel.domain) and access.size == math.prod(kernel.domain)


def _is_causal(mask: Array) -> bool:
    """Whether a mask hides what is above the diagonal, and changes little below it."""
    mask, below = mask.astype(np.float64), np.tri(len(mask), dtype=bool)
    return bool(np.all(mask[~below] <= _HIDDEN) and np.all(np.abs(mask[below]) < _SEEN))


def _keeps_zero(body: Sequence[Instr], value: int, zeros: Container[int]) -> bool:
    """Whether a loop makes zero where its inputs `zeros` are: so do products with finite constants, and choices among zeros."""
    zero: set[int] = set()
    for k, instr in enumerate(body):
        known = [a in zero for a in instr.args]
        if instr.op == "input":
            made = int(instr.imm or 0) in zeros
        elif instr.op == "const":
            made = instr.imm == 0
        elif instr.op == "select":
            made = all(known[1:])
        else:
            constants = [body[a].imm for a in instr.args if body[a].op == "const"]
            made = (
                instr.op == "mul" and any(known) and (all(known) or bool(constants and np.isfinite(constants[0] or 0)))
            )
        if made:
            zero.add(k)
    return value in zero
