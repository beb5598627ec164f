"""Eager communication between several processes: what comes out, and how a job ends in which one of them fails or differs."""

from __future__ import annotations

from pathlib import Path

import pytest

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
