"""AMX' registers in memory, and their products as vectors: what `kernels.tiles` writes for a processor that has none.

Tests that are about tiles run in `tiles_here`, on any processor. As a plugin it does so for a whole run of the tests, which then
compiles for 16 lanes and tiles: `GRAPHC_CACHE_DIR=0 GRAPHC_TILES=1 pytest -p tests.codegen.emulated_tiles`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import llvmlite.binding as llvm
import pytest

from graphc import debug
from graphc_codegen import permission, target
from graphc_codegen.kernels import tiles
from graphc_codegen.kernels.gemm import pieces
from graphc_codegen.scalars.halves import narrow, rounded
from graphc_codegen.target import Target
from graphc_codegen.writer import Writer

_VECTOR, _WORDS = f"<{tiles.COLUMNS} x float>", f"<{tiles.COLUMNS} x i32>"
#: By the name of an attribute of a writer: where its function has its registers.
_PLACE = "emulated_tiles"


def _configure(w: Writer) -> None:
    size = tiles.REGISTERS * tiles.ROWS * tiles.WIDTH
    setattr(w, _PLACE, w.op(f"alloca [{size} x i8], align 64"))


def _release(w: Writer) -> None:
    delattr(w, _PLACE)


def _row(w: Writer, tile: int, r: str | int) -> str:
    return w.at(getattr(w, _PLACE), w.linear((tile, tiles.ROWS * tiles.WIDTH), (r, tiles.WIDTH)), "i8")


def _clear(w: Writer, tile: int) -> None:
    w.loop(tiles.ROWS, lambda r, _: w.do(f"store {_VECTOR} zeroinitializer, ptr {_row(w, tile, r)}, align 64"))


def _copy(w: Writer, source: str, target: str) -> None:
    w.do(f"store {_WORDS} {w.op(f'load {_WORDS}, ptr {source}, align 1')}, ptr {target}, align 1")


def _load(w: Writer, tile: int, pointer: str, apart: str | int = tiles.WIDTH) -> None:
    w.loop(tiles.ROWS, lambda r, _: _copy(w, w.at(pointer, w.mul(r, apart), "i8"), _row(w, tile, r)))


def _store(w: Writer, tile: int, pointer: str, apart: str | int = tiles.WIDTH) -> None:
    w.loop(tiles.ROWS, lambda r, _: _copy(w, _row(w, tile, r), w.at(pointer, w.mul(r, apart), "i8")))


def _terms(w: Writer, words: str, type: str) -> list[str]:
    """Both terms of pairs, as floats: words of "i32" or vectors of these."""
    to, by, upper = ("float", "16", "-65536") if type == "i32" else (_VECTOR, "splat (i32 16)", "splat (i32 -65536)")
    bits = w.op(f"shl {type} {words}, {by}"), w.op(f"and {type} {words}, {upper}")
    return [w.op(f"bitcast {type} {b} to {to}") for b in bits]


def _multiply(w: Writer, c: int, a: int, b: int) -> None:
    """Sums of the first terms of all pairs, and of the second ones; both together are added to the register."""

    def row(r: str, _: list[str]) -> None:
        def pair(q: str, sums: list[str]) -> list[str]:
            of_a = _terms(w, w.op(f"load i32, ptr {w.at(_row(w, a, r), w.mul(q, 4), 'i8')}, align 4"), "i32")
            of_b = _terms(w, w.op(f"load {_WORDS}, ptr {_row(w, b, q)}, align 64"), _WORDS)
            products = [w.binary("fmul", w.splat(x), y) for x, y in zip(of_a, of_b, strict=True)]
            return [w.binary("fadd", s, x) for s, x in zip(sums, products, strict=True)]

        sums = w.loop(tiles.ROWS, pair, [(_VECTOR, "zeroinitializer")] * 2)
        before = w.op(f"load {_VECTOR}, ptr {_row(w, c, r)}, align 64")
        w.do(f"store {_VECTOR} {w.binary('fadd', before, w.binary('fadd', *sums))}, ptr {_row(w, c, r)}, align 64")

    w.loop(tiles.ROWS, row)


def _shortened(w: Writer, value: str) -> str:
    return narrow(w, rounded(w, value, "bfloat16"), "bfloat16")


def install(change: Callable[[Any, str, Any], None] = setattr) -> None:
    """Patch what writes tiles, and what says of the processor that it has them, by `change`."""
    for function in (_configure, _release, _clear, _load, _store, _multiply):
        change(tiles, function.__name__[1:], function)
    change(pieces, "shortened", _shortened)
    describe, own = target.describe, dict(llvm.get_host_cpu_features())

    def emulated(triple: str, cpu: str, features: dict[str, bool]) -> Target:
        made = describe(triple, cpu, features)
        return replace(made, lanes=16, tiles=True) if features == own else made

    change(target, "describe", emulated)
    change(permission, "may_use_tiles", lambda: True)
    target.host.cache_clear()


@contextmanager
def tiles_here() -> Iterator[None]:
    """Inside the processor has tiles: its own, or emulated ones. Objects of these are not kept on disk."""
    if target.host().tiles and permission.may_use_tiles():
        yield
        return
    with pytest.MonkeyPatch.context() as patch, debug(cache=False):
        install(patch.setattr)
        yield
    target.host.cache_clear()


def pytest_configure() -> None:
    """As a plugin: for good."""
    install()
