"""Writes what one thread does as LLVM IR text: lines, numbers and addresses, loads and stores, vectors, loops and conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from graphc_codegen.declarations import Declarations
from graphc_codegen.literals import literal

#: Suffix of overloaded intrinsics.
MANGLED = {"float": "f32", "double": "f64", "i32": "i32", "i64": "i64", "i16": "i16", "i8": "i8", "i1": "i1"}
_BYTES = {"ptr": 8, "float": 4, "double": 8, "i32": 4, "i64": 8, "i16": 2, "i8": 1}

#: Instructions whose results depend on their operands alone and cost no vector register to keep.
_REUSED = ("add nsw i64", "mul nsw i64", "getelementptr")
#: Gives a number, or an address, back unchanged, but LLVM cannot see that.
_SAME = 'call i64 asm "", "=r,0"(i64 {}) nounwind memory(none)'
_ADDRESS = 'call ptr asm sideeffect "", "=r,0"(ptr {}) nounwind'

Carry = Sequence[tuple[str, str]]


def vec(type: str, lanes: int) -> str:
    return f"<{lanes} x {type}>"


def mask(active: int | str, lanes: int) -> str:
    """Constant lane mask whose first `active` lanes are on; a mask is one already."""
    return active if isinstance(active, str) else constant_mask(i < active for i in range(lanes))


def constant_mask(lanes: Iterable[bool]) -> str:
    """The mask that is on where `lanes` says so."""
    return "<" + ", ".join(f"i1 {'true' if on else 'false'}" for on in lanes) + ">"


class VectorWriter:
    """Builds the body of a function that one thread runs. `lanes` is the vector width every emitter uses (16 for AVX-512, 8 for
    AVX2): so many floats, which are what everything is made of unless it says otherwise; see `elements`.

    `fused` says that the target has a fused multiply-add; without it `fma` is a product and a sum. `bfloat16` says that it
    multiplies and rounds 16 pairs of bfloat16 at once. `tiles` says that there are AMX' registers.
    """

    tiles = False

    def __init__(self, declarations: Declarations, lanes: int, *, fused: bool = True, bfloat16: bool = False) -> None:
        self.lanes = lanes
        self.element = "float"
        #: Whether instructions convert between float and half, `Target.converts`; with so many lanes they do.
        self.converts = lanes >= 8
        #: Whether there are instructions to store some lanes that take no longer than others: those of AVX2 take ten times as
        #: long on a Zen 3.
        self.stores_lanes = lanes == 16
        self._scales = lanes == 16
        self.fused = fused
        self.bfloat16 = bfloat16 and lanes == 16
        self._depth = 0
        self.lines: list[str] = []
        self.declarations = declarations
        self._names = 0
        self._block = "body"
        #: By their names, vectors of floats that a half type represents: which one, and their bits if they have been that.
        self.halves: dict[str, tuple[str, str]] = {}
        #: By their names, vectors of floats that are one of two lane by lane: the condition, and the two.
        self.choices: dict[str, tuple[str, str, str]] = {}
        #: By their text, the instructions that have been executed wherever the next line is.
        self._known: dict[str, str] = {}

    @contextmanager
    def elements(self, type: str) -> Iterator[None]:
        """Inside everything is made of "float" or "double" unless it says otherwise; of doubles a vector has half as many."""
        before = self.lanes, self.element
        self.lanes, self.element = self.floats * 4 // _BYTES[type], type
        yield
        self.lanes, self.element = before

    @property
    def floats(self) -> int:
        """How many floats a vector has, whatever the elements are."""
        return self.lanes * _BYTES[self.element] // 4

    @property
    def scales(self) -> bool:
        """Whether an instruction multiplies floats by powers of two: AVX-512's, of whole registers."""
        return self._scales and self.lanes == 16

    # ---- lines

    def op(self, text: str) -> str:
        """Add `%t = text` and return the name; numbers and addresses that are there already are not made again."""
        found = self._known.get(text)
        if found is not None:
            return found
        self._names += 1
        name = f"%t{self._names}"
        self.lines.append(f"  {name} = {text}")
        if text.startswith(_REUSED):
            self._known[text] = name
        return name

    def do(self, text: str) -> None:
        """Add a line without a result."""
        self.lines.append("  " + text)

    def call(self, intrinsic: str, result: str, args: Sequence[tuple[str, str]], flags: str = "") -> str:
        """Call an intrinsic that returns a value; declares it. `args` are (type, value) pairs."""
        self.declarations.add(result, intrinsic, *(t for t, _ in args))
        operands = ", ".join(f"{t} {v}" for t, v in args)
        return self.op(f"call {flags + ' ' if flags else ''}{result} @{intrinsic}({operands})")

    def call_void(self, intrinsic: str, args: Sequence[tuple[str, str]]) -> None:
        self.declarations.add("void", intrinsic, *(t for t, _ in args))
        self.do(f"call void @{intrinsic}({', '.join(f'{t} {v}' for t, v in args)})")

    # ---- integers and addresses (i64 values; an int is folded)

    def add(self, a: str | int, b: str | int) -> str | int:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0:
            return b
        if b == 0:
            return a
        return self.op(f"add nsw i64 {a}, {b}")

    def mul(self, a: str | int, b: str | int) -> str | int:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 0 or b == 0:
            return 0
        if a == 1:
            return b
        if b == 1:
            return a
        return self.op(f"mul nsw i64 {a}, {b}")

    def linear(self, *terms: tuple[str | int, str | int]) -> str | int:
        """The sum of products, constants folded."""
        total: str | int = 0
        for a, b in terms:
            total = self.add(total, self.mul(a, b))
        return total

    def divided(self, a: str | int, b: int) -> tuple[str | int, str | int]:
        """Quotient and remainder of a number that is not negative."""
        if isinstance(a, int):
            return divmod(a, b)
        if b == 1:
            return a, 0
        return self.op(f"udiv i64 {a}, {b}"), self.op(f"urem i64 {a}, {b}")

    def hidden(self, number: str) -> str:
        """The same number, of which LLVM knows nothing more."""
        return self.op(_SAME.format(number))

    def digits(self, index: str | int, sizes: Sequence[int]) -> list[str | int]:
        """An index along each of some axes; none of it where there are none."""
        found: list[str | int] = []
        for size in reversed(sizes[1:]):
            index, digit = self.divided(index, size)
            found.insert(0, digit)
        return [index, *found] if sizes else []

    def smaller(self, a: str | int, b: str | int) -> str | int:
        """The smaller of two numbers."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return self.call("llvm.smin.i64", "i64", [("i64", f"{a}"), ("i64", f"{b}")])

    def subtracted(self, a: str | int, b: str | int) -> str | int:
        """a - b"""
        if b == 0:
            return a
        return a - b if isinstance(a, int) and isinstance(b, int) else self.op(f"sub nsw i64 {a}, {b}")

    def at(self, pointer: str, index: str | int, type: str | None = None, *, inside: bool = True) -> str:
        """The address of element `index`, which unless `inside` the array need not have."""
        if index == 0:
            return pointer
        how = "getelementptr inbounds" if inside else "getelementptr"
        return self.op(f"{how} {type or self.element}, ptr {pointer}, i64 {index}")

    def unknown(self, pointer: str) -> str:
        """The same address, which LLVM does not know to be that: what is loaded from there is not kept from another time."""
        return self.op(_ADDRESS.format(pointer))

    def chosen(self, condition: str, a: str, b: str) -> str:
        """One of two addresses, of elements of the same kind."""
        return self.op(f"select i1 {condition}, ptr {a}, ptr {b}")

    # ---- loads, stores, vectors

    def load(self, pointer: str, type: str | None = None) -> str:
        type = type or self.element
        return self.op(f"load {type}, ptr {pointer}, align {_BYTES[type]}")

    def store(self, value: str, pointer: str, type: str | None = None) -> None:
        type = type or self.element
        self.do(f"store {type} {value}, ptr {pointer}, align {_BYTES[type]}")

    def vload(self, pointer: str, active: int | str | None = None, type: str | None = None) -> str:
        """Load `active` lanes (all by default); the others are zero and their memory is not touched."""
        type = type or self.element
        v = vec(type, self.lanes)
        if active is None or active == self.lanes:
            return self.op(f"load {v}, ptr {pointer}, align {_BYTES[type]}")
        return self.masked_load(pointer, mask(active, self.lanes), "zeroinitializer", type)

    def masked_load(self, pointer: str, lanes: str, other: str, type: str | None = None) -> str:
        """Load the lanes that are on in a mask; the others are those of `other`, and their memory is not touched."""
        type = type or self.element
        v = vec(type, self.lanes)
        name = f"llvm.masked.load.v{self.lanes}{MANGLED[type]}.p0"
        arguments = [("ptr", pointer), ("i32", str(_BYTES[type])), (vec("i1", self.lanes), lanes), (v, other)]
        return self.call(name, v, arguments)

    def vstore(self, value: str, pointer: str, active: int | str | None = None, type: str | None = None) -> None:
        """Store the first `active` lanes (all by default), or those that are on in a mask; other memory is not touched."""
        type = type or self.element
        v = vec(type, self.lanes)
        if active is None or active == self.lanes:
            self.do(f"store {v} {value}, ptr {pointer}, align {_BYTES[type]}")
            return
        if isinstance(active, int) and (not self.stores_lanes or (_BYTES[type] < 4 and active == 1)):
            self._store_first(value, pointer, active, type)
            return
        lanes = mask(active, self.lanes)
        if self.stores_lanes or lanes.startswith("<"):
            self._store_lanes(value, pointer, lanes, type)
            return
        bits = self.op(f"bitcast {vec('i1', self.lanes)} {lanes} to i{self.lanes}")
        full = self.op(f"icmp eq i{self.lanes} {bits}, -1")
        self.either(
            full,
            lambda: self.vstore(value, pointer, type=type),
            lambda: self._store_lanes(value, pointer, lanes, type),
        )

    def _store_first(self, value: str, pointer: str, count: int, type: str) -> None:
        """Store the first `count` lanes, in pieces that are powers of two."""
        v, first = vec(type, self.lanes), 0
        while first < count:
            size = 1 << (count - first).bit_length() - 1
            # Of bits as they lie in memory, whatever they are taken for.
            place = VectorWriter.at(self, pointer, first, type)
            if size == 1:
                self.store(self.op(f"extractelement {v} {value}, i64 {first}"), place, type)
            else:
                chosen = ", ".join(f"i32 {i}" for i in range(first, first + size))
                piece = self.op(f"shufflevector {v} {value}, {v} poison, {vec('i32', size)} <{chosen}>")
                self.do(f"store {vec(type, size)} {piece}, ptr {place}, align {_BYTES[type]}")
            first += size

    def _store_lanes(self, value: str, pointer: str, lanes: str, type: str) -> None:
        v = vec(type, self.lanes)
        arguments = [(v, value), ("ptr", pointer), ("i32", str(_BYTES[type])), (vec("i1", self.lanes), lanes)]
        self.call_void(f"llvm.masked.store.v{self.lanes}{MANGLED[type]}.p0", arguments)

    def load_four(self, pointer: str) -> str:
        """A vector of four elements from an address on."""
        return self.op(f"load {vec(self.element, 4)}, ptr {pointer}, align {_BYTES[self.element]}")

    def store_four(self, value: str, pointer: str) -> None:
        """Store a vector of four elements."""
        self.do(f"store {vec(self.element, 4)} {value}, ptr {pointer}, align {_BYTES[self.element]}")

    def load_splat(self, pointer: str) -> str:
        """A vector with the element at an address in every lane."""
        return self.splat(self.load(pointer))

    def as_stored(self, value: str, pointer: str) -> str:
        """What a vector becomes when it is stored there."""
        return value

    def splat(self, scalar: str, type: str | None = None) -> str:
        """A vector with the scalar in every lane."""
        type = type or self.element
        v = vec(type, self.lanes)
        first = self.op(f"insertelement {v} poison, {type} {scalar}, i64 0")
        return self.op(f"shufflevector {v} {first}, {v} poison, {vec('i32', self.lanes)} zeroinitializer")

    def shuffle(self, a: str, b: str, indices: Sequence[int | None], type: str | None = None) -> str:
        """Lanes chosen from a, then b; any number where there is None."""
        v = vec(type or self.element, self.lanes)
        chosen = ", ".join("i32 poison" if i is None else f"i32 {i}" for i in indices)
        return self.op(f"shufflevector {v} {a}, {v} {b}, {vec('i32', self.lanes)} <{chosen}>")

    def constant(self, x: float, type: str | None = None) -> str:
        """A constant vector."""
        type = type or self.element
        return f"splat ({type} {literal(x, type)})"

    def fma(self, a: str, b: str, c: str, type: str | None = None) -> str:
        """a * b + c on vectors of floats or doubles."""
        type = type or self.element
        v = vec(type, self.lanes)
        if not self.fused:  # `llvm.fma` would become a call into libm
            return self.op(f"fadd contract {v} {self.op(f'fmul contract {v} {a}, {b}')}, {c}")
        return self.call(f"llvm.fma.v{self.lanes}{MANGLED[type]}", v, [(v, a), (v, b), (v, c)])

    def unary(self, intrinsic: str, x: str, type: str | None = None) -> str:
        """A one-operand intrinsic on vectors, e.g. "floor", "fabs", "sqrt"."""
        type = type or self.element
        v = vec(type, self.lanes)
        return self.call(f"llvm.{intrinsic}.v{self.lanes}{MANGLED[type]}", v, [(v, x)])

    def negative(self, x: str, type: str | None = None) -> str:
        """-x of a vector."""
        return self.op(f"fneg {vec(type or self.element, self.lanes)} {x}")

    def binary(self, op: str, a: str, b: str, type: str | None = None) -> str:
        """A two-operand instruction on vectors, e.g. "fadd", "xor", "fadd reassoc", "icmp sgt", "fcmp olt"."""
        return self.op(f"{op} {vec(type or self.element, self.lanes)} {a}, {b}")

    def select(self, condition: str, a: str, b: str, type: str | None = None) -> str:
        """Lane-wise `condition ? a : b` of vectors."""
        v = vec(type or self.element, self.lanes)
        made = self.op(f"select {vec('i1', self.lanes)} {condition}, {v} {a}, {v} {b}")
        if (type or self.element) == "float":
            self.choices[made] = condition, a, b
        return made

    def convert(self, op: str, value: str, source: str, target: str) -> str:
        """A conversion of a vector, e.g. "bitcast", "sitofp", "sext"."""
        return self.op(f"{op} {vec(source, self.lanes)} {value} to {vec(target, self.lanes)}")

    # ---- control

    @property
    def looping(self) -> bool:
        """Whether what is written now may be executed more than once, or not at all."""
        return self._depth > 0

    def loop(
        self,
        count: int | str,
        body: Callable[[str, list[str]], Sequence[str] | None],
        carry: Carry = (),
        *,
        step: int = 1,
        start: int | str = 0,
    ) -> list[str]:
        """`for i in range(start, count, step)`, at least one turn; returns the carried values after the last turn.

        `carry` lists (type, initial value); `body(i, values)` returns the next values.
        """
        self._names += 1
        k, before = self._names, self._block
        head = f"loop{k}"
        self.do(f"br label %{head}")
        self.lines.append(f"{head}:")
        self._block = head
        phis = len(self.lines)
        self.lines.append("")
        turn = index = f"%i{k}"
        if not carry:
            turn = f"%j{k}"
        values = [f"%c{k}_{j}" for j in range(len(carry))]
        self._depth += 1
        new = list(body(index, values) or ())
        self._depth -= 1
        if len(new) != len(carry):
            raise AssertionError("a loop body must return one value per carried value")
        following = self.op(f"add nsw i64 {turn}, {step}")
        more = self.op(f"icmp slt i64 {following}, {count}")
        self.do(f"br i1 {more}, label %{head}, label %done{k}")
        text = [f"  {turn} = phi i64 [ {start}, %{before} ], [ {following}, %{self._block} ]"]
        for (type, initial), value, after in zip(carry, values, new, strict=True):
            text.append(f"  {value} = phi {type} [ {initial}, %{before} ], [ {after}, %{self._block} ]")
        if not carry:
            # LLVM's loop strength reduction takes up to a third of the time of compiling and gains nothing here. It passes over
            # addresses that it cannot understand. Loops with accumulators keep theirs: they are short of registers.
            text.append(f"  {index} = {_SAME.format(turn)}")
        self.lines[phis] = "\n".join(text)
        self.lines.append(f"done{k}:")
        self._block = f"done{k}"
        return new

    def repeat(self, count: int, body: Callable[[str | int], None]) -> None:
        """`for i in range(count)` without carried values; no loop for a single turn, nothing for none."""
        if count == 1:
            body(0)
        elif count > 1:
            self.loop(count, lambda i, _: body(i))

    def turns(
        self,
        bounds: tuple[int | str, int | str],
        body: Callable[[str, list[str]], Sequence[str] | None],
        carry: Carry = (),
        *,
        step: int = 1,
    ) -> list[str]:
        """`for i in range(*bounds, step)` like `loop`, but there may be no turn at all."""
        start, end = bounds
        self._names += 1
        k, before = self._names, self._block
        some = self.op(f"icmp slt i64 {start}, {end}")
        self.do(f"br i1 {some}, label %some{k}, label %end{k}")
        self._label(f"some{k}")
        with self._conditional():
            made = self.loop(end, body, carry, step=step, start=start)
        after = self._block
        self.do(f"br label %end{k}")
        self._label(f"end{k}")
        return [
            self.op(f"phi {type} [ {initial}, %{before} ], [ {value}, %{after} ]")
            for (type, initial), value in zip(carry, made, strict=True)
        ]

    def part(self, r: str | int, parts: int, count: int, body: Callable[[str | int], None]) -> None:
        """`body` for part `r` of `parts` of `range(count)`."""
        if parts == 1:
            self.repeat(count, body)
            return
        first, end = (self.op(f"udiv i64 {self.mul(self.add(r, i), count)}, {parts}") for i in range(2))
        self.turns((first, end), lambda i, _: body(i))

    def when(self, condition: str, body: Callable[[], None]) -> None:
        """`if condition: body()`"""
        self._names += 1
        k = self._names
        self.do(f"br i1 {condition}, label %then{k}, label %end{k}")
        self._label(f"then{k}")
        with self._conditional():
            body()
        self.do(f"br label %end{k}")
        self._label(f"end{k}")

    def either(self, condition: str, body: Callable[[], None], other: Callable[[], None]) -> None:
        """`body()` if the condition is true, else `other()`."""
        self._names += 1
        k = self._names
        self.do(f"br i1 {condition}, label %then{k}, label %else{k}")
        for name, write in (("then", body), ("else", other)):
            self._label(f"{name}{k}")
            with self._conditional():
                write()
            self.do(f"br label %end{k}")
        self._label(f"end{k}")

    def until_zero(self, type: str, value: str, body: Callable[[str], str]) -> None:
        """Repeat `body`, at least once, with what it gave, an integer of that type, until this is zero."""
        self._names += 1
        k, before = self._names, self._block
        self.do(f"br label %again{k}")
        self._label(f"again{k}")
        line = len(self.lines)
        self.lines.append("")
        with self._conditional():
            made = body(f"%v{k}")
        self.lines[line] = f"  %v{k} = phi {type} [ {value}, %{before} ], [ {made}, %{self._block} ]"
        self.do(f"br i1 {self.op(f'icmp eq {type} {made}, 0')}, label %end{k}, label %again{k}")
        self._label(f"end{k}")

    def until(self, body: Callable[[], str]) -> None:
        """Repeat `body` until the i1 that it gives is true."""
        self._names += 1
        k = self._names
        self.do(f"br label %again{k}")
        self._label(f"again{k}")
        with self._conditional():
            self.do(f"br i1 {body()}, label %end{k}, label %again{k}")
        self._label(f"end{k}")

    @contextmanager
    def _conditional(self) -> Iterator[None]:
        """What is written inside may not be executed, or more than once."""
        known = dict(self._known)
        self._depth += 1
        yield
        self._depth -= 1
        self._known = known

    def _label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self._block = name
