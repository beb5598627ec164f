"""DatasetHelper and connect_network_with_dataset: loops of one's own, step by step and sink by sink."""

from __future__ import annotations

import pytest

from graphc import Tensor, nn, train
from tests.train.conftest import make, parts, same, samples, weights


def cell():
    net, loss, optimizer = parts()
    return nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer).set_train()


def values(made):
    return {p.name: p.asnumpy() for p in made.get_parameters()}


def test_both_ways_give_the_bits_of_a_model():
    model = make()
    model.train(4, samples())
    singly, sunk = cell(), cell()
    helper = train.DatasetHelper(samples(), dataset_sink_mode=False, epoch_num=4)
    assert helper.sink_size() == 1
    for _ in range(4):
        for batch in helper:
            assert isinstance(batch, list)
            singly(*batch)
    helper.release()
    helper = train.DatasetHelper(samples(), sink_size=6)
    connected = train.connect_network_with_dataset(sunk, helper)
    assert helper.sink_size() == 6
    for _ in range(2):
        for inputs in helper:
            loss = connected(*inputs)
        helper.continue_send()
    helper.stop_send()
    assert loss.shape == ()
    assert same(values(singly), weights(model))
    assert same(values(sunk), weights(model))
    types, shapes = helper.types_shapes()
    assert ([str(t) for t in types], shapes) == (["Float32", "Int32"], [(4, 4), (4,)])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: train.DatasetHelper(3), "dataset must be a data set"),
        (lambda: train.DatasetHelper(samples(), 1), "dataset_sink_mode must be a bool"),
        (lambda: train.DatasetHelper(samples(), sink_size=0), "sink_size must be at least 1"),
        (lambda: train.DatasetHelper(samples(), epoch_num="2"), "epoch_num must be an int"),
        (lambda: train.connect_network_with_dataset(3, train.DatasetHelper(samples())), "network must be a Cell"),
        (lambda: train.connect_network_with_dataset(cell(), samples()), "dataset_helper must be a DatasetHelper"),
        (
            lambda: train.connect_network_with_dataset(cell(), train.DatasetHelper(samples(), False)),
            "the helper needs dataset_sink_mode=True",
        ),
        (
            lambda: train.connect_network_with_dataset(cell(), train.DatasetHelper(samples()))(Tensor(1.0)),
            "takes its inputs from the data set, it is called without any",
        ),
    ],
)
def test_refused(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()
