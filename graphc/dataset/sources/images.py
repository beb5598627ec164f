"""Images in folders, one folder per class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from graphc.arguments import only
from graphc.dataset.checks import truth
from graphc.dataset.core.faults import fault
from graphc.dataset.core.rows import Rows, stack
from graphc.dataset.core.streams import Done, Run, Stream
from graphc.dataset.sources.files import directory, no_cache
from graphc.dataset.sources.source import MappableDataset, Numbered, chosen_sampler
from graphc.dataset.vision.base import pillow
from graphc.dataset.vision.coding import decoded
from graphc.dataset.workers.choice import pool_of
from graphc.errors import ArgumentTypeError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]

_OWNER = "ImageFolderDataset"


class _Read:
    """The job of reading images by their numbers."""

    def __init__(self, files: list[Path], labels: Array, decode: bool) -> None:
        self.files, self.of, self.decode = files, labels, decode

    def __call__(self, task: Array) -> Done:
        images: list[Array] = []
        error = None
        for i in task.tolist():
            try:
                data = self.files[i].read_bytes()
                if self.decode:
                    images.append(np.asarray(decoded(data, str(self.files[i]))))
                else:
                    images.append(np.frombuffer(data, np.uint8))
            except (DataError, OSError) as raised:
                error = fault(f"{_OWNER}: {self.files[i].name}", i, raised)
                error.__cause__ = raised
                break
        done = task[: len(images)]
        if not images:
            return Done(None, error)
        same = len({a.shape for a in images}) == 1
        column: Any = stack(images, "image", done) if same else images
        return Done(Rows(len(images), [column, self.of[done]], done), error)


class ImageFolderDataset(MappableDataset):
    """Images of a folder with one folder per class: "image", the file's bytes uint8 [n] or, with decode, uint8 [H, W, 3] by
    Pillow; "label" int32.

    dataset_dir: the folder. Classes and files come in the order of their names. num_samples, shuffle (True by default), sampler,
    num_shards and shard_id: which files, in which order. extensions: a list such as [".png"], by default all files.
    class_indexing: {folder: label}, and no other folders. num_parallel_workers: threads that read and decode. cache and
    decrypt must be None. DataError for a file that is no image, and where there are no files.
    """

    in_python = True

    def __init__(
        self,
        dataset_dir: str,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        extensions: list[str] | None = None,
        class_indexing: dict[str, int] | None = None,
        decode: bool = False,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: None = None,
        decrypt: None = None,
    ) -> None:
        no_cache(_OWNER, cache)
        only(_OWNER, "decrypt", decrypt, None)
        folder = directory(_OWNER, dataset_dir)
        self.classes = _classes(folder, class_indexing)
        endings = _endings(extensions)
        files: list[Path] = []
        labels: list[int] = []
        for name, label in self.classes.items():
            inside = sorted(Path(at) / f for at, _, names in os.walk(folder / name) for f in names)
            chosen = [p for p in inside if endings is None or p.suffix.lower() in endings]
            files += chosen
            labels += [label] * len(chosen)
        if not files:
            raise DataError(f"{_OWNER}: there are no images in {str(folder)!r}", code="GC205", loc=user_loc())
        if truth(_OWNER, "decode", decode):
            pillow()
        self.job = _Read(files, np.array(labels, np.int32), decode)
        self._named = class_indexing is not None
        order = chosen_sampler(_OWNER, num_samples, shuffle, sampler, num_shards, shard_id)
        super().__init__(["image", "label"], num_parallel_workers, order)

    def length(self) -> int:
        return len(self.job.files)

    def labels(self, column: str) -> Array:
        return self.job.of if column == "label" else super().labels(column)

    def num_classes(self) -> int:
        return len(self.classes)

    def get_class_indexing(self) -> dict[str, int]:
        return dict(self.classes)

    def open(self, run: Run) -> Stream:
        return Numbered(*pool_of(_OWNER, self.job, self.workers(), False, run), self.job, self.order(run.seed))


def _classes(folder: Path, class_indexing: Any) -> dict[str, int]:
    there = sorted(p.name for p in folder.iterdir() if p.is_dir())
    if class_indexing is None:
        return {name: k for k, name in enumerate(there)}
    if not isinstance(class_indexing, dict):
        raise ArgumentTypeError(
            f"{_OWNER}: class_indexing must be a dict, got {type(class_indexing).__name__}", loc=user_loc()
        )
    for name, label in class_indexing.items():
        if not isinstance(name, str) or isinstance(label, bool) or not isinstance(label, int):
            raise ArgumentTypeError(
                f"{_OWNER}: class_indexing must be {{folder: int}}, got {name!r}: {label!r}", loc=user_loc()
            )
        if name not in there:
            raise DataError(f"{_OWNER}: there is no folder {name!r} in {str(folder)!r}", code="GC205", loc=user_loc())
    return {name: class_indexing[name] for name in there if name in class_indexing}


def _endings(extensions: Any) -> list[str] | None:
    if extensions is None:
        return None
    given = [extensions] if isinstance(extensions, str) else extensions
    if not isinstance(given, list) or not all(isinstance(e, str) for e in given):
        raise ArgumentTypeError(f'{_OWNER}: extensions must be a list such as [".png"]', loc=user_loc())
    return [e.lower() for e in given]
