"""The tile registers of AMX: eight of 16 rows of 64 bytes, and the products of bfloat16 of two of them, added to a third.

A tile of C has 16 x 16 floats. Of A it has 16 rows of 32 terms; of B 16 rows of pairs of terms, each with 16 columns: element
(r, 2 j + s) is that of term 2 r + s and column j. The first terms of all pairs are added up, in float32, and the second ones;
both sums are added to the register. Denormals count as zero.
Intel SDM volume 1, chapter 18; volume 2, TDPBF16PS.
"""

from __future__ import annotations

from graphc_codegen.writer import Writer

#: Registers; the rows of one, its bytes in a row, the floats and the terms of bfloat16 in these.
REGISTERS, ROWS, WIDTH, COLUMNS, TERMS = 8, 16, 64, 16, 32


def configure(w: Writer) -> None:
    """All registers have all their rows. This must come before any other use of them in a function, `release` after it."""
    config = w.op("alloca [64 x i8], align 64")
    w.do(f"store <64 x i8> zeroinitializer, ptr {config}, align 64")
    w.do(f"store i8 1, ptr {config}, align 64")
    widths, rows = w.at(config, 16, "i8"), w.at(config, 48, "i8")
    w.do(f"store <8 x i16> splat (i16 {WIDTH}), ptr {widths}, align 16")
    w.do(f"store <8 x i8> splat (i8 {ROWS}), ptr {rows}, align 16")
    w.call_void("llvm.x86.ldtilecfg", [("ptr", config)])


def release(w: Writer) -> None:
    """Nothing is in the registers any more, and threads change without saving them."""
    w.call_void("llvm.x86.tilerelease", [])


def clear(w: Writer, tile: int) -> None:
    """Fill a register with zeros."""
    w.call_void("llvm.x86.tilezero", [("i8", str(tile))])


def load(w: Writer, tile: int, pointer: str, apart: str | int = WIDTH) -> None:
    """Read a register from an address on, whose rows lie so many bytes apart."""
    w.call_void("llvm.x86.tileloadd64", [("i8", str(tile)), ("ptr", pointer), ("i64", str(apart))])


def store(w: Writer, tile: int, pointer: str, apart: str | int = WIDTH) -> None:
    """Write a register from an address on, whose rows lie so many bytes apart."""
    w.call_void("llvm.x86.tilestored64", [("i8", str(tile)), ("ptr", pointer), ("i64", str(apart))])


def multiply(w: Writer, c: int, a: int, b: int) -> None:
    """Add to the register `c` the product of those of bfloat16, `a` and `b`."""
    w.call_void("llvm.x86.tdpbf16ps", [("i8", str(c)), ("i8", str(a)), ("i8", str(b))])
