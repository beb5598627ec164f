"""Kernels of float32 on operands that hold halves in memory: widened as they are loaded, rounded once as they are stored.

Params of a named kernel may say which of its operands of float32 do (`halves`: the numbers of operands by dtype). The emitter of
the kernel is the same: a `NarrowWriter` knows what lies behind an address, and converts. Further operands of an epilogue have
the dtypes of their instructions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.declarations import Declarations
from graphc_codegen.dtypes import HALVES
from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.scalars import halves
from graphc_codegen.writer import Writer, vec


class NarrowWriter(Writer):
    """A `Writer` that knows which addresses hold float16 or bfloat16 where its kernel sees floats.

    What is written there is not read again: it would be rounded more than once.
    """

    def __init__(
        self, declarations: Declarations, lanes: int, *, fused: bool = True, threads: int = 1, bfloat16: bool = False
    ) -> None:
        super().__init__(declarations, lanes, fused=fused, threads=threads, bfloat16=bfloat16)
        self._narrow: dict[str, str] = {}
        self._stored: set[str] = set()

    def declare(self, pointer: str, dtype: str, *, written: bool) -> None:
        """Elements behind an address are of a half type."""
        self._narrow[pointer] = dtype
        if written:
            self._stored.add(pointer)

    def holds(self, pointer: str) -> str | None:
        """The half type behind an address, if it is one."""
        return self._narrow.get(pointer)

    def take(self, outside: Writer, pointer: str, place: str) -> None:
        assert isinstance(outside, NarrowWriter)
        if pointer in outside._narrow:
            self.declare(place, outside._narrow[pointer], written=pointer in outside._stored)

    # ---- addresses

    def at(self, pointer: str, index: str | int, type: str | None = None, *, inside: bool = True) -> str:
        if pointer not in self._narrow:
            return super().at(pointer, index, type, inside=inside)
        self._check(type)
        return self._like(pointer, super().at(pointer, index, "i16", inside=inside))

    def unknown(self, pointer: str) -> str:
        return self._like(pointer, super().unknown(pointer))

    def chosen(self, condition: str, a: str, b: str) -> str:
        """Of b, which may be memory of zeros, only elements as narrow as those of a are read."""
        return self._like(a, super().chosen(condition, a, b))

    def _like(self, pointer: str, made: str) -> str:
        if pointer in self._narrow:
            self._narrow[made] = self._narrow[pointer]
            if pointer in self._stored:
                self._stored.add(made)
        return made

    def _check(self, type: str | None) -> None:
        if (type or self.element) != "float":
            raise CodegenError(f"elements of {type or self.element} lie in memory of halves")

    def _read(self, pointer: str, type: str | None) -> str:
        self._check(type)
        if pointer in self._stored:
            raise CodegenError("a kernel reads halves that it has stored")
        return self._narrow[pointer]

    def _plain(self, pointer: str, type: str | None) -> bool:
        """Whether elements are what they are in memory: halves that are wanted as bits are."""
        return pointer not in self._narrow or type == "i16"

    # ---- loads

    def load(self, pointer: str, type: str | None = None) -> str:
        if self._plain(pointer, type):
            return super().load(pointer, type)
        return self.op(f"extractelement {vec('float', self.lanes)} {self.load_splat(pointer)}, i64 0")

    def load_splat(self, pointer: str) -> str:
        if pointer not in self._narrow:
            return super().load_splat(pointer)
        dtype = self._read(pointer, None)
        bits = super().load(pointer, "i16")
        if dtype != "bfloat16":
            return halves.widen(self, self.splat(bits, "i16"), dtype)
        # In every word twice: one broadcast from memory, and the lower one is shifted out.
        pairs = vec("i16", 2 * self.lanes)
        first = self.op(f"insertelement {pairs} poison, i16 {bits}, i64 0")
        zeros = f"{vec('i32', 2 * self.lanes)} zeroinitializer"
        both = self.op(f"shufflevector {pairs} {first}, {pairs} poison, {zeros}")
        words = self.op(f"bitcast {pairs} {both} to {vec('i32', self.lanes)}")
        return self.convert("bitcast", self.binary("shl", words, self.constant(16, "i32"), "i32"), "i32", "float")

    def vload(self, pointer: str, active: int | str | None = None, type: str | None = None) -> str:
        if self._plain(pointer, type):
            return super().vload(pointer, active, type)
        dtype = self._read(pointer, type)
        return halves.widen(self, super().vload(pointer, active, "i16"), dtype)

    def masked_load(self, pointer: str, lanes: str, other: str, type: str | None = None) -> str:
        if self._plain(pointer, type):
            return super().masked_load(pointer, lanes, other, type)
        dtype = self._read(pointer, type)
        value = halves.widen(self, super().masked_load(pointer, lanes, "zeroinitializer", "i16"), dtype)
        return value if other == "zeroinitializer" else self.select(lanes, value, other)

    def load_four(self, pointer: str) -> str:
        if pointer not in self._narrow:
            return super().load_four(pointer)
        dtype = self._read(pointer, None)
        bits = self.op(f"load {vec('i16', 4)}, ptr {pointer}, align 2")
        value = halves.widen(self, self._resized(bits, 4, self.lanes, "i16"), dtype)
        return self._resized(value, self.lanes, 4, "float")

    # ---- stores

    def store(self, value: str, pointer: str, type: str | None = None) -> None:
        if self._plain(pointer, type):
            super().store(value, pointer, type)
            return
        first = self.op(f"insertelement {vec('float', self.lanes)} zeroinitializer, float {value}, i64 0")
        self.vstore(first, pointer, 1, type)

    def vstore(self, value: str, pointer: str, active: int | str | None = None, type: str | None = None) -> None:
        if self._plain(pointer, type):
            super().vstore(value, pointer, active, type)
            return
        self._check(type)
        super().vstore(self._bits(value, self._narrow[pointer]), pointer, active, "i16")

    def store_four(self, value: str, pointer: str) -> None:
        if pointer not in self._narrow:
            super().store_four(value, pointer)
            return
        bits = self._bits(self._resized(value, 4, self.lanes, "float"), self._narrow[pointer])
        self.do(f"store {vec('i16', 4)} {self._resized(bits, self.lanes, 4, 'i16')}, ptr {pointer}, align 2")

    def as_stored(self, value: str, pointer: str) -> str:
        dtype = self._narrow.get(pointer)
        return value if dtype is None or value == "zeroinitializer" else halves.rounded(self, value, dtype)

    def _bits(self, value: str, dtype: str) -> str:
        if value == "zeroinitializer":
            return value
        # The instruction that makes float16 rounds.
        if dtype != "float16" or not self.converts:
            value = halves.rounded(self, value, dtype)
        return halves.narrow(self, value, dtype)

    def _resized(self, value: str, lanes: int, wanted: int, type: str) -> str:
        """The first lanes of a vector; more than it has are zero."""
        if lanes == wanted:
            return value
        v = vec(type, lanes)
        order = ", ".join(f"i32 {min(i, lanes)}" for i in range(wanted))
        return self.op(f"shufflevector {v} {value}, {v} zeroinitializer, {vec('i32', wanted)} <{order}>")


def dtype_behind(w: Writer, pointer: str) -> str:
    """What lies in memory where a kernel sees floats: a half type, or float32."""
    return (w.holds(pointer) if isinstance(w, NarrowWriter) else None) or "float32"


def has_halves(p: Params) -> bool:
    """Whether a kernel of float32 with these params has operands that hold halves."""
    return "halves" in p or any(instr.dtype in HALVES for instr in p.get("epilogue", ()))


def on_halves(kernel: Emitter) -> Emitter:
    """The emitter of the same kernel where params say that operands hold halves."""

    def operands(p: Params) -> tuple[Operand, ...]:
        found = list(kernel.operands(p))
        for dtype, places in p.get("halves", ()):
            for k in places:
                if found[k].dtype != "float32":
                    raise CodegenError(f"operand {k} holds {found[k].dtype}, which cannot lie in memory as {dtype}")
                found[k] = Operand(dtype, found[k].size, found[k].role)
        return tuple(found)

    def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
        assert isinstance(w, NarrowWriter)
        for operand, pointer in zip(operands(p), pointers, strict=True):
            if operand.dtype in HALVES:
                w.declare(pointer, operand.dtype, written=operand.role == "out")
        kernel.emit(w, p, pointers)

    def twin(p: Params, *arrays: Array) -> None:
        wide = list(arrays)
        narrow = [k for _, places in p.get("halves", ()) for k in places]
        for k in narrow:
            wide[k] = arrays[k].astype(np.float32)
        kernel.twin(p, *wide)
        with np.errstate(over="ignore"):
            for k in narrow:
                if arrays[k].flags.writeable:
                    arrays[k][:] = wide[k].astype(arrays[k].dtype)

    return Emitter(operands, emit, twin)
