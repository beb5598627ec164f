"""Tensors in the memory of others, of another dtype, and in the place of each other."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import ArgumentTypeError, ArgumentValueError, DTypeError, Parameter, Tensor, TraceTypeError, nn, ops


class Plus(nn.Cell):
    def __init__(self, x):
        super().__init__()
        self.x = x

    def construct(self, y):
        return y + self.x


class Changes(nn.Cell):
    def __init__(self, change):
        super().__init__()
        self.change, self.w = change, Parameter(Tensor([1.0]), name="w")

    def construct(self, x):
        self.change(x, self.w)
        return x


def test_a_tensor_of_a_buffer_has_its_memory():
    buffer = bytearray(range(1, 9))
    x = graphc.frombuffer(buffer, graphc.int16, offset=2)
    assert x.tolist() == [1027, 1541, 2055]  # As MindSpore 2.10 gives them.
    buffer[2] = 77
    x[1] = 5
    assert (x.tolist(), list(buffer)) == ([1101, 5, 2055], [1, 2, 77, 4, 5, 0, 7, 8])
    assert graphc.frombuffer(buffer, graphc.uint8, 2, 3).tolist() == [4, 5]
    assert graphc.frombuffer(np.arange(6, dtype=np.float32).reshape(2, 3), graphc.float32).tolist() == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]
    assert graphc.frombuffer(np.float32(3), graphc.float32).tolist() == [3]
    assert graphc.frombuffer(buffer, graphc.bfloat16).dtype == graphc.bfloat16


def test_what_may_not_be_written_or_lies_otherwise_is_copied():
    x = graphc.frombuffer(b"abcd", graphc.int8)
    x[0] = 3
    assert x.tolist() == [3, 98, 99, 100]
    buffer = bytearray(range(1, 9))
    x = graphc.frombuffer(buffer, graphc.int32, 1, offset=1)
    truth = graphc.frombuffer(buffer, graphc.bool_, 3)
    buffer[:] = bytes(8)
    assert (x.tolist(), truth.tolist()) == ([84148994], [True, True, True])


def test_compiled_cells_see_what_a_buffer_holds():
    buffer = np.ones(3, np.float32)
    net = Plus(graphc.frombuffer(buffer, graphc.float32))
    assert net(Tensor([1.0, 1.0, 1.0])).tolist() == [2, 2, 2]
    buffer[1] = 5
    assert net(Tensor([1.0, 1.0, 1.0])).tolist() == [2, 6, 2]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ((bytearray(8), graphc.int32, 3), ArgumentValueError, "3 elements of 4 bytes do not lie in 8 bytes"),
        ((bytearray(8), graphc.int32, -1, 1), ArgumentValueError, "7 bytes from the byte 1 on are no whole number"),
        ((bytearray(8), graphc.int32, 0), ArgumentValueError, "count must be -1 or 1 and more, got 0"),
        ((bytearray(8), graphc.int32, -2), ArgumentValueError, "count must be -1 or 1 and more, got -2"),
        ((bytearray(8), graphc.int32, -1, 8), ArgumentValueError, "the byte 8 does not lie in a buffer of 8 bytes"),
        ((bytearray(8), graphc.int32, -1, -1), ArgumentValueError, "the byte -1 does not lie"),
        ((b"", graphc.int32), ArgumentValueError, "the byte 0 does not lie in a buffer of 0 bytes"),
        ((np.ones((3, 4))[:, ::2], graphc.int32), ArgumentValueError, "does not lie in order"),
        ((3, graphc.int32), ArgumentTypeError, "int is no buffer"),
        ((bytearray(8), "int8"), ArgumentTypeError, "dtype must be a dtype of graphc's, got 'int8'"),
        ((bytearray(8), graphc.int8, 1.0), ArgumentTypeError, "count must be an int, got float"),
    ],
)
def test_buffers_that_do_not_fit(given, error, said):
    with pytest.raises(error, match=said):
        graphc.frombuffer(*given)


def test_a_tensor_becomes_of_another_dtype():
    x, net_of = Tensor([1.5, -2.5]), Plus
    net = net_of(x)
    assert net(Tensor([1.0, 1.0])).tolist() == [2.5, -1.5]
    assert x.set_dtype(graphc.int32) == graphc.int32
    assert (x.tolist(), x.dtype) == ([1, -2], graphc.int32)  # As MindSpore 2.10 gives them.
    assert net(Tensor([1.0, 1.0])).tolist() == [2, -1]
    p = Parameter(Tensor([1.0, 0.1]), name="p")
    net = net_of(p)
    assert net(Tensor([1.0], graphc.float16)).dtype == graphc.float32
    p.set_dtype("float16")
    assert (p.dtype, p.name, p.asnumpy()[1]) == (graphc.float16, "p", np.float16(0.1))
    assert net(Tensor([1.0], graphc.float16)).dtype == graphc.float16
    with pytest.raises(DTypeError, match="floating"):
        x.set_dtype("floating")


def test_tensors_are_each_other():
    a, b = Tensor([1.0, 2.0]), Tensor([3], graphc.int32)
    net = Plus(a)
    assert net(Tensor(1)).tolist() == [2, 3]
    graphc.swap_tensors(a, b)
    assert (a.tolist(), a.dtype, b.tolist(), b.dtype) == ([3], graphc.int32, [1, 2], graphc.float32)
    assert net(Tensor(1)).tolist() == [4]


def test_parameters_are_each_other():
    net = nn.Dense(2, 1, weight_init="ones", has_bias=False)
    other = Parameter(Tensor([[3.0, 4.0]]), name="other", requires_grad=False)
    x = Tensor([[1.0, 10.0]])
    assert net(x).tolist() == [[11]]
    graphc.swap_tensors(net.weight, other)
    assert net(x).tolist() == [[43]]
    assert (net.weight.name, net.weight.requires_grad, other.name) == ("other", False, "weight")
    graphc.swap_tensors(net.weight, other)
    train = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
    train(x, Tensor([[0.0]]))
    once = net.weight.asnumpy()
    fresh = Parameter(Tensor([[1.0, 1.0]]), name="fresh")
    graphc.swap_tensors(net.weight, fresh)
    assert fresh.asnumpy().tolist() == once.tolist()
    train(x, Tensor([[0.0]]))
    assert net.weight.asnumpy().tolist() == once.tolist()
    assert fresh.asnumpy().tolist() == once.tolist()


def test_what_cannot_be_exchanged():
    with pytest.raises(ArgumentTypeError, match=r"a Tensor and a Parameter(?s:.*)p\.set_data"):
        graphc.swap_tensors(Tensor([1.0]), Parameter(Tensor([1.0]), name="w"))
    with pytest.raises(ArgumentTypeError, match="t2 must be a Tensor, got int"):
        graphc.swap_tensors(Tensor([1.0]), 3)


@pytest.mark.parametrize(
    "change", [lambda x, w: x.set_dtype("int8"), lambda x, w: w.set_dtype("int8"), graphc.swap_tensors]
)
def test_nothing_of_that_in_construct(change):
    with pytest.raises(TraceTypeError, match="in construct"):
        Changes(change)(Tensor([1.0]))


def test_what_tensors_say_of_their_making():
    x = Tensor([1, 2, 3], graphc.int16)
    assert (x.init, x.is_init(), x.has_init) == (None, False, False)
    assert x.get_bytes() == b"\x01\x00\x02\x00\x03\x00"
    p = Parameter(x, name="p")
    assert (p.init, p.is_init, p.inited_param, ops.add(p, 1).init) == (None, False, None, None)
