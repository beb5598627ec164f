"""Sources that are lists of rows: values that lie in memory, and images that are read when their turn comes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.core.faults import fault
from graphc.dataset.core.rows import Rows, alike, stack
from graphc.dataset.core.streams import Done, Run, Stream
from graphc.dataset.sources.arrays import ArrayStream, taken
from graphc.dataset.sources.parameters import Described
from graphc.dataset.sources.source import MappableDataset, Numbered, chosen_sampler
from graphc.dataset.vision.base import pillow
from graphc.dataset.vision.coding import decoded
from graphc.dataset.workers.choice import pool_of
from graphc.errors import DataError, user_loc
from graphc.validation.signatures import Remembers

Array = np.ndarray[Any, np.dtype[Any]]


class Read:
    """A column whose values are made when they are asked for, by `value(i)`; `name(i)` is what errors call one."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def value(self, i: int) -> Array:
        """The value of row i. DataError or OSError where there is none."""

    def name(self, i: int) -> str:
        return f"row {i}"


class Files(Read):
    """Images in files: their bytes uint8 [n], or with decode uint8 [H, W, 3]. decrypt: gives the bytes of a path, if not None."""

    def __init__(self, paths: Sequence[Path], decode: bool, decrypt: Callable[[str], Any] | None = None) -> None:
        self.paths, self.decode, self.decrypt = paths, decode, decrypt
        if decode:
            pillow()

    def __len__(self) -> int:
        return len(self.paths)

    def name(self, i: int) -> str:
        return self.paths[i].name

    def value(self, i: int) -> Array:
        data = self.paths[i].read_bytes() if self.decrypt is None else self._decrypted(self.paths[i])
        # Copies: functions of users' may write to them.
        return np.array(decoded(data, str(self.paths[i])) if self.decode else np.frombuffer(data, np.uint8))

    def _decrypted(self, path: Path) -> bytes:
        assert self.decrypt is not None
        data = self.decrypt(str(path))
        if not isinstance(data, (bytes, bytearray)):
            raise DataError(f"decrypt must give bytes, got {type(data).__name__}", code="GC201")
        return bytes(data)


class Texts:
    """A column of texts [], or [m] each: kept as they are, for an array of them is as wide as the longest."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, i: int) -> Array:
        return np.array(self._values[i], np.str_)


class _Job:
    """The job of making rows by their numbers."""

    def __init__(self, owner: str, columns: Mapping[str, Any]) -> None:
        self.owner, self.columns = owner, columns

    def __call__(self, task: Array) -> Done:
        made: dict[str, list[Array]] = {name: [] for name, column in self.columns.items() if isinstance(column, Read)}
        done, error = 0, None
        for i in task.tolist():
            at = ""
            try:
                row = []
                for name in made:
                    at = self.columns[name].name(i)
                    row.append(self.columns[name].value(i))
            except (KeyboardInterrupt, SystemExit, GeneratorExit):
                raise
            except Exception as raised:
                error = fault(f"{self.owner}: {at}", i, raised)
                error.__cause__ = raised
                break
            for values, value in zip(made.values(), row, strict=True):
                values.append(value)
            done += 1
        if not done:
            return Done(None, error)
        chosen = task[:done]
        columns: list[Any] = []
        for name, column in self.columns.items():
            if name in made:
                columns.append(stack(made[name], name, chosen) if alike(made[name]) else made[name])
            else:
                columns.append(taken(column, chosen))
        return Done(Rows(done, columns, chosen), error)


class ListedDataset(Described, MappableDataset, Remembers):
    """A source whose rows are known before they are read: `columns` gives them."""

    holds = frozenset(("images",))

    def columns(self, given: Any) -> dict[str, Any]:
        """{name: one value per row}: an array, a list of arrays, Texts or what is Read later. given: the arguments."""
        raise NotImplementedError

    def build(self, given: Any) -> None:
        owner = type(self).__name__
        self._held = self.columns(given)
        if not self.length():
            what = "are no images" if any(isinstance(c, Files) for c in self._held.values()) else "is nothing to read"
            raise DataError(f"{owner}: there {what} in what it was given", code="GC205", loc=user_loc())
        sampler = chosen_sampler(
            owner, given.num_samples, given.shuffle, given.sampler, given.num_shards, given.shard_id
        )
        self.in_python = any(isinstance(c, Read) for c in self._held.values())
        MappableDataset.__init__(self, list(self._held), given.num_parallel_workers, sampler)

    def length(self) -> int:
        return len(next(iter(self._held.values())))

    def labels(self, column: str) -> Array:
        held = self._held.get(column)
        return held if isinstance(held, np.ndarray) and held.ndim == 1 else super().labels(column)

    def open(self, run: Run) -> Stream:
        order = self.order(run.seed)
        if not self.in_python:
            return ArrayStream(list(self._held.values()), order)
        job = _Job(type(self).__name__, self._held)
        return Numbered(*pool_of(type(self).__name__, job, self.workers(), False, run), job, order)


class ClassesDataset(ListedDataset):
    """One that knows its classes: `columns` sets `classes`, {name: number}."""

    classes: dict[str, int]

    def num_classes(self) -> int | None:
        return len(self.classes)
