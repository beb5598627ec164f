"""Primitives, functions and methods of Tensor against what MindSpore computes (tests/data/ms_primitives.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import PYNATIVE_MODE, Tensor, nn, ops, set_context
from tests.recorders import recorder

DATA = Path(__file__).parents[1] / "data"
RECORD = json.loads((DATA / "ms_primitives.json").read_text())
SCOPE = {"P": ops, "ops": ops, "ms": graphc, "Tensor": Tensor}
#: Gradients that MindSpore computes wrongly on a CPU: those here are right, as finite differences show below.
WRONG_IN_MINDSPORE = (
    "ops.inplace_add(x, x[1:], 0)",
    "ops.inplace_sub(x, x, (0, 1))",
    "P.InplaceUpdate((0,))(x, x[1:])",
    "P.SeLU()(x)",
    "P.Mod()(x, y)",
    "P.ReduceProd()(x)",
    "P.StridedSlice(begin_mask=1, shrink_axis_mask=2)(x, (1, 1), (2, 2), (1, 1))",
)
#: Cases per compiled Cell.
GROUP = 24


weights = recorder("ms_primitives").weights


def arrays_of(case):
    return [np.array(v, d) for d, v in case["inputs"].values()]


def function_of(case):
    return eval(f"lambda {', '.join(case['inputs'])}: {case['text']}", SCOPE)


def tensors_of(result):
    items = result if isinstance(result, (tuple, list)) else (result,)
    return [x for item in items for x in (tensors_of(item) if isinstance(item, (tuple, list)) else [item])]


def compare(case, what, got, wanted):
    assert len(got) == len(wanted), case["text"]
    for x, record in zip(got, wanted, strict=True):
        array = x.asnumpy() if isinstance(x, Tensor) else np.asarray(x)
        where = f"{what} of {case['text']}"
        assert [array.dtype.name, list(array.shape)] == [record["dtype"], record["shape"]], where
        values = np.array([float(v) if isinstance(v, str) else v for v in record["value"]])
        values = values.reshape(record["shape"])
        np.testing.assert_allclose(array, values, rtol=2e-5, atol=1e-5, err_msg=where)


def is_differentiated(case):
    """Whether the record holds gradients, for the inputs that are floats."""
    return case["grads"] is not None


class Group(nn.Cell):
    """Several cases: their results, and the gradients of those that have some."""

    def __init__(self, cases):
        super().__init__()
        self.cases = cases
        self.grad = ops.GradOperation(get_all=True, sens_param=True)

    def construct(self, *inputs):
        outputs, at = [], 0
        for case in self.cases:
            function = function_of(case)
            operands = inputs[at : at + len(case["inputs"])]
            at += len(operands)
            grads = None
            if is_differentiated(case):
                sens = Tensor(weights(case["results"][0]["shape"]))
                made = self.grad(function, None)(*operands, sens)
                grads = [g for g, (dtype, _) in zip(made, case["inputs"].values(), strict=True) if dtype == "float32"]
            outputs.append((function(*operands), grads))
        return outputs


@pytest.fixture(params=["native", "pynative"])
def mode(request):
    if request.param == "pynative":
        set_context(mode=PYNATIVE_MODE)
    yield request.param
    set_context(mode=graphc.GRAPH_MODE)


CASES = [c for c in RECORD["cases"]]


@pytest.mark.parametrize("start", range(0, len(CASES), GROUP))
def test_values_and_gradients_are_mindspores(start, mode):
    cases = CASES[start : start + GROUP]
    inputs = [Tensor(a) for case in cases for a in arrays_of(case)]
    outcome = Group(cases)(*inputs)
    for case, (result, grads) in zip(cases, outcome, strict=True):
        compare(case, "result", tensors_of(result), case["results"])
        if is_differentiated(case) and case["text"] not in WRONG_IN_MINDSPORE:
            compare(case, "gradient", grads, case["grads"])


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["text"])
def test_outside_a_cell_too(case):
    result = function_of(case)(*(Tensor(a) for a in arrays_of(case)))
    compare(case, "result", tensors_of(result), case["results"])


@pytest.mark.parametrize("text", WRONG_IN_MINDSPORE)
def test_gradients_that_differ_are_those_of_finite_differences(text):
    case = next(c for c in CASES if c["text"] == text)
    function, arrays = function_of(case), arrays_of(case)
    sens = weights(case["results"][0]["shape"])

    class Net(nn.Cell):
        def construct(self, *inputs):
            return function(*inputs)

    grads = ops.GradOperation(get_all=True, sens_param=True)(Net())(*map(Tensor, arrays), Tensor(sens))
    for k, x in enumerate(arrays):
        for place in np.ndindex(*x.shape):
            sums = []
            for step in (0.01, -0.01):
                moved = [a.copy() for a in arrays]
                moved[k][place] += step
                sums.append(float((function(*map(Tensor, moved)).asnumpy() * sens).sum()))
            assert grads[k].asnumpy()[place] == pytest.approx((sums[0] - sums[1]) / 0.02, rel=2e-3, abs=2e-3)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: ops.Conv2D("a", 3), TypeError),
        (lambda: ops.Conv2D(1, 3, pad_mode="abc"), ValueError),
        (lambda: ops.MaxPool(kernel_size="a"), TypeError),
        (lambda: ops.Softmax("a"), TypeError),
        (lambda: ops.Stack(axis=1.5), TypeError),
        (lambda: ops.Squeeze(True), TypeError),
        (lambda: ops.TopK(sorted=1), TypeError),
        (lambda: ops.Pad(3), TypeError),
    ],
)
def test_attributes_of_the_wrong_kind(make, error):
    with pytest.raises(error):
        make()


def test_primitives_that_take_all_when_they_are_called():
    x = np.linspace(-2, 3, 12, dtype=np.float32).reshape(3, 4)
    exact = x.astype(np.float64)
    for dim, axis in ((None, 1), (0, 0), (-1, 1)):
        expected = exact - np.log(np.exp(exact).sum(axis, keepdims=True))
        assert np.allclose(ops.LogSoftmaxExt()(Tensor(x), dim).asnumpy(), expected, atol=1e-6)
    assert ops.LogSoftmaxExt()(Tensor(x), 0, graphc.float16).dtype == graphc.float16
    assert np.allclose(ops.LerpScalar()(Tensor(x), Tensor(2 * x), 0.25).asnumpy(), 1.25 * exact, atol=1e-6)
    z = (x + 1j * x[::-1]).astype(np.complex64)
    assert np.array_equal(ops.ConjugateTranspose()(Tensor(z), (1, 0)).asnumpy(), z.conj().T)
    assert np.array_equal(ops.ConjugateTranspose()(Tensor(x), (1, 0)).asnumpy(), x.T)


class Own(ops.Primitive):
    @ops.prim_attr_register
    def __init__(self, k, mode="a"):
        pass


@pytest.mark.parametrize(
    ("primitive", "shown"),
    [
        (ops.Add(), "Prim[Add]"),
        (ops.MatMul(transpose_b=True), "Prim[MatMul]<transpose_a=False, transpose_b=True>"),
        (ops.ReduceSum(True), "Prim[ReduceSum]<keep_dims=True, skip_mode=False>"),
        (Own(2), "Prim[Own]<k=2, mode=a>"),
        (ops.Primitive("foo"), "Prim[foo]"),
        (ops.Add().add_prim_attr("a", 1), "Prim[Add]<a=1>"),
        (ops.Add().set_stage(1).set_device("CPU"), "Prim[Add]<stage=1, primitive_target=CPU>"),
        (
            ops.Add().shard(((1, 1), (1, 1)), ((1, 1),)),
            "Prim[Add]<in_strategy=((1, 1), (1, 1)), out_strategy=((1, 1),)>",
        ),
        (ops.Add().recompute(False), "Prim[Add]<recompute=False>"),
    ],
)
def test_primitives_are_shown_as_mindspores(primitive, shown):
    assert str(primitive) == repr(primitive) == shown


def test_what_a_primitive_is_told_of_names_and_places():
    add = ops.Add()
    with pytest.raises(AttributeError, match="'Add' object has no attribute 'input_names'"):
        add.input_names  # noqa: B018
    add.init_prim_io_names(["x", "y"], ["sum"])
    assert (add.input_names, add.output_names, str(add)) == (["x", "y"], ["sum"], "Prim[Add]")
    assert add.place("MS_WORKER", 0) is None
    assert str(add) == "Prim[Add]<ms_role=MS_WORKER, rank_id=0>"
    assert add.set_device("CPU").primitive_target == "CPU"
    assert (add(Tensor([1.0]), Tensor([2.0])) == 3).all()
    for wrong, error, message in (
        (lambda: add.shard(3), TypeError, "in_strategy must be a tuple, got int"),
        (lambda: add.shard(None, 3), TypeError, "out_strategy must be a tuple, got int"),
        (lambda: add.recompute(3), TypeError, "mode must be a bool, got int"),
        (lambda: add.place("a", 0), ValueError, "role must be 'MS_WORKER', got 'a'"),
        (lambda: add.place("MS_WORKER", "x"), TypeError, "rank_id must be an int, got str"),
    ):
        with pytest.raises(error, match=message):
            wrong()
