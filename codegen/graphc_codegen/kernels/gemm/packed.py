"""The second factor of products of a loop, copied once before it as their tiles want it: see `tiled`, and `panels`."""

from __future__ import annotations

from collections.abc import Sequence

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.kernels import tiles
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.gemm.pack import Tiles
from graphc_codegen.kernels.gemm.pack import pack as copy
from graphc_codegen.kernels.gemm.panels import Strips, strip_elements
from graphc_codegen.kernels.gemm.pieces import PIECES, Factor, Place, pack
from graphc_codegen.kernels.gemm.plan import Side, dtype_of
from graphc_codegen.kernels.gemm.tiled import beside_each_other, packed_elements
from graphc_codegen.kernels.narrow import dtype_behind
from graphc_codegen.scalars.halves import numpy_dtype
from graphc_codegen.writer import Writer


def operands(p: Params) -> tuple[Operand, ...]:
    """b [k, n] ([n, k] if `tb`) in float32 or a half -> its tiles, for products that are told it is `packed` as
    numbers of that dtype; rounded to bfloat16 if it `rounds`.
    """
    return Operand("float32", p["n"] * p["k"], "in"), Operand("float32", packed_elements(p), "out")


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Threads share what lies beside each other in a unit of a product."""
    n, k, each = p["n"], p["k"], beside_each_other(p["n"])
    factor = Factor(_factor(p, pointers[0]), k, dtype_behind(w, pointers[0]), p["rounds"], rows=False, apart=p["apart"])
    whole = Place(pointers[1], each, -(-k // tiles.TERMS), PIECES[p["packed"]])

    def unit(u: str | int) -> None:
        first = w.mul(u, each * tiles.COLUMNS)
        left = w.divided(w.add(w.subtracted(n, first), tiles.COLUMNS - 1), tiles.COLUMNS)[0]
        to = whole._replace(pointer=whole.at(w, u, 0))
        pack(w, factor, (first, 0), k // tiles.TERMS, w.smaller(each, left), "true", to)

    w.share(-(-n // (each * tiles.COLUMNS)), unit)


def _factor(p: Params, pointer: str) -> Side:
    """It as it lies in memory."""
    return Side(pointer, p["n"], *((p["k"], 1) if p["tb"] else (1, p["n"])))


def twin(p: Params, b: Array, out: Array) -> None:
    """The numbers as they are, in front."""
    out[:] = 0
    stored = out.view(numpy_dtype("bfloat16")) if p.get("packed") == "bfloat16" else out
    stored[: b.size] = b.astype(stored.dtype)


PACK_FACTOR = Emitter(operands, emit, twin)


# ---- strips


def strip_operands(p: Params) -> tuple[Operand, ...]:
    """b [k, n] ([n, k] if `tb`) of `dtype` -> its strips, for products that are told it is `packed`, and whose `panels` have as
    many turns and columns as a `part`.
    """
    dtype, size = dtype_of(p), strip_elements(p["n"], p["k"], *p["part"])
    return Operand(dtype, p["n"] * p["k"], "in"), Operand(dtype, size, "out")


def emit_strips(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Threads share the parts."""
    n, k, (depth, columns) = p["n"], p["k"], p["part"]

    def part(number: str | int) -> None:
        block, at = w.divided(number, strips.parts)
        j, z = w.mul(block, columns), w.mul(at, depth)
        width, count = w.smaller(columns, w.subtracted(n, j)), w.smaller(depth, w.subtracted(k, z))
        some = w.divided(w.add(width, strips.wide - 1), strips.wide)[0]
        copy(w, b, (j, z), count, Tiles(strips.at(w, pointers[1], j, z), some, strips.wide, strips.wide, strips.apart))

    with w.elements(REGISTER[dtype_of(p)]):
        strips, b = Strips.of(w, depth, columns, k), _factor(p, pointers[0])
        w.share(-(-n // columns) * strips.parts, part)


PACK_PANELS = Emitter(strip_operands, emit_strips, twin)
