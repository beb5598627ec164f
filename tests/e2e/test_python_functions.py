"""ops.Custom and ops.PyFunc: Python functions and functions of C libraries that a compiled step calls back."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.debug import debug

F32 = graphc.float32
X, Y = np.arange(3, dtype=np.float32), np.ones(3, np.float32)
seen = []


@pytest.fixture(params=["compiled", "checked", "pynative"])
def mode(request, mode_again):
    seen.clear()
    graphc.set_context(mode=graphc.PYNATIVE_MODE if request.param == "pynative" else graphc.GRAPH_MODE)
    with debug(jit=request.param != "checked"):
        yield request.param


def add(x, y):
    seen.append((x.dtype.name, x.flags.writeable))
    x += y
    return x


def both(x, y):
    return x + y, [x * y][0]


def times(x, n):
    return x * n


def noted(x):
    seen.append(float(x))
    return x * 2


def fails(x):
    raise ValueError("no such thing")


class Net(nn.Cell):
    def __init__(self, op):
        super().__init__()
        self.op = op

    def construct(self, *inputs):
        return self.op(*inputs)


def run(op, *inputs):
    made = Net(op)(*(Tensor(x) if isinstance(x, np.ndarray) else x for x in inputs))
    return [m.asnumpy() for m in made] if isinstance(made, tuple) else made.asnumpy()


def test_results_are_mindspores(mode):
    for shape, dtype in (((3,), F32), ([3], F32), (lambda x, y: x, lambda x, y: x)):
        np.testing.assert_array_equal(run(ops.Custom(add, shape, dtype), X, Y), [1, 2, 3])
    for shape, dtype in ((((3,), (3,)), (F32, F32)), (lambda x, y: (x, y), lambda x, y: (x, y))):
        np.testing.assert_array_equal(run(ops.Custom(both, shape, dtype), X, Y), [[1, 2, 3], [0, 1, 2]])
    total = run(ops.Custom(lambda x: float(x.sum()), (), F32), X)
    assert (total.shape, total.tolist()) == ((1,), [3.0])
    np.testing.assert_array_equal(run(ops.Custom(times, lambda x, n: x, lambda x, n: x), X, 2.5), [0, 2.5, 5])
    np.testing.assert_array_equal(X, [0, 1, 2])
    assert set(seen) == {("float32", True)}


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int32", "int64", "uint8", "bool"])
def test_arrays_have_the_dtypes_of_tensors(dtype, mode):
    x = np.ones((2, 3), dtype).T
    made = run(ops.Custom(lambda x: (seen.append(x.dtype.name), x)[1], (3, 2), getattr(graphc, dtype, graphc.bool_)), x)
    assert (made.dtype.name, seen[-1]) == (dtype, dtype)
    np.testing.assert_array_equal(made, x)


def test_equal_calls_are_made_once_in_a_compiled_step(mode_again):
    class Twice(nn.Cell):
        def __init__(self):
            super().__init__()
            self.op = ops.Custom(add, (3,), F32)

        def construct(self, x, y):
            self.op(y, x)
            return self.op(x, y) + self.op(x, y)

    seen.clear()
    np.testing.assert_array_equal(Twice()(Tensor(X), Tensor(Y)).asnumpy(), [2, 4, 6])
    assert len(seen) == 1


class Stateful(nn.Cell):
    def __init__(self, stateful):
        super().__init__()
        self.op = ops.PyFunc(noted, [F32], [()], [F32], [()], stateful)
        self.sum = Parameter(np.float32(0), name="sum")

    def construct(self, x):
        self.op(x)
        (made,) = self.op((x,))
        self.sum += made
        self.op(self.sum)
        for i in range(2):
            self.op(x + (10 + i))
        if x > 0:
            self.op(x + 5)
        while x < 3:
            self.op(x * 100)
            x = x + 1
        return made


def test_stateful_functions_are_called_in_order(mode):
    net = Stateful(True)
    for total in (2, 4):
        seen.clear()
        assert float(net(Tensor(np.float32(1)))) == 2
        assert seen == [1, 1, total, 11, 12, 6, 100, 200]
    if mode == "compiled":
        seen.clear()
        Stateful(False)(Tensor(np.float32(1)))
        assert seen == [1]


def test_the_gradient_is_the_users(mode):
    def bprop(x, y, out, dout):
        return dout * y, dout * out

    op = ops.Custom(lambda x, y: x * y, lambda x, y: x, lambda x, y: x, bprop=bprop)
    made = graphc.grad(lambda x, y: op(x, y * 2).sum(), (0, 1))(Tensor(X), Tensor(Y))
    np.testing.assert_array_equal([g.asnumpy() for g in made], [[2, 2, 2], [0, 4, 8]])
    with pytest.raises(graphc.GradientError, match="PythonCall has no gradient"):
        graphc.grad(lambda x: ops.Custom(times, (3,), F32)(x, 2).sum())(Tensor(X))


def test_a_network_trains_through_it(mode):
    class Layer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(np.ones(3, np.float32), name="w")
            self.op = ops.Custom(lambda w: w**2, (3,), F32, bprop=lambda w, out, dout: (dout * 2 * w,))

        def construct(self, x):
            return (self.op(self.w) * x).sum()

    net = Layer()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
    for _ in range(2):
        step(Tensor(X))
    wanted = np.ones(3)
    for _ in range(2):
        wanted -= 0.1 * 2 * wanted * X
    np.testing.assert_allclose(net.w.asnumpy(), wanted, rtol=1e-6)


def test_its_errors_end_the_step(mode):
    compiled = mode != "pynative"
    error = graphc.KernelError if compiled else ValueError
    with pytest.raises(error, match="no such thing") as raised:
        run(ops.Custom(fails, (3,), F32), X)
    assert isinstance(raised.value.__cause__ if compiled else raised.value, ValueError)
    error = graphc.KernelError if compiled else graphc.ShapeError
    with pytest.raises(error, match=r"Custom\(.*\) gives float32\[2\], f32\[3\] is declared"):
        run(ops.Custom(lambda x: x[:2], (3,), F32), X)
    with pytest.raises(error, match=r"gives complex64\[3\]"):
        run(ops.Custom(lambda x: x * 1j, (3,), F32), X)
    with pytest.raises(error, match="gives 1 results, 2 are declared"):
        run(ops.Custom(lambda x: x, ((3,), (3,)), (F32, F32)), X)


SOURCE = r"""
#include <stdint.h>
#include <string.h>
int add(int count, void **data, int *ranks, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
  if (count != 3 || strcmp(dtypes[0], "float32") || ranks[2] != 2) return 7;
  for (int64_t i = 0; i < shapes[2][0] * shapes[2][1]; i++) ((float *)data[2])[i] = ((float *)data[0])[i] + ((float *)data[1])[i];
  return 0;
}
int whole(int count, void **data, int *ranks, int64_t **shapes, const char **dtypes, void *stream, void *extra) { return 0; }
int wholeInit(void) { return 0; }
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler of C")
def test_a_function_of_a_library(mode, tmp_path):
    (tmp_path / "add.c").write_text(SOURCE)
    library = tmp_path / "add.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "add.c"], check=True)
    op = ops.Custom(f"{library}:add", lambda x, y: x, lambda x, y: x, "aot")
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(run(op, x.T.copy().T, x), 2 * x)
    error = RuntimeError if mode == "pynative" else graphc.KernelError
    with pytest.raises(error, match="it gives 7"):
        run(op, x.astype(np.float64), x.astype(np.float64))
    with pytest.raises(graphc.ArgumentValueError, match=r"wholeInit of .* is not called"):
        run(ops.Custom(f"{library}:whole", (1,), F32, "aot"), x)
    with pytest.raises(graphc.ArgumentValueError, match="cannot be loaded"):
        run(ops.Custom(f"{library}:none", (1,), F32, "aot"), x)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (
            lambda: ops.Custom(add, (3,), F32, "hybrid"),
            graphc.ArgumentValueError,
            "func_type must be 'pyfunc' or 'aot'",
        ),
        (lambda: ops.Custom("a.so:f", (3,), F32), graphc.ArgumentTypeError, "func must be a function, got 'a.so:f'"),
        (lambda: ops.Custom(add, (3,), F32, "aot"), graphc.ArgumentTypeError, "func must be 'PATH.so:NAME'"),
        (
            lambda: ops.Custom("a.cc:f", (3,), F32, "aot")(Tensor(X)),
            graphc.ArgumentValueError,
            "func must be 'PATH.so:NAME'",
        ),
        (lambda: ops.Custom(add), graphc.ArgumentTypeError, "out_shape and out_dtype must be given"),
        (lambda: ops.Custom(add, (3,), F32, reg_info={}), graphc.ArgumentValueError, "reg_info"),
        (lambda: ops.Custom(add, 3, F32)(Tensor(X), Tensor(Y)), graphc.ArgumentTypeError, "a tuple of sizes for each"),
        (lambda: ops.PyFunc(3, [], [], [], []), graphc.ArgumentTypeError, "fn must be a function"),
        (
            lambda: ops.PyFunc(add, [F32], [(3,)], [F32], [(3,)])(Tensor([1.0])),
            graphc.ArgumentTypeError,
            r"declared are \(f32",
        ),
    ],
)
def test_what_does_not_fit_is_said(make, error, says):
    with pytest.raises(error, match=says):
        make()
