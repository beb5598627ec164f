"""One process of a job that trains: rank.py PEER WORKLOAD PARTS together|alone. It is started and asked by `jobs.Job`.

It has one of PARTS equal parts of the workload's global batch, a thread, and, unless BENCH_CPUS is "all", one CPU. `together`
joins the other processes: gradients are reduced. Peers are graphc (MPI), torch (DistributedDataParallel, gloo) and jax
(jax.distributed, shard_map).

First it says its version and the loss after some steps. Then it is asked for

steps=N, reductions=True   the median seconds of N steps, and the least processor seconds of one; False: of the same step made
                           for one process, which reduces nothing; "wait", of graphc alone: a barrier behind each of these
blocking=N                 the median seconds of all reductions of a step one after the other, with nothing else to do
facts=N                    of graphc alone: when its buckets are ready, from so many steps of a profiling build
sweep=SIZES, turns=N       of MPI alone: the least seconds of an allreduce of so many bytes, for each size
"""

from __future__ import annotations

import contextlib
import importlib
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import workloads
from jobs import Rank, rank

#: Steps before anything is timed; the loss after them is compared.
WARM_STEPS = 10


class Peer(Protocol):
    """What trains in one process: `step` gives the loss; within `quiet` it reduces nothing; `reduce` does nothing else."""

    version: str

    def step(self) -> float: ...

    def quiet(self) -> contextlib.AbstractContextManager[None]: ...

    def reduce(self) -> None: ...


def part(workload: str, parts: int) -> tuple[Any, Any]:
    """This process's rows of the batch. Raises ValueError unless all parts are of one size."""
    x, y = workloads.batch(workload)
    if len(x) % parts:
        raise ValueError(f"{len(x)} rows cannot be divided among {parts}")
    rows = len(x) // parts
    first = rank() % parts * rows
    return x[first : first + rows], y[first : first + rows]


def seconds(function: Callable[[], Any], turns: int) -> tuple[float, float]:
    """The median of the seconds, and the least processor seconds, of all threads of this process."""
    times, processor = [], []
    for _ in range(turns):
        began, used = time.perf_counter(), time.process_time()
        function()
        processor.append(time.process_time() - used)
        times.append(time.perf_counter() - began)
    return statistics.median(times), min(processor)


class Graphc:
    """One compiled step, MPI."""

    def __init__(self, workload: str, parts: int, joins: bool) -> None:
        import graphc
        from graphc import Tensor, nn, ops, parallel
        from graphc.debug import debug

        cells = importlib.import_module("cells")
        inputs = [Tensor(a) for a in part(workload, parts)]

        class Reductions(nn.Cell):
            def construct(self, *buckets: Any) -> tuple[Any, ...]:
                return tuple(ops.AllReduce()(bucket)[:1] for bucket in buckets)

        def compiled() -> Any:
            cell = cells.training_cell(workload, "plain", workloads.weights(workload), nn.AdamW)
            return graphc.compile(cell, *inputs)

        if joins:
            parallel.init()
            quiet = compiled()
            graphc.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
        step = compiled()
        self._inputs = inputs
        self.version = f"graphc {graphc.__version__}"
        self._steps = [step]
        self._quiet = quiet if joins else step
        self._again = compiled
        self._profiled = lambda: debug(profile=True)
        starts = [n for n in step.graph if n.op.name == "AllReduceStart"]
        self.buckets = [np.zeros(n.types[0].size, np.float32) for n in starts] if joins else []
        if joins:
            given = [Tensor(bucket) for bucket in self.buckets]
            reductions = graphc.compile(Reductions(), *given)
            self.reduce = lambda: reductions(*given)
        if joins:
            from graphc.processes import started

            world: Any = started()
            self.version += ", " + " ".join(world.mpi.Get_library_version().split(",")[0].split()[:3])
            self._world = world

    def step(self) -> float:
        return float(self._steps[-1](*self._inputs))

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """The step is one that was made for a process alone."""
        self._steps.append(self._quiet)
        try:
            yield
        finally:
            self._steps.pop()

    def step_and_barrier(self) -> None:
        self.step()
        self._world.steps.Barrier()

    def facts(self, steps: int) -> dict[str, Any]:
        """Of a profiling build: when each bucket is ready, and the first one waited for, as shares of the kernels' time.

        "buckets": [share, bytes] of each; "begins": a share.
        """
        with self._profiled():
            step = self._again()
        for _ in range(steps):
            step(*self._inputs)
        now, ready, begins = 0.0, [], None
        for timing in step.timings():
            if timing.kernel.startswith(("collective_start", "window_open")):
                ready.append(now)
            elif timing.kernel.startswith(("collective_wait", "window_take")):
                begins = now if begins is None else begins
            if not timing.kernel.startswith(("collective", "window")):
                now += timing.seconds
        assert begins is not None
        sizes = [bucket.nbytes for bucket in self.buckets]
        return {"buckets": [[r / now, n] for r, n in zip(ready, sizes, strict=True)], "begins": begins / now}

    def allreduce_seconds(self, size: int, turns: int) -> float:
        """The slowest process of the quickest turn: other work on the machine only adds."""
        mpi, group, data = self._world.mpi, self._world.steps, np.ones(max(size // 4, 1), np.float32)
        times = np.empty(turns)
        for turn in range(turns):
            group.Barrier()
            began = time.perf_counter()
            group.Allreduce(mpi.IN_PLACE, data)
            times[turn] = time.perf_counter() - began
            data[:] = 1
        group.Allreduce(mpi.IN_PLACE, times, mpi.MAX)
        return float(times.min())


class Torch:
    """DistributedDataParallel, gloo; eager."""

    def __init__(self, workload: str, parts: int, joins: bool) -> None:
        import torch
        from torch import distributed

        self._all_reduce, self._ddp = distributed.all_reduce, None
        if joins:
            distributed.init_process_group("gloo")
        peer = importlib.import_module("peer_torch")
        self.version = peer.version()
        given = part(workload, parts)
        share = self._shared if joins else lambda network: network
        self.step = peer.build(workload, "plain", workloads.weights(workload), *given, share=share)()
        # What its buckets hold: one of at least 1 MiB, the others of 25 MiB.
        size = sum(w.size for w in workloads.weights(workload).values())
        first = min(size, 1 << 18)
        self._buckets = [torch.zeros(n) for n in (first, size - first) if n]

    def _shared(self, network: Any) -> Any:
        from torch.nn.parallel import DistributedDataParallel

        self._ddp = DistributedDataParallel(network)
        return self._ddp

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        assert self._ddp is not None
        with self._ddp.no_sync():
            yield

    def reduce(self) -> None:
        for bucket in self._buckets:
            self._all_reduce(bucket)


class Jax:
    """One jitted step under shard_map; its gradients' mean over processes is XLA's."""

    def __init__(self, workload: str, parts: int, joins: bool) -> None:
        import jax

        if joins:
            jax.distributed.initialize(
                f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", int(os.environ["WORLD_SIZE"]), rank()
            )
        peer = importlib.import_module("peer_jax")
        self.version = peer.version()
        mesh = jax.make_mesh((jax.device_count(),), ("rank",)) if joins else None
        self.step = peer.build(workload, "plain", workloads.weights(workload), *part(workload, parts), mesh=mesh)()

    def quiet(self) -> contextlib.AbstractContextManager[None]:
        raise NotImplementedError("reductions are part of the compiled step")

    def reduce(self) -> None:
        raise NotImplementedError("reductions are part of the compiled step")


PEERS: dict[str, Callable[[str, int, bool], Any]] = {"graphc": Graphc, "torch": Torch, "jax": Jax}


def main(arguments: Sequence[str]) -> None:
    name, workload, parts, how = arguments
    if os.environ.get("BENCH_CPUS") != "all" and hasattr(os, "sched_setaffinity"):
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpus[rank() % len(cpus)]})
    me = Rank()
    peer = PEERS[name.partition("-")[0]](workload, int(parts), how == "together")
    losses = [peer.step() for _ in range(WARM_STEPS + 1)]
    me.answer(version=peer.version, loss=losses[-1], step=seconds(peer.step, 3)[0])
    for question in me.questions():
        if "steps" in question:
            reductions = question.get("reductions", True)
            step = peer.step_and_barrier if reductions == "wait" else peer.step
            with contextlib.nullcontext() if reductions is True else peer.quiet():
                step()
                wall, processor = seconds(step, question["steps"])
            me.answer(step=wall, processor=processor)
        elif "blocking" in question:
            me.answer(blocking=seconds(peer.reduce, question["blocking"])[0])
        elif "facts" in question:
            me.answer(**peer.facts(question["facts"]))
        else:
            me.answer(sweep=[peer.allreduce_seconds(size, question["turns"]) for size in question["sweep"]])


if __name__ == "__main__":
    main(sys.argv[1:])
