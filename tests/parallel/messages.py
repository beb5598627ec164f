"""Messages of another length than is expected, in compiled steps: a part of the program eager.py."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.compat import mint_distributed as dist
from graphc.errors import DisagreementError


class Sends(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.send = ops.Send(3, 1)

    def construct(self, x: Tensor) -> Tensor:
        return self.send(x)


class Receives(nn.Cell):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.receive, self.seen = ops.Receive(3, 0, [count], graphc.float32), graphc.Parameter(Tensor([0.0]), name="s")

    def construct(self) -> Tensor:
        got = self.receive()
        ops.assign(self.seen, ops.reshape(ops.reduce_sum(got), (1,)))
        return got


def messages(rank: int, size: int) -> None:
    """A message that is too short ends the step, which has changed nothing; the next one is as good as ever."""
    for sent, received in ((3, 3), (2, 3), (3, 3), (1, 70000)):
        x = Tensor(np.full(sent, 2.0, np.float32))
        if rank == 0:
            graphc.compile(Sends(), x)(x)
        if rank == 1:
            net = Receives(received)
            step = graphc.compile(net)
            if sent == received:
                np.testing.assert_array_equal(step().asnumpy(), x.asnumpy())
            else:
                with pytest.raises(DisagreementError, match=f"sent {4 * sent} bytes, expected {4 * received}") as told:
                    step()
                assert "got = self.receive()" in str(told.value)
            assert net.seen.asnumpy().tolist() == [2.0 * sent * (sent == received)]
    dist.barrier()
