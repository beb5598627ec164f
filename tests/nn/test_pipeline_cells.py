"""PipelineCell and MicroBatchInterleaved: in one process they add up what a network gives for parts of a batch."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn

X = np.arange(24, dtype=np.float32).reshape(6, 4)


@pytest.fixture
def net():
    return nn.SequentialCell(nn.Dense(4, 2, weight_init="ones"), nn.ReLU())


@pytest.mark.parametrize("make", [lambda n: nn.PipelineCell(n, 3), lambda n: nn.MicroBatchInterleaved(n, 3)])
def test_the_sum_over_parts(net, make):
    whole = net(Tensor(X)).asnumpy()
    np.testing.assert_allclose(make(net)(Tensor(X)), whole[:2] + whole[2:4] + whole[4:], rtol=1e-6)


def test_two_parts_by_default(net):
    assert nn.MicroBatchInterleaved(net).micro_size == 2


def test_stages(net):
    nn.PipelineCell(net, 2, {"0": 0, "1": 1}, {"1": 3})
    assert (net[1].pipeline_stage, net[1].pipeline_segment) == (1, 3)
    cells = nn.CellList([net])
    cells.pipeline_stage = 2
    assert (net.pipeline_stage, net.own_stage, net[0].own_stage) == (2, 2, 0)
    with pytest.raises(graphc.ArgumentValueError, match="stage_config names 'fc', no cell of network"):
        nn.PipelineCell(net, 2, {"fc": 0})
    with pytest.raises(graphc.ArgumentValueError, match="segment_config names 'fc'"):
        nn.PipelineCell(net, 2, None, {"fc": 0})
    with pytest.raises(graphc.ArgumentValueError, match="PipelineCell: micro_size must be at least 1"):
        nn.PipelineCell(net, 0)
