"""Winograd convolutions against float64 sums over taps, and against the direct kernel."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels import EMITTERS
from graphc_codegen.program import NamedKernel, written
from tests.codegen.conv_harness import check_convolution, check_epilogue, check_errors, padded, run_everywhere
from tests.codegen.kernel_harness import Array, random, run_kernel


@dataclass(frozen=True)
class Case:
    """A convolution, 3 x 3 unless told, of an image padded by (top, bottom, left, right); memory for `tiles` a block and `parts`
    threads. With `blocks` its windows are that many times as high and wide, and blocks of taps see views of the image.
    """

    n: int
    ci: int
    co: int
    h: int
    w: int
    pad: tuple[int, int, int, int] = (1, 1, 1, 1)
    tiles: int = 48
    parts: int = 2
    taps: int = 3
    stride: tuple[int, int] = (1, 1)
    blocks: tuple[int, int] = (1, 1)

    @property
    def window(self) -> tuple[int, int]:
        """Every tap of every phase and block."""
        (sh, sw), (down, across) = self.stride, self.blocks
        return sh * down * self.taps, sw * across * self.taps

    @property
    def out(self) -> tuple[int, int]:
        (top, bottom, left, right), (kh, kw), (sh, sw) = self.pad, self.window, self.stride
        return (self.h + top + bottom - kh) // sh + 1, (self.w + left + right - kw) // sw + 1

    @property
    def views(self) -> list[tuple[int, int]]:
        """The first tap of each phase and block."""
        down, across = (
            [step * self.taps * b + r for b in range(count) for r in range(step)]
            for step, count in zip(self.stride, self.blocks, strict=True)
        )
        return list(itertools.product(down, across))

    @property
    def seen(self) -> int:
        """Channels of all views."""
        return self.ci * len(self.views)

    @property
    def products(self) -> int:
        return (self.taps + 3) ** 2

    def params(self, transposed: bool) -> dict[str, Any]:
        return self._params(self.products * (self.seen * self.co + 32), 0, 0) | {"transposed": transposed}

    def filter_params(self) -> dict[str, Any]:
        channels = -(-self.seen // 16) * 16
        return self._params(0, channels, self.products * (self.co * channels + 16))

    def _params(self, common: int, per_tile: int, fixed: int) -> dict[str, Any]:
        (oh, ow), (top, _, left, _) = self.out, self.pad
        tiles = -(-max(self.tiles, (ow + 5) // 4) // 16) * 16
        each = tiles * (self.products * (self.seen + self.co) + 24 + per_tile) + fixed + max(self.w, ow) + 1360
        if len(self.views) == 1:
            place: dict[str, Any] = {"top": top, "left": left}
        else:
            place = {"stride": self.stride, "views": tuple((i - top, j - left) for i, j in self.views)}
        return {
            "n": self.n, "ci": self.seen, "co": self.co, "h": self.h, "w": self.w, "kh": self.taps, "kw": self.taps, "oh": oh,
            "ow": ow, "parts": self.parts, "scratch": common + self.parts * each, **place,
        }  # fmt: skip

    def _windows(self, x: Array) -> list[tuple[tuple[int, int], Array]]:
        """Each tap and the pixels that meet it, of all views."""
        (oh, ow), (sh, sw), image = self.out, self.stride, padded(x.astype(np.float64), self.pad)
        found = []
        for tap in np.ndindex(self.taps, self.taps):
            firsts = [(i + sh * tap[0], j + sw * tap[1]) for i, j in self.views]
            pixels = [image[:, :, y : y + sh * oh : sh, z : z + sw * ow : sw][:, :, :oh, :ow] for y, z in firsts]
            found.append((tap, np.concatenate(pixels, 1)))
        return found

    def forward(self, x: Array, weight: Array) -> Array:
        y = np.zeros((self.n, self.co, *self.out))
        for (ky, kx), pixels in self._windows(x):
            y += np.einsum("nihw,oi->nohw", pixels, weight[:, :, ky, kx].astype(np.float64))
        return y

    def filter_grad(self, x: Array, dy: Array) -> Array:
        dw = np.zeros((self.co, self.seen, self.taps, self.taps))
        for (ky, kx), pixels in self._windows(x):
            dw[:, :, ky, kx] = np.einsum("nihw,nohw->oi", pixels, dy.astype(np.float64))
        return dw

    def run(self, x: Array, weight: Array, transposed: bool = False) -> dict[str, Array]:
        return run_everywhere("conv2d_winograd", self.params(transposed), (self.n, self.co, *self.out), x, weight)

    def run_filter_grad(self, x: Array, dy: Array) -> dict[str, Array]:
        shape = (self.co, self.seen, self.taps, self.taps)
        return run_everywhere("conv2d_filter_grad_winograd", self.filter_params(), shape, x, dy)


CASES = [
    Case(3, 16, 16, 32, 32),
    Case(5, 7, 9, 8, 8),
    Case(1, 1, 1, 1, 1),
    Case(2, 3, 5, 7, 7, tiles=16),
    Case(1, 2, 3, 28, 29),
    Case(1, 2, 3, 6, 70, (0, 0, 0, 0)),
    Case(2, 3, 4, 9, 9, (2, 2, 2, 2), parts=3),
    Case(2, 3, 4, 9, 13, (0, 1, 2, 0), parts=1),
    Case(1, 17, 2, 5, 150, (1, 0, 0, 1)),
    Case(1, 1, 2, 4, 4, (4, 3, 5, 6)),
    Case(1, 40, 33, 4, 4, parts=5),
    Case(2, 5, 9, 17, 17, (0, 0, 0, 0), taps=2),
    Case(1, 3, 4, 9, 41, (1, 0, 1, 0), taps=2),
    Case(3, 3, 2, 8, 8, (0, 1, 0, 1), taps=2),
    Case(1, 1, 1, 1, 1, taps=2),
    Case(2, 3, 5, 16, 16, taps=2, stride=(2, 2)),
    Case(1, 2, 3, 13, 64, (1, 2, 0, 3), taps=2, stride=(1, 2), blocks=(1, 2)),
    Case(2, 2, 3, 32, 32, (1, 2, 1, 2), taps=2, blocks=(2, 2)),
    Case(1, 3, 2, 20, 31, (3, 3, 3, 3), taps=3, stride=(2, 2)),
    Case(1, 2, 3, 12, 12, (4, 4, 4, 4), taps=3, blocks=(3, 3)),
    Case(1, 1, 2, 9, 70, (0, 2, 7, 9), taps=3, stride=(3, 2), parts=3),
]


def _check(case: Case) -> None:
    x, weight = random(1, case.n, case.ci, case.h, case.w), random(2, case.co, case.seen, case.taps, case.taps)
    check_convolution(case, x, weight, random(3, case.n, case.co, *case.out))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_known_shapes(case: Case) -> None:
    _check(case)


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(1, 3), ci=st.integers(1, 20), co=st.integers(1, 20), h=st.integers(2, 20), w=st.integers(2, 40),
    pad=st.tuples(*[st.integers(0, 5)] * 4), tiles=st.sampled_from([1, 16, 40, 100]), parts=st.integers(1, 4),
    taps=st.sampled_from([2, 3]), stride=st.tuples(st.integers(1, 3), st.integers(1, 2)),
    blocks=st.tuples(st.integers(1, 2), st.integers(1, 2)),
)  # fmt: skip
def test_random_shapes(n: int, ci: int, co: int, h: int, w: int, pad: tuple[int, int, int, int], **rest: Any) -> None:
    case = Case(n, ci, co, h, w, pad, **rest)
    (top, bottom, left, right), (kh, kw) = pad, case.window
    _check(replace(case, h=max(h, kh - top - bottom), w=max(w, kw - left - right)))


@pytest.mark.parametrize("taps", [2, 3])
@pytest.mark.parametrize("channels", [8, 16, 64])
@pytest.mark.parametrize("positive", [False, True])
def test_errors_are_few_times_the_direct_kernels(channels: int, positive: bool, taps: int) -> None:
    limit = np.array([6, 4])  # The largest of some hundreds is a matter of luck.
    case = Case(2, channels, 8, 32, 32, (1, taps - 2, 1, taps - 2), taps=taps)
    x, weight = random(1, 2, channels, 32, 32), random(2, 8, channels, taps, taps)
    if positive:
        x = np.maximum(x, 0)
    exact = case.forward(x, weight)
    wide = 31 + taps
    sizes = {"n": 2, "ci": channels, "co": 8, "h": wide, "w": wide, "kh": taps, "kw": taps, "oh": 32, "ow": 32}
    more = {"stride": (1, 1), "dilation": (1, 1)}
    direct = run_kernel("conv2d", sizes | more | {"transposed": False}, padded(x, case.pad), weight)[0]
    check_errors(case.run(x, weight), exact, direct, limit)
    dy = random(3, 2, 8, 32, 32)
    exact = case.filter_grad(x, dy)
    direct = run_kernel("conv2d_filter_grad", sizes | more, padded(x, case.pad), dy)[0]
    limit = np.array([6, 5])  # With many channels it sums up each image by itself.
    check_errors(case.run_filter_grad(x, dy), exact, direct, limit)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_pixels_reach_their_windows_and_no_further_than_their_tiles(value: float) -> None:
    case = Case(2, 2, 3, 12, 13)
    x, weight = random(1, 2, 2, 12, 13), random(2, 3, 2, 3, 3)
    x[0, 1, 3, 6] = value  # In the patches of two rows of tiles and of one column.
    windows = ~np.isfinite(case.forward(x, weight))
    tiles = np.zeros_like(windows)
    tiles[0, :, 0:8, 4:8] = True
    for where, y in case.run(x, weight).items():
        bad = ~np.isfinite(y)
        assert (bad >= windows).all(), where
        assert (bad <= tiles).all(), where
    x[0, 1, 3, 6] = 0
    weight[1, 1, 0, 2] = value
    for where, y in case.run(x, weight).items():
        assert not np.isfinite(y[:, 1]).any(), where
        assert np.isfinite(y[:, (0, 2)]).all(), where


def test_non_finite_gradients_reach_all_weights_of_their_channel() -> None:
    case = Case(2, 2, 3, 12, 13)
    x, dy = random(1, 2, 2, 12, 13), random(2, 2, 3, 12, 13)
    dy[1, 2, 11, 12] = np.nan
    for where, dw in case.run_filter_grad(x, dy).items():
        assert np.isnan(dw[2]).all(), where
        assert np.isfinite(dw[:2]).all(), where
    x[0, 1, 0, 0] = np.inf
    for where, dw in case.run_filter_grad(x, dy).items():
        assert (np.isfinite(dw) <= np.isfinite(case.filter_grad(x, dy))).all(), where
        assert np.isfinite(dw[:2, 0]).all(), where


@pytest.mark.parametrize("shape", [(2, 3, 5, 9, 14), (3, 8, 8, 8, 8)], ids=str)
def test_the_epilogue_is_applied_to_every_pixel(shape: tuple[int, int, int, int, int]) -> None:
    case = Case(*shape)
    x, weight = random(1, case.n, case.ci, case.h, case.w), random(2, case.co, case.ci, 3, 3)
    bias, residual = random(3, case.co), random(4, case.n, case.co, *case.out)
    check_epilogue("conv2d_winograd", case.params(False), x, weight, bias, residual)


def test_scratch_memory_is_written_and_may_be_too_small() -> None:
    case = Case(1, 1, 1, 8, 200)
    both = {"conv2d_winograd": case.params(False), "conv2d_filter_grad_winograd": case.filter_params()}
    for name, params in both.items():
        assert written(NamedKernel(name, tuple(params.items()))) == 2
        assert [o.role for o in EMITTERS[name].operands(params)] == ["in", "in", "out", "out"]
        with pytest.raises(CodegenError, match="no room for a row of Winograd tiles"):
            run_kernel(
                name, params | {"scratch": 5000}, random(1, 1600), random(2, 9 if "filter" not in name else 1600)
            )
