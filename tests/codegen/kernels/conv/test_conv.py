"""Convolutions against float64 sums over taps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import Array, random, run_all


@dataclass(frozen=True)
class Case:
    """A convolution of a padded image of `height` x `width`; strides and dilations are (vertical, horizontal)."""

    n: int
    ci: int
    co: int
    height: int
    width: int
    kh: int
    kw: int
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)

    @property
    def out(self) -> tuple[int, int]:
        span = [(k - 1) * d + 1 for k, d in zip((self.kh, self.kw), self.dilation, strict=True)]
        return (self.height - span[0]) // self.stride[0] + 1, (self.width - span[1]) // self.stride[1] + 1

    def params(self) -> dict[str, Any]:
        oh, ow = self.out
        h, w = -(-self.height // self.stride[0]), -(-self.width // self.stride[1])
        return {
            "n": self.n, "ci": self.ci, "co": self.co, "h": h, "w": w, "kh": self.kh, "kw": self.kw,
            "oh": oh, "ow": ow, "stride": self.stride, "dilation": self.dilation,
        }  # fmt: skip

    def phases(self, x: Array) -> Array:
        """[n, ci, sh, sw, h, w]; cells beyond the image are NaN: no output may depend on them."""
        (sh, sw), p = self.stride, self.params()
        whole = np.full((self.n, self.ci, p["h"] * sh, p["w"] * sw), np.nan, np.float32)
        whole[:, :, : self.height, : self.width] = x
        split = whole.reshape(self.n, self.ci, p["h"], sh, p["w"], sw).transpose(0, 1, 3, 5, 2, 4)
        return np.ascontiguousarray(split)

    def window(self, x: Array, ky: int, kx: int) -> Array:
        (oh, ow), (sh, sw) = self.out, self.stride
        y0, x0 = ky * self.dilation[0], kx * self.dilation[1]
        return x[:, :, y0 : y0 + (oh - 1) * sh + 1 : sh, x0 : x0 + (ow - 1) * sw + 1 : sw].astype(np.float64)

    def forward(self, x: Array, weight: Array) -> Array:
        y = np.zeros((self.n, self.co, *self.out))
        for ky in range(self.kh):
            for kx in range(self.kw):
                y += np.einsum("nihw,oi->nohw", self.window(x, ky, kx), weight[:, :, ky, kx].astype(np.float64))
        return y

    def filter_grad(self, x: Array, dy: Array) -> Array:
        dw = np.zeros((self.co, self.ci, self.kh, self.kw))
        for ky in range(self.kh):
            for kx in range(self.kw):
                dw[:, :, ky, kx] = np.einsum("nihw,nohw->oi", self.window(x, ky, kx), dy.astype(np.float64))
        return dw


CASES = [
    Case(2, 1, 6, 32, 32, 5, 5),
    Case(2, 6, 16, 14, 14, 5, 5),
    Case(2, 16, 6, 18, 18, 5, 5),
    Case(1, 3, 9, 18, 34, 3, 3),
    Case(2, 3, 5, 17, 17, 3, 3, stride=(2, 2)),
    Case(1, 3, 8, 30, 31, 7, 7, stride=(2, 2)),
    Case(2, 9, 7, 8, 8, 1, 1),
    Case(1, 5, 4, 9, 9, 1, 1, stride=(2, 2)),
    Case(1, 2, 3, 20, 20, 3, 3, dilation=(3, 3)),
    Case(1, 2, 3, 21, 19, 3, 2, stride=(2, 2), dilation=(2, 2)),
    Case(1, 2, 3, 13, 14, 3, 3, stride=(3, 3), dilation=(2, 2)),
    Case(2, 5, 6, 1, 70, 1, 3, dilation=(1, 8)),
    Case(1, 2, 3, 13, 17, 3, 3, stride=(3, 2), dilation=(2, 3)),
    Case(1, 2, 3, 13, 17, 3, 3, stride=(4, 1), dilation=(2, 4)),
    Case(1, 1, 1, 5, 150, 2, 3),
    Case(2, 2, 8, 5, 75, 2, 3),
    Case(1, 1, 1, 1, 1, 1, 1),
    # Strips of images, a large one of as many rows as a prime, and several chunks of images.
    Case(5, 2, 1, 128, 128, 3, 3),
    Case(4, 2, 1, 128, 128, 3, 5, stride=(2, 2)),
    Case(3, 2, 2, 160, 161, 1, 1),
    Case(2, 3, 9, 39, 40, 3, 2),
    Case(5, 34, 8, 34, 34, 3, 3),
]


def _check(case: Case, block: dict[str, int] | None = None) -> None:
    x = random(1, case.n, case.ci, case.height, case.width)
    weight = random(2, case.co, case.ci, case.kh, case.kw)
    dy = random(3, case.n, case.co, *case.out)
    phases, params = case.phases(x), case.params() | (block or {})
    exact = case.forward(x, weight)
    scale = 1 + case.forward(np.abs(x), np.abs(weight))
    turned = np.ascontiguousarray(weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3))
    for transposed, given_weight in ((False, weight), (True, turned)):
        results = run_all("conv2d", params | {"transposed": transposed}, phases, given_weight)
        for where, (y,) in results.items():
            assert (np.abs(y.reshape(exact.shape) - exact) <= 1e-6 * scale).all(), (where, transposed)
    exact = case.filter_grad(x, dy)
    scale = 1 + case.filter_grad(np.abs(x), np.abs(dy))
    for where, (dw,) in run_all("conv2d_filter_grad", params, phases, dy).items():
        assert (np.abs(dw.reshape(exact.shape) - exact) <= 1e-6 * scale).all(), where


@pytest.mark.parametrize("case", CASES, ids=str)
def test_known_shapes(case: Case) -> None:
    _check(case)


@pytest.mark.parametrize("block", [1, 7, 60, 700])
@pytest.mark.parametrize("case", [CASES[k] for k in (1, 4, 11, 14, 17, 18, 19, 21)], ids=str)
def test_blocks_of_terms(case: Case, block: int) -> None:
    """Within rows, of rows, and of images."""
    _check(case, {"block": block})


def drawn(channels: int) -> st.SearchStrategy[Case]:
    """Convolutions to so many channels at most."""
    made = st.builds(
        Case,
        n=st.integers(1, 2), ci=st.integers(1, 4), co=st.integers(1, channels), height=st.integers(1, 20),
        width=st.integers(1, 40), kh=st.integers(1, 4), kw=st.integers(1, 6),
        stride=st.tuples(st.integers(1, 4), st.integers(1, 3)), dilation=st.tuples(st.integers(1, 3), st.integers(1, 4)),
    )  # fmt: skip
    return made.filter(lambda case: min(case.out) > 0)


@settings(max_examples=25, deadline=None)
@given(case=drawn(9))
def test_random_shapes(case: Case) -> None:
    _check(case)


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(1, 3), groups=st.integers(2, 5), ci=st.integers(1, 2), co=st.integers(1, 3), size=st.integers(3, 20),
    kernel=st.integers(1, 3), stride=st.tuples(st.integers(1, 2), st.integers(1, 2)), block=st.sampled_from([None, 7]),
)  # fmt: skip
def test_groups_are_convolutions_of_their_own(
    n: int, groups: int, ci: int, co: int, size: int, kernel: int, stride: tuple[int, int], block: int | None
) -> None:
    case = Case(n, ci, co, size, size + 1, kernel, kernel, stride)
    xs = [random(10 + g, n, ci, size, size + 1) for g in range(groups)]
    weights = [random(20 + g, co, ci, kernel, kernel) for g in range(groups)]
    dys = [random(30 + g, n, co, *case.out) for g in range(groups)]
    params = case.params() | {"groups": groups} | ({} if block is None else {"block": block})
    phases = np.concatenate([case.phases(x) for x in xs], 1)
    for transposed in (False, True):
        turned = [w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3) if transposed else w for w in weights]
        exact = np.concatenate([case.forward(x, w) for x, w in zip(xs, weights, strict=True)], 1)
        made = run_all("conv2d", params | {"transposed": transposed}, phases, np.concatenate(turned))
        for where, (y,) in made.items():
            np.testing.assert_allclose(y.reshape(exact.shape), exact, rtol=1e-4, atol=1e-4, err_msg=where)
    exact = np.concatenate([case.filter_grad(x, dy) for x, dy in zip(xs, dys, strict=True)])
    for where, (dw,) in run_all("conv2d_filter_grad", params, phases, np.concatenate(dys, 1)).items():
        np.testing.assert_allclose(dw.reshape(exact.shape), exact, rtol=1e-4, atol=1e-4, err_msg=where)


@settings(max_examples=20, deadline=None)
@given(
    top=st.integers(0, 14), bottom=st.integers(0, 14), inner=st.integers(1, 9), co=st.integers(1, 7), step=st.integers(1, 6)
)  # fmt: skip
def test_zero_border_may_be_skipped(top: int, bottom: int, inner: int, co: int, step: int) -> None:
    """With a step between taps there are rows of which none meets a pixel."""
    case = Case(2, 3, co, top + inner + bottom, 18, 4, 5, dilation=(step, 1))
    assume(case.out[0] > 0)
    x = random(1, case.n, case.ci, case.height, case.width)
    x[:, :, :top] = 0
    x[:, :, top + inner :] = 0
    weight = random(2, case.co, case.ci, case.kh, case.kw)
    turned = np.ascontiguousarray(weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3))
    exact = case.forward(x, weight)
    for transposed, given_weight in ((False, weight), (True, turned)):
        params = case.params() | {"transposed": transposed, "border": (top, bottom)}
        for where, (y,) in run_all("conv2d", params, x, given_weight).items():
            np.testing.assert_allclose(y.reshape(exact.shape), exact, rtol=1e-4, atol=1e-4, err_msg=where)


def test_non_finite_pixels_reach_exactly_their_windows() -> None:
    case = Case(1, 2, 3, 12, 13, 3, 3)
    x, weight = random(1, 1, 2, 12, 13), random(2, 3, 2, 3, 3)
    x[0, 1, 5, 6] = np.nan
    expected = ~np.isfinite(case.forward(x, weight))
    for where, (y,) in run_all("conv2d", case.params() | {"transposed": False}, x, weight).items():
        assert (np.isnan(y.reshape(expected.shape)) == expected).all(), where
    dy = random(3, 1, 3, *case.out)
    dy[0, 2, 0, 0] = np.inf
    expected = ~np.isfinite(case.filter_grad(x, dy))
    for where, (dw,) in run_all("conv2d_filter_grad", case.params(), x, dy).items():
        assert (~np.isfinite(dw.reshape(expected.shape)) == expected).all(), where
