"""Winograd convolutions along one axis against float64 sums over taps, and against the direct kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc_codegen.errors import CodegenError
from graphc_codegen.program import NamedKernel, written
from tests.codegen.conv_harness import check_convolution, check_epilogue, check_errors, run_everywhere
from tests.codegen.kernel_harness import Array, random, run_kernel


@dataclass(frozen=True)
class Case:
    """`h` lines of `w` pixels, `left` zeros before and `right` behind them; memory for `tiles` a block and `parts` threads."""

    n: int
    ci: int
    co: int
    h: int
    w: int
    step: int
    left: int
    right: int
    tiles: int = 64
    parts: int = 2
    taps: int = 3
    views: int = 1

    @property
    def seen(self) -> int:
        """Channels of all views, the taps of one after those of another."""
        return self.ci * self.views

    @property
    def products(self) -> int:
        return 3 + self.taps

    @property
    def out(self) -> int:
        return self.w + self.left + self.right - (self.taps * self.views - 1) * self.step

    def params(self, transposed: bool) -> dict[str, Any]:
        return self._params(self.products * (self.seen * self.co + 32), 0, 0) | {"transposed": transposed}

    def filter_params(self) -> dict[str, Any]:
        channels = -(-self.seen // 16) * 16
        return self._params(0, channels, self.products * (self.co * channels + 16))

    def _params(self, common: int, per_tile: int, fixed: int) -> dict[str, Any]:
        each = (
            -(-self.tiles // 16) * 16 * (self.products * (self.seen + self.co) + per_tile)
            + fixed
            + 2 * self.products * 16
        )
        firsts = tuple(k * self.taps * self.step - self.left for k in range(self.views))
        place: dict[str, Any] = {"views": firsts} if self.views > 1 else {"top": 0, "left": self.left}
        return {
            "n": self.n, "ci": self.seen, "co": self.co, "h": self.h, "w": self.w, "kh": 1, "kw": self.taps, "oh": self.h,
            "ow": self.out, "step": self.step, "parts": self.parts, "scratch": common + self.parts * each, **place,
        }  # fmt: skip

    def _windows(self, x: Array) -> list[Array]:
        """What each tap sees, of all views; `left` and `right` may cut off pixels instead."""
        ends = max(0, self.left), max(0, self.right)
        wide = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (0, 0), ends))
        starts = [max(0, -self.left) + k * self.step for k in range(self.taps * self.views)]
        seen = [wide[..., s : s + self.out] for s in starts]
        return [np.concatenate(seen[k :: self.taps], 1) for k in range(self.taps)]

    def forward(self, x: Array, weight: Array) -> Array:
        seen = self._windows(x)
        y = np.zeros((self.n, self.co, self.h, self.out))
        for k, pixels in enumerate(seen):
            y += np.einsum("nihw,oi->nohw", pixels, weight[:, :, k].astype(np.float64))
        return y

    def filter_grad(self, x: Array, dy: Array) -> Array:
        return np.stack([np.einsum("nihw,nohw->oi", seen, dy.astype(np.float64)) for seen in self._windows(x)], 2)

    def run(self, x: Array, weight: Array, transposed: bool = False) -> dict[str, Array]:
        shape = (self.n, self.co, self.h, self.out)
        return run_everywhere("conv2d_line_winograd", self.params(transposed), shape, x, weight)

    def run_filter_grad(self, x: Array, dy: Array) -> dict[str, Array]:
        if self.taps == 5:  # Made directly.
            return {}
        shape = (self.co, self.seen, self.taps)
        return run_everywhere("conv2d_filter_grad_line_winograd", self.filter_params(), shape, x, dy)


CASES = [
    Case(2, 16, 16, 1, 256, 1, 1, 1),
    Case(3, 7, 9, 1, 256, 8, 8, 8),
    Case(2, 5, 18, 2, 61, 2, 2, 2, tiles=16),
    Case(1, 3, 4, 3, 40, 3, 3, 2),
    Case(1, 20, 3, 1, 130, 4, 0, 0, parts=1),
    Case(2, 3, 5, 1, 97, 5, 7, 1),
    Case(1, 2, 3, 1, 300, 28, 28, 28),
    Case(1, 2, 3, 2, 100, 16, 3, 40, parts=3),
    Case(1, 1, 1, 1, 1, 1, 1, 1),
    Case(1, 1, 2, 1, 90, 20, -3, 5),
    Case(1, 40, 33, 1, 16, 1, 2, -1, parts=5),
    Case(2, 16, 16, 1, 256, 1, 2, 2, taps=5),
    Case(2, 5, 18, 2, 61, 2, 4, 1, tiles=16, taps=5),
    Case(1, 20, 3, 1, 130, 8, 0, 16, parts=1, taps=5),
    Case(1, 2, 3, 1, 300, 28, 56, 30, taps=5),
    Case(1, 1, 2, 1, 90, 20, -3, 45, taps=5),
    Case(2, 16, 16, 1, 256, 1, 1, 0, taps=2),
    Case(1, 3, 5, 2, 61, 16, 16, 0, taps=2),
    Case(2, 6, 9, 1, 200, 1, 3, 3, views=3),
    Case(1, 3, 4, 2, 70, 9, 20, 40, tiles=16, taps=2, views=4),
    Case(1, 5, 3, 1, 260, 2, 0, 18, parts=3, taps=5, views=2),
    # One pixel behind a vector: the mask of its store has one lane, and is known.
    Case(1, 1, 1, 1, 31, 14, 0, 0, tiles=1, parts=1, taps=2),
    Case(1, 1, 1, 1, 31, 14, 0, 0, tiles=1, parts=2, taps=2),
    Case(1, 1, 1, 1, 43, 13, 0, 0, tiles=1, parts=1),
]


def _check(case: Case) -> None:
    x, weight = random(1, case.n, case.ci, case.h, case.w), random(2, case.co, case.seen, case.taps)
    check_convolution(case, x, weight, random(3, case.n, case.co, case.h, case.out))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_known_shapes(case: Case) -> None:
    _check(case)


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(1, 3), ci=st.integers(1, 20), co=st.integers(1, 20), h=st.integers(1, 3), out=st.integers(1, 150),
    step=st.integers(1, 33), left=st.integers(-3, 20), right=st.integers(-3, 20), tiles=st.sampled_from([1, 16, 40, 100]),
    parts=st.integers(1, 4), taps=st.sampled_from([2, 3, 5]), views=st.integers(1, 3),
)  # fmt: skip
def test_random_shapes(out: int, step: int, left: int, right: int, taps: int, views: int, **sizes: int) -> None:
    reach = (taps * views - 1) * step
    left, right = min(left, reach), min(right, reach)
    w = max(1, out + reach - left - right)
    _check(Case(w=w, step=step, left=left, right=right, taps=taps, views=views, **sizes))


@pytest.mark.parametrize(("channels", "taps"), [(8, 2), (64, 2), (4, 3), (16, 3), (64, 3), (32, 5), (64, 5)])
@pytest.mark.parametrize("positive", [False, True])
def test_errors_are_few_times_the_direct_kernels(channels: int, taps: int, positive: bool) -> None:
    limit = np.array([4, 3])  # The largest of some thousands is a matter of luck.
    border = 2 * taps - 2
    case = Case(4, channels, 8, 1, 512, 4, border, border, taps=taps)
    x, weight = random(1, 4, channels, 1, 512), random(2, 8, channels, taps)
    if positive:
        x = np.maximum(x, 0)
    exact = case.forward(x, weight)
    wide = np.pad(x, ((0, 0), (0, 0), (0, 0), (border, border)))
    sizes = {"n": 4, "ci": channels, "co": 8, "h": 1, "w": 512 + 2 * border, "kh": 1, "kw": taps, "oh": 1, "ow": 512}
    more = {"stride": (1, 1), "dilation": (1, 4)}
    direct = run_kernel("conv2d", sizes | more | {"transposed": False}, wide, weight)[0]
    check_errors(case.run(x, weight), exact, direct, limit)
    if taps == 5:  # Gradients of five taps are off by up to ten times as much: they are made directly.
        return
    dy = random(3, 4, 8, 1, 512)
    exact = case.filter_grad(x, dy)
    direct = run_kernel("conv2d_filter_grad", sizes | more, wide, dy)[0]
    check_errors(case.run_filter_grad(x, dy), exact, direct, limit)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_pixels_reach_their_windows_and_no_further_than_their_tiles(value: float) -> None:
    case = Case(2, 2, 3, 1, 64, 2, 2, 2)
    x, weight = random(1, 2, 2, 1, 64), random(2, 3, 2, 3)
    x[0, 1, 0, 20] = value
    windows = ~np.isfinite(case.forward(x, weight))
    tiles = np.zeros_like(windows)
    tiles[0, :, 0, 16:24:2] = True
    for where, y in case.run(x, weight).items():
        bad = ~np.isfinite(y)
        assert (bad >= windows).all(), where
        assert (bad <= tiles).all(), where
    dy = random(3, 2, 3, 1, 64)
    for where, dw in case.run_filter_grad(x, dy).items():
        assert (np.isfinite(dw) <= np.isfinite(case.filter_grad(x, dy))).all(), where
        assert np.isfinite(dw[:, 0]).all(), where


@pytest.mark.parametrize("shape", [(2, 3, 5, 3, 50, 3), (3, 8, 8, 1, 64, 8), (1, 3, 4, 1, 200, 20)], ids=str)
def test_the_epilogue_is_applied_to_every_pixel(shape: tuple[int, int, int, int, int, int]) -> None:
    case = Case(*shape, shape[-1], shape[-1])
    x, weight = random(1, case.n, case.ci, case.h, case.w), random(2, case.co, case.ci, 3)
    bias, residual = random(3, case.co), random(4, case.n, case.co, case.h, case.out)
    check_epilogue("conv2d_line_winograd", case.params(False), x, weight, bias, residual)


def test_gradients_of_five_taps_are_refused() -> None:
    case = Case(1, 2, 3, 1, 90, 1, 2, 2, taps=5)
    with pytest.raises(CodegenError, match="gradients of 5 taps along an axis are not made by Winograd's algorithm"):
        run_kernel("conv2d_filter_grad_line_winograd", case.filter_params(), random(1, 180), random(2, 270))


def test_scratch_memory_is_written_and_may_be_too_small() -> None:
    case = Case(1, 3, 3, 1, 200, 1, 1, 1)
    both = {"conv2d_line_winograd": case.params(False), "conv2d_filter_grad_line_winograd": case.filter_params()}
    for name, params in both.items():
        assert written(NamedKernel(name, tuple(params.items()))) == 2
        with pytest.raises(CodegenError, match="no room for a vector of Winograd tiles"):
            run_kernel(name, params | {"scratch": 600}, random(1, 600), random(2, 27 if "filter" not in name else 600))
