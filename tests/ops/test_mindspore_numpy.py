"""graphc.numpy against mindspore.numpy's recorded numbers and dtypes (tests/data/ms_numpy.py), at once and compiled."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc
import graphc.numpy as gnp
from graphc import GraphcError, InternalError, Tensor, TraceError, nn, ops
from graphc.ops.tensor.dtype import BY_NAME
from tests.cells import Of
from tests.data.ms_numpy import (
    BINARY,
    CASES,
    DTYPES,
    REFUSED,
    TENSORS,
    UNARY,
    cases,
    dtype_of,
    names,
)

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_numpy.json").read_text())
NAMES = names(gnp, Tensor)
BLOCKS = [cases(line) for line in CASES.strip().splitlines()]


def check(case: str, made: Any) -> None:
    got = made.asnumpy() if isinstance(made, Tensor) else np.asarray(made)
    dtype, shape, values = RECORDED["results"][case]
    assert (str(got.dtype), list(got.shape)) == (dtype, shape), case
    tolerance = 2e-3 if dtype == "float16" else 3e-5
    wanted = np.array(values).reshape(shape)
    np.testing.assert_allclose(got.astype(np.float64), wanted, rtol=tolerance, atol=tolerance / 4, err_msg=case)


def test_every_case_is_recorded():
    assert list(RECORDED["results"]) == cases(CASES)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block[0])
def test_at_once(block):
    for case in block:
        check(case, eval(case, dict(NAMES)))


class Computed(nn.Cell):
    """All cases of a few blocks, of the tensors that they speak of as inputs."""

    def __init__(self, wanted):
        super().__init__()
        self.wanted = wanted

    def construct(self, *given):
        known = NAMES | dict(zip(TENSORS, given, strict=True))
        return tuple(eval(case, dict(known)) for case in self.wanted)


@pytest.mark.parametrize("part", range(8))
def test_compiled(part):
    """Fewer and larger Cells than cases: compiling each alone takes longer."""
    wanted = [c for block in BLOCKS[part::8] for c in block if isinstance(eval(c, dict(NAMES)), Tensor)]
    given = [Tensor(a) for a in TENSORS.values()]
    for case, made in zip(wanted, graphc.compile(Computed(wanted), *given)(*given), strict=True):
        check(case, made)


@pytest.mark.parametrize("case", cases(REFUSED))
def test_what_mindspore_refuses_is_refused_in_the_house_form(case):
    with pytest.raises(GraphcError) as refused:
        eval(case, dict(NAMES))
    assert not isinstance(refused.value, InternalError)


# ---- dtypes

#: What only whole numbers have: MindSpore computes it in float32 for floats, where 12 and 18 have the common divisor 12.
WHOLE = ("gcd", "lcm")


@pytest.mark.parametrize("function", UNARY.split())
def test_dtypes(function):
    got = [dtype_of(gnp, Tensor, function, d) for d in DTYPES]
    for d, mine, theirs in zip(DTYPES, got, RECORDED["dtypes"][function], strict=True):
        unknown = theirs not in (None, *BY_NAME)
        assert mine == (None if unknown else theirs) or theirs is None, d


@pytest.mark.parametrize("function", BINARY.split())
def test_dtypes_of_pairs(function):
    recorded = iter(RECORDED["pairs"][function])
    for d in DTYPES:
        for other in DTYPES:
            got, wanted = dtype_of(gnp, Tensor, function, d, other), next(recorded)
            if function in WHOLE and "float" in d + other:
                assert got is None
            else:
                assert wanted in (None, got), (d, other)


@pytest.mark.parametrize(
    ("given", "dtype"),
    [(int, "int32"), (float, "float32"), (bool, "bool"), ("float", "float32"), ("Int", "int32"), (gnp.int8, "int8")],
)
def test_names_of_dtypes(given, dtype):
    assert str(gnp.ones(2, given).asnumpy().dtype) == dtype
    assert str(gnp.sin(gnp.ones(2), dtype=given).asnumpy().dtype) == dtype
    assert gnp.result_type(given, gnp.int8) == gnp.promote_types(given, "int8")


def test_constants():
    assert (gnp.pi, gnp.e, gnp.inf, gnp.newaxis) == (np.pi, np.e, np.inf, None)
    assert np.isnan(gnp.nan)
    assert (gnp.int_, gnp.float_, gnp.bool_) == (graphc.int32, graphc.float32, graphc.bool_)
    assert gnp.result_type(1, 2.0) == gnp.float32
    assert gnp.array_str(gnp.array([1, 2])) == "[1 2]"


# ---- values beyond what MindSpore computes


def test_where_mindspore_is_wrong_numpy_decides():
    assert gnp.gcd([12, -4, 0], [-18, 6, 0]).asnumpy().tolist() == [6, 2, 0]
    assert gnp.lcm([4, 0], [-6, 3]).asnumpy().tolist() == [12, 0]
    whole = TENSORS["T"]
    assert gnp.var(Tensor(whole)).item() == pytest.approx(whole.var())
    assert gnp.cbrt([0.0]).item() == 0
    assert gnp.full((2,), Tensor([1.5]), gnp.int32).asnumpy().tolist() == [1, 1]
    assert gnp.array([1, 2**40], gnp.int64).asnumpy().tolist() == [1, 2**40]
    assert gnp.array([Tensor([1.0, 2.0]), [3, 4]]).asnumpy().tolist() == [[1, 2], [3, 4]]
    assert gnp.cross([1, 2], [4, 5]).item() == -3
    assert gnp.sum(gnp.zeros((0, 2)), 0).asnumpy().tolist() == [0, 0]
    assert gnp.max(gnp.zeros((0, 2)), 0, initial=1.0).asnumpy().tolist() == [1, 1]
    assert np.isnan(gnp.mean(gnp.zeros((0, 2))).item())


@pytest.mark.parametrize("function", ["convolve", "correlate"])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "int64"])
def test_vectors_slid_over_each_other(function, dtype):
    """Of every length, the shorter one on either side; of complex numbers nothing is left out."""
    rng = np.random.default_rng(5)
    draw = [(9 * (rng.standard_normal(7) + 1j * rng.standard_normal(7))).view(np.float64) for _ in range(2)]
    a, v = (x.view(np.complex128) if dtype == "complex128" else x[::2].astype(dtype) for x in draw)
    for n, m in ((7, 4), (4, 7), (4, 6), (6, 4), (2, 5), (3, 5), (1, 4), (5, 5)):
        for mode in ("full", "same", "valid"):
            made = getattr(gnp, function)(Tensor(a[:n].copy()), Tensor(v[:m].copy()), mode).asnumpy()
            np.testing.assert_allclose(made, getattr(np, function)(a[:n], v[:m], mode), rtol=1e-12, atol=1e-12)


def test_complex_means_and_powers():
    z = np.arange(9).reshape(3, 3) * (1 + 2j) + np.eye(3)
    np.testing.assert_allclose(gnp.mean(Tensor(z), 1).asnumpy(), z.mean(1))
    np.testing.assert_allclose(gnp.matrix_power(Tensor(z), 3).asnumpy(), np.linalg.matrix_power(z, 3))
    np.testing.assert_allclose(ops.matrix_power(Tensor(z), -2).asnumpy(), np.linalg.matrix_power(z, -2), rtol=1e-9)


def test_sets_and_places_whose_number_depends_on_values():
    assert gnp.unique(Tensor(np.array([3, 1, 3], np.int32)), True)[1].asnumpy().tolist() == [0, 1, 0]
    assert gnp.setdiff1d([3, 1, 2, 5], [1]).asnumpy().tolist() == [2, 3, 5]
    assert gnp.setdiff1d([3, 1, 2, 5, 5], [1], True).asnumpy().tolist() == [3, 2, 5, 5]
    found = gnp.intersect1d([3, 1, 2, 5], [5, 3, 3], return_indices=True)
    assert [x.asnumpy().tolist() for x in found] == [[3, 5], [0, 3], [1, 0]]
    assert gnp.intersect1d([1, 2], [2, 3], True).asnumpy().tolist() == [2]
    assert gnp.argwhere([[1, 0], [0, 2]]).asnumpy().tolist() == [[0, 0], [1, 1]]
    assert gnp.bincount([0, 1, 1, 3, -2]).asnumpy().tolist() == [2, 2, 0, 1]
    assert gnp.bincount([0, 1], minlength=4).asnumpy().tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(
    "function",
    [
        gnp.unique,
        lambda x: gnp.unique(x, True)[1],
        gnp.argwhere,
        lambda x: gnp.setdiff1d(x, [3, 7]),
        lambda x: gnp.setdiff1d(x, [3, 7], True),
        lambda x: gnp.intersect1d(x, [7, 3, 1, 3]),
    ],
)
def test_they_are_counted_in_a_compiled_cell(function):
    x = Tensor(np.array([3, 1, 3, 5, 0, 9, 5], np.int32))
    np.testing.assert_array_equal(graphc.compile(Of(function), x)(x).asnumpy(), function(x).asnumpy(), strict=True)


@pytest.mark.parametrize("function", [gnp.bincount, lambda x: gnp.intersect1d(x, x, return_indices=True)])
def test_what_may_have_any_size_is_refused_in_a_compiled_cell(function):
    with pytest.raises(TraceError, match="GC120"):
        graphc.compile(Of(function), Tensor(np.array([3, 1, 3], np.int32)))


def test_random_numbers():
    graphc.set_seed(3)
    for made, shape, dtype in (
        (gnp.rand(), (1,), "float32"),
        (gnp.rand(2, 3, dtype="float64"), (2, 3), "float64"),
        (gnp.randn((200, 3), dtype=gnp.float16), (200, 3), "float16"),
        (gnp.randint(3), (1,), "int32"),
        (gnp.randint(-2, 5, (300,), gnp.int8), (300,), "int8"),
    ):
        assert (made.shape, str(made.asnumpy().dtype)) == (shape, dtype)
    assert set(made.asnumpy().tolist()) == set(range(-2, 5))
    assert abs(gnp.randn(5000).asnumpy().std() - 1) < 0.05


# ---- gradients

#: Functions of x, float [3, 4], in groups that are compiled together.
SMOOTH = {
    "elementwise": """
sin(x); arctan2(x, x * x); hypot(x, 2.0); logaddexp(x, 1.0); power(x, 2.5); divide(1.0, x); exp2(x); cbrt(x); maximum(x, 1.0)
clip(x, 0.6, 2.0); log10(x); copysign(x, -1.0); deg2rad(x); remainder(x, 0.7); arccos(x / 4); multiply(x, x[0])
""",
    "shapes": """
roll(x, (1, 2), (0, 1)); tile(x, (2, 1)); flip(x, 1); rot90(x); pad(x, 1, 'reflect', reflect_type='odd')
pad(x, 2, 'linear_ramp'); pad(x, 1, 'mean'); repeat(x, 2, 0); take(x, [2, 0], 0)
take_along_axis(x, asarray([[1], [0], [2]]), 1); where(x > 1, x, 2.0); select([x > 1, x > 0.5], [x * x, x]); tril(x, 1)
diag(x); stack((x, x * x), 1); dsplit(x[None], 2)[1]
""",
    "reductions": """
std(x, 0, 1); var(x); average(x, 1, x * x); amax(x, 1); min(x, 0); nanmean(x); nanstd(x, 0); cumsum(x, 1); cumprod(x); ptp(x)
sum(x, 1, initial=2.0); nanmax(x, 0); max(x, 1, where=x > 0.5, initial=0.0); trace(x); mean(x, 0, True)
""",
    "products": """
dot(x, transpose(x)); inner(x, x); outer(x[0], x[1]); kron(x, x[:2]); cross(x[:, :3], x[:, 1:])
multi_dot([x, transpose(x), x]); cov(x); corrcoef(x); tensordot(x, x); diff(x, 2); gradient(x)[0]; trapz(x); unwrap(x * 3)
interp(x, [0, 1, 4], [2.0, 0, 3]); convolve(x[0], x[1]); correlate(x[0], x[1, :2], 'same'); polyval(x[0], x)
polymul(x[0], x[1]); polyint(x[0]); linspace(x[0], x[1], 3); geomspace(x[0], x[1], 3); histogram(x, 3, (0, 3), weights=x)[0]
""",
}


class Weighed(nn.Cell):
    """The sum of all elements of all functions of a group, each with a weight of its own."""

    def __init__(self, group):
        super().__init__()
        self.group = cases(SMOOTH[group])

    def construct(self, x):
        total = 0.0
        for case in self.group:
            y = gnp.ravel(eval(case, {**NAMES, "x": x}))
            weights = np.cos(np.arange(y.size)).astype(str(x.dtype).lower())
            total = total + ops.reduce_sum(y * Tensor(weights))
        return total


@pytest.mark.parametrize("group", SMOOTH)
def test_gradients(group):
    x, cell = TENSORS["P"].astype(np.float64), Weighed(group)
    got = ops.grad(cell)(Tensor(x.astype(np.float32))).asnumpy()
    direction, step = np.cos(np.arange(12) * 2.0).reshape(3, 4), 1e-3
    ends = [float(cell.construct(Tensor(x + s * direction))) for s in (-step, step)]
    assert (got * direction).sum() == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=3e-3)


def test_under_mindspores_name():
    """A script's own NumPy stays what it is."""
    script = (
        "import numpy; from graphc import *; from graphc import compat; compat.install(); import mindspore.numpy as mnp;"
        " from mindspore.numpy import mgrid, float32; import mindspore; import graphc.numpy;"
        " print(numpy.__file__ != graphc.numpy.__file__, mindspore.numpy.sin is graphc.numpy.sin, mnp.array([1]).dtype)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "True True Int32\n"
    with pytest.raises(AttributeError, match=r"did you mean numpy[.]linspace"):
        gnp.linspce  # noqa: B018
