"""What a wrong name may have meant, and what it cannot have meant."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.errors import GraphcError, GraphcWarning
from graphc.errors.suggestions import FOREIGN, distance, nearest
from graphc.paths.table import MODULES
from tests.errors.messages import X, cell

KNOWN = {"ops": ops.__all__, "nn": nn.__all__, "graphc": dir(graphc), "modules": list(MODULES)}


@pytest.mark.parametrize(
    ("name", "where", "meant"),
    [
        ("sofmax", "ops", "softmax"),
        ("soft_max", "ops", "softmax"),
        ("mat_mul", "ops", "matmul"),
        ("transpos", "ops", "transpose"),
        ("reduce_men", "ops", "reduce_mean"),
        ("einsm", "ops", "einsum"),
        ("Relu", "nn", "ReLU"),
        ("Conv2D", "nn", "Conv2d"),
        ("Momentun", "nn", "Momentum"),
        ("Module", "nn", "Cell"),
        ("Sequential", "nn", "SequentialCell"),
        ("ModuleList", "nn", "CellList"),
        ("Tensr", "graphc", "Tensor"),
        ("mindspore.comon", "modules", "mindspore.common"),
    ],
)
def test_slips_and_names_of_other_libraries(name, where, meant):
    assert nearest(name, KNOWN[where])[0] == meant


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("multinomial_with", "ops"), ("grid_warp_3d", "ops"), ("var_mean", "ops"), ("foo", "ops"), ("std_", "nn"),
        ("Mode", "nn"), ("MaxPool4d", "nn"), ("TransformerEncoderLayerStack", "nn"), ("mindspore.numpy", "modules"),
    ],
)  # fmt: skip
def test_what_means_something_else_is_not_suggested(name, where):
    assert nearest(name, KNOWN[where]) == []


def test_look_alikes():
    assert nearest("multinomial", ["multiply", "mul"]) == []
    assert nearest("Model", ["Mod", "Metric"]) == []
    assert nearest("Ad", ["Add", "Adam"]) == ["Add"]
    assert nearest("dense", ["dense1", "dense2"]) == ["dense1"]
    assert nearest("dense3", ["dense1", "dense2"]) == []


def test_distance():
    for a, b, d in (("abc", "abc", 0), ("abc", "acb", 1), ("abc", "abd", 1), ("abc", "ab", 1), ("abc", "xyz", 3)):
        assert distance(a, b, 5) == distance(b, a, 5) == d
        assert distance(a, b, 0) == min(d, 1)


def test_the_table_names_what_there_is():
    everything = {*KNOWN["ops"], *KNOWN["nn"], *KNOWN["graphc"], *dir(Parameter), *dir(nn.Cell)}
    assert set(FOREIGN.values()) <= everything


@pytest.mark.parametrize(
    ("asked", "help"),
    [
        (lambda net, optimizer: Tensor(1.0).backward(), "value_and_grad(forward, None, net.trainable_params())"),
        (lambda net, optimizer: optimizer.zero_grad(), "leave it out"),
        (lambda net, optimizer: net.eval(), "net.set_train(False)"),
        (lambda net, optimizer: Tensor(1.0).detach(), "ops.stop_gradient(x)"),
        (lambda net, optimizer: net.half(), "net.to_float(graphc.float16)"),
        (lambda net, optimizer: net.requires_grad_(False), "p.requires_grad of each p"),
        (lambda net, optimizer: graphc.no_grad, "ops.stop_gradient(x)"),
        (lambda net, optimizer: nn.functional.relu, "functions are in ops"),
        (lambda net, optimizer: import_module("graphc.dataset.engine").DataLoader, "GeneratorDataset"),
        (lambda net, optimizer: bool(Tensor([1, 2])), "(...).any()"),
        (lambda net, optimizer: nn.Dense(2, 2, activation="rellu"), "did you mean relu?"),
        (lambda net, optimizer: nn.Dense(2, 2, weight_init="xavier"), "xavier_uniform or xavier_normal?"),
        (lambda net, optimizer: Tensor(1, "flaot32"), "did you mean float32?"),
        (lambda net, optimizer: net(inputs=Tensor(1.0)), None),
        (lambda net, optimizer: ops.concat(Tensor([1, 2]), 0), "concat((x, y), axis)"),
        (lambda net, optimizer: net([[1.0, 2.0]]), "make a tensor of it: Tensor(...)"),
        (lambda net, optimizer: net((Tensor(X), Tensor(X))), "take one of its 2 items, such as the first: x[0]"),
        (lambda net, optimizer: net(None), "without `return` gives None"),
        (lambda net, optimizer: graphc.grad(net, net.trainable_params()), "weights=net.trainable_params()"),
        (lambda net, optimizer: ops.cross_entropy(None, Tensor([1])), "without `return` gives None"),
    ],
)
def test_habits_from_other_libraries(asked, help):
    net = nn.Dense(2, 2)
    with pytest.raises(GraphcError) as caught:
        asked(net, nn.SGD(net.trainable_params(), 0.1))
    assert help is None or help in caught.value.help
    assert caught.value.loc.file == "tests/errors/test_suggestions.py"
    assert "[" not in caught.value.message.partition("got")[2]


@pytest.mark.parametrize("name", ["require_grad", "requiresgrad", "trainable"])
def test_a_slip_of_a_parameters_setting(name):
    p = Parameter(Tensor(np.ones(2, np.float32)), name="p")
    with pytest.warns(GraphcWarning, match=f"a Parameter has no '{name}'(.|\n)*did you mean requires_grad?"):
        setattr(p, name, False)
    assert p.requires_grad
    p.group, p.requires_aggr, p.is_init = "mine", False, True  # What MindSpore's scripts keep there.


# ---- what helps with arguments


def _groups(key):
    return lambda: nn.Adam([{"params": nn.Dense(3, 3).trainable_params(), key: 0.1}])


@pytest.mark.parametrize(
    ("action", "help"),
    [
        (_groups("learning_rate"), "did you mean lr?"),
        (_groups("weight_decays"), "did you mean weight_decay?"),
        (lambda: nn.LayerNorm(3), "nn.LayerNorm((3,))"),
        (lambda: graphc.compile(nn.Dense, X), "make one of the class: Dense(...)"),
        (lambda: graphc.compile(lambda x: x, X), "@graphc.jit compiles a function when it is called"),
        (lambda: graphc.compile(3, X), None),
        (lambda: graphc.set_context(devicetarget="CPU"), "did you mean device_target?"),
        (
            lambda: nn.CrossEntropyLoss()(Tensor(X), Tensor(np.ones(X.shape, np.int32))),
            "cast probabilities to the input's dtype",
        ),
        (lambda: nn.Dense(10**7, 10**7), "smaller shapes"),
    ],
)
def test_what_helps(action, help):
    with pytest.raises(GraphcError) as caught:
        action()
    assert caught.value.help == help
    assert caught.value.loc.file.endswith("test_suggestions.py")


def test_rows_of_several_lengths_are_no_tensor():
    with pytest.raises(GraphcError, match="these data are no tensor") as caught:
        Tensor([[1, 2], [3]])
    assert caught.value.loc.file.endswith("test_suggestions.py")


def test_a_range_of_a_tensor_that_is_no_integer():
    def construct(self, x):
        for _ in range(x.sum()):
            x = x + 1
        return x

    with pytest.raises(GraphcError, match="which is no integer") as caught:
        cell(construct)(X)
    assert caught.value.help == "cast it: ops.cast(x, graphc.int64)"


def test_an_index_to_write_is_out_of_range_of_the_tensor():
    x = Tensor(X)
    with pytest.raises(IndexError, match=r"index 9 is out of range for axis 0 of shape \(2, 3\)"):
        x[9] = 1.0


def test_positions_are_counted():
    with pytest.raises(ValueError, match=r"called with 1 argument\n"):
        graphc.grad(lambda x: x.sum(), 3)(Tensor(X))
