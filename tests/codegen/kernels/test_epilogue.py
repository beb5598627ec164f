"""Elementwise operations in the stores of kernels: convolution, max pooling, the gradients of max pooling and softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc_codegen.kernels import EMITTERS
from graphc_codegen.kernels.epilogue import operands
from graphc_codegen.program import Instr, NamedKernel, result_domain, written
from tests.codegen.kernel_harness import Array, random, run_all, run_kernel

#: result * channel + full, its maximum with 0, and the product: two values to store.
BODY = (
    Instr("input", (), "float32", 0),
    Instr("input", (), "float32", 1),
    Instr("input", (), "float32", 2),
    Instr("mul", (0, 1)),
    Instr("add", (3, 2)),
    Instr("const", (), "float32", 0.0),
    Instr("max", (4, 5)),
)


def conv(n: int, ci: int, co: int, size: int, k: int) -> dict[str, Any]:
    out = size - k + 1
    return {
        "n": n, "ci": ci, "co": co, "h": size, "w": size, "kh": k, "kw": k, "oh": out, "ow": out,
        "stride": (1, 1), "dilation": (1, 1), "transposed": False,
    }  # fmt: skip


def expected(base: Array, scale: Array, full: Array) -> list[Array]:
    product = base.astype(np.float64) * scale + full
    return [np.maximum(product, 0), product]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 17), st.integers(3, 19), st.sampled_from([1, 2, 3]))
def test_convolutions_apply_it_to_every_pixel(n: int, ci: int, co: int, size: int, k: int) -> None:
    p = conv(n, ci, co, size, k)
    domain = result_domain(NamedKernel("conv2d", tuple(p.items())))
    assert domain == (n, co, p["oh"] * p["ow"])
    x, weight, scale = random(0, n, ci, size, size), random(1, co, ci, k, k), random(2, co)
    full = random(3, *domain)
    fused = p | {"epilogue": BODY, "extras": ((0, 1, 0), (domain[1] * domain[2], domain[2], 1)), "stores": (6, 4)}
    (plain,) = run_kernel("conv2d", p, x, weight)
    wanted = expected(plain.reshape(domain), scale[:, None], full)
    for found in run_all("conv2d", fused, x, weight, scale, full).values():
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got.reshape(domain), want, rtol=2e-4, atol=2e-4)


def pool(planes: int, size: int, window: int) -> dict[str, Any]:
    out = size // window
    return {
        "planes": planes, "h": size, "w": size, "oh": out, "ow": out, "kh": window, "kw": window,
        "sh": window, "sw": window, "pt": 0, "pl": 0,
    }  # fmt: skip


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize(("planes", "size", "window"), [(1, 2, 2), (3, 28, 2), (5, 10, 2), (2, 38, 2), (3, 6, 1)])
def test_max_pooling_and_its_gradient_apply_it_to_every_pixel(
    planes: int, size: int, window: int, gradient: bool
) -> None:
    p = pool(planes, size, window)
    inputs = [random(0, planes, size, size), random(1, planes, p["oh"], p["ow"])][: 1 + gradient]
    name, total = ("max_pool_grad", planes * size * size) if gradient else ("max_pool", planes * p["oh"] * p["ow"])
    assert result_domain(NamedKernel(name, tuple(p.items()))) == (total,)
    scale, full = random(2, 1), random(3, total)
    fused = p | {"epilogue": BODY, "extras": ((0,), (1,)), "stores": (6, 4)}
    (plain,) = run_kernel(name, p, *inputs)
    for found in run_all(name, fused, *inputs, scale, full).values():
        for got, want in zip(found, expected(plain, scale, full), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_gathered_windows_take_it_too() -> None:
    p = pool(2, 9, 3) | {"pt": 1, "pl": 1, "oh": 3, "ow": 3}
    x, full = random(0, 2, 9, 9), random(3, 18)
    fused = p | {"epilogue": BODY, "extras": ((0,), (1,)), "stores": (6,)}
    (plain,) = run_kernel("max_pool", p, x)
    for (got,) in run_all("max_pool", fused, x, random(2, 1), full).values():
        np.testing.assert_allclose(got, expected(plain, random(2, 1), full)[0], rtol=1e-5, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["softmax_grad", "log_softmax_grad"]), st.integers(1, 9), st.sampled_from([1, 7, 16, 33, 64]))
def test_the_gradient_of_softmax_applies_it_to_every_element(name: str, rows: int, cols: int) -> None:
    p = {"rows": rows, "cols": cols}
    assert result_domain(NamedKernel(name, tuple(p.items()))) == (rows, cols)
    y, dy, scale, full = random(0, rows, cols), random(1, rows, cols), random(2, rows), random(3, rows, cols)
    fused = p | {"epilogue": BODY, "extras": ((1, 0), (cols, 1)), "stores": (6, 4)}
    (plain,) = run_kernel(name, p, y, dy)
    for found in run_all(name, fused, y, dy, scale, full).values():
        for got, want in zip(found, expected(plain.reshape(rows, cols), scale[:, None], full), strict=True):
            np.testing.assert_allclose(got.reshape(rows, cols), want, rtol=1e-4, atol=1e-4)


def test_windows_that_leave_pixels_out_take_no_epilogue() -> None:
    p = {"planes": 1, "h": 5, "w": 5, "oh": 2, "ow": 2, "kh": 2, "kw": 2, "sh": 2, "sw": 2, "pt": 0, "pl": 0}
    assert result_domain(NamedKernel("max_pool_grad", tuple(p.items()))) is None
    assert result_domain(NamedKernel("softmax", (("rows", 2), ("cols", 3)))) is None


def test_nan_passes() -> None:
    p = conv(1, 1, 2, 4, 1)
    full = np.full((1, 2, 16), np.nan, np.float32)
    fused = p | {"epilogue": BODY, "extras": ((0, 1, 0), (32, 16, 1)), "stores": (6,)}
    for (got,) in run_all("conv2d", fused, random(0, 1, 1, 4, 4), random(1, 2, 1, 1, 1), random(2, 2), full).values():
        assert np.isnan(got).all()


def test_operands_have_the_sizes_that_their_strides_reach() -> None:
    p = {"extras": ((0, 1, 0), (0, 0, 1), (0, 0, 0), (12, 4, 1)), "stores": (0, 1), "epilogue": ()}
    made = [(o.size, o.role) for o in operands(p, (2, 3, 4))]
    assert made == [(3, "in"), (4, "in"), (1, "in"), (24, "in"), (24, "out"), (24, "out")]
    assert written(NamedKernel("conv2d", tuple(p.items()))) == 2


def test_the_last_operands_are_the_written_ones_of_every_kernel() -> None:
    params = conv(1, 1, 1, 4, 3)
    for p in (params, params | {"epilogue": BODY[:1], "extras": (), "stores": (0, 0)}):
        roles = [o.role for o in EMITTERS["conv2d"].operands(p)]
        count = written(NamedKernel("conv2d", tuple(p.items())))
        assert roles == ["in"] * (len(roles) - count) + ["out"] * count
