"""Children by name, marks, and cells that construct makes."""

from __future__ import annotations

import numpy as np
import pytest

from graphc import Parameter, Tensor, nn

ONES = Tensor(np.ones((2, 2), np.float32))


def test_children_by_name():
    net = nn.Cell()
    net.insert_child_to_cell("first", nn.Dense(2, 2))
    net.insert_child_to_cell("place", None)
    net.insert_param_to_cell("scale", Parameter(Tensor([1.0]), name="scale"))
    assert [p.name for p in net.trainable_params()] == ["scale", "weight", "bias"]
    for error, call in (
        (KeyError, lambda: net.insert_child_to_cell("training", nn.ReLU())),
        (KeyError, lambda: net.insert_child_to_cell("a.b", nn.ReLU())),
        (ValueError, lambda: net.insert_child_to_cell("", nn.ReLU())),
        (TypeError, lambda: net.insert_child_to_cell("second", 3)),
        (TypeError, lambda: net.insert_child_to_cell(3, nn.ReLU())),
        (KeyError, lambda: net.insert_param_to_cell("a.b", Parameter(Tensor(1.0)))),
        (KeyError, lambda: net.insert_param_to_cell("training", Parameter(Tensor(1.0)))),
        (TypeError, lambda: net.insert_param_to_cell("other", Tensor(1.0))),
    ):
        with pytest.raises(error):
            call()


def test_a_child_is_put_in_the_place_of_another():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Dense(2, 2), nn.ReLU()

        def construct(self, x):
            return self.second(self.first(x))

    net = Net()
    net(ONES)
    net.insert_child_to_cell("first", nn.Identity())
    assert net.first is net.name_cells()["first"]
    assert list(net.name_cells()) == ["first", "second"]
    assert not net.trainable_params()
    np.testing.assert_array_equal(net(ONES).asnumpy(), ONES.asnumpy())


def test_apply_goes_from_the_leaves_to_the_root():
    net = nn.SequentialCell(nn.Dense(2, 2), nn.SequentialCell(nn.ReLU()))
    seen = []
    assert net.apply(lambda cell: seen.append(type(cell).__name__)) is net
    assert seen == ["Dense", "ReLU", "SequentialCell", "SequentialCell"]


def test_names_must_differ():
    net = nn.SequentialCell(nn.Dense(2, 2), nn.Dense(2, 2))
    net.check_names()
    net[1].weight.name = net[0].weight.name
    with pytest.raises(ValueError, match=r"two parameters are named '0\.weight'"):
        net.check_names()


def test_marks():
    net = nn.SequentialCell(nn.Dense(2, 2))
    assert not net[0].requires_grad
    assert net.set_grad().requires_grad
    assert not net[0].requires_grad  # As in MindSpore, whose flag is that of one cell.
    net.set_comm_fusion(3)
    assert net[0].weight.comm_fusion == 3
    assert list(net.init_parameters_data()) == net.trainable_params()
    net.recompute()
    net.set_jit_config(None)
    assert net.set_boost("O1") is net


class Making(nn.Cell):
    """Makes cells without parameters where they are used."""

    def construct(self, x):
        activation = nn.Softmax(axis=0)
        activation.note = "made here"
        return activation(nn.ReLU()(x))


def test_construct_may_make_cells():
    assert Making()(ONES).asnumpy().tolist() == [[0.5, 0.5], [0.5, 0.5]]
