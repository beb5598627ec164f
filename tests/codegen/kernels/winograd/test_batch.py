"""Winograd convolutions with images as lanes against float64 sums over taps, and against the direct kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels.winograd.batch import Plan
from graphc_codegen.kernels.winograd.batch_filter_grad import GradientPlan
from graphc_codegen.program import NamedKernel, result_domain, written
from tests.codegen.conv_harness import check_convolution, check_epilogue, check_errors, padded, run_everywhere, turned
from tests.codegen.kernel_harness import Array, random, run_kernel


@dataclass(frozen=True)
class Case:
    """A convolution padded by (top, bottom, left, right); memory for `parts` threads, and `rows` rows of tiles."""

    n: int
    ci: int
    co: int
    h: int
    w: int
    kernel: tuple[int, int] = (5, 5)
    pad: tuple[int, int, int, int] = (0, 0, 0, 0)
    parts: int = 2
    rows: int = 1
    points: int = 6

    @property
    def out(self) -> tuple[int, int]:
        top, bottom, left, right = self.pad
        return self.h + top + bottom - self.kernel[0] + 1, self.w + left + right - self.kernel[1] + 1

    def params(self, transposed: bool) -> dict[str, Any]:
        p = self._params() | {"transposed": transposed}
        plan = Plan.of(p)
        return p | {"scratch": plan.fixed + self.parts * plan.region}

    def filter_params(self) -> dict[str, Any]:
        return self._params() | {"scratch": self.parts * GradientPlan.of(self._params()).memory(self.rows)}

    def _params(self) -> dict[str, Any]:
        (kh, kw), (oh, ow) = self.kernel, self.out
        return {
            "n": self.n, "ci": self.ci, "co": self.co, "h": self.h, "w": self.w, "kh": kh, "kw": kw, "oh": oh, "ow": ow,
            "top": self.pad[0], "left": self.pad[2], "parts": self.parts, "scratch": 1 << 40, "points": self.points,
        }  # fmt: skip

    def windows(self, x: Array) -> Array:
        """[n, ci, oh, ow, kh, kw]"""
        return np.lib.stride_tricks.sliding_window_view(
            padded(x.astype(np.float64), self.pad), self.kernel, axis=(2, 3)
        )

    def forward(self, x: Array, weight: Array) -> Array:
        return np.asarray(np.einsum("nihwyx,oiyx->nohw", self.windows(x), weight.astype(np.float64)))

    def filter_grad(self, x: Array, dy: Array) -> Array:
        return np.asarray(np.einsum("nihwyx,nohw->oiyx", self.windows(x), dy.astype(np.float64)))

    def run(self, x: Array, weight: Array, transposed: bool = False) -> dict[str, Array]:
        return run_everywhere("conv2d_batch_winograd", self.params(transposed), (self.n, self.co, *self.out), x, weight)

    def run_filter_grad(self, x: Array, dy: Array) -> dict[str, Array]:
        shape = (self.co, self.ci, *self.kernel)
        return run_everywhere("conv2d_filter_grad_batch_winograd", self.filter_params(), shape, x, dy)

    def operands(self) -> tuple[Array, Array, Array]:
        """x, weight, dy"""
        x, weight = random(1, self.n, self.ci, self.h, self.w), random(2, self.co, self.ci, *self.kernel)
        return x, weight, random(3, self.n, self.co, *self.out)


CASES = [
    Case(32, 6, 16, 14, 14, rows=5),
    Case(48, 16, 6, 10, 10, pad=(4, 4, 4, 4)),
    Case(37, 1, 6, 12, 12, pad=(2, 2, 2, 2), rows=3, parts=3),
    Case(1, 1, 1, 1, 1, pad=(2, 2, 2, 2)),
    Case(17, 2, 3, 1, 3, (2, 1), (1, 0, 0, 0)),
    Case(16, 3, 5, 7, 9, (3, 3), (1, 1, 1, 1), rows=2),
    Case(5, 3, 2, 6, 5, (4, 7), (3, 0, 6, 3), parts=4),
    Case(20, 2, 2, 4, 6, (3, 5), (0, 1, 7, 0)),
    Case(16, 2, 9, 3, 2, (2, 2), (1, 4, 1, 5), parts=1),
    Case(32, 6, 16, 14, 14, points=8, rows=3),
    Case(16, 4, 6, 10, 10, pad=(4, 4, 4, 4), points=8),
    Case(18, 1, 4, 9, 8, (7, 7), (3, 3, 3, 3), points=8),
    Case(3, 2, 3, 5, 4, (2, 3), points=8, parts=3),
    Case(16, 1, 6, 32, 32),
]


def _check(case: Case) -> None:
    # Rounding errors of eight points are two to four times those of six.
    check_convolution(case, *case.operands(), limit=1e-6 if case.points == 6 else 2e-6)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_known_shapes(case: Case) -> None:
    _check(case)


@settings(max_examples=10, deadline=None)
@given(
    n=st.integers(1, 40), ci=st.integers(1, 9), co=st.integers(1, 12), h=st.integers(1, 13), w=st.integers(1, 13),
    kh=st.integers(2, 7), kw=st.integers(1, 6), pad=st.tuples(*[st.integers(0, 6)] * 4), parts=st.integers(1, 4),
    rows=st.integers(1, 4), eight=st.booleans(),
)  # fmt: skip
def test_random_shapes(
    n: int,
    ci: int,
    co: int,
    h: int,
    w: int,
    kh: int,
    kw: int,
    pad: tuple[int, int, int, int],
    parts: int,
    rows: int,
    eight: bool,
) -> None:
    top, bottom, left, right = min(pad[0], kh - 1), *pad[1:]
    size = max(h, kh - top - bottom), max(w, kw - left - right)
    _check(Case(n, ci, co, *size, (kh, kw), (top, bottom, left, right), parts, rows, 8 if eight or kh > 5 else 6))


@pytest.mark.parametrize("case", [*CASES[:3], CASES[5], *CASES[9:11], CASES[13]], ids=str)
@pytest.mark.parametrize("positive", [False, True])
def test_errors_are_few_times_the_direct_kernels(case: Case, positive: bool) -> None:
    limit = np.array([5, 3]) if case.points == 6 else np.array([7, 5])  # The largest is a matter of luck.
    x, weight, dy = case.operands()
    if positive:
        x = np.maximum(x, 0)
    image = padded(x, case.pad)
    sizes = case._params() | {"h": image.shape[2], "w": image.shape[3], "stride": (1, 1), "dilation": (1, 1)}
    exact = case.forward(x, weight)
    direct = run_kernel("conv2d", sizes | {"transposed": False}, image, weight)[0]
    for transposed, given_weight in ((False, weight), (True, turned(weight))):
        check_errors(case.run(x, given_weight, transposed), exact, direct, limit)
    exact = case.filter_grad(x, dy)
    direct = run_kernel("conv2d_filter_grad", sizes, image, dy)[0]
    check_errors(case.run_filter_grad(x, dy), exact, direct, limit)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_pixels_reach_their_windows_and_no_other_columns_or_images(value: float) -> None:
    case = Case(19, 2, 3, 9, 10, pad=(2, 2, 2, 2))
    x, weight, _ = case.operands()
    x[18, 1, 3, 6] = value
    windows = ~np.isfinite(case.forward(x, weight))
    allowed = np.zeros_like(windows)
    allowed[18, :, :, 4:9] = True
    for transposed, given_weight in ((False, weight), (True, turned(weight))):
        for where, y in case.run(x, given_weight, transposed).items():
            bad = ~np.isfinite(y)
            assert (bad >= windows).all(), (where, transposed)
            assert (bad <= allowed).all(), (where, transposed)
    x[18, 1, 3, 6] = 0
    weight[1, 1, 0, 2] = value
    for transposed, given_weight in ((False, weight), (True, turned(weight))):
        bad = ~np.isfinite(case.forward(x, weight))
        for where, y in case.run(x, given_weight, transposed).items():
            assert (~np.isfinite(y) >= bad).all(), (where, transposed)
            assert np.isfinite(y[:, (0, 2)]).all(), (where, transposed)


def test_non_finite_gradients_reach_the_weights_of_their_channel_only() -> None:
    case = Case(19, 2, 3, 9, 10, pad=(2, 2, 2, 2))
    x, _, dy = case.operands()
    dy[18, 2, 8, 9] = np.nan
    for where, dw in case.run_filter_grad(x, dy).items():
        assert (np.isnan(dw) >= np.isnan(case.filter_grad(x, dy))).all(), where
        assert np.isfinite(dw[:2]).all(), where
    x[18, 1, 0, 0] = np.inf
    for where, dw in case.run_filter_grad(x, dy).items():
        assert (np.isfinite(dw) <= np.isfinite(case.filter_grad(x, dy))).all(), where
        assert np.isfinite(dw[:2, 0]).all(), where


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(18, 3, 5, 9, 7), (16, 1, 2, 3, 3)], ids=str)
def test_the_epilogue_is_applied_to_every_pixel(shape: tuple[int, int, int, int, int], transposed: bool) -> None:
    case = Case(*shape, kernel=(3, 3), pad=(1, 1, 1, 1))
    x, weight, residual = case.operands()
    weight, bias = turned(weight) if transposed else weight, random(4, case.co)
    kernel = check_epilogue("conv2d_batch_winograd", case.params(transposed), x, weight, bias, residual)
    assert result_domain(kernel) == (case.n, case.co, case.h * case.w)


def test_scratch_memory_may_be_too_small() -> None:
    case = Case(16, 1, 1, 8, 8)
    both = {"conv2d_batch_winograd": case.params(False), "conv2d_filter_grad_batch_winograd": case.filter_params()}
    for name, params in both.items():
        assert written(NamedKernel(name, tuple(params.items()))) == 2
        with pytest.raises(CodegenError, match="no room for images as lanes"):
            run_kernel(name, params | {"scratch": params["scratch"] - 1}, random(1, 1024), random(2, 25))
