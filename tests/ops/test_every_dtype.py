"""Every function with every dtype: it works, or it is refused with an error of graphc's that is meant for the user."""

from __future__ import annotations

import functools
import inspect
import math

import numpy as np
import pytest

import graphc
from graphc import GraphcError, GraphcWarning, InternalError, Tensor, ops
from graphc.ir.types import DTYPES, numpy_dtype
from graphc.ops import functional
from tests.cells import Of

#: They take functions.
LEFT_OUT = {"while_loop", "cond"}


def required(function):
    """The number of parameters without a default."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = inspect.signature(function).parameters.values()
    return sum(p.default is inspect.Parameter.empty and p.kind in kinds for p in given)


NAMES = [n for n in functional.__all__ if inspect.isfunction(getattr(functional, n)) and n not in LEFT_OUT]
FUNCTIONS = {n: getattr(functional, n) for n in NAMES if 1 <= required(getattr(functional, n)) <= 3}


def numbers(dtype, seed):
    x = np.arange(1, 17).reshape(4, 4) * seed % 5
    return Tensor(x > 1 if dtype == "bool" else x.astype(numpy_dtype(dtype)))


@functools.cache
def _in_float32(name):
    return outcome(FUNCTIONS[name], "float32")


def outcome(function, dtype):
    """ "works", "refused", or what is wrong."""
    try:
        function(*(numbers(dtype, k + 1) for k in range(required(function))))
    except InternalError as error:
        return str(error)
    except (GraphcError, GraphcWarning):
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "works"


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "float32"])
def test_every_function(dtype):
    wrong = {}
    for name, function in FUNCTIONS.items():
        # Operands that it cannot take in float32 either are not what it is for.
        if _in_float32(name) in ("works", "refused"):
            found = outcome(function, dtype)
            if found not in ("works", "refused"):
                wrong[name] = found
    assert not wrong


# ---- dtypes that are asked for

FLOAT = Tensor(np.array([[1.6, -1.6, 0.5], [0.25, 0.5, 2]], np.float32))
#: What functions with a `dtype` may be called on.
CALLS = [
    (FLOAT,), (FLOAT, 0), (FLOAT, 2), (3,), ((2, 3),), ((2, 3), 2), (1, 4), (0,), (1, 4, 3), (1, 4, (3,)), (FLOAT, 1, 4),
    (4, (3,)), ([1, 2],), ("ones", (2,)), (FLOAT.shape, 0.0, 1.0),
]  # fmt: skip
#: They give another dtype for a reason.
OF_ANOTHER_DTYPE = {
    "numpy maximum": "MindSpore's: beside a number the tensor's own",
    "numpy minimum": "MindSpore's: beside a number the tensor's own",
    "numpy asfarray": "always floats",
    "numpy nanmean": "MindSpore's: divided in the dtype that it has with the tensor's",
    "numpy signbit": "MindSpore's: always bool",
    "ops zero_": "in place",
    "Tensor zero_": "in place",
    "Tensor fill_": "in place",
}


def with_dtype():
    modules = {"ops": ops, "mint": graphc.mint, "functional": graphc.mint.nn.functional, "numpy": graphc.numpy}
    found = {f"{owner} {name}": getattr(m, name) for owner, m in modules.items() for name in m.__all__}
    found |= {f"Tensor {name}": getattr(Tensor, name) for name in dir(Tensor) if not name.startswith("_")}
    found.pop("Tensor set_dtype")  # Changes the tensor, and returns the dtype.
    for name, function in found.items():
        if inspect.isfunction(function) and "dtype" in inspect.signature(function).parameters:
            args = next((args for args in CALLS if tried(function, args, "float32") != "refused"), None)
            if args is not None:
                yield name, function, args


def tried(function, args, dtype):
    """The dtypes of what a function returns; "refused", or what is wrong."""
    try:
        made = function(*args, dtype=dtype)
    except InternalError as error:
        return str(error)
    except GraphcError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return {x.tensor_type.dtype for x in (made if isinstance(made, (tuple, list)) else (made,))}


def test_results_have_the_dtype_that_is_asked_for_or_it_is_refused():
    wrong, seen = {}, 0
    for name, function, args in with_dtype():
        seen += 1
        for dtype in DTYPES:
            found = tried(function, args, dtype)
            # A norm of complex numbers is real.
            wanted = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype) if "norm" in name else dtype
            if found not in ("refused", {wanted}) and name not in OF_ANOTHER_DTYPE:
                wrong[f"{name} {dtype}"] = found
        for none in (FLOAT, FLOAT[0, 0]):
            if name not in OF_ANOTHER_DTYPE and (found := tried(function, args, none)) != "refused":
                wrong[f"{name} of a tensor for a dtype"] = found
    assert not wrong
    assert seen > 100


def test_sums_and_products_in_a_dtype_are_mindspores():
    x = Tensor([[1.6, -1.6, 0.0], [0.5, 0.25, 3.0]])
    for step in (lambda f: f, Of):
        made = step(lambda x: (
            ops.sum(x, dtype=graphc.bool_), graphc.mint.sum(x, 1, dtype=graphc.bool_), x.sum(1, graphc.bool_),
            ops.prod(x, dtype=graphc.bool_), graphc.mint.prod(x, 1, dtype=graphc.bool_), x.prod(1, False, graphc.bool_),
            ops.nansum(x, 1, dtype=graphc.bool_), ops.nansum(x, 1, dtype=graphc.int32), x.cumsum(1, graphc.int32),
            x.count_nonzero(1, False, graphc.bool_),
        ))(x)  # fmt: skip
        assert [x.asnumpy().tolist() for x in made] == [
            True, [True, True], [True, True], False, [False, True], [False, True],
            [False, True], [0, 3], [[1, 0, 0], [0, 0, 3]], [True, True],
        ]  # fmt: skip


# ---- unsigned integers

WIDE = ["uint16", "uint32", "uint64"]
NUMBERS = ["uint8", *WIDE, "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", WIDE)
def test_wide_unsigned_integers_are_converted_to_nothing_else(dtype):
    """As in MindSpore 2.10: but for bools, "type implicit conversion ... is unsupported"."""
    x = numbers(dtype, 1)
    for other in NUMBERS:
        if other == dtype:
            assert (x + x).tensor_type.dtype == dtype
            continue
        for function in (ops.add, ops.mul, ops.floor_div, ops.equal):
            for pair in ((x, numbers(other, 2)), (numbers(other, 2), x)):
                with pytest.raises(TypeError, match="not converted to a common dtype"):
                    function(*pair)
    assert (x + numbers("bool", 1)).tensor_type.dtype == (numbers("bool", 1) * x).tensor_type.dtype == dtype
    assert (x + 1).tensor_type.dtype == (2 * x).tensor_type.dtype == (x + True).tensor_type.dtype == dtype
    assert (x + 1.5).tensor_type.dtype == (x / x).tensor_type.dtype == "float32"


@pytest.mark.parametrize("dtype", WIDE)
def test_unsigned_integers_have_no_sign_in_kernels(dtype):
    top = np.iinfo(dtype).max
    x = np.array([top, 0, top // 2 + 1, 3, top - 1, 7, 1, top // 3, 2], dtype)
    y = np.array([2, top, top, 5, top, top // 2 + 2, 0, 3, top], dtype)

    def everything(x, y):
        return [
            x + y, x - y, x * y, x // y, x % y, -x, abs(x), ops.maximum(x, y), ops.minimum(x, y), x < y, x >= y, ops.sign(x),
            ops.cast(x, "float64"), ops.cast(x, "float32"), ops.cast(x, "int64"), ops.cast(x, "int8"), ops.cast(x, "bool"),
            ops.cast(ops.cast(x, "float64"), dtype), ops.amax(x), ops.amin(x), ops.reduce_sum(x), ops.argmax(x),
            ops.argmin(x), ops.sort(x)[0], ops.bitwise_not(x), ops.bitwise_right_shift(x, 1), x**2,
            ops.tensor_scatter_max(x, Tensor([[0], [1]]), y[:2]), ops.tensor_scatter_min(x, Tensor([[0], [1]]), y[:2]),
            ops.gather(x, Tensor([3, 0]), 0), ops.select(x < y, x, y), ops.cumsum(x, 0),
        ]  # fmt: skip

    compiled, eager = Of(everything)(Tensor(x), Tensor(y)), everything(Tensor(x), Tensor(y))
    for k, (got, wanted) in enumerate(zip(compiled, eager, strict=True)):
        assert got.dtype == wanted.dtype, k
        np.testing.assert_array_equal(got.asnumpy(), wanted.asnumpy(), err_msg=str(k))
    with np.errstate(all="ignore"):
        for got, wanted in zip(eager, (x + y, x - y, x * y, x // y, x % y), strict=False):
            np.testing.assert_array_equal(got.asnumpy(), wanted)
    assert [int(eager[k]) for k in (18, 19)] == [int(x.max()), int(x.min())]
    assert eager[17].asnumpy()[0] == top


def test_casts_of_floats_to_unsigned_integers_saturate():
    x = np.array([-1.5, 2.7, 3e38, np.inf, -np.inf, np.nan, 65535.9], np.float32)
    for dtype in WIDE:
        top = np.iinfo(dtype).max
        for cast in (lambda t, d=dtype: ops.cast(t, d), Of(lambda t, d=dtype: ops.cast(t, d))):
            assert cast(Tensor(x)).asnumpy().tolist() == [0, 2, top, top, 0, 0, 65535]


def test_names_of_dtypes():
    ours = {
        n: getattr(graphc, n).name
        for n in ("ubyte", "ushort", "uintc", "uintp", "byte", "short", "intc", "intp", "long")
    }
    assert ours == {
        "ubyte": "uint8", "ushort": "uint16", "uintc": "uint32", "uintp": "uint64", "byte": "int8", "short": "int16",
        "intc": "int32", "intp": "int64", "long": "int64",
    }  # fmt: skip
    floats = [getattr(graphc, n).name for n in ("half", "single", "double", "cfloat", "cdouble")]
    assert floats == ["float16", "float32", "float64", "complex64", "complex128"]
    assert str(graphc.uint16) == "UInt16"
    assert str(graphc.complex64) == "Complex64"
    assert "dtype=UInt32, value= [1, 2]" in repr(Tensor([1, 2], graphc.uint32))


def test_graphs_of_unsigned_integers_print_and_parse():
    from graphc import ir

    text = """\
graph @unsigned {
  forward:
    %0 x: u16[2] = Input()
    %1: u64[2] = Constant() {value=<u64[2] 18446744073709551615, 0>}
    %2: u16[2] = Add(%0, %0)
    %3: u32[2] = Cast(%0) {dtype="uint32"}
    %4: c64[2] = Constant() {value=<c64[2] (1+2j), (-0-infj)>}
    %5: c128[2] = Cast(%4) {dtype="complex128"}
  return a=%1, b=%2, c=%3, d=%5
}"""
    assert str(ir.parse(text)) == text


# ---- bools


def test_arithmetic_of_bools_is_that_of_mindspores_graph_mode():
    a, b = Tensor([True, False, True]), Tensor([True, True, False])
    for step in (lambda f: f, Of):
        made = step(lambda a, b: (a * b, a * True, ops.maximum(a, b), ops.minimum(a, b), abs(a), a < b, a >= b))(a, b)
        assert [x.asnumpy().tolist() for x in made] == [
            [True, False, False], [True, False, True], [True, True, True], [True, False, False], [True, False, True],
            [False, True, False], [True, False, True],
        ]  # fmt: skip
        sums = step(lambda a, b: (a.sum(), a.prod(), a.cumsum(0), a / b, a + 1))(a, b)
        assert [str(x.dtype) for x in sums] == ["Int64", "Int64", "Int32", "Float32", "Int64"]
        assert [x.asnumpy().tolist() for x in sums] == [2, 0, [1, 1, 2], [1, 0, math.inf], [2, 1, 2]]
        for function in (
            lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a + True, lambda a, b: -a, lambda a, b: a.mean(),
            lambda a, b: a**b, lambda a, b: a % b, lambda a, b: ops.square(a), lambda a, b: ops.exp(a), lambda a, b: a.max(),
        ):  # fmt: skip
            with pytest.raises(TypeError):
                step(function)(a, b)


def test_type_names_the_dtype_or_casts():
    """As in MindSpore: `x.type()` is a name, `x.type(dtype)` a tensor; in a compiled step, too."""
    x = Tensor(np.array([1.5, -2.0], np.float32))
    for both in (lambda x: x.type(graphc.int32), graphc.jit(lambda x: x.type("int32") if x.type() == "Float32" else x)):
        assert (both(x).type(), both(x).asnumpy().tolist()) == ("Int32", [1, -2])
    assert graphc.Parameter(x, name="w").type(graphc.float16).type() == "Float16"
    with pytest.raises(GraphcError):
        x.type(1)
