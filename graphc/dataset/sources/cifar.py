"""CIFAR-10 and CIFAR-100 from their binary files (A. Krizhevsky: cs.toronto.edu/~kriz/cifar.html)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.arrays import ArrayDataset
from graphc.dataset.sources.files import directory, files_with, no_cache, read_whole, usage_of
from graphc.dataset.sources.source import chosen_sampler
from graphc.errors import DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]

_PIXELS = 3 * 32 * 32


class _CifarDataset(ArrayDataset):
    """What both have in common: what names of files have in them, the labels that stand before each image."""

    train: str
    test: str
    label_names: tuple[str, ...] = ()

    def __init__(
        self,
        dataset_dir: str,
        usage: str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: None = None,
    ) -> None:
        owner = type(self).__name__
        no_cache(owner, cache)
        folder = directory(owner, dataset_dir)
        train, test = usage_of(owner, usage)
        parts = [part for part, wanted in ((self.train, train), (self.test, test)) if wanted]
        rows = np.concatenate([self._rows(owner, path) for path in files_with(owner, folder, parts, ".bin")])
        labels = len(self.label_names)
        images = rows[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        columns = {"image": np.ascontiguousarray(images)}
        for k, name in enumerate(self.label_names):
            columns[name] = rows[:, k].astype(np.uint32)
        chosen = chosen_sampler(owner, num_samples, shuffle, sampler, num_shards, shard_id)
        super().__init__(columns, num_parallel_workers, chosen)

    def _rows(self, owner: str, path: Path) -> Array:
        data = np.frombuffer(read_whole(owner, path), np.uint8)
        size = len(self.label_names) + _PIXELS
        if not len(data) or len(data) % size:
            raise DataError(
                f"{owner}: {path.name} has {len(data)} bytes, which is no multiple of {size}",
                code="GC205",
                loc=user_loc(),
                help="the binary version is read, not the one for Python",
            )
        return data.reshape(-1, size)


class Cifar10Dataset(_CifarDataset):
    """Images uint8 [32, 32, 3] and labels uint32 of ten classes.

    dataset_dir: where data_batch_1.bin .. data_batch_5.bin and test_batch.bin are, the binary version, or some of them. usage:
    "train", "test", or "all", as None is: all that are there, in the order of their names. num_samples, shuffle (True by
    default), sampler, num_shards and shard_id: which images, in which order. num_parallel_workers has no effect on arrays; cache
    must be None. DataError for files that are missing, cut off or something else.
    """

    train, test = "data_batch", "test_batch"
    label_names = ("label",)


class Cifar100Dataset(_CifarDataset):
    """Images uint8 [32, 32, 3], coarse_label uint32 of 20 and fine_label uint32 of 100 classes.

    dataset_dir: where train.bin and test.bin are, the binary version, or one of them; the others are those of Cifar10Dataset.
    """

    train, test = "train", "test"
    label_names = ("coarse_label", "fine_label")
