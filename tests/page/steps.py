"""Compiled steps to make pages of. Most are in checked mode: nothing is compiled to machine code, and nothing runs."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import re
import sys
from functools import cache
from pathlib import Path

import numpy as np

import graphc
from graphc import nn, ops
from graphc.debug import debug

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&@data@${x}%7 \u202e"
BENCH = Path(__file__).parents[1] / "bench"


class Block(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm((8,)), nn.Dense(8, 16), nn.Dense(16, 8)

    def construct(self, x):
        y = self.down(ops.relu(self.up(self.norm(x))))
        return x + y


class Net(nn.Cell):
    """Four blocks with residuals, and a normalization that keeps averages."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Dense(4, 8)
        self.blocks = nn.CellList([Block() for _ in range(4)])
        self.average = nn.BatchNorm1d(8)
        self.head = nn.Dense(8, 3)

    def construct(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.average(x))


def compiled(cell, *inputs):
    with debug(jit=False, cache=False):
        return graphc.compile(cell, *inputs)


def measured(cell, *inputs):
    """In machine code, with the times of some runs."""
    step = graphc.compile(cell, *inputs)
    step.profile(*inputs)
    return step


def trained(net, x, *, scaled=True):
    loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    cell = (
        nn.TrainOneStepWithLossScaleCell(loss, optimizer, nn.DynamicLossScaleUpdateCell(1024, 2, 100))
        if scaled
        else nn.TrainOneStepCell(loss, optimizer)
    )
    cell.set_train()
    return compiled(cell, x, np.zeros(len(x), np.int32))


@cache
def blocks(scaled=True):
    graphc.set_seed(1)
    return trained(Net(), np.ones((6, 4), np.float32), scaled=scaled)


@cache
def workload(name, layers=4, make=compiled):
    """A step of tests/bench, a GPT of so many layers."""
    sys.path.insert(0, str(BENCH))
    try:
        import cells
        import workloads
    finally:
        sys.path.remove(str(BENCH))
    usual = workloads.GPT
    workloads.GPT = cells.GPT = dataclasses.replace(usual, layers=layers)
    try:
        return make(cells.training_cell(name, "scaled", workloads.weights(name), nn.AdamW), *workloads.batch(name))
    finally:
        workloads.GPT = cells.GPT = usual


def data_of(page: str):
    """The data in a page."""
    packed = re.search(r'<script type="application/octet-stream" id="data">([^<]*)</script>', page)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))
