"""Names and order of parameters, and what setting an attribute means, as MindSpore 2.10 gave them for the same programs."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, ParameterTuple, Tensor, nn

Both = tuple[list[str], list[str]]


def dense(inputs: int = 2) -> nn.Dense:
    return nn.Dense(inputs, 2, has_bias=False)


def one(name: str | None = None) -> Parameter:
    return Parameter(Tensor([1.0]), name=name)


class Blocks(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.CellList([dense()])


class Mixed(nn.Cell):
    """Parameters of its own, two of them in a tuple, and a child."""

    def __init__(self) -> None:
        super().__init__()
        self.w = one("w")
        self.pair = ParameterTuple([one("p0"), one("p1")])
        self.d = dense()
        self.v = one("v")


class Holding(nn.Cell):
    """A tuple of its child's parameters, and one of copies."""

    def __init__(self, net: Any) -> None:
        super().__init__()
        self.network = net
        self.weights = ParameterTuple(net.trainable_params())
        self.sums = self.weights.clone("acc", init="zeros")
        self.extra = one("scale")


class Outer(nn.Cell):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner


def appended_attached() -> Any:
    net = Outer(nn.SequentialCell(dense()))
    net.inner.append(dense())
    return net


def appended_deep() -> Any:
    net = Outer(nn.SequentialCell(nn.SequentialCell(dense())))
    net.inner[0].append(dense())
    return net


def appended_containers() -> Any:
    net = nn.SequentialCell(nn.SequentialCell([dense()]))
    return net.append(nn.SequentialCell([dense()]))


def appended_cells() -> Any:
    net = nn.SequentialCell()
    return net.append(Blocks()).append(Blocks())


def appended_inside() -> Any:
    net = nn.SequentialCell(Blocks())
    net[0].blocks.append(dense())
    return net


def inserted() -> Any:
    net = Outer(nn.CellList([dense(), dense()]))
    net.inner.insert(1, dense(3))
    return net


def deleted() -> Any:
    net = Outer(nn.SequentialCell(dense(), nn.ReLU(), dense()))
    del net.inner[0]
    return net


def again(**attributes: Callable[[], Any]) -> Any:
    net = Mixed()
    for name, make in attributes.items():
        setattr(net, name, make())
    return net


def paths(*names: str) -> Both:
    return list(names), list(names)


#: What makes a network -> (names, paths).
RECORDED: dict[str, tuple[Callable[[], Any], Both]] = {
    "append to an attached container": (appended_attached, paths("inner.0.weight", "inner.1.weight")),
    "append two levels below": (appended_deep, paths("inner.0.0.weight", "inner.0.1.weight")),
    "append a container": (appended_containers, (["0.0.weight", "0.1.0.weight"], ["0.0.weight", "1.0.weight"])),
    "append a cell with a list": (
        appended_cells,
        (["0.blocks.0.weight", "0.blocks.1.blocks.0.weight"], ["0.blocks.0.weight", "1.blocks.0.weight"]),
    ),
    "append inside a member": (appended_inside, paths("0.blocks.0.weight", "0.blocks.1.weight")),
    "insert": (inserted, paths("inner.0.weight", "inner.1.weight", "inner.2.weight")),
    "delete": (deleted, paths("inner.1.weight")),
    "members of a tuple": (Mixed, paths("w", "p0", "p1", "v", "d.weight")),
    "members of a tuple below": (
        lambda: Outer(Mixed()),
        paths("inner.w", "inner.p0", "inner.p1", "inner.v", "inner.d.weight"),
    ),
    "layers that name theirs their own way": (
        lambda: Outer(nn.SequentialCell(nn.PReLU(2), nn.PReLUExt(), nn.BatchNorm3d(2), nn.InstanceNorm1d(2))),
        paths(
            "inner.0.w",
            "inner.1.weight",
            *(f"inner.2.bn2d.{name}" for name in ("moving_mean", "moving_variance", "gamma", "beta")),
            *(f"inner.3.{name}" for name in ("moving_mean", "moving_variance", "gamma", "beta")),
        ),
    ),
    "a child set again": (lambda: again(d=lambda: dense(3)), paths("w", "p0", "p1", "v", "d.weight")),
    "a parameter set again": (
        lambda: again(w=lambda: one("w2")),
        (["w2", "p0", "p1", "v", "d.weight"], ["w", "p0", "p1", "v", "d.weight"]),
    ),
    "a parameter taken away": (lambda: again(w=lambda: None), paths("p0", "p1", "v", "d.weight")),
    "a child taken away": (lambda: again(d=lambda: None), paths("w", "p0", "p1", "v")),
    "tuples of a child's": (
        lambda: Holding(nn.SequentialCell(dense())),
        (["network.0.weight", "acc.network.0.weight", "scale"], ["network.0.weight", "acc.network.0.weight", "extra"]),
    ),
    "tuples of a child's below": (
        lambda: Outer(Holding(nn.SequentialCell(dense()))),
        paths("inner.network.0.weight", "inner.acc.network.0.weight", "inner.extra"),
    ),
}


@pytest.mark.parametrize("name", list(RECORDED))
def test_as_recorded(name: str) -> None:
    make, (names, places) = RECORDED[name]
    net = make()
    assert [p.name for p in net.get_parameters()] == names
    assert [path for path, _ in net.parameters_and_names()] == places


def test_a_tensor_set_over_a_parameter_is_its_contents() -> None:
    class Scale(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.factor = Parameter(Tensor([2.0]), name="factor")

        def construct(self, x: Tensor) -> Tensor:
            return x * self.factor

    net = Scale()
    held = net.factor
    assert float(net(Tensor([3.0]))) == 6
    net.factor = Tensor([5], "int32")  # type: ignore[assignment]
    assert net.factor is held
    assert net.trainable_params() == [held]
    assert held.dtype == graphc.float32
    assert float(net(Tensor([3.0]))) == 15
    for wrong in (7.0, np.ones(1, np.float32), "x"):
        with pytest.raises(TypeError, match="'factor' is a Parameter, and is given a"):
            net.factor = wrong  # type: ignore[assignment]
    assert net.factor is held


class Two(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.act = nn.Dense(2, 2, weight_init="ones", bias_init="zeros"), nn.ReLU()
        self.scale = Parameter(Tensor([2.0]), name="scale")

    def construct(self, x: Tensor) -> Tensor:
        return self.act(self.first(x)) * self.scale


X = Tensor(np.full((1, 2), -1.0, np.float32))


def test_a_child_put_in_place_by_name_takes_effect() -> None:
    net = Two()
    assert net(X).asnumpy().tolist() == [[0, 0]]
    net._cells["act"] = nn.LeakyReLU(0.5)
    assert net(X).asnumpy().tolist() == [[-2, -2]]
    assert isinstance(net.act, nn.LeakyReLU)
    net._params["scale"] = Parameter(Tensor([4.0]), name="scale")
    assert net(X).asnumpy().tolist() == [[-4, -4]]
    for name, cell in net.name_cells().items():
        net._cells[name] = nn.SequentialCell(cell, nn.ReLU())
    assert net(X).asnumpy().tolist() == [[0, 0]]


@pytest.mark.parametrize("way", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_have_children_of_their_own(way: Callable[[Any], Any]) -> None:
    net = Two()
    other = way(net)
    other._cells["act"] = nn.LeakyReLU(0.5)
    assert (net(X).asnumpy().max(), other(X).asnumpy().max()) == (0, -2)
    assert list(other.parameters_dict()) == list(net.parameters_dict())
    assert other.first.weight is not net.first.weight


def test_a_child_that_was_inserted_is_an_attribute() -> None:
    net = nn.Cell()
    net.insert_child_to_cell("first", dense())
    assert net.first is net.name_cells()["first"]
    assert [p.name for p in net.get_parameters()] == ["weight"]  # As in MindSpore.
    del net.first
    assert not hasattr(net, "first")
    assert not net.name_cells()
    named = nn.SequentialCell({"fc": dense()})
    assert named.fc is named[0]


def test_a_sequence_has_one_list_of_cells() -> None:
    net = nn.SequentialCell(nn.Dense(2, 2, weight_init="ones", bias_init="zeros"), nn.ReLU())
    assert net.cell_list == tuple(net._cells.values())
    net._cells["1"] = nn.LeakyReLU(0.5)
    assert net.cell_list[1] is net[1]
    assert net(X).asnumpy().tolist() == [[-1, -1]]
    net.cell_list = [net[0]]
    assert len(net) == 1
    assert net(X).asnumpy().tolist() == [[-2, -2]]
    assert [p.name for p in net.get_parameters()] == ["0.weight", "0.bias"]
    with pytest.raises(TypeError, match="SequentialCell holds Cells, got int"):
        net.cell_list = [3]  # type: ignore[list-item]


class Layer(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.d = dense()

    def construct(self, x: Tensor) -> Tensor:
        return self.d(x)


class Flat(nn.Cell):
    """Two children of one class, whose names are not put before their parameters'."""

    def __init__(self) -> None:
        super().__init__(auto_prefix=False)
        self.a, self.b = Layer(), Layer()

    def construct(self, x: Tensor) -> Tensor:
        return self.b(self.a(x))


class Listed(nn.Cell):
    """Cells in a list, which are no children."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [Layer(), Layer()]

    def construct(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Pair(nn.Cell):
    """Two parameters of one name."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = one("w"), one("w")

    def construct(self, x: Tensor) -> Tensor:
        return x + self.a * self.b


def names(net: nn.Cell) -> list[str]:
    return [p.name for p in net.get_parameters()]


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_the_first_call_names_what_has_one_name_by_paths(mode_again: None, mode: int) -> None:
    graphc.set_context(mode=mode)
    flat, pair = Flat(), Pair()
    assert (names(flat), names(pair)) == (["d.weight", "d.weight"], ["w", "w"])
    flat(X)
    pair(X)
    assert (names(flat), names(pair)) == (["a.d.weight", "b.d.weight"], ["a", "b"])
    flat.a.d.weight.name = flat.b.d.weight.name
    flat(graphc.ops.ones((3, 2), graphc.float32))
    assert names(flat) == ["b.d.weight"] * 2, "names that are given later are kept"


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_cells_that_are_no_children_keep_their_names(mode_again: None, mode: int) -> None:
    graphc.set_context(mode=mode)
    listed = Listed()
    a, b = listed.layers
    expected = X.asnumpy() @ a.d.weight.asnumpy().T @ b.d.weight.asnumpy().T
    np.testing.assert_allclose(listed(X).asnumpy(), expected, rtol=1e-6)
    weights = ParameterTuple(a.trainable_params())
    value, (gradient,) = graphc.value_and_grad(lambda x: b(a(x)).sum(), None, weights)(X)
    np.testing.assert_allclose(value.asnumpy(), expected.sum(), rtol=1e-6)
    np.testing.assert_allclose(gradient.asnumpy(), b.d.weight.asnumpy().sum(0)[:, None] @ X.asnumpy(), rtol=1e-6)
    assert names(a) == names(b) == ["d.weight"]


def test_a_child_that_is_held_twice_is_listed_once() -> None:
    net = nn.Cell()
    net.a = net.b = Layer()
    assert (names(net), list(net.name_cells()), len(list(net.cells()))) == (["b.d.weight"], ["a"], 1)


def test_parameters_in_slots_come_in_the_order_in_which_they_were_set() -> None:
    class Held(nn.Cell):
        __slots__ = ("late", "weight")

        def __init__(self) -> None:
            super().__init__()
            self.first = one()
            self.weight = one()
            self.bias = one()
            self.late = one()

    assert names(Held()) == ["first", "weight", "bias", "late"]
    assert names(nn.SequentialCell(Held())) == ["0.first", "0.weight", "0.bias", "0.late"]
