"""The expression builder that `Scalar` lowerings write to: each method adds one scalar instruction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from graphc.ir.lowering import Handle
from graphc.ir.types import FLOATS
from graphc_codegen.program import SCALAR_OPS, Access, Instr


@dataclass(slots=True)
class Expression:
    """The body of a loop kernel while it is built. A handle is the position of an instruction; equal ones are shared."""

    rank: int
    body: list[Instr] = field(default_factory=list)
    inputs: list[Access] = field(default_factory=list)
    _known: dict[tuple[Any, ...], Handle] = field(default_factory=dict)

    def _add(self, op: str, dtype: str, *args: Handle, imm: Any = None) -> Handle:
        # 0 and 0.0 and False are equal as keys but not as immediates of different dtypes; dtype is part of the key.
        key = (op, args, dtype, None if imm is None else repr(imm))
        handle = self._known.get(key)
        if handle is None:
            handle = self._known[key] = Handle(len(self.body))
            self.body.append(Instr(op, args, dtype, imm))
        return handle

    def dtype(self, x: Handle) -> str:
        return self.body[x].dtype

    # ---- leaves

    def input(self, access: Access, index: int) -> Handle:
        """Operand number `index` of the kernel."""
        return self._add("input", access.dtype, imm=index)

    def number(self, value: float, dtype: str) -> Handle:
        """A constant of a dtype."""
        made = bool(value) if dtype == "bool" else float(value) if dtype in FLOATS else int(value)
        return self._add("const", dtype, imm=made)

    def constant(self, value: float, like: Handle) -> Handle:
        """A constant of the dtype of another value."""
        return self.number(value, self.dtype(like))

    def iota(self, axis: int, like: Handle) -> Handle:
        """The index along an axis of the domain, in the dtype of another value."""
        return self._add("iota", self.dtype(like), imm=axis % self.rank)

    # ---- arithmetic

    def apply(self, op: str, *args: Handle) -> Handle:
        """An operation of `SCALAR_OPS` that gets its dtype from its operands. The methods below are names for some of them."""
        return self._add(op, SCALAR_OPS[op].result_dtype([self.dtype(a) for a in args]), *args)

    def add(self, x: Handle, y: Handle) -> Handle:
        return self.apply("add", x, y)

    def sub(self, x: Handle, y: Handle) -> Handle:
        return self.apply("sub", x, y)

    def mul(self, x: Handle, y: Handle) -> Handle:
        return self.apply("mul", x, y)

    def div(self, x: Handle, y: Handle) -> Handle:
        return self.apply("div", x, y)

    def floordiv(self, x: Handle, y: Handle) -> Handle:
        return self.apply("floordiv", x, y)

    def mod(self, x: Handle, y: Handle) -> Handle:
        return self.apply("mod", x, y)

    def pow(self, x: Handle, y: Handle) -> Handle:
        return self.apply("pow", x, y)

    def max(self, x: Handle, y: Handle) -> Handle:
        return self.apply("max", x, y)

    def min(self, x: Handle, y: Handle) -> Handle:
        return self.apply("min", x, y)

    def neg(self, x: Handle) -> Handle:
        return self.apply("neg", x)

    def abs(self, x: Handle) -> Handle:
        return self.apply("abs", x)

    def sign(self, x: Handle) -> Handle:
        return self.apply("sign", x)

    def exp(self, x: Handle) -> Handle:
        return self.apply("exp", x)

    def log(self, x: Handle) -> Handle:
        return self.apply("log", x)

    def sqrt(self, x: Handle) -> Handle:
        return self.apply("sqrt", x)

    def rsqrt(self, x: Handle) -> Handle:
        return self.apply("rsqrt", x)

    def tanh(self, x: Handle) -> Handle:
        return self.apply("tanh", x)

    def sigmoid(self, x: Handle) -> Handle:
        return self.apply("sigmoid", x)

    def erf(self, x: Handle) -> Handle:
        return self.apply("erf", x)

    def floor(self, x: Handle) -> Handle:
        return self.apply("floor", x)

    def round(self, x: Handle) -> Handle:
        """To the nearest integer, halves to the even one."""
        return self.apply("round", x)

    def sin(self, x: Handle) -> Handle:
        return self.apply("sin", x)

    def cos(self, x: Handle) -> Handle:
        return self.apply("cos", x)

    # ---- bits of integers

    def xor(self, x: Handle, y: Handle) -> Handle:
        return self.apply("xor", x, y)

    def bit_and(self, x: Handle, y: Handle) -> Handle:
        return self.apply("and", x, y)

    def bit_or(self, x: Handle, y: Handle) -> Handle:
        return self.apply("or", x, y)

    def shift_right(self, x: Handle, bits: int) -> Handle:
        """x shifted right, zeros coming in."""
        return self.apply("shr", x, self.constant(bits, x))

    # ---- comparison and choice

    def isfinite(self, x: Handle) -> Handle:
        return self.apply("isfinite", x)

    def eq(self, x: Handle, y: Handle) -> Handle:
        return self.apply("eq", x, y)

    def ne(self, x: Handle, y: Handle) -> Handle:
        return self.apply("ne", x, y)

    def lt(self, x: Handle, y: Handle) -> Handle:
        return self.apply("lt", x, y)

    def le(self, x: Handle, y: Handle) -> Handle:
        return self.apply("le", x, y)

    def gt(self, x: Handle, y: Handle) -> Handle:
        return self.apply("gt", x, y)

    def ge(self, x: Handle, y: Handle) -> Handle:
        return self.apply("ge", x, y)

    def logical_and(self, x: Handle, y: Handle) -> Handle:
        return self._add("and", "bool", x, y)

    def logical_or(self, x: Handle, y: Handle) -> Handle:
        return self._add("or", "bool", x, y)

    def logical_not(self, x: Handle) -> Handle:
        return self._add("not", "bool", x)

    def select(self, condition: Handle, x: Handle, y: Handle) -> Handle:
        return self.apply("select", condition, x, y)

    def cast(self, x: Handle, dtype: str) -> Handle:
        return x if self.dtype(x) == dtype else self._add("cast", dtype, x)
