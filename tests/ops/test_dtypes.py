"""Casts and arithmetic of tensors of every dtype in compiled cells: the dtypes are MindSpore's, the numbers NumPy's."""

import math

import numpy as np
import pytest

import graphc
from graphc import GraphcWarning, Tensor, compat, ops
from tests.cells import Of

DTYPES = ["bool_", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bfloat16"]
#: Row + column, as MindSpore 2.10 computes it. Two bools are refused.
TABLE = {
    "bool_": [None, "UInt8", "Int8", "Int16", "Int32", "Int64", "Float16", "Float32", "Float64", "BFloat16"],
    "uint8": ["UInt8", "UInt8", "Int16", "Int16", "Int32", "Int64", "Float16", "Float32", "Float64", "BFloat16"],
    "int8": ["Int8", "Int16", "Int8", "Int16", "Int32", "Int64", "Float16", "Float32", "Float64", "BFloat16"],
    "int16": ["Int16", "Int16", "Int16", "Int16", "Int32", "Int64", "Float16", "Float32", "Float64", "BFloat16"],
    "int32": ["Int32", "Int32", "Int32", "Int32", "Int32", "Int64", "Float16", "Float32", "Float64", "BFloat16"],
    "int64": ["Int64", "Int64", "Int64", "Int64", "Int64", "Int64", "Float16", "Float32", "Float64", "BFloat16"],
    "float16": [*["Float16"] * 7, "Float32", "Float64", "Float32"],
    "float32": [*["Float32"] * 8, "Float64", "Float32"],
    "float64": ["Float64"] * 10,
    "bfloat16": [*["BFloat16"] * 6, "Float32", "Float32", "Float64", "BFloat16"],
}
WHOLE = DTYPES[:6]


def operands(name, seed):
    """Small numbers, none of them zero, of both signs where the dtype has them."""
    x = np.random.default_rng(seed).integers(1, 12, 21)
    if name not in ("bool_", "uint8"):
        x[::2] *= -1
    return Tensor(x, getattr(graphc, name))


def plain(tensor, dtype):
    """The numbers of a tensor in a NumPy dtype; bfloat16 counts in float32."""
    x = tensor.asnumpy()
    return x.astype(np.float32).astype(dtype) if x.dtype.name == "bfloat16" else x.astype(dtype)


def numpy_name(dtype):
    name = str(dtype).lower()
    return "float32" if name == "bfloat16" else name


@pytest.mark.parametrize("row", DTYPES)
def test_arithmetic_of_two_dtypes(row):
    columns = [c for c in DTYPES if (row, c) != ("bool_", "bool_")]
    a, others = operands(row, 1), [operands(c, 2) for c in columns]

    def everything(a, *others):
        return [(a + b, a / b, a // b) for b in others]

    for column, b, results in zip(columns, others, Of(everything)(a, *others), strict=True):
        total, ratio, floor = results
        wanted = TABLE[row][DTYPES.index(column)]
        whole = row in WHOLE and column in WHOLE
        assert str(total.dtype) == wanted, column
        assert str(floor.dtype) == wanted, column
        assert str(ratio.dtype) == ("Float32" if whole else wanted), column
        for got, function in ((total, np.add), (ratio, np.divide), (floor, np.floor_divide)):
            dtype = numpy_name(got.dtype)
            want = function(plain(a, dtype), plain(b, dtype))
            rough = str(got.dtype) == "BFloat16"
            np.testing.assert_allclose(plain(got, dtype), want, rtol=2**-8 if rough else 0, err_msg=column)


def test_two_bools_are_refused():
    flags = Tensor(np.array([True, False]))
    for function in (lambda a, b: a + b, lambda a, b: a // b):
        with pytest.raises(TypeError, match="is not defined for two bool tensors"):
            Of(function)(flags, flags)
    assert str(Of(lambda a, b: a / b)(flags, Tensor(np.array([True, True]))).dtype) == "Float32"


@pytest.mark.parametrize("name", DTYPES)
def test_arithmetic_with_python_numbers(name):
    a = operands(name, 3)
    own = TABLE[name][DTYPES.index(name)] or "Bool"
    whole, results = name in WHOLE, Of(lambda a: [(a + s, a / s, a // s) for s in (2, 2.5)])(a)
    wants = ("Int64" if own == "Bool" else own, "Float32" if whole else own)
    for results_of_one, wanted in zip(results, wants, strict=True):
        assert [str(r.dtype) for r in results_of_one] == [wanted, "Float32" if whole else own, wanted]
    if name != "bool_":
        assert [str(r.dtype) for r in Of(lambda a: (a + True, a // True))(a)] == [own, own]


def test_bools_and_a_python_bool():
    flags = Tensor(np.array([True, False]))
    kept, none = Of(lambda a: (a // True, a // False))(flags)
    assert (str(kept.dtype), str(none.dtype)) == ("Bool", "Bool")
    assert kept.asnumpy().tolist() == [True, False]
    assert none.asnumpy().tolist() == [False, False]
    with pytest.raises(TypeError, match="Add"):
        Of(lambda a: a + True)(flags)


@pytest.mark.parametrize("name", ["int8", "int16", "uint8"])
def test_integers_wrap(name):
    limits = np.iinfo(name)
    x = np.array([limits.max, limits.min, 3, 0], name)
    y = np.array([limits.max, 1, 2, 0], name)
    results = Of(lambda a, b: (a + b, a - b, a * b, a // b, a % b, -a))(Tensor(x), Tensor(y))
    with np.errstate(divide="ignore"):
        wants = [x + y, x - y, x * y, x // y, x % y, -x]
    for got, want in zip(results, wants, strict=True):
        assert got.asnumpy().dtype == x.dtype
        np.testing.assert_array_equal(got.asnumpy(), want)


@pytest.mark.parametrize(
    ("name", "number", "counts_as"),
    [("uint8", 256, 0), ("uint8", -10000, 240), ("int8", 300, 44), ("int8", -129, 127), ("int16", 40000, -25536)],
)
@pytest.mark.parametrize("compute", [lambda f: f, Of], ids=["eager", "compiled"])
def test_numbers_that_the_dtype_lacks_wrap_and_are_told_of(name, number, counts_as, compute):
    x = np.array([1, 5, 100], name)
    with pytest.warns(GraphcWarning, match=rf"\[GC113\] {number} is no number of dtype {name}.* counts as {counts_as}"):
        got = compute(lambda a: (a + number, a > number, ops.full((2,), number, dtype=a.dtype)))(Tensor(x))
    whole = np.array(counts_as, name)
    for made, want in zip(got, (x + whole, x > whole, np.full(2, whole)), strict=True):
        assert made.asnumpy().dtype == want.dtype
        np.testing.assert_array_equal(made.asnumpy(), want)


@pytest.mark.parametrize(("name", "number"), [("uint32", -1), ("uint16", 70000), ("int8", 2**63), ("int64", 2**63)])
def test_numbers_that_mindspore_refuses_are_refused(name, number):
    with pytest.raises(ValueError, match=f"{number} is no number of dtype {name}"):
        Of(lambda a: a + number)(Tensor(np.zeros(2, name)))


def test_functions_of_doubles():
    x = np.random.default_rng(5).uniform(0.1, 3, (7, 9))

    def everything(a):
        return (
            ops.exp(a), ops.log(a), ops.tanh(a), ops.sqrt(a), ops.sin(a), ops.cos(a), ops.sigmoid(a), a**1.7,
            ops.mean(a), ops.reduce_max(a, 1), ops.reduce_sum(a, 0),
        )  # fmt: skip

    wants = (
        np.exp(x), np.log(x), np.tanh(x), np.sqrt(x), np.sin(x), np.cos(x), 1 / (1 + np.exp(-x)), x**1.7,
        x.mean(), x.max(1), x.sum(0),
    )  # fmt: skip
    for got, want in zip(Of(everything)(Tensor(x)), wants, strict=True):
        assert str(got.dtype) == "Float64"
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-14)


def test_a_gradient_in_doubles():
    x = np.linspace(-2, 2, 11)
    loss = Of(lambda a: ops.reduce_sum(ops.tanh(a) * a))
    got = graphc.grad(loss)(Tensor(x)).asnumpy()
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, np.tanh(x) + x * (1 - np.tanh(x) ** 2), rtol=1e-13, atol=1e-15)


def test_casts_outside_a_step_saturate_as_those_in_it():
    x = np.array([2.7, -2.7, 1e20, -1e20, np.nan, np.inf], np.float32)
    for dtype in ("int8", "uint8", "int32", "int64"):
        assert (
            ops.cast(Tensor(x), dtype).asnumpy() == graphc.jit(lambda t, d=dtype: ops.cast(t, d))(Tensor(x)).asnumpy()
        ).all()


def test_integer_products():
    a, b = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    assert (ops.matmul(Tensor(a), Tensor(b)).asnumpy() == a @ b).all()
    assert (Tensor(a[0]) @ Tensor(b)).asnumpy().tolist() == (a[0] @ b).tolist()
    with pytest.raises(ValueError, match="rows of 3"):
        ops.matmul(Tensor(a), Tensor(a))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (lambda x: ops.gelu(x, "tanh"), lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
        (lambda x: ops.gelu(x), lambda x: x / 2 * np.vectorize(math.erfc)(-x / np.sqrt(2))),
        (ops.fast_gelu, lambda x: x / (1 + np.exp(-1.702 * x))),
    ],
    ids=["tanh", "erf", "fast"],
)
@pytest.mark.parametrize("compute", [lambda f: f, Of], ids=["eager", "compiled"])
def test_halves_keep_their_digits_in_gelu(dtype, function, exact, compute):
    """Where 1 + tanh(x) nearly cancels, and where x^3 is more than float16 has."""
    x = Tensor(np.array([-300.0, -60.0, -3.5, -3.0, -1.0, -0.01, 0.0, 0.5, 3.0, 60.0, 300.0], np.float32)).astype(dtype)
    got, gradient = compute(lambda a: (function(a), ops.grad(lambda b: function(b).sum())(a)))(x)
    want = exact(x.astype("float32").asnumpy().astype(np.float64))
    step = 2.0 ** -(11 if dtype == "float16" else 8)
    np.testing.assert_allclose(got.astype("float32").asnumpy(), want, rtol=1.1 * step, atol=1e-6)
    assert np.isfinite(gradient.astype("float32").asnumpy()).all()
    assert gradient.astype("float32").asnumpy()[[0, 1, -2, -1]].tolist() == [0, 0, 1, 1]


def test_names_inside_of_containers():
    assert str([graphc.bool_, graphc.int8, graphc.bfloat16, graphc.complex64]) == (
        "[graphc.bool, graphc.int8, graphc.bfloat16, graphc.complex64]"
    )
    assert f"{graphc.uint8} {graphc.bfloat16}" == "UInt8 BFloat16"
    compat.install()
    try:
        assert repr((graphc.bool_, graphc.uint16)) == "(mindspore.bool, mindspore.uint16)"
    finally:
        compat.uninstall()
