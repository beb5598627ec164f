"""Eager communication between several processes: what comes out, and how a job ends in which one of them fails or differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import graphc
from graphc import ops
from graphc.compat import mint_distributed as dist
from graphc.errors import DisagreementError
from graphc.parallel import comm_func
from tests.parallel import eager
from tests.parallel.launched import needs_mpi, run


@needs_mpi
def test_three_processes_tell_each_other_what_they_should(tmp_path: Path) -> None:
    done = run(3, str(Path(__file__).with_name("eager.py")), cwd=tmp_path, GRAPHC_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("done") == 3


FAULTY = """
import os, signal, sys
from graphc import Tensor, ops
from graphc.compat import mint_distributed as dist

dist.init_process_group()
rank, fault, x = dist.get_rank(), sys.argv[1], ops.zeros((1 << 16,))
pair = dist.new_group([0, 1])
for turn in range(4):
    if turn == 2 and rank == 1:
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "leave":
            dist.all_reduce(x, async_op=True)
            sys.exit(0)
        if fault == "group":
            dist.all_reduce(x, group=pair)
        if fault == "shape":
            x = ops.zeros(3)
    dist.all_reduce(x, async_op=turn % 2 == 1)
    dist.barrier()
if fault == "end":
    dist.all_reduce(x, async_op=True)  # Nobody waits for it.
    dist.isend(x, 1 - rank)
print("done", flush=True)
"""


FORKED = """
import os
from graphc import compile, nn, ops
from graphc.compat import mint_distributed as dist
from graphc.errors import DisagreementError

class Sum(nn.Cell):
    def __init__(self):
        super().__init__()
        self.all_reduce = ops.AllReduce()

    def construct(self, x):
        return self.all_reduce(x)

dist.init_process_group()
x = ops.ones((3,))
step = compile(Sum(), x)
calls = [lambda: step(x), lambda: dist.all_reduce(x), dist.barrier, lambda: ops.AllReduce()(x)]
calls += [lambda: dist.all_reduce(x, async_op=True)]
dist.all_reduce(ops.ones((3,)), async_op=True)
child = os.fork()
if not child:
    refused = 0
    for call in calls:
        try:
            call()
        except DisagreementError as error:
            refused += "was forked from one of those" in str(error)
    os._exit(refused)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == len(calls)
assert step(x).asnumpy().tolist() == [2, 2, 2]
dist.barrier()
print("done", flush=True)
"""


@needs_mpi
def test_the_child_of_a_fork_tells_nobody_anything(tmp_path: Path) -> None:
    (tmp_path / "forked.py").write_text(FORKED)
    done = run(
        2, "forked.py", cwd=tmp_path, timeout=120, GRAPHC_RANK_TIMEOUT="10", GRAPHC_CACHE_DIR=str(tmp_path / "cache")
    )
    assert done.stdout.count("done") == 2, done.stderr


@needs_mpi
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("kill", ""),  # mpiexec itself says so.
        ("leave", "has waited 3 s for the others after step 0, and rank 1 has come to its end"),
        ("group", "waits, too: they do not make the same calls"),
        ("shape", "rank 1: all_reduce of f32[3], op='sum'"),
        ("end", ""),
    ],
)
def test_a_process_that_fails_or_differs_ends_all(tmp_path: Path, fault: str, message: str) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    done = run(2, "faulty.py", fault, cwd=tmp_path, timeout=120, GRAPHC_RANK_TIMEOUT="3")
    assert (done.returncode == 0) == (fault == "end"), done.stderr
    assert done.stdout.count("done") == (2 if fault == "end" else 0)
    assert message in done.stderr


def test_one_process_is_told_what_it_says() -> None:
    eager.tensors(0, [0], None)
    eager.uneven(0, 1)
    eager.memory(0, 1)
    eager.switched(0, 1)
    for call in (
        lambda: dist.send(ops.zeros(2), 0),
        lambda: dist.recv(ops.zeros(2), 0),
        lambda: dist.batch_isend_irecv([dist.P2POp("isend", ops.zeros(2), 0)]),
    ):
        with pytest.raises(graphc.ArgumentValueError, match="is this process itself"):
            call()
    held = [None]
    dist.all_gather_object(held, {"a": 1})
    dist.broadcast_object_list(held)
    assert held == [{"a": 1}]


@pytest.mark.parametrize("shape", [(1,), (0,), (5,)])
def test_one_process_takes_as_much_as_it_sends(shape: tuple[int, ...]) -> None:
    out = ops.zeros((2, 3))
    for call in (
        lambda: dist.all_to_all_single(out, ops.ones(shape)),
        lambda: dist.all_to_all([out], [ops.ones(shape)]),
        lambda: comm_func.all_to_all_single_with_output_shape((2, 3), ops.ones(shape)),
    ):
        with pytest.raises(DisagreementError, match=f"rank 0 sends {4 * shape[0]} bytes to rank 0"):
            call()
    assert not out.asnumpy().any()


WRONG = [
    (graphc.ArgumentTypeError, "all_reduce: tensor must be a Tensor, got list", lambda x: dist.all_reduce([1.0])),
    (graphc.ArgumentTypeError, "all_reduce: op must be a string, got int", lambda x: dist.all_reduce(x, 1)),
    (graphc.ArgumentTypeError, "all_reduce: group must be a string, got int", lambda x: dist.all_reduce(x, group=3)),
    (graphc.ArgumentTypeError, "barrier: async_op must be a bool, got int", lambda x: dist.barrier(None, 1)),
    (graphc.ArgumentTypeError, "broadcast: src must be an int, got float", lambda x: dist.broadcast(x, 0.0)),
    (graphc.ArgumentValueError, "broadcast: there is no rank src=1 in the group", lambda x: dist.broadcast(x, 1)),
    (
        graphc.ShapeError,
        r"all_gather_into_tensor: output_tensor is f32\[3\], expected f32\[2\]",
        lambda x: dist.all_gather_into_tensor(ops.zeros(3), x),
    ),
    (
        graphc.DTypeError,
        r"all_gather_into_tensor: output_tensor is i32\[2\], expected f32\[2\]",
        lambda x: dist.all_gather_into_tensor(ops.zeros(2, graphc.int32), x),
    ),
    (graphc.ShapeError, r"tensor_list\[0\]|all_gather: tensor is", lambda x: dist.all_gather([ops.zeros(3)], x)),
    (graphc.ArgumentValueError, "expected 1 tensors in gather_list", lambda x: dist.gather(x, [x, x])),
    (graphc.ArgumentTypeError, "scatter_list must be a list of tensors, got NoneType", lambda x: dist.scatter(x)),
    (
        graphc.ArgumentValueError,
        "input_split_sizes must have 1 sizes, got 2",
        lambda x: dist.all_to_all_single(x, x, None, [1, 1]),
    ),
    (graphc.ArgumentTypeError, "op must be isend or irecv, got 'send'", lambda x: dist.P2POp("send", x, 0)),
    (graphc.ArgumentValueError, r"\[GC112\] P2POp: tag=1", lambda x: dist.P2POp("isend", x, 0, tag=1)),
    (graphc.ArgumentTypeError, "must be a list of P2POp", lambda x: dist.batch_isend_irecv([])),
    (graphc.ArgumentTypeError, "object_list must be a list", lambda x: dist.broadcast_object_list(())),
    (graphc.ArgumentValueError, "rank_ids must be", lambda x: dist.new_group([1])),
    (graphc.ArgumentTypeError, "is_enable must be a bool", lambda x: ops.set_comm_ops_inplace(1)),
    (graphc.ArgumentValueError, "'nothing' is none of", lambda x: ops.set_comm_ops_inplace(True, ["nothing"])),
]


@pytest.mark.parametrize(("kind", "message", "call"), WRONG)
def test_wrong_arguments_are_named(kind: type[Exception], message: str, call: Callable[[Any], Any]) -> None:
    with pytest.raises(kind, match=message):
        call(ops.zeros(2))
