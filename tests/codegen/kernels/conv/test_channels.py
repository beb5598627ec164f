"""Convolutions with output channels as lanes against float64 sums over taps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from graphc_codegen.kernels.conv.channels import plan
from graphc_codegen.kernels.conv.pixels import Sizes
from tests.codegen.kernel_harness import Array, random, run_all
from tests.codegen.kernels.conv.test_conv import Case, drawn


def _params(case: Case) -> dict[str, Any]:
    return case.params() | {"h": case.height, "w": case.width}


def _run(case: Case, x: Array, weight: Array, **more: Any) -> dict[str, list[Array]]:
    """Rows of weights are longer than there are channels; what stands behind these is nobody's."""
    lead = case.co + case.co % 3
    packed = np.full((case.ci, case.kh, case.kw, lead), np.nan, np.float32)
    packed[..., : case.co] = weight.transpose(1, 2, 3, 0)
    return run_all("conv2d_channels", _params(case) | {"lead": lead} | more, x, packed)


def _check(case: Case, **more: Any) -> None:
    x = random(1, case.n, case.ci, case.height, case.width)
    weight = random(2, case.co, case.ci, case.kh, case.kw)
    exact, scale = case.forward(x, weight), 1 + case.forward(np.abs(x), np.abs(weight))
    for where, (y,) in _run(case, x, weight, **more).items():
        assert (np.abs(y.reshape(exact.shape) - exact) <= 1e-6 * scale).all(), where


@pytest.mark.parametrize("block", [{}, {"block": 1}, {"block": 40}], ids=str)
@pytest.mark.parametrize(
    "case",
    [
        Case(2, 9, 40, 9, 9, 3, 3),
        Case(3, 5, 17, 9, 8, 3, 3, stride=(2, 2)),
        Case(2, 3, 64, 17, 30, 7, 7, stride=(2, 1)),
        Case(1, 4, 70, 20, 37, 2, 3, dilation=(3, 2)),
        Case(2, 7, 16, 4, 4, 4, 4),
        Case(1, 1, 1, 1, 1, 1, 1),
    ],
    ids=str,
)
def test_known_shapes(case: Case, block: dict[str, int]) -> None:
    _check(case, **block)


@settings(max_examples=25, deadline=None)
@given(case=drawn(80))
def test_random_shapes(case: Case) -> None:
    _check(case)


@pytest.mark.parametrize(
    ("plane", "co", "tile"),
    [((7, 7), 48, (3, (1, 7))), ((7, 7), 32, (2, (2, 7))), ((14, 14), 32, (2, (1, 14))), ((4, 4), 16, (1, (4, 4)))],
)
def test_tiles_are_rows_or_parts_of_one(plane: tuple[int, int], co: int, tile: tuple[int, tuple[int, int]]) -> None:
    z = Sizes(1, 8, co, plane[0] + 2, plane[1] + 2, 3, 3, *plane, (1, 1), (1, 1))
    assert plan(z, 16) == tile


def test_non_finite_pixels_reach_exactly_their_windows() -> None:
    case = Case(1, 2, 20, 8, 9, 3, 3)
    x, weight = random(1, 1, 2, 8, 9), random(2, 20, 2, 3, 3)
    x[0, 1, 5, 6] = np.nan
    expected = ~np.isfinite(case.forward(x, weight))
    for where, (y,) in _run(case, x, weight).items():
        assert (np.isnan(y.reshape(expected.shape)) == expected).all(), where
