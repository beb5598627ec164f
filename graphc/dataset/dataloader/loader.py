"""`DataLoader`: batches of the samples of any object, fetched here or by worker processes."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from graphc.dataset.checks import function, integer, number, truth
from graphc.dataset.core.streams import Run
from graphc.dataset.dataloader.datasets import IterableDataset
from graphc.dataset.dataloader.fetching import Fetcher, InTurn, Job, Task
from graphc.dataset.dataloader.samplers import BatchSampler, RandomSampler, SequentialSampler, checked_generator
from graphc.dataset.workers.choice import processes_of
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.validation.unused_arguments import no_effect

if TYPE_CHECKING:
    from graphc.dataset.workers.processes import ProcessWorkers

T_co = TypeVar("T_co", covariant=True)
_METHODS = ("spawn", "fork", "forkserver")


class DataLoader(Generic[T_co]):
    """Batches of a data set's samples, pass after pass (MindSpore: dataset.dataloader.DataLoader).

    dataset: an object with __getitem__, whose samples a sampler chooses, or an IterableDataset. batch_size: None for samples as
    they are. shuffle, sampler, batch_sampler: which samples, at most one of them; in order by default. collate_fn: makes a list
    of samples a batch, default_collate by default (without batches a sample is given to default_convert). drop_last: leave out
    a last batch that is not full. generator: what shuffle draws of, and the seeds of the workers.

    num_workers: 0, or worker processes, which fetch prefetch_factor (2) batches each ahead; batches come in the order of the
    indices. worker_init_fn is called in each with its number, persistent_workers keeps them for the next pass, timeout is how
    many seconds a batch may take (0: for ever), multiprocessing_context "spawn", "fork" or "forkserver", or a context. in_order
    and pin_memory have no effect. What cannot be sent to a process is done in the caller's thread, and it is said why, once.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0.0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: np.random.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        in_order: bool = True,
    ) -> None:
        self.dataset = dataset
        self.shuffle = False if shuffle is None else truth("DataLoader", "shuffle", shuffle)
        self.drop_last = truth("DataLoader", "drop_last", drop_last)
        self.batch_size = None if batch_size is None else integer("DataLoader", "batch_size", batch_size, 1)
        self._exclude(sampler, batch_sampler)
        self.generator = checked_generator("DataLoader", generator) or np.random.default_rng()
        self.collate_fn = None if collate_fn is None else function("DataLoader", "collate_fn", collate_fn)
        self._choose(sampler, batch_sampler)
        self._set_workers(num_workers, timeout, worker_init_fn, multiprocessing_context)
        self._set_options(pin_memory, prefetch_factor, persistent_workers, in_order)
        self._kept: _Workers | None = None

    def _exclude(self, sampler: Any, batch_sampler: Any) -> None:
        """Refuse arguments that say the same thing twice."""
        iterated = isinstance(self.dataset, IterableDataset)
        if not iterated and not hasattr(self.dataset, "__getitem__"):
            raise ArgumentTypeError(
                f"DataLoader: {type(self.dataset).__name__} has no __getitem__, and is no IterableDataset",
                loc=user_loc(),
            )
        given = {
            "sampler": sampler is not None,
            "batch_sampler": batch_sampler is not None,
            "shuffle": self.shuffle,
            "batch_size": self.batch_size != 1,
            "drop_last": self.drop_last,
        }
        others = {
            "an IterableDataset": ("sampler", "batch_sampler", "shuffle") if iterated else (),
            "batch_sampler": ("sampler", "shuffle", "batch_size", "drop_last") if given["batch_sampler"] else (),
            "sampler": ("shuffle",) if given["sampler"] else (),
        }
        for owner, names in others.items():
            for name in names:
                if given[name]:
                    raise ArgumentValueError(f"DataLoader: {owner} and {name} exclude each other", loc=user_loc())

    def _choose(self, sampler: Any, batch_sampler: Any) -> None:
        if sampler is None:
            if isinstance(self.dataset, IterableDataset):
                sampler = _Anything()
            elif self.shuffle:
                sampler = RandomSampler(self.dataset, generator=self.generator)
            else:
                sampler = SequentialSampler(self.dataset)
        if batch_sampler is not None:
            self.batch_size = None
        elif self.batch_size is not None:
            batch_sampler = BatchSampler(sampler, self.batch_size, self.drop_last)
        self.sampler, self.batch_sampler = sampler, batch_sampler

    def _set_workers(self, count: Any, timeout: Any, init: Any, context: Any) -> None:
        self.num_workers = integer("DataLoader", "num_workers", count, 0)
        self.timeout = number("DataLoader", "timeout", timeout, 0)
        self.worker_init_fn = None if init is None else function("DataLoader", "worker_init_fn", init)
        if context is not None and not isinstance(context, str):
            context = getattr(context, "get_start_method", lambda: context)()
        if context not in (None, *_METHODS):
            kind = ArgumentValueError if isinstance(context, str) else ArgumentTypeError
            raise kind(
                f"DataLoader: multiprocessing_context must be one of {', '.join(_METHODS)}, or a context, got {context!r}",
                loc=user_loc(),
            )
        self.multiprocessing_context = context

    def _set_options(self, pin_memory: Any, prefetch_factor: Any, persistent_workers: Any, in_order: Any) -> None:
        self.persistent_workers = truth("DataLoader", "persistent_workers", persistent_workers)
        if prefetch_factor is not None:
            integer("DataLoader", "prefetch_factor", prefetch_factor, 1)
        for name, given in (
            ("multiprocessing_context", self.multiprocessing_context is not None),
            ("prefetch_factor", prefetch_factor is not None),
            ("persistent_workers", self.persistent_workers),
        ):
            if given and not self.num_workers:
                raise ArgumentValueError(f"DataLoader: {name} goes with num_workers above 0 only", loc=user_loc())
        self.prefetch_factor = 2 if prefetch_factor is None and self.num_workers else prefetch_factor
        self.pin_memory = truth("DataLoader", "pin_memory", pin_memory)
        self.in_order = truth("DataLoader", "in_order", in_order)
        if self.pin_memory:
            no_effect("DataLoader", "pin_memory", "there is one memory")
        if not self.in_order:
            no_effect("DataLoader", "in_order", "batches come in the order of the indices")

    def __iter__(self) -> Iterator[Any]:
        if not self.num_workers:
            return self._fetched_here()
        workers = self._kept or _Workers(self)
        self._kept = workers if self.persistent_workers else None
        return workers.one_pass(self._indices(), keep=self.persistent_workers)

    def __len__(self) -> int:
        """Batches of a pass, samples without batches."""
        if not isinstance(self.dataset, IterableDataset):
            return len(self._indices())
        size, batch = len(self.dataset), self.batch_size  # type: ignore[arg-type]
        if batch is None:
            return size
        return size // batch if self.drop_last else -(-size // batch)

    def _indices(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def fetcher(self) -> Fetcher:
        """What fetches the samples."""
        return Fetcher(self.dataset, self.batch_sampler is not None, self.collate_fn, self.drop_last)

    def _fetched_here(self) -> Iterator[Any]:
        fetcher = self.fetcher()
        fetcher.begin()
        for indices in self._indices():
            try:
                yield fetcher.fetch(indices)
            except StopIteration:
                return


class _Anything:
    """The sampler of a data set that is iterated: it has as many samples as it gives."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


class _Workers:
    """The workers of a DataLoader. They end with the pass, unless they are kept, and when they are forgotten."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._count, self._ahead = loader.num_workers, loader.num_workers * (loader.prefetch_factor or 2)
        seed = int(loader.generator.integers(0, np.iinfo(np.int64).max + 1, dtype=np.int64))
        job = Job(loader.fetcher(), self._count, seed, loader.worker_init_fn)
        run = Run(0, self._ahead, parallel=True)
        self._close = weakref.finalize(self, run.close)
        made = processes_of(
            "DataLoader",
            "num_workers",
            job,
            self._count,
            self._ahead,
            run,
            loader.multiprocessing_context,
            loader.timeout or None,
        )
        self._pool: ProcessWorkers | InTurn = InTurn(job, self._count) if made is None else made
        self._turn, self._waiting = 0, 0

    def one_pass(self, indices: Iterable[Any], keep: bool) -> Iterator[Any]:
        """What the indices of a pass give, in order: they are dealt out to the workers in turn."""
        self._turn += 1
        for _ in range(self._waiting):  # What a pass that was left early has asked for.
            self._pool.result()
        self._waiting = 0
        self._pool.from_the_first()
        try:
            yield from self._results(enumerate(indices))
        except GeneratorExit:
            raise
        except BaseException:
            keep = False
            raise
        finally:
            if not keep:
                self._close()

    def _results(self, numbered: Iterator[tuple[int, Any]]) -> Iterator[Any]:
        ended: set[int] = set()
        workers: deque[int] = deque()
        turn = self._turn
        while len(ended) < self._count:
            while len(workers) < self._ahead and (task := next(numbered, None)) is not None:
                workers.append(task[0] % self._count)
                self._pool.submit(Task(workers[-1], turn, task[1]))
                self._waiting += 1
            if not workers:
                return
            worker, done = workers.popleft(), self._pool.result()
            self._waiting -= 1
            if done.error is not None:
                raise done.error
            if done.rows is None:
                ended.add(worker)
            else:
                yield done.rows.columns[0][0]
