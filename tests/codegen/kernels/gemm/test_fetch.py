"""Which lines are asked for beside the turns of a tile. Here a request writes a mark."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphc_codegen.kernels.gemm import fetch
from graphc_codegen.kernels.gemm.fetch import Lines, Rows, Strip, beside
from graphc_codegen.kernels.microkernel import blocks
from graphc_codegen.writer import Writer
from tests.codegen.kernel_harness import Array, Body, compile_text, ir_text


def _mark(w: Writer, pointer: str, offset: int | str, *, cache: int = 1) -> None:
    w.store("0x3FF0000000000000", w.op(f"getelementptr float, ptr {pointer}, i64 {offset}"))


def _marks(body: Body) -> Array:
    """Which elements `body` has marked."""
    marks = np.zeros(1 << 16, np.float32)
    compiled = compile_text(ir_text(body, 1, 8), 1, 8)
    compiled.call(marks.ctypes.data)
    return marks > 0


_patched = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@_patched
@given(
    rows=st.integers(1, 28), turns=st.integers(1, 70), columns=st.integers(1, 70), spare=st.sampled_from([0, 1, 16, 58])
)
def test_every_line_of_the_rows(
    monkeypatch: pytest.MonkeyPatch, rows: int, turns: int, columns: int, spare: int
) -> None:
    monkeypatch.setattr(fetch, "prefetch", _mark)
    lead = columns + spare

    def body(w: Writer, p: list[str]) -> None:
        fetching = beside(w, [Rows(p[0], 5, lead, columns), Rows(p[0], 9, 0, 1)], rows, turns)
        assert fetching is not None
        w.repeat(turns, fetching)

    marks = _marks(body)
    assert marks[9]
    for r in range(rows):
        first = 5 + r * lead
        for element in (*range(first, first + columns, 16), *([first + columns - 1] if lead % 16 else [])):
            assert marks[element], (r, element)
    after = np.flatnonzero(marks[5 + (rows + turns) * lead + 70 :])
    assert not after.size


@_patched
@given(
    depth=st.integers(1, 90),
    columns=st.integers(1, 32),
    all_rows=st.integers(1, 60),
    turns=st.integers(1, 40),
    contiguous_rows=st.booleans(),
)
def test_the_tiles_share_a_strip(
    monkeypatch: pytest.MonkeyPatch, depth: int, columns: int, all_rows: int, turns: int, contiguous_rows: bool
) -> None:
    monkeypatch.setattr(fetch, "prefetch", _mark)
    deep, along = (40, 1) if contiguous_rows else (1, 100)

    def body(w: Writer, p: list[str]) -> None:
        for start, count, size in blocks(all_rows, 7):

            def tile(i: str | int, start: int = start, size: int = size) -> None:
                at = w.linear((i, size), (start, 1))
                strip = Strip(p[0], 3, depth, columns, deep, along, at, size, all_rows)
                fetching = beside(w, [], size, turns, strip)
                assert fetching is not None
                w.repeat(turns, fetching)

            w.repeat(count, tile)

    marks = _marks(body)
    for row in range(depth):
        for column in range(columns):
            if (column if contiguous_rows else row) % 16 == 0:
                assert marks[3 + row * deep + column * along], (row, column)


def test_nothing_to_fetch() -> None:
    def body(w: Writer, p: list[str]) -> None:
        assert beside(w, [], 3, 4) is None

    assert not _marks(body).any()


@_patched
@given(
    rows=st.integers(1, 20),
    lines=st.integers(1, 9),
    spare=st.integers(0, 40),
    tiles=st.integers(1, 9),
    turns=st.integers(1, 30),
)
def test_every_line_of_rows_as_they_lie(
    monkeypatch: pytest.MonkeyPatch, rows: int, lines: int, spare: int, tiles: int, turns: int
) -> None:
    monkeypatch.setattr(fetch, "prefetch", _mark)
    share, lead = -(-rows * lines // tiles), 16 * lines + spare

    def body(w: Writer, p: list[str]) -> None:
        def tile(t: str | int) -> None:
            fetching = beside(w, [], 1, turns, Lines(p[0], 3, lines, 16, lead, w.mul(t, share), -(-share // turns)))
            assert fetching is not None
            w.repeat(turns, fetching)

        w.repeat(tiles, tile)

    marks = _marks(body)
    assert all(marks[3 + r * lead + 16 * k] for r in range(rows) for k in range(lines))
