"""Cells that hold Cells: order, names of parameters, changes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn

Array = np.ndarray[Any, np.dtype[Any]]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def names(cell: nn.Cell) -> list[str]:
    return [p.name for p in cell.get_parameters()]


class Held(nn.Cell):
    """Holds a container under the name `body`."""

    def __init__(self, body: nn.Cell) -> None:
        super().__init__()
        self.body = body


@pytest.mark.usefixtures("eager")
def test_sequential_applies_in_order() -> None:
    first, second = nn.Dense(3, 4), nn.Dense(4, 2)
    x = Tensor(random(2, 3))
    wanted = second.construct(nn.ReLU().construct(first.construct(x))).asnumpy()
    for seq in (nn.SequentialCell([first, nn.ReLU(), second]), nn.SequentialCell(first, nn.ReLU(), second)):
        assert np.array_equal(seq(x).asnumpy(), wanted)
    assert names(seq) == ["0.weight", "0.bias", "2.weight", "2.bias"]


@pytest.mark.usefixtures("eager")
def test_sequential_of_named_cells() -> None:
    seq = nn.SequentialCell(OrderedDict([("fc", nn.Dense(3, 4)), ("out", nn.Dense(4, 2, has_bias=False))]))
    assert names(seq) == ["fc.weight", "fc.bias", "out.weight"]
    seq.append(nn.Dense(2, 2, has_bias=False))
    assert names(Held(seq)) == ["body.fc.weight", "body.fc.bias", "body.out.weight", "body.2.weight"]
    with pytest.raises(graphc.ArgumentValueError, match=r"'a.b' cannot name a cell"):
        nn.SequentialCell(OrderedDict([("a.b", nn.ReLU())]))


@pytest.mark.usefixtures("eager")
def test_sequential_changes() -> None:
    net = Held(nn.SequentialCell(nn.Dense(3, 4, has_bias=False)))
    seq = net.body
    assert isinstance(seq, nn.SequentialCell)
    assert seq.append(nn.Dense(4, 5, has_bias=False)) is seq
    seq.insert(1, nn.ReLU())
    assert len(seq) == 3
    assert names(net) == ["body.0.weight", "body.2.weight"]
    del seq[1]
    assert names(net) == ["body.0.weight", "body.1.weight"]
    seq[0] = nn.Dense(7, 4)
    assert names(net) == ["body.0.weight", "body.0.bias", "body.1.weight"]
    assert seq[-1].out_channels == 5
    assert [type(c).__name__ for c in seq] == ["Dense", "Dense"]


@pytest.mark.usefixtures("eager")
def test_a_slice_shares_cells_and_keeps_names() -> None:
    net = Held(nn.SequentialCell([nn.Dense(2, 2, has_bias=False) for _ in range(4)]))
    tail = net.body[2:]
    assert isinstance(tail, nn.SequentialCell)
    assert len(tail) == 2
    assert tail[0] is net.body[2]
    assert names(net) == [f"body.{i}.weight" for i in range(4)]
    x = Tensor(random(1, 2))
    assert np.array_equal(tail(x).asnumpy(), net.body[3](net.body[2](x)).asnumpy())


@pytest.mark.usefixtures("eager")
def test_cell_list() -> None:
    cells = nn.CellList([nn.Dense(2, 2, has_bias=False)])
    cells.append(nn.Dense(2, 2)).extend([nn.ReLU(), nn.Dense(2, 2, has_bias=False)])
    assert names(Held(cells)) == ["body.0.weight", "body.1.weight", "body.1.bias", "body.3.weight"]
    assert [type(c).__name__ for c in cells] == ["Dense", "Dense", "ReLU", "Dense"]
    assert cells[2] is list(cells)[2]
    cells.insert(0, nn.ReLU())
    with pytest.raises(IndexError, match="no place to insert"):
        cells.insert(9, nn.ReLU())
    assert names(cells) == ["body.1.weight", "body.2.weight", "body.2.bias", "body.4.weight"]
    with pytest.raises(graphc.ArgumentTypeError, match="a CellList cannot be called"):
        cells(Tensor(1.0))
    kept = nn.CellList([nn.Dense(2, 2, has_bias=False)], auto_prefix=False)
    assert names(kept) == ["weight"]


@pytest.mark.usefixtures("eager")
def test_containers_refuse() -> None:
    cells = nn.CellList(nn.ReLU())
    with pytest.raises(graphc.ArgumentTypeError, match="CellList holds Cells, got function"):
        cells.append(lambda x: x)
    with pytest.raises(graphc.ArgumentTypeError, match="SequentialCell holds Cells, got int"):
        nn.SequentialCell(3)
    with pytest.raises(IndexError, match="index 1 is out of range for 1 cells"):
        cells[1]
    with pytest.raises(graphc.ArgumentTypeError, match="an index must be an int or a slice, got str"):
        cells["0"]


@pytest.mark.usefixtures("eager")
def test_a_container_does_not_change_while_compiled() -> None:
    class Growing(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.cells_ = nn.CellList([nn.ReLU()])

        def construct(self, x: Tensor) -> Tensor:
            self.cells_.append(nn.ReLU())
            return x

    with pytest.raises(graphc.TraceError, match="CellList is changed inside construct") as caught:
        graphc.compile(Growing(), Tensor(1.0))
    assert caught.value.code == "GC133"


@pytest.mark.usefixtures("eager")
def test_parameters_of_an_own_layer() -> None:
    class Scale(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.factor = Parameter(Tensor([2.0]))

        def construct(self, x: Tensor) -> Tensor:
            return x * self.factor

    seq = nn.SequentialCell(Scale(), Scale())
    assert names(seq) == ["0.factor", "1.factor"]
    assert seq(Tensor([3.0])).asnumpy().tolist() == [12.0]


def test_cell_dict():
    cells = nn.CellDict({"first": nn.Dense(2, 2), "second": nn.ReLU()})
    cells["third"] = nn.Dense(2, 1)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.parts = cells

        def construct(self, x):
            for name in ("first", "second", "third"):
                x = self.parts[name](x)
            return x

    net = Net()
    assert net(Tensor(np.ones((3, 2), np.float32))).shape == (3, 1)
    assert [p.name for p in net.trainable_params()] == [
        "parts.first.weight", "parts.first.bias", "parts.third.weight", "parts.third.bias",
    ]  # fmt: skip
    assert cells.pop("second") is not None
    assert list(cells) == ["first", "third"]
    with pytest.raises(TypeError, match="holds Cells"):
        cells["x"] = 3
    with pytest.raises(ValueError, match="cannot name a cell"):
        cells["a.b"] = nn.ReLU()
    with pytest.raises(KeyError):
        cells["second"]
