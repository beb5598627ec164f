"""Kernels of Fourier transforms against NumPy in float64, for every vector width, and nothing outside is written."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphc.ops.declared.fourier_plan import is_smooth, radices
from tests.codegen.kernel_harness import run_kernel, run_twin

LANES = (4, 8, 16)


def turns(size, dtype="float32", step=1):
    angles = 2 * np.pi * np.arange(size) / size
    return np.stack([np.cos(angles), -np.sin(angles)], -1).astype(dtype).reshape(-1)


def along(size, rows, where):
    """(outer, count, source and target) of an axis among others, of which `rows` are in one group."""
    return (size * rows, 1, size) if where == "last" else (size * rows, rows, 1)


def params(kind, size, outer, count, where, dtype, **more):
    other = size // 2 + 1
    source, target = (
        along(n, count, where) for n in (other if kind == "half" else size, other if kind == "real" else size)
    )
    return {
        "size": size, "outer": outer, "count": count, "source": source, "target": target, "scale": 0.5, "parts": 1,
        "twisted": False, "inverse": False, "whole": (), "radices": radices(size), "dtype": dtype, **more,
    }  # fmt: skip


def data(kind, size, outer, count, where, dtype):
    rng = np.random.default_rng(size)
    n = size // 2 + 1 if kind == "half" else size
    shape = (outer, count, n) if where == "last" else (outer, n, count)
    return [rng.standard_normal(shape).astype(dtype) for _ in range(1 if kind == "real" else 2)]


def wanted(kind, xs, size, where):
    axis = -1 if where == "last" else 1
    xs = [x.astype(np.float64) for x in xs]
    if kind == "half":
        return [np.fft.irfft(xs[0] + 1j * xs[1], size, axis, norm="forward") * 0.5]
    z = 0.5 * (np.fft.rfft(xs[0], axis=axis) if kind == "real" else np.fft.fft(xs[0] + 1j * xs[1], axis=axis))
    return [z.real, z.imag]


def check(kind, size, outer, count, where, dtype="float32", lanes=8, divided=False, **more):
    p = params(kind, size, outer, count, where, dtype, **more)
    xs = data(kind, size, outer, count, where, dtype)
    name = {"pair": "fourier", "real": "fourier_real", "half": "fourier_half"}[kind]
    given = [np.stack(xs, -1)] if "source" in p["whole"] and kind != "real" else xs
    operands = [*(x.reshape(-1) for x in given), turns(size, dtype)]
    got = run_kernel(name, p, *operands, **({"divided": True} if divided else {"lanes": lanes}))[1:]
    exact = wanted(kind, xs, size, where)
    if p["inverse"]:
        # Real and imaginary parts exchanged, before and after.
        exact = wanted(kind, xs[::-1], size, where)[::-1]
    if "target" in p["whole"] and kind != "half":
        exact = [np.stack(exact, -1)]
    norm = math.sqrt(sum((y**2).sum() for y in exact))
    error = math.sqrt(sum(((g.reshape(y.shape) - y) ** 2).sum() for g, y in zip(got, exact, strict=True)))
    bound = (3e-7 if dtype == "float32" else 6e-16) * max(1.0, math.log2(size) / 4)
    assert error <= bound * norm, (size, error / norm)
    for g, t in zip(got, run_twin(name, p, *operands)[1:], strict=True):
        np.testing.assert_allclose(g, t, atol=1e-5 * np.abs(t).max())


@pytest.mark.parametrize("kind", ["pair", "real", "half"])
@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("where", ["last", "before"])
def test_small_sizes(kind, lanes, where):
    sizes = (1, 2, 3, 4, 5, 8, 12, 15, 31, 64) if lanes == 8 else (6, 7, 16)
    for size in sizes:
        for count in (1, 5, 19):
            check(kind, size, 2, count, where, lanes=lanes)


@pytest.mark.parametrize("kind", ["pair", "real", "half"])
@pytest.mark.parametrize("where", ["last", "before"])
@pytest.mark.parametrize("lanes", LANES)
def test_pairs_in_memory(kind, where, lanes):
    """Complex numbers as they lie in memory, and backwards."""
    for size, count in ((1, 3), (2, 1), (6, 5), (8, 19), (15, 9)):
        check(kind, size, 2, count, where, lanes=lanes, whole=("source", "target"), inverse=kind == "pair")
    check(kind, 12, 2, 5, where, "float64", lanes, whole=("target",))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_size(dtype):
    """The error is about that of NumPy's own transforms in the same dtype."""
    for size in (n for n in range(1, 71) if is_smooth(n)):
        check("pair", size, 1, 3, "last", dtype)


@pytest.mark.parametrize("kind", ["pair", "real", "half"])
@pytest.mark.parametrize("size", [243, 256, 1000, 1024, 1920, 4096])
def test_long_ones(kind, size):
    check(kind, size, 1, 9, "last", lanes=16)
    check(kind, size, 1, 3, "before", "float64")


@pytest.mark.parametrize("kind", ["pair", "real", "half"])
def test_threads_share_them(kind):
    check(kind, 60, 5, 33, "last", parts=4, divided=True)


def test_neither_axis_is_contiguous():
    """Elements are taken one by one."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 6, 5, 2)).astype(np.float32)
    p = params("pair", 6, 1, 5, "last", "float32", source=(0, 10, 2), target=(0, 10, 2))
    flat = [x[k, ..., 0].reshape(-1) for k in range(2)]
    spread = [np.stack([f, f], -1).reshape(-1)[:-1] for f in flat]
    got = [g[::2].reshape(6, 5) for g in run_kernel("fourier", p, *spread, turns(6), lanes=8)[1:]]
    exact = wanted("pair", [f.reshape(1, 6, 5) for f in flat], 6, "before")
    for g, y in zip(got, exact, strict=True):
        np.testing.assert_allclose(g, y[0], atol=1e-5)


def test_with_a_table():
    """Two transforms, the first one twisted, are one of as many numbers as both have together."""
    n, m = 6, 20
    rng = np.random.default_rng(0)
    re, im = rng.standard_normal((2, 3, n * m)).astype(np.float32)
    angles = 2 * np.pi * np.outer(np.arange(n), np.arange(m)) / (n * m)
    tables = [f(angles).astype(np.float32).reshape(-1) for f in (np.cos, lambda a: -np.sin(a))]
    p = params("pair", n, 3, m, "before", "float32", twisted=True, scale=1.0)
    once = run_kernel("fourier", p, re.reshape(-1), im.reshape(-1), turns(n), *tables, lanes=8)[1:]
    p = params("pair", m, 3, n, "last", "float32", target=(n * m, n, 1), scale=1.0)
    made = run_kernel("fourier", p, *once, turns(m), lanes=8)[1:]
    exact = np.fft.fft(re.astype(np.float64) + 1j * im)
    np.testing.assert_allclose(made[0].reshape(3, -1), exact.real, atol=2e-5)
    np.testing.assert_allclose(made[1].reshape(3, -1), exact.imag, atol=2e-5)
