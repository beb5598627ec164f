"""Messages of another length than is expected, in compiled steps, and groups that come and go: a part of the program eager.py."""

from __future__ import annotations

from typing import Any

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
    if rank == 0:
        dist.send_object_list(["a"], 1)
        dist.send_object_list(["b", "c"], 1)
    if rank == 1:
        held: list[Any] = [None, None]
        with pytest.raises(DisagreementError, match="rank 0 of the group sends: a list of 1 objects"):
            dist.recv_object_list(held, 0)
        dist.recv_object_list(held, 0)
        assert held == ["b", "c"]
    _comings_and_goings(rank)
    dist.barrier()


def _comings_and_goings(rank: int) -> None:
    """More groups than there may be at a time; one that is destroyed with something under way, and one that a step knows."""
    x = Tensor(np.full(3, rank + 1.0, np.float32))
    if rank < 2:
        late = ops.zeros_like(x)
        pair = dist.new_group([0, 1])
        handle = dist.irecv(late, 1 - rank, pair)
        dist.destroy_process_group(pair)
        known = dist.new_group([0, 1])
        step = graphc.compile(Sums(known), x)
        dist.destroy_process_group(known)
        for turn in range(260):
            pair = dist.new_group([0, 1])
            total = x * turn
            work = dist.all_reduce(total, group=pair, async_op=turn % 2 == 1)
            if work is not None and turn % 4 == 1:
                work.wait()
            dist.destroy_process_group(pair)
            if work is not None:
                work.wait()
            assert total.asnumpy().tolist() == [3.0 * turn] * 3
        assert step(x).asnumpy().tolist() == [3.0] * 3
        assert handle.handle is not None
    dist.barrier()


class Sums(nn.Cell):
    def __init__(self, group: str) -> None:
        super().__init__()
        self.all_reduce = ops.AllReduce("sum", group)

    def construct(self, x: Tensor) -> Tensor:
        return self.all_reduce(x)
