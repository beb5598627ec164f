"""Fourier transforms of contiguous rows against NumPy in float64, for every vector width; nothing outside is written."""

from __future__ import annotations

import numpy as np
import pytest

from graphc.ops.declared.fourier_plan import matrix, radices
from tests.codegen.kernel_harness import run_kernel, run_twin

LANES = (4, 8, 16)
NAMES = {"pair": "fourier_rows", "real": "fourier_rows_real", "half": "fourier_rows_half"}


def tables(split, kind, scale, dtype):
    """Turns of both sizes, those between, and those of real numbers."""
    n, m = split
    made = [np.exp(-2j * np.pi * np.arange(size) / size) for size in split]
    found = [np.stack([z.real, z.imag], -1) for z in made]
    between = (
        scale / (2 if kind == "real" else 1) * np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(m)) / (n * m))
    )
    half = -1j * np.exp(-1j * np.pi * np.arange(n * m) / (n * m))
    for z in [between] if kind == "pair" else [between, half if kind == "real" else half.conj()]:
        found += [z.real, z.imag]
    return [x.reshape(-1).astype(dtype) for x in found]


def wanted(kind, z, count, full):
    if kind == "half":
        return np.fft.irfft(z, 2 * count, norm="forward")
    if kind == "pair" or full:
        return np.fft.fft(z)
    return np.fft.rfft(z.real)


def check(kind, split, rows, dtype="float32", lanes=8, scale=0.5, divided=False, **more):
    p = {
        "split": split, "rows": rows, "parts": 1, "radices": tuple(map(radices, split)), "inverse": False, "whole": (),
        "full": False, "dtype": dtype, **more,
    }  # fmt: skip
    count, rng = split[0] * split[1], np.random.default_rng(rows)
    width = {"pair": count, "real": 2 * count, "half": count + 1}[kind]
    x = rng.standard_normal((2, rows, width)).astype(dtype)
    z = x[0].astype(complex) if kind == "real" else x[0] + 1j * x[1].astype(np.float64)
    if kind == "real":
        given = [x[0]]
    else:
        given = [np.stack([*x], -1)] if "source" in p["whole"] else [*x]
    operands = [*(part.reshape(-1) for part in given), *tables(split, kind, scale, dtype)]
    got = run_kernel(NAMES[kind], p, *operands, **({"divided": True} if divided else {"lanes": lanes}))[1:]
    exact = scale * wanted(kind, z.conj() if p["inverse"] else z, count, p["full"])
    exact = exact.conj() if p["inverse"] else exact
    parts = [exact] if kind == "half" else [exact.real, exact.imag]
    if "target" in p["whole"] and kind != "half":
        parts = [np.stack(parts, -1)]
    bound = (4e-7 if dtype == "float32" else 8e-16) * np.linalg.norm(exact)
    error = sum(np.linalg.norm(g.reshape(y.shape) - y) ** 2 for g, y in zip(got, parts, strict=True)) ** 0.5
    assert error <= bound, (kind, split, error / bound)
    for g, t in zip(got, run_twin(NAMES[kind], p, *operands)[1:], strict=True):
        np.testing.assert_allclose(g, t, atol=1e-5 * np.abs(t).max())


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("split", [(8, 8), (8, 13), (16, 24), (9, 11), (32, 32)])
def test_sizes(kind, lanes, split):
    """Also those of which vectors are not full, or do something again."""
    for rows in (1, 3):
        check(kind, split, rows, lanes=lanes)
    check(kind, split, 2, "float64", lanes)


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("lanes", LANES)
def test_pairs_in_memory(kind, lanes):
    """Complex numbers as they lie in memory, and backwards."""
    whole = ("source", "target")
    check(kind, (8, 16), 2, lanes=lanes, whole=whole, inverse=kind == "pair")
    check(kind, (12, 10), 2, "float64", lanes, whole=whole[1:])
    check(kind, (12, 10), 3, lanes=lanes, whole=whole[:1], inverse=kind == "pair", scale=1.0)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("whole", [(), ("target",)])
def test_all_of_the_transform_of_real_numbers(lanes, whole):
    for split in ((8, 8), (9, 11), (16, 40)):
        check("real", split, 3, lanes=lanes, whole=whole, full=True)
    check("real", (8, 24), 2, "float64", lanes, whole=whole, full=True)


@pytest.mark.parametrize("kind", NAMES)
def test_threads_share_rows(kind):
    check(kind, (16, 16), 7, parts=4, divided=True)


def test_plans():
    assert matrix(512, 64) == (16, 32)
    assert matrix(960, 64) == (24, 40)
    for size, rows in ((64, 64), (512, 3), (500, 64), (64 * 37, 64)):
        assert matrix(size, rows) is None


def test_small_matrices_are_refused():
    with pytest.raises(ValueError, match="too small"):
        check("pair", (4, 16), 1)
