"""Weights by which a loop multiplies are copied once, before it: see `kernels.gemm.packed` and `kernels.gemm.panels`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphc.ir import TensorType
from graphc.ir.types import HALVES
from graphc.lower import packing, tiles
from graphc.lower.packing import with_memory
from graphc.lower.rewrite import Context, Statements
from graphc.lower.statements import operands, params_of, with_blocks, without_half
from graphc_codegen.program import Call, For, NamedKernel, blocks

#: Turns of a loop for which a copy pays.
_LEAST_TURNS = 4


def pack_factors(body: Statements, context: Context) -> Statements:
    """Copy what a loop multiplies by and does not write: to tiles where the processor has them and products gain by it, else to
    the strips of a product with panels.

    before:  for 64 turns   b4 = gemm(b3, b1) {m=32, n=512, k=256}
    after:   b5 = pack_panels(b1) {n=512, k=256, part=(256, 512)}
             for 64 turns   b6, b4 = gemm(b3, b5) {m=32, n=512, k=256, panels=(256, 32, 512, 32), scratch=..., packed=float32}
    """
    done: list[Statements] = []
    for stmt in body:
        if isinstance(stmt, Call):
            done.append((stmt,))
            continue
        stmt = with_blocks(stmt, lambda block: pack_factors(block, context))
        done.append(_before(stmt, context) if isinstance(stmt, For) and stmt.count >= _LEAST_TURNS else (stmt,))
    return tuple(stmt for some in done for stmt in some)


def _before(loop: For, context: Context) -> Statements:
    """The loop behind what its products read."""
    inside = _changing((loop,))
    made: dict[tuple[int, NamedKernel], Call] = {}

    def copied(call: Call, kernel: NamedKernel, elements: int) -> int:
        """The buffer of a factor that such a kernel copies."""
        key = (call.args[1], kernel)
        if key not in made:
            dtype = str(dict(kernel.params).get("dtype", "float32"))
            buffer = context.buffers.new(TensorType(dtype, (elements,)))
            made[key] = Call(kernel, (call.args[1], buffer), call.note, nodes=call.nodes)
        return made[key].args[1]

    def told(call: Call) -> Call:
        p = params_of(call)
        if call.kernel.family != "gemm" or call.args[1] in inside or {"tiles", "packed", "triangle", "b"} & p.keys():
            return call
        of = tiles.pieces(p)
        if tiles.batch(p) != 1:
            return call
        if tiles.gains(p, of, context.buffers.bfloat16(), packed=True):
            kernel, kept = _to_tiles(p)
            changed = _by(call, kept, copied(call, kernel, tiles.packed_elements(p, of[1])))
            return with_memory(changed, "tiles", tiles.packed_sizes(p, of, context.most_threads), context)
        if packing.gains_by_strips(p):
            size = packing.panels(p, context.most_threads)
            kernel, dtype = _to_strips(p, size[0])
            changed = _by(call, {**p, "packed": dtype}, copied(call, kernel, packing.strip_elements(p, size[0])))
            return with_memory(changed, "panels", size, context)
        return call

    turn = tuple(told(stmt) if isinstance(stmt, Call) else stmt for stmt in loop.body)
    return (*made.values(), replace(loop, body=turn))


def _changing(body: Statements) -> set[int]:
    """The buffers that a turn may write or that are others in each: windows of loops, and where these lie."""
    changing: set[int] = set()
    for stmt in body:
        if isinstance(stmt, Call):
            changing.update(operands(stmt)[1])
            continue
        if isinstance(stmt, For):
            changing.update(buffer for w in stmt.windows for buffer in (w.buffer, w.within))
        for block in blocks(stmt):
            changing |= _changing(block)
    return changing


def _by(call: Call, params: Mapping[str, Any], factor: int) -> Call:
    """The product with other parameters and another buffer for its second factor."""
    args = (call.args[0], factor, *call.args[2:])
    return replace(call, kernel=NamedKernel("gemm", tuple(params.items())), args=args)


def _to_tiles(p: Mapping[str, Any]) -> tuple[NamedKernel, dict[str, Any]]:
    """What copies the second factor of a product to tiles, and what the product is told then."""
    narrow = {k: dtype for dtype, places in p.get("halves", ()) for k in places}
    rounds, dtype = 1 in p.get("rounds", ()), narrow.get(1, "float32")
    packed = "bfloat16" if rounds else dtype
    params = (
        ("n", p["n"]), ("k", p["k"]), ("tb", p["tb"]), ("packed", packed), ("rounds", rounds),
        ("apart", "bfloat16" not in (narrow.get(0), packed)),
        *((("halves", ((dtype, (0,)),)),) if dtype in HALVES else ()),
    )  # fmt: skip
    kept = {**without_half(p, 1), "packed": packed}
    if rounds:
        kept["rounds"] = tuple(k for k in p["rounds"] if k != 1)
    return NamedKernel("pack_factor", params), kept


def _to_strips(p: Mapping[str, Any], panels: tuple[int, ...]) -> tuple[NamedKernel, str]:
    """What copies it to strips, and the dtype of its numbers."""
    dtype = str(p.get("dtype", "float32"))
    told = (("n", p["n"]), ("k", p["k"]), ("tb", p["tb"]), ("part", panels[::2]))
    return NamedKernel("pack_panels", (*told, ("dtype", dtype)) if dtype != "float32" else told), dtype
