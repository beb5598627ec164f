"""Small images in files of their own kinds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.files import lines_of, read_whole, unfit
from graphc.dataset.sources.line_files import LINES, LinesDataset
from graphc.dataset.sources.listed import ListedDataset
from graphc.dataset.sources.parameters import CACHE, DIRECTORY, READING, SHARDS, usage

Array = np.ndarray[Any, np.dtype[Any]]


class SemeionDataset(ListedDataset):
    """Images uint8 [16, 16] of 0 and 1, and labels uint32, of handwritten digits (Semeion Research Center, 1994).

    dataset_dir: where semeion.data is. num_samples, shuffle (True by default), sampler, num_shards and shard_id: which images,
    in which order. num_parallel_workers has no effect on arrays; cache must be None. DataError for a file that is missing or
    something else.
    """

    parameters = (DIRECTORY, *READING, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        owner, path = type(self).__name__, given.dataset_dir / "semeion.data"
        rows = np.empty((0, 266))
        lines = lines_of(owner, path)
        if lines:
            rows = np.stack([_numbers(owner, path, k, line, 266) for k, line in enumerate(lines, 1)])
        if not (np.isin(rows, (0, 1)).all() and rows[:, 256:].any(axis=1).all()):
            raise unfit(owner, path, "has other numbers than 0 and 1, or a digit without a class")
        images = rows[:, :256].astype(np.uint8).reshape(-1, 16, 16)
        return {"image": images, "label": rows[:, 256:].argmax(axis=1).astype(np.uint32)}


def _numbers(owner: str, path: Path, number: int, line: str, count: int) -> Array:
    try:
        values = np.array(line.split(), np.float64)
    except ValueError:
        raise unfit(owner, path, "has something else than numbers", number) from None
    if len(values) != count:
        raise unfit(owner, path, f"has {len(values)} numbers, not {count}", number)
    return values


class USPSDataset(LinesDataset):
    """Images uint8 [16, 16, 1] and labels uint32 of handwritten digits (Hull, 1994), in the files of libsvm.

    dataset_dir: where usps and usps.t are. usage: "train", "test", or "all", as None is. shuffle: Shuffle.GLOBAL or True mixes
    files and images, Shuffle.FILES the order of files only, False nothing. num_shards, shard_id: one of so many shares of
    images that follow each other, of one size: the last ones begin again with the first image. num_samples: at most so many
    images, the first ones. num_parallel_workers has no effect on arrays; cache must be None. DataError for files that are
    missing or something else.
    """

    parameters = (DIRECTORY, usage("all", "train", "test"), *LINES, CACHE)
    holds = frozenset(("images",))

    def fields(self, given: Any) -> dict[str, Any]:
        return {"image": np.uint8, "label": np.uint32}

    def paths(self, given: Any) -> list[Path]:
        files = {"train": "usps", "test": "usps.t"}
        return [given.dataset_dir / file for part, file in files.items() if given.usage in (part, "all")]

    def rows(self, path: Path, given: Any) -> list[Sequence[Any]]:
        owner, rows = type(self).__name__, list[Sequence[Any]]()
        for number, line in enumerate(lines_of(owner, path), 1):
            if not line:
                continue
            # A digit from 1 to 10, and 256 times a place from 1 on, ":" and a value from -1 to 1.
            values = _numbers(owner, path, number, line.replace(":", " "), 513)
            if (values[1::2] != np.arange(1, 257)).any():
                raise unfit(owner, path, "has other places than 1 to 256", number)
            if values[0] not in range(1, 11) or not (np.abs(values[2::2]) <= 1).all():
                raise unfit(owner, path, "has a digit that is none of 1 to 10, or a value beyond -1 to 1", number)
            pixels = (values[2::2].astype(np.float32).astype(np.float64) + 1.0) / 2.0 * 255.0
            rows.append((pixels.astype(np.uint8).reshape(16, 16, 1), int(values[0]) - 1))
        return rows


class STL10Dataset(ListedDataset):
    """Images uint8 [96, 96, 3] and labels int32 of ten classes, -1 where there is none (Coates et al., 2011).

    dataset_dir: where train_X.bin, train_y.bin, test_X.bin, test_y.bin and unlabeled_X.bin are. usage: "train", "test",
    "unlabeled", "train+unlabeled", or "all", as None is: test, train and unlabeled. The other parameters are those of
    SemeionDataset.
    """

    parameters = (
        DIRECTORY,
        usage("all", "train", "test", "unlabeled", "train+unlabeled"),
        *READING,
        *SHARDS,
        CACHE,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner = type(self).__name__
        parts = ["test", "train", "unlabeled"] if given.usage == "all" else given.usage.split("+")
        images, labels = zip(*(_stl10(owner, given.dataset_dir, part) for part in parts), strict=True)
        planes = images[0] if len(images) == 1 else np.concatenate(images)
        return {"image": planes.transpose(0, 3, 2, 1), "label": np.concatenate(labels)}


def _stl10(owner: str, folder: Path, part: str) -> tuple[Array, Array]:
    """uint8 [n, 3, width, height] and int32 [n]."""
    path = folder / f"{part}_X.bin"
    data = np.frombuffer(read_whole(owner, path), np.uint8)
    if not len(data) or len(data) % (3 * 96 * 96):
        raise unfit(owner, path, f"has {len(data)} bytes, which is no multiple of {3 * 96 * 96}")
    images = data.reshape(-1, 3, 96, 96)
    if part == "unlabeled":
        return images, np.full(len(images), -1, np.int32)
    labels = np.frombuffer(read_whole(owner, folder / f"{part}_y.bin"), np.uint8)
    if len(labels) != len(images):
        raise unfit(owner, path, f"has {len(images)} images, there are {len(labels)} labels")
    return images, labels.astype(np.int32) - 1
