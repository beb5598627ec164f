"""Large matrix products get memory into which they copy what they multiply, part by part: see `kernels.gemm.panels`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphc.ir import TensorType
from graphc.ir.lowering import Operand
from graphc.lower.rewrite import Context, Statements
from graphc.lower.statements import params_of, with_blocks
from graphc_codegen.program import ITEMSIZE, Call, NamedKernel, written

#: Products of no more terms are as fast without, but for those that read A along its columns: these while all is near, and with
#: so few terms that it is mostly C that is moved.
_TERMS, _NEAR, _SHORT = 640, 1 << 22, 64
#: With fewer rows or columns a product reads its matrices too seldom for copies.
_LEAST_ROWS, _LEAST_COLUMNS = 16, 32
#: Terms of a part at most, about; bytes of rows of A in a part, and columns of a block.
_DEPTH, _ROWS, _COLUMNS = 320, 1 << 19, 256
#: The widest and highest tile of any machine; blocks are filled up to whole tiles.
_WIDE, _TALL = 32, 16
#: Blocks for each thread, so that all have about as much to do.
_BLOCKS = 4


def copy_panels(body: Statements, context: Context) -> Statements:
    """Tell large products the sizes of their parts, and give them memory.

    before:  b2 = gemm(b0, b1) {m=4096, n=4096, k=4096}
    after:   b3, b2 = gemm(b0, b1) {m=4096, n=4096, k=4096, panels=(320, 204, 512), scratch=...}
    """

    def told(call: Call) -> Call:
        if call.kernel.family != "gemm" or not _is_large(params_of(call)):
            return call
        assert isinstance(call.kernel, NamedKernel)
        p = params_of(call)
        panels, each = _panels(p, context.most_threads)
        scratch = each * context.most_threads
        made = context.buffers.new(TensorType(p.get("dtype", "float32"), (scratch,)))
        first = len(call.args) - written(call.kernel)
        params = {name: value for name, value in call.kernel.params if name != "halves"}
        if "halves" in p:
            params["halves"] = tuple((dtype, tuple(k + (k >= first) for k in places)) for dtype, places in p["halves"])
        kernel = NamedKernel("gemm", (*params.items(), ("panels", panels), ("scratch", scratch)))
        return replace(call, kernel=kernel, args=(*call.args[:first], made, *call.args[first:]))

    return tuple(
        told(stmt) if isinstance(stmt, Call) else with_blocks(stmt, lambda block: copy_panels(block, context))
        for stmt in body
    )


def widens_scalars(kernel: NamedKernel, a: Operand) -> bool:
    """Whether to make float32 of the matrix of a product whose numbers are read one by one, for each strip of the other one.

    So many conversions would take up to a third of the time of the product.
    """
    p: dict[str, Any] = dict(kernel.params)
    return kernel.name == "gemm" and a.view is None and p["n"] >= _WIDE and not _is_large(p)


def _is_large(p: Mapping[str, Any]) -> bool:
    m, n, k = (int(p[name]) for name in "mnk")
    if "triangle" in p or m < _LEAST_ROWS or n < _LEAST_COLUMNS:
        return False
    return k > _TERMS or (bool(p["ta"]) and k > _SHORT and _item(p) * (m * k + k * n + m * n) > _NEAR)


def _item(p: Mapping[str, Any]) -> int:
    return ITEMSIZE[str(p.get("dtype", "float32"))]


def _panels(p: Mapping[str, Any], threads: int) -> tuple[tuple[int, int, int], int]:
    """Terms, rows and columns of a part, and the elements of memory that a thread needs."""
    m, n, k, item = *(int(p[name]) for name in "mnk"), _item(p)
    depth = _even(k, _DEPTH, 8)
    rows = _even(m, _ROWS // (item * 256), 1)
    parts = math.ceil(m / rows) * int(p.get("batch", 1))
    columns = _even(n, _COLUMNS, _WIDE)
    while threads > 1 and columns > 2 * _WIDE and parts * math.ceil(n / columns) % threads:
        if parts * math.ceil(n / columns) >= _BLOCKS * threads:
            break
        columns = _even(n, columns - _WIDE, _WIDE)
    # Tiles of A may have 12 rows and take the memory of 16.
    tall, wide = rows + _TALL, -(-columns // _WIDE) * _WIDE
    each = item * (4 * tall // 3 + wide) * (depth + 4) + 8 * tall * wide + 64 * (tall + columns) + 1024
    return (depth, rows, columns), -(-each // (64 * item)) * 64


def _even(size: int, most: int, step: int) -> int:
    """The size of equal parts, a multiple of `step` where that is not more than all."""
    each = math.ceil(size / math.ceil(size / most))
    return min(size, -(-each // step) * step)
