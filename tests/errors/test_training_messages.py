"""What users read when cells, gradients, training steps or calls of a step are wrong."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numba
import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, dataset, nn, ops, train
from graphc.errors import ArgumentTypeError, GraphcError
from graphc.ir.op import _REGISTRY
from tests.errors import messages
from tests.errors.messages import X, cell, compiled, failure

HERE = "tests/errors/test_training_messages.py"


def check(error, expected, *classes):
    messages.check(error, HERE, expected, *classes)


# ---- cells


def test_a_missing_attribute():
    def construct(self, x):
        return self.dense(x)

    check(
        compiled(construct, X, dense1=nn.Dense(3, 2)),
        """
[GC140] Net has no attribute 'dense'
  FILE  return self.dense(x)
               ^^^^^^^^^^
  help: did you mean self.dense1?
""",
        AttributeError,
    )


def test_a_forgotten_super():
    class Forgetful(nn.Cell):
        def __init__(self):
            self.fc = nn.Dense(3, 2)

    check(
        failure(Forgetful),
        """
[GC140] Forgetful: attribute 'fc' is set before Cell.__init__ has run
  FILE  self.fc = nn.Dense(3, 2)
        ^^^^^^^
  help: call super().__init__() first in __init__
""",
        AttributeError,
    )


def test_a_parameter_made_in_construct():
    def construct(self, x):
        return x + Parameter(X, name="w")

    check(
        compiled(construct, X),
        """
[GC141] a Parameter is made inside construct: construct runs once, when the Cell is compiled
  FILE  return x + Parameter(X, name="w")
                   ^^^^^^^^^^^^^^^^^^^^^^
  help: make it in __init__ and keep it in an attribute; a value of one step needs no Parameter
""",
        RuntimeError,
    )


def test_parameters_of_the_library_are_made_where_a_package_has_its_own_way_to_make_them(monkeypatch):
    made = Parameter.__init__

    def patched(*args, **kwargs):
        made(*args, **kwargs)
        args[0].from_here = True

    monkeypatch.setattr(Parameter, "__init__", patched)

    class Net(nn.Cell):
        def construct(self, x):
            return ops.dropout(x, p=0.5)

    assert Net()(Tensor(np.ones((4, 4), np.float32))).shape == (4, 4)

    class Made(nn.Cell):
        def construct(self, x):
            return x + Parameter(np.ones(4, np.float32))

    with pytest.raises(graphc.TraceError, match="made inside construct"):
        Made()(Tensor(np.ones(4, np.float32)))


def test_a_wrong_number_of_arguments():
    def construct(self, x, y):
        return x + y

    check(
        compiled(construct, X),
        """
[GC100] Net.construct: missing a required argument: 'y'
  FILE  action(*args)
  its signature is construct(x, y)
""",
        TypeError,
    )
    assert compiled(construct, X, X, X).message == "Net.construct: too many positional arguments"
    error = failure(lambda: cell(construct)(Tensor(X), z=1))
    assert error.message == "Net.construct: got an unexpected keyword argument 'z'"


def test_batches_that_do_not_fit_the_network():
    """What the data set gives is said beside the error of a layer, whose own hint cannot know that columns are swapped."""
    net, loss = nn.Dense(3, 2), nn.SoftmaxCrossEntropyWithLogits(sparse=True)
    labels = np.zeros(2, np.int32)
    said = "the data set gives label i32[2], image f32[2,3], in this order"
    for sink in (True, False):
        data = dataset.NumpySlicesDataset((labels, X), ["label", "image"]).batch(2)
        model = train.Model(net, loss, nn.SGD(net.trainable_params(), 0.1))
        with pytest.raises(GraphcError) as caught:
            model.train(1, data, dataset_sink_mode=sink)
        assert caught.value.__notes__[-1] == said
    single = dataset.NumpySlicesDataset((X, labels), ["image", "label"])
    error = failure(lambda: model.train(1, single, dataset_sink_mode=False))
    assert "help: add the axis of the samples: data sets do by .batch(n)" in str(error)


def test_labels_in_a_column():
    error = failure(
        nn.SoftmaxCrossEntropyWithLogits(sparse=True), Tensor(np.ones((2, 3), np.float32)), Tensor([[0], [1]])
    )
    assert error.help == "labels.squeeze(1) has one number per row"
    assert "labels: i64[2,1]  input 'labels'" in error.details


def test_a_wrong_number_of_arguments_of_a_function():
    @graphc.jit
    def scaled(x, n: int = 2, *, by):
        return x * n * by

    for arguments, named, what in (
        ((Tensor(X),), {}, "missing a required"),
        ((Tensor(X), 1, 2), {"by": 1}, "too many positional arguments"),
        ((Tensor(X),), {"by": 1, "m": 3}, "got an unexpected keyword argument 'm'"),
    ):
        error = failure(lambda a=arguments, n=named: scaled(*a, **n))
        assert what in error.message
        assert isinstance(error, TypeError)
        assert error.details == ("its signature is scaled(x, n=2, *, by)",)


@pytest.mark.parametrize("name", ["forward", "constuct", "_construct"])
def test_construct_by_another_name(name):
    cell = type("Net", (nn.Cell,), {name: lambda self, x: x})()
    assert failure(cell, Tensor(X)).help == f"{name} is to be called construct"
    assert failure(nn.Cell(), Tensor(X)).help == "write `def construct(self, ...)` in the class"


def test_what_is_no_cell():
    error = failure(graphc.compile, lambda x: x, X)
    assert error.message == "graphc.compile needs a Cell, got function"
    assert isinstance(error, TypeError)


# ---- gradients and training


def test_no_gradient():
    @numba.njit
    def kernel(x):
        return x * x

    plain = ops.custom("Ungraded", kernel)

    def network(self, x):
        return plain(x)

    def construct(self, x):
        return ops.GradOperation()(self.net)(x)

    try:
        error = compiled(construct, X, net=cell(network))
    finally:
        del _REGISTRY["Ungraded"]
    check(
        error,
        f"""
[GC150] Ungraded has no gradient
  FILE  return plain(x)
               ^^^^^^^^
  %{error.nodes[0]} Ungraded in net lies between the loss and what is differentiated
  help: wrap its operand in ops.stop_gradient if it shall not be differentiated
""",
        RuntimeError,
    )


def trained(construct):
    net = cell(construct, fc=nn.Dense(3, 2))
    return net, nn.SGD(net.trainable_params(), 0.1)


def test_a_network_that_returns_a_tuple():
    step = nn.TrainOneStepCell(*trained(lambda self, x: (self.fc(x), x)))
    error = failure(graphc.compile, step, X)
    check(
        error,
        """
[GC151] TrainOneStepCell: the network Net must return one float tensor, the loss; it returned a tuple of 2: f32[2,2], f32[2,3]
  FILE  action(*args)
  help: return the loss alone; nn.WithLossCell(backbone, loss_fn) adds a loss to a network
""",
        TypeError,
    )


def test_a_scale_of_the_wrong_kind():
    net, optimizer = trained(lambda self, x: self.fc(x))
    check(
        failure(nn.TrainOneStepWithLossScaleCell, net, optimizer, 1024.0),
        """
[GC152] TrainOneStepWithLossScaleCell: scale_sense must be a Cell or a Tensor, got float
  FILE  action(*args)
  help: graphc.Tensor(1024.0), or nn.DynamicLossScaleUpdateCell(1024.0, 2, 1000)
""",
        TypeError,
    )


def test_a_scale_of_the_wrong_shape():
    net, optimizer = trained(lambda self, x: self.fc(x))
    check(
        failure(nn.TrainOneStepWithLossScaleCell, net, optimizer, Tensor(np.ones(2, np.float32))),
        """
[GC152] TrainOneStepWithLossScaleCell: scale_sense has shape (2,), expected () or (1,)
  FILE  action(*args)
""",
        ValueError,
    )


class Careless(nn.TrainOneStepWithLossScaleCell):
    """Forgets to let the gradients wait for the clearing of the status."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        status, _ = self.start_overflow_check(loss, self.scale_sense)
        sens = self.scaled_sens(loss, self.scale_sense)
        grads = self.grad(self.network, self.weights)(*inputs, sens)
        overflow = self.get_overflow_status(status, grads)
        return self.update_unless(overflow, loss, grads), overflow


def test_an_overflow_check_out_of_order():
    step = Careless(*trained(lambda self, x: self.fc(x)), Tensor(1024.0))
    error = failure(graphc.compile, step, X)
    line = error.loc.line
    first, second = error.details
    assert first.startswith(f"%9 Grad at {HERE}:{line - 1} may run before the clearing of the status (%")
    assert first.endswith(f" at {HERE}:{line - 3})")
    assert second.startswith("%9#1 Grad at ")
    check(
        error,
        f"""
[GC161] the overflow check does not cover what it tests: nothing orders that after the clearing of the status
  FILE  overflow = self.get_overflow_status(status, grads)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  {first}
  {second}
  help: compute the gradients from what start_overflow_check returns, or from ops.depend(value, status)
""",
        RuntimeError,
    )
    assert error.nodes == (10,)


# ---- calling a step


def other_inputs():
    step = graphc.compile(cell(lambda self, x, n: x * n), X, 2)
    yield step, (X[:1], 2), "input 'x' is f32[1,3], compiled for f32[2,3]"
    yield step, (X.astype(np.int32), 2), "input 'x' is i32[2,3], compiled for f32[2,3]"
    yield step, (X, X), "2 tensors are given, it was compiled for 1"
    yield step, (X, 3), "the Python value 3 is given, it was compiled for 2"
    yield step, (X, 2.0), "the Python value 2.0 is given, it was compiled for 2"
    yield step, (X, 2, None), "the arguments are nested, named or counted otherwise"


def test_inputs_that_a_step_was_not_compiled_for():
    for step, args, reason in other_inputs():
        check(
            failure(step, *args),
            f"""
[GC170] this step of Net was compiled for other inputs
  FILE  action(*args)
  {reason}
  help: compile again for these inputs, or call the cell itself, which compiles once per signature
""",
            TypeError,
        )


def test_a_parameter_that_changed_its_shape():
    net = cell(lambda self, x: x * self.w, w=Parameter(np.ones(3, np.float32), name="w"))
    step = graphc.compile(net, X)
    net.w.set_data(np.ones((2, 3), np.float32))
    error = failure(step, X)
    assert error.code == "GC170"
    assert error.message == "parameter 'w' is f32[2,3] now, this step was compiled for f32[3]"


@pytest.mark.usefixtures("mode_again")
@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_inner_cells_miss_arguments(mode: int) -> None:
    """What a training cell hands on is asked for at the user's line."""
    graphc.set_context(mode=mode)
    net = nn.Dense(4, 3)
    loss = nn.WithLossCell(net, nn.MSELoss())
    step = nn.TrainOneStepCell(loss, nn.SGD(net.trainable_params()))
    x = Tensor(np.ones((2, 4), np.float32))
    for call, wanted in (
        (lambda: step(x), "WithLossCell.construct: missing a required argument: 'label'"),
        (lambda: step(x, foo=x), "TrainOneStepCell.construct: got an unexpected keyword argument 'foo'"),
        (lambda: net(x, x), "Dense.construct: too many positional arguments"),
    ):
        with pytest.raises(ArgumentTypeError) as caught:
            call()
        assert caught.value.message == wanted
        assert caught.value.loc is not None
        assert caught.value.loc.file.endswith("test_training_messages.py")


@pytest.mark.parametrize("way", [copy.deepcopy, pickle.dumps])
def test_steps_are_not_copied(way: Any) -> None:
    x = Tensor(np.ones((2, 4), np.float32))
    with pytest.raises(ArgumentTypeError, match="a compiled step cannot be copied or pickled"):
        way(graphc.compile(nn.Dense(4, 3), x))


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_a_function_that_returns_nothing_has_no_gradient(mode):
    before = graphc.get_context("mode")
    graphc.set_context(mode=mode)
    try:

        def forward(x):
            ops.reduce_sum(x)

        error = failure(graphc.grad(forward), Tensor(X))
    finally:
        graphc.set_context(mode=before)
    assert error.message.endswith("forward: it returns None")
    assert (error.code, error.help) == ("GC151", "return the loss")


def test_a_mode_that_is_a_text():
    net = nn.Dense(2, 2).set_train()
    assert failure(net.set_train, "False").message == "set_train: mode must be a bool, got 'False'"
    assert net.training
