"""MNIST and Fashion-MNIST from their four files (Y. LeCun et al.: yann.lecun.com/exdb/mnist; H. Xiao et al., 2017)."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.arrays import ArrayDataset
from graphc.dataset.sources.files import directory, files_with, no_cache, read_whole, usage_of
from graphc.dataset.sources.source import chosen_sampler
from graphc.errors import DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]

#: First numbers of the files: bytes, in so many axes.
_LABELS, _IMAGES = 0x00000801, 0x00000803


class MnistDataset(ArrayDataset):
    """Images uint8 [28, 28, 1] and labels uint32 of handwritten digits.

    dataset_dir: where train-images-idx3-ubyte, train-labels-idx1-ubyte and the same of t10k are, or those of one of the two.
    usage: "train", "test", or "all", as None is: all that are there, those for testing first, as in MindSpore. num_samples,
    shuffle (True by default), sampler, num_shards and shard_id: which images, in which order. num_parallel_workers has no
    effect on arrays; cache must be None. DataError for files that are missing, cut off or something else.
    """

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
        prefixes = [name for name, wanted in (("t10k", test), ("train", train)) if wanted]
        images = _values(owner, folder, [f"{p}-images" for p in prefixes], _IMAGES)
        labels = _values(owner, folder, [f"{p}-labels" for p in prefixes], _LABELS)
        if len(images) != len(labels):
            raise DataError(
                f"{owner}: there are {len(images)} images and {len(labels)} labels", code="GC205", loc=user_loc()
            )
        columns = {"image": images[..., None], "label": labels.astype(np.uint32)}
        chosen = chosen_sampler(owner, num_samples, shuffle, sampler, num_shards, shard_id)
        super().__init__(columns, num_parallel_workers, chosen)


class FashionMnistDataset(MnistDataset):
    """Images uint8 [28, 28, 1] and labels uint32 of clothes: files and parameters are those of MnistDataset."""


def _values(owner: str, folder: Path, parts: list[str], magic: int) -> Array:
    """Of all IDX files that have one of the parts in their names, in the order of these."""
    found = [_read(owner, path, magic) for path in files_with(owner, folder, parts)]
    return np.concatenate(found) if len(found) > 1 else found[0]


def _read(owner: str, path: Path, magic: int) -> Array:
    """uint8 [n] or [n, rows, columns] of an IDX file."""
    data = read_whole(owner, path)
    axes = magic & 0xFF
    head = 4 * (1 + axes)
    if len(data) < head or struct.unpack(">I", data[:4])[0] != magic:
        raise DataError(f"{owner}: {path.name} is no IDX file of bytes in {axes} axes", code="GC205", loc=user_loc())
    shape = struct.unpack(f">{axes}I", data[4:head])
    wanted = head + int(np.prod(shape, dtype=object))
    if len(data) != wanted:
        raise DataError(
            f"{owner}: {path.name} has {len(data)} bytes, its head says {wanted}", code="GC205", loc=user_loc()
        )
    return np.frombuffer(data, np.uint8, offset=head).reshape(shape)
