"""Weights by which a loop multiplies are copied to tiles once, before it: see `kernels.gemm.packed`."""

from __future__ import annotations

from dataclasses import replace

from graphc.ir import TensorType
from graphc.ir.types import HALVES
from graphc.lower import tiles
from graphc.lower.products import with_memory
from graphc.lower.rewrite import Context, Statements
from graphc.lower.statements import calls, operands, params_of, with_blocks, without_half
from graphc_codegen.program import Call, For, NamedKernel

#: Turns of a loop for which a copy pays.
_LEAST_TURNS = 4


def pack_factors(body: Statements, context: Context) -> Statements:
    """Copy to tiles what a loop multiplies by and does not write, where the processor has them and products gain by it.

    before:  for 64 turns   b4 = gemm(b3, b1) {m=32, n=512, k=128}
    after:   b5 = pack_factor(b1) {n=512, k=128}
             for 64 turns   b6, b4 = gemm(b3, b5) {m=32, n=512, k=128, tiles=(128, 32, 512), scratch=..., packed=float32}
    """
    if context.buffers.bfloat16() not in ("tiles", "all by tiles"):
        return body
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
    inside = {w.buffer for w in loop.windows}.union(*(operands(call)[1] for call in calls(loop.body)))
    made: dict[tuple[int, NamedKernel], Call] = {}

    def told(call: Call) -> Call:
        p = params_of(call)
        if call.kernel.family != "gemm" or call.args[1] in inside or {"tiles", "packed", "triangle", "b"} & p.keys():
            return call
        of = tiles.pieces(p)
        if tiles.batch(p) != 1 or not tiles.gains(p, of, context.buffers.bfloat16(), packed=True):
            return call
        narrow = {k: dtype for dtype, places in p.get("halves", ()) for k in places}
        rounds, dtype = 1 in p.get("rounds", ()), narrow.get(1, "float32")
        packed = "bfloat16" if rounds else dtype
        params = (
            ("n", p["n"]), ("k", p["k"]), ("tb", p["tb"]), ("packed", packed), ("rounds", rounds),
            ("apart", "bfloat16" not in (narrow.get(0), packed)),
            *((("halves", ((dtype, (0,)),)),) if dtype in HALVES else ()),
        )  # fmt: skip
        kernel = NamedKernel("pack_factor", params)
        key = (call.args[1], kernel)
        if key not in made:
            buffer = context.buffers.new(TensorType("float32", (tiles.packed_elements(p, of[1]),)))
            made[key] = Call(kernel, (call.args[1], buffer), call.note, nodes=call.nodes)
        kept = {**without_half(p, 1), "packed": packed}
        if rounds:
            kept["rounds"] = tuple(k for k in p["rounds"] if k != 1)
        args = (call.args[0], made[key].args[1], *call.args[2:])
        changed = replace(call, kernel=NamedKernel("gemm", tuple(kept.items())), args=args)
        return with_memory(changed, "tiles", tiles.packed_sizes(p, of, context.most_threads), context)

    turn = tuple(told(stmt) if isinstance(stmt, Call) else stmt for stmt in loop.body)
    return (*made.values(), replace(loop, body=turn))
