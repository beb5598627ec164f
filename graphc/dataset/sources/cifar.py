"""CIFAR-10 and CIFAR-100 from their binary files (A. Krizhevsky: cs.toronto.edu/~kriz/cifar.html)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.files import files_with, read_whole, unfit
from graphc.dataset.sources.listed import ListedDataset
from graphc.dataset.sources.parameters import CACHE, DIRECTORY, READING, SHARDS, usage

Array = np.ndarray[Any, np.dtype[Any]]

_PIXELS = 3 * 32 * 32


class _CifarDataset(ListedDataset):
    """What both have in common: what names of files have in them, the labels that stand before each image."""

    parameters = (DIRECTORY, usage("all", "train", "test"), *READING, *SHARDS, CACHE)
    train: str
    test: str
    label_names: tuple[str, ...] = ()

    def columns(self, given: Any) -> dict[str, Any]:
        parts = [part for part, other in ((self.train, "test"), (self.test, "train")) if given.usage != other]
        files = files_with(type(self).__name__, given.dataset_dir, parts, ".bin")
        rows = np.concatenate([self._rows(path) for path in files])
        images = rows[:, len(self.label_names) :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        labels = {name: rows[:, k].astype(np.uint32) for k, name in enumerate(self.label_names)}
        return {"image": np.ascontiguousarray(images), **labels}

    def _rows(self, path: Path) -> Array:
        owner, size = type(self).__name__, len(self.label_names) + _PIXELS
        data = np.frombuffer(read_whole(owner, path), np.uint8)
        if not len(data) or len(data) % size:
            error = unfit(owner, path, f"has {len(data)} bytes, which is no multiple of {size}")
            error.help = "the binary version is read, not the one for Python"
            raise error
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
