"""Shared by the tests of the training flow: a data set of arrays, the recorded network, a callback that writes down."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graphc import Tensor, nn, train

#: From MindSpore 2.10: 12 samples in batches of 4, three epochs, a checkpoint every two steps, three of them kept.
RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_model.json").read_text())


def noise(seed, *shape):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


class Data:
    """The least that a training asks of a data set: batches of arrays, and how many."""

    def __init__(self, *columns, batch=4, rows=None):
        self.columns = [c[:rows] for c in columns]
        self.batch = batch
        self.passes = 0

    def get_dataset_size(self):
        return -(-len(self.columns[0]) // self.batch)

    def __iter__(self):
        self.passes += 1
        for i in range(0, len(self.columns[0]), self.batch):
            yield tuple(c[i : i + self.batch] for c in self.columns)


def samples(rows=12, **options):
    return Data(noise(1, 12, 4), (np.arange(12) % 3).astype(np.int32), rows=rows, **options)


class Net(nn.Cell):
    """The network of the recorded case."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Dense(4, 5, weight_init=Tensor(noise(1, 5, 4)), bias_init="zeros")
        self.fc2 = nn.Dense(5, 3, weight_init=Tensor(noise(2, 3, 5)), bias_init="zeros")
        self.tanh = nn.Tanh()

    def construct(self, x):
        return self.fc2(self.tanh(self.fc1(x)))


def parts(lr=0.1):
    net = Net()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    return net, loss, nn.Momentum(net.trainable_params(), lr, 0.9)


def make(lr=0.1, **options):
    return train.Model(*parts(lr), **options)


class Events(train.Callback):
    """Writes down what it is called for, and the loss of every step."""

    def __init__(self):
        super().__init__()
        self.events, self.losses = [], []

    def on_train_begin(self, run_context):
        self.events.append("train_begin")

    def on_train_epoch_begin(self, run_context):
        self.events.append("epoch_begin")

    def on_train_step_end(self, run_context):
        params = run_context.original_args()
        self.events.append(f"step_end {params.cur_epoch_num}/{params.cur_step_num}")
        outputs = params.net_outputs
        self.losses.append(float((outputs[0] if isinstance(outputs, tuple) else outputs).asnumpy()))

    def on_train_epoch_end(self, run_context):
        self.events.append("epoch_end")

    def on_train_end(self, run_context):
        self.events.append("train_end")


def weights(model):
    return {p.name: p.asnumpy() for p in model.train_network.get_parameters()}


def same(a, b):
    """The same names and the same bits."""
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    """Files go into a directory of their own."""
    monkeypatch.chdir(tmp_path)
