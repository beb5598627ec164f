"""Chains of loops: a row goes through all loops before the next one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphc_codegen.errors import CodegenError
from graphc_codegen.loops import check_chain, twin
from graphc_codegen.program import Access, ChainKernel, Instr, LoopKernel, Output, exchanges, in_rows, written
from graphc_codegen.target import Target
from graphc_codegen.validate import operands
from tests.codegen.loop_harness import AVX2, HOST, Array, as_the_twin, contiguous, expected, run

ROWS = st.lists(st.sampled_from([1, 2, 3, 5, 13]), min_size=1, max_size=3)
#: Around the numbers of elements in a vector and in a turn of a loop.
INNER = st.lists(st.sampled_from([1, 2, 7, 15, 16, 17, 33, 64, 130]), max_size=2)


def whole(domain: tuple[int, ...], *, along: tuple[bool, ...]) -> Access:
    """A row-major operand with only some of the domain's axes."""
    shape = [n if a else 1 for n, a in zip(domain, along, strict=True)]
    strides = contiguous(shape).strides
    return Access("float32", tuple(s if a else 0 for s, a in zip(strides, along, strict=True)), 0, math.prod(shape))


@st.composite
def chains(draw: st.DrawFn) -> ChainKernel:
    """Loops that map or reduce: each reads an array, a row, or what earlier ones wrote."""
    lead = tuple(draw(ROWS))
    rows, rank = len(lead), len(lead)
    made: list[tuple[tuple[int, ...], tuple[bool, ...], str]] = []  # Domain, axes and name of what has been written.
    loops: list[LoopKernel] = []
    names: list[tuple[str, ...]] = []
    for k in range(draw(st.integers(1, 5))):
        near = draw(st.sampled_from(made)) if made and draw(st.booleans()) else None
        domain = near[0] if near else (*lead, *draw(INNER))
        while math.prod(domain) > 40_000:
            domain = (*lead, *(max(1, n // 2) for n in domain[rank:]))
        inner = len(domain) - rows
        accesses: list[Access] = []
        used: list[str] = []
        for j in range(draw(st.integers(1, 3))):
            fitting = [m for m in made if m[0] == domain]
            if fitting and draw(st.booleans()):
                _, along, name = draw(st.sampled_from(fitting))
            else:
                along = tuple(draw(st.lists(st.booleans(), min_size=len(domain), max_size=len(domain))))
                name = f"in{k}.{j}"
            accesses.append(whole(domain, along=along))
            used.append(name)
        body = [Instr("input", (), "float32", j) for j in range(len(accesses))]
        if inner and draw(st.booleans()):
            body.append(Instr("iota", (), "float32", draw(st.integers(rows, len(domain) - 1))))
        for _ in range(draw(st.integers(0, 3))):
            a, b = (draw(st.integers(0, len(body) - 1)) for _ in range(2))
            body.append(Instr(draw(st.sampled_from(["add", "sub", "max", "min"])), (a, b)))
        reduced = (False,) * rows + tuple(draw(st.lists(st.booleans(), min_size=inner, max_size=inner)))
        outputs: list[Output] = []
        for j in range(draw(st.integers(1, 2))):
            how = draw(st.sampled_from(["sum", "max", "min"])) if draw(st.booleans()) else None
            along = tuple(not (r and how) for r in reduced)
            name = f"out{k}.{j}"
            outputs.append(Output(whole(domain, along=along), draw(st.integers(0, len(body) - 1)), how))
            made.append((domain, along, name))
            used.append(name)
        loops.append(LoopKernel(domain, reduced, tuple(accesses), tuple(body), tuple(outputs)))
        names.append(tuple(used))
    private = [m[2] for m in made[:-1] if draw(st.booleans())]
    reads = dict.fromkeys(n for used in names for n in used if n.startswith("in"))
    order = [*reads, *(m[2] for m in made if m[2] not in private), *private]
    number = {name: k for k, name in enumerate(order)}
    return ChainKernel(rows, tuple(loops), tuple(tuple(number[n] for n in used) for used in names), len(private))


def data(kernel: ChainKernel, seed: int = 0) -> list[Array]:
    """Small whole numbers, so that every sum of the tests is exact."""
    rng = np.random.default_rng(seed)
    return [rng.integers(-2, 3, d.size).astype(np.float32) for d in operands(kernel)]


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(chains(), min_size=3, max_size=3), st.booleans())
def test_native_code_agrees_with_the_twin(some: list[ChainKernel], wide: bool) -> None:
    as_the_twin([(k, data(k)) for k in some], HOST if wide else AVX2)


def normalised(rows: tuple[int, ...], n: int, *, private: int = 2) -> ChainKernel:
    """x - mean(x), divided by the root of its mean square; means are private or the last outputs."""
    shape, lead = (*rows, n), len(rows)
    x, point = whole(shape, along=(True,) * len(shape)), whole(shape, along=(True,) * lead + (False,))
    reduced = (False,) * lead + (True,)
    load = [Instr("input", (), "float32", k) for k in range(3)]
    mean = LoopKernel(shape, reduced, (x,), (load[0],), (Output(point, 0, "sum", 1 / n),))
    centred = (load[0], load[1], Instr("sub", (0, 1)), Instr("mul", (2, 2)))
    square = LoopKernel(shape, reduced, (x, point), centred, (Output(x, 2), Output(point, 3, "sum", 1 / n)))
    scaled = (load[0], load[1], Instr("rsqrt", (1,)), Instr("mul", (0, 2)))
    result = LoopKernel(shape, (False,) * len(shape), (x, point), scaled, (Output(x, 3),))
    return ChainKernel(lead, (mean, square, result), ((0, 3), (0, 3, 1, 4), (1, 4, 2)), private)


@pytest.mark.parametrize("target", [HOST, AVX2], ids=["host", "avx2"])
@pytest.mark.parametrize(("rows", "n"), [((1,), 1), ((1,), 40), ((7,), 17), ((3, 5), 64), ((2, 1, 9), 129)])
@pytest.mark.parametrize("private", [0, 1, 2])
def test_rows_are_normalised(rows: tuple[int, ...], n: int, private: int, target: Target) -> None:
    kernel = normalised(rows, n, private=private)
    assert (written(kernel), exchanges(kernel)) == (4 - private, False)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(d.size).astype(np.float32) for d in operands(kernel)]
    wide = arrays[0].astype(np.float64).reshape(-1, n)
    centred = wide - wide.mean(1, keepdims=True)
    with np.errstate(all="ignore"):
        want = centred / np.sqrt((centred**2).mean(1, keepdims=True))
    got = run(kernel, arrays, target)
    np.testing.assert_allclose(got[1], centred.ravel(), rtol=0, atol=1e-5)
    if n > 1:
        np.testing.assert_allclose(got[2], want.ravel(), rtol=0, atol=1e-4)


def test_nan_and_infinity_stay_in_their_rows() -> None:
    kernel = normalised((5,), 21)
    arrays = [np.ones(d.size, np.float32) for d in operands(kernel)]
    arrays[0][:] = np.random.default_rng(0).standard_normal(105)
    arrays[0][21 + 3], arrays[0][63] = np.nan, np.inf
    result = run(kernel, arrays)[2].reshape(5, 21)
    np.testing.assert_array_equal(np.isnan(result).all(1), [False, True, False, True, False])
    np.testing.assert_array_equal(np.isfinite(result).all(1), [True, False, True, False, True])


def test_a_chain_is_its_loops_one_by_one() -> None:
    kernel = normalised((4, 3), 50, private=0)
    arrays = [np.random.default_rng(1).standard_normal(d.size).astype(np.float32) for d in operands(kernel)]
    separate = [a.copy() for a in arrays]
    for loop, places in zip(kernel.loops, kernel.places, strict=True):
        twin(loop, *(separate[p] for p in places))
    for got, want in zip(expected(kernel, arrays), separate, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("write", "read", "rows", "same"),
    [
        ((8, 1), (8, 1), 1, True),
        ((8, 1), (8, -1), 1, True),
        ((8, 1), (8, 0), 1, True),
        ((8, 1), (1, 8), 1, False),
        ((8, 1), (0, 1), 1, False),
        ((7, 1), (7, 1), 1, False),
        ((8, 1), (8, 1), 2, True),
        ((1, 8), (1, 8), 2, True),
        ((1, 8), (1, 8), 1, False),
        ((4, 8), (4, 8), 2, False),
    ],
)
def test_whether_rows_stay_apart(write: tuple[int, ...], read: tuple[int, ...], rows: int, same: bool) -> None:
    domain = (8, 8)
    start = sum(-7 * s for s in read if s < 0)
    assert in_rows(Access("float32", write, 0, 64), domain, Access("float32", read, start, 64), domain, rows) is same


_GOOD = normalised((4,), 6)
_MEAN, _SQUARE, _RESULT = _GOOD.loops


def _counting() -> LoopKernel:
    return replace(_RESULT, body=(*_RESULT.body[:2], Instr("iota", (), "float32", 0), Instr("mul", (0, 2))))


def _short_of_means() -> LoopKernel:
    x, point = _RESULT.inputs
    return replace(_RESULT, inputs=(x, replace(point, size=5)))


@pytest.mark.parametrize(
    ("kernel", "match"),
    [
        (replace(_GOOD, rows=2), "common rows|reduces rows"),
        (replace(_GOOD, rows=0), "common rows"),
        (replace(_GOOD, loops=(replace(_MEAN, times=2), _SQUARE, _RESULT)), "several sets"),
        (replace(_GOOD, loops=(_MEAN, _SQUARE, _counting())), "counts rows"),
        (replace(_GOOD, loops=(_MEAN, _SQUARE, normalised((5,), 6).loops[2])), "common rows"),
        (replace(_GOOD, places=((0, 3), (0, 3, 1, 4), (1, 4, 4))), "numbered"),
        (replace(_GOOD, places=((0, 4), (0, 4, 1, 3), (1, 4, 2)), private=5), "numbered"),
        (replace(_GOOD, places=((0, 3), (1, 3, 0, 4), (1, 4, 2))), "numbered"),
        (replace(_GOOD, loops=(_SQUARE, _MEAN, _RESULT), places=((0, 3, 1, 4), (0, 3), (1, 4, 2))), "before it"),
        (replace(_GOOD, loops=(_MEAN, _MEAN), places=((0, 1), (0, 1)), private=0), "written twice"),
        (replace(_GOOD, loops=(_MEAN, _SQUARE, _short_of_means())), "several ways"),
        (replace(_GOOD, loops=(_MEAN, _SQUARE, replace(_RESULT, domain=(4, 7)))), "touches"),
    ],
)  # fmt: skip
def test_chains_that_are_not_well_formed(kernel: ChainKernel, match: str) -> None:
    with pytest.raises(CodegenError, match=match):
        check_chain(kernel)


def test_what_is_read_in_another_row_is_refused() -> None:
    x = contiguous((4, 4))
    turned = replace(x, strides=(1, 4))
    copy = LoopKernel((4, 4), (False, False), (x,), (Instr("input", (), "float32", 0),), (Output(x, 0),))
    with pytest.raises(CodegenError, match="another row"):
        check_chain(ChainKernel(1, (copy, replace(copy, inputs=(turned,))), ((0, 1), (1, 2))))
