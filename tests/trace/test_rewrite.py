"""Stores to items, prints, and parameters set as attributes, in construct: at every run, in branches and loops too."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import PYNATIVE_MODE, Parameter, Tensor, compat, context, nn, ops
from graphc.debug import debug
from graphc.ops.declared import step_log


@pytest.fixture(params=["native", "checked", "pynative"])
def mode(request):
    if request.param == "pynative":
        graphc.set_context(mode=PYNATIVE_MODE)
    with debug(jit=request.param != "checked"):
        yield request.param
    graphc.set_context(mode=graphc.GRAPH_MODE)


class Stores(nn.Cell):
    """Every way in which an item of a tensor is set."""

    def construct(self, x, limit):
        cache = [0, 0]
        cache[0] = 3
        y = x * 2
        y[0] = 7.0
        x[1:, 0] = y[0, 0]
        if x.sum() > limit:
            y[1] = x[0]
            x[0, 0] = -1
        for i in range(2):
            x[i, 1] += cache[0]
        i = 0
        while y[i, 0] > limit and i < 1:
            y[i, :2] = y[i] * x[i, 1]
            i = i + 1
        return x, y

    def in_numpy(self, x, limit):
        x, y = x.copy(), x * 2
        y[0] = 7
        x[1:, 0] = y[0, 0]
        if x.sum() > limit:
            y[1] = x[0]
            x[0, 0] = -1
        x[:2, 1] += 3
        i = 0
        while y[i, 0] > limit and i < 1:
            y[i, :2] = y[i] * x[i, 1]
            i += 1
        return x, y


@pytest.mark.parametrize("limit", [-100.0, 5.0, 100.0])
def test_items_set_in_branches_and_loops(mode, limit):
    """The caller's tensor is written, too, in PYNATIVE_MODE."""
    x = np.array([[1, 2], [3, -4]], np.float32)
    given = Tensor(x)
    got = Stores()(given, Tensor(limit))
    for a, b in zip(got, Stores().in_numpy(x, limit), strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b)
    np.testing.assert_array_equal(given.asnumpy(), got[0].asnumpy() if mode == "pynative" else x)


def test_false_takes_nothing(mode):
    class Nothing(nn.Cell):
        def construct(self, x):
            x[False] = 7
            x[np.bool_(False)] = Tensor([1.0, 2.0])
            x[True] = x + 1
            return x

    assert Nothing()(Tensor([1.0, 2.0])).asnumpy().tolist() == [2, 3]


def test_items_of_items(mode):
    class Branching(nn.Cell):
        def construct(self, x):
            if x.sum() > 0:
                x[0][1] = 5.0
                x[1][0] += 1.0
            return x

    class Straight(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(np.zeros((2, 2), np.float32), name="w")

        def construct(self, x):
            x = x + 0
            x[0][1] = 5.0
            x[1:][0][0] += 1.0
            self.w[1][0] = x[0, 1]
            self.w[0][:1] += x[1, 0]
            return x

    x, straight = np.ones((2, 2), np.float32), Straight()
    for net in (Branching(), straight):
        np.testing.assert_array_equal(net(Tensor(x)).asnumpy(), [[1, 5], [2, 1]])
    np.testing.assert_array_equal(straight.w.asnumpy(), [[2, 0], [5, 0]])


def test_items_of_a_parameter(mode):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(np.zeros((2, 3), np.float32), name="w")

        def construct(self, x):
            if x > 0:
                self.w[1] = x
            self.w[0, 2] = 5.0
            return self.w + 0

    net = Net()
    net(Tensor(-1.0))
    np.testing.assert_array_equal(net.w.asnumpy(), [[0, 0, 5], [0, 0, 0]])
    net(Tensor(2.0))
    np.testing.assert_array_equal(net.w.asnumpy(), [[0, 0, 5], [2, 2, 2]])


def test_items_of_names_that_are_not_local(mode):
    """A list from outside is changed in place, once, when the Cell is traced."""
    seen = [0, 0]

    class Net(nn.Cell):
        def construct(self, x):
            seen[1] = 4
            return x if x > 0 else -x

    assert Net()(Tensor(-2.0)).item() == 2
    assert seen == [0, 4]


def test_gradients_through_stores():
    class Net(nn.Cell):
        def construct(self, x):
            y = x * x
            y[1] = y[0] * 3
            return y

    x = Tensor([2.0, 3.0, 4.0])
    made = ops.GradOperation()(Net())(x)
    np.testing.assert_allclose(made.asnumpy(), [4 + 12, 0, 8])


def test_values_that_do_not_fit():
    class Net(nn.Cell):
        def construct(self, x):
            x[0] = ops.ones((2, 3))
            return x

    with pytest.raises(graphc.ShapeError):
        Net()(Tensor(np.ones((2, 3), np.float32)))


def test_parameters_set_as_attributes_are_assigned(mode):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.p = Parameter(Tensor([1.0]), name="p")

        def construct(self, x):
            before = self.p + 0
            self.p = self.p * x
            if x > 2:
                self.p += 1
            return before, self.p + 0

    if mode == "pynative":
        pytest.skip("plain Python replaces the attribute")
    net = Net()
    parameter = net.p
    assert [v.item() for v in net(Tensor([3.0]))] == [1, 4]
    assert [v.item() for v in net(Tensor([0.5]))] == [4, 2]
    assert net.p is parameter


# ---- printing


class Prints(nn.Cell):
    def __init__(self):
        super().__init__()
        self.print = ops.Print()
        self.p = Parameter(Tensor(1, "int32"), name="p")

    def construct(self, n):
        self.print("before", self.p, (2, 3))
        ops.assign(self.p, n)
        while n > 0:
            if n % 2 == 0:
                self.print("even", n)
            else:
                print("odd", self.p)
            n = n - 1
        return n


GRAPH_MODE_OUTPUT = ["before", "{p}", "(2, 3)", "odd", "3", "even", "2", "odd", "3"]


@pytest.mark.parametrize("jit", [True, False])
def test_prints_come_in_order_at_every_run(capsys, jit):
    with debug(jit=jit):
        net = Prints()
        for p in (1, 3):
            net(Tensor(3, "int32"))
            assert capsys.readouterr().out.splitlines() == [line.format(p=p) for line in GRAPH_MODE_OUTPUT]


def test_tensors_are_printed_as_mindspore_prints_them(capsys):
    class Net(nn.Cell):
        def construct(self, x, h, b, n):
            ops.print_(x, h, b, n, (x[0], 1.5), True, None, "text")
            return x

    x = np.array([[1, 2.25], [1e10, np.inf]], np.float32)
    net, b, n = Net(), np.array([True, False]), np.array([1, -2], np.int64)
    net(Tensor(x), Tensor(x[0].astype(np.float16)), Tensor(b), Tensor(n))
    assert capsys.readouterr().out == (
        "Tensor(shape=[2, 2], dtype=Float32, value=\n"
        "[[ 1.00000000e+00  2.25000000e+00]\n"
        " [ 1.00000000e+10             inf]])\n"
        "Tensor(shape=[2], dtype=Float16, value=[ 1.0000e+00  2.2500e+00])\n"
        "Tensor(shape=[2], dtype=Bool, value=[ True False])\n"
        "Tensor(shape=[2], dtype=Int64, value=[ 1 -2])\n"
        "Tensor(shape=[2], dtype=Float32, value=[ 1.00000000e+00  2.25000000e+00])\n"
        "1.5\n1\nNone\ntext\n"
    )


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (np.float32(10), "10"), (np.float32(1 / 3), "0.333333"), (np.float32(123456.789), "123457"), (np.float32(1e-7), "1e-07"),
        (np.float32(np.inf), "inf"), (np.float32(np.nan), "nan"), (np.float32(-0.0), "-0"), (np.float16(1 / 3), "0.333252"),
        (np.float64(1 / 3), "0.333333"), (np.float64(123456789.123), "1.23457e+08"), (np.int64(2**40), "1099511627776"),
        (np.bool_(True), "1"), (np.bool_(False), "0"),
        (np.array([1 / 3]), "Tensor(shape=[1], dtype=Float64, value=[ 3.33333333e-01])"),
        (np.array([1.5 + 2j], np.complex64), "Tensor(shape=[1], dtype=Complex64, value=[1.5+2.j])"),
    ],
)  # fmt: skip
def test_numbers_of_every_dtype_are_printed_as_by_mindspores_graphs(capsys, jit, value, printed):
    class Net(nn.Cell):
        def construct(self, x):
            ops.print_(x)
            return x

    with debug(jit=jit):
        Net()(Tensor(value))
    assert capsys.readouterr().out == f"{printed}\n"


#: By Python's print and ops.print_ in a program that sets no mode, as MindSpore 2.10 prints.
PLAIN = """\
y [[3.]
 [7.]]
a-b
[Tensor(shape=[], dtype=Float32, value= 10)] Float32 [mindspore.float32] ((2, 1), None)!
pos 7.0
z
Tensor(shape=[2, 1], dtype=Float32, value=
[[ 3.00000000e+00],
 [ 7.00000000e+00]])
(Tensor(shape=[], dtype=Float32, value= 10), 1)
"""


def test_where_no_mode_is_set_prints_are_those_of_pynative_mode(capsys, mode_again):
    class Net(nn.Cell):
        def construct(self, x):
            y = x.sum(1, keepdims=True)
            print("y", y, flush=True)
            print("a", "b", sep="-")
            print([y.sum()], y.dtype, [y.dtype], (y.shape, None), end="!\n")
            if y.sum() > 0:
                print("pos", y.max())
            ops.print_("z", y, (y.sum(), 1))
            return y

    context._chosen.discard("mode")
    compat.install()
    try:
        for _ in range(2):
            Net()(Tensor([[1.0, 2.0], [3.0, 4.0]]))
            assert capsys.readouterr().out == PLAIN
    finally:
        compat.uninstall()


def test_of_a_large_tensor_the_corners_are_printed(capsys):
    class Net(nn.Cell):
        def construct(self, x):
            ops.print_(x)
            return x

    x = np.arange(4 * 400, dtype=np.int32).reshape(4, 400)
    Net()(Tensor(x))
    body = np.array2string(x, separator=" ", threshold=1000, max_line_width=200)
    assert capsys.readouterr().out == f"Tensor(shape=[4, 400], dtype=Int32, value=\n{body})\n"


def test_prints_beyond_the_log_are_counted(capsys):
    class Net(nn.Cell):
        def construct(self, n, x):
            while n > 0:
                ops.print_(x)
                n = n - 1
            return n

    Net()(Tensor(70, "int32"), Tensor(np.zeros(999, np.float32)))
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("Tensor") for line in lines) == step_log.CAPACITY // 1000
    assert lines[-1] == f"... 5 more prints of this step: its log holds {step_log.CAPACITY} numbers"


def test_outside_a_step_printing_happens_at_once(capsys):
    ops.Print()("x", Tensor([1.0, 2.0]), [Tensor(3)], 4)
    assert capsys.readouterr().out == (
        "x\nTensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])\n"
        "[Tensor(shape=[], dtype=Int64, value= 3)]\n4\n"
    )


def test_what_cannot_be_printed():
    with pytest.raises(graphc.ArgumentTypeError, match="print_ takes texts, numbers, tensors and tuples, got object"):
        ops.print_(object())


def test_pynative_prints_between_other_prints(capsys):
    graphc.set_context(mode=PYNATIVE_MODE)
    try:

        class Net(nn.Cell):
            def construct(self, x):
                print("first")
                ops.print_("second", x)
                print("third")
                return x

        Net()(Tensor(1.5))
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    assert capsys.readouterr().out == "first\nsecond\nTensor(shape=[], dtype=Float32, value= 1.5)\nthird\n"
