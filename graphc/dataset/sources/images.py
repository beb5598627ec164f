"""Images in folders, one folder per class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.files import folder_in
from graphc.dataset.sources.listed import ClassesDataset, Files
from graphc.dataset.sources.parameters import (
    CACHE,
    CLASS_INDEXING,
    DECODE,
    DECRYPT,
    DIRECTORY,
    EXTENSIONS,
    NUM_SHARDS,
    READING,
    SAMPLER,
    SHARD_ID,
)


class ImageFolderDataset(ClassesDataset):
    """Images of a folder with one folder per class: "image", the file's bytes uint8 [n] or, with decode, uint8 [H, W, 3] by
    Pillow; "label" int32.

    dataset_dir: the folder. Classes and files come in the order of their names. num_samples, shuffle (True by default),
    sampler, num_shards and shard_id: which files, in which order. extensions: a list such as [".png"], by default all files.
    class_indexing: {folder: label}, and no other folders. num_parallel_workers: threads that read and decode. decrypt: gives
    the bytes of an image by its path. cache must be None. DataError for a file that is no image, and where there are no files.
    """

    parameters = (
        DIRECTORY,
        *READING,
        SAMPLER,
        EXTENSIONS,
        CLASS_INDEXING,
        DECODE,
        NUM_SHARDS,
        SHARD_ID,
        CACHE,
        DECRYPT,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        folder, wanted = given.dataset_dir, given.class_indexing
        there = sorted(p.name for p in folder.iterdir() if p.is_dir())
        for name in wanted or ():
            folder_in(type(self).__name__, folder / name)
        self.classes = {name: k for k, name in enumerate(there)}
        if wanted is not None:
            self.classes = {name: wanted[name] for name in there if name in wanted}
        endings = None if given.extensions is None else [e.lower() for e in given.extensions]
        found: list[tuple[Path, int]] = []
        for name, label in self.classes.items():
            inside = sorted((at, file) for at, _, files in os.walk(folder / name) for file in files)
            wanted_files = (one for one in inside if endings is None or os.path.splitext(one[1])[1].lower() in endings)
            found += [(Path(at, file), label) for at, file in wanted_files]
        images = Files([path for path, _ in found], given.decode, given.decrypt)
        return {"image": images, "label": np.array([label for _, label in found], np.int32)}

    def get_class_indexing(self) -> dict[str, int]:
        return dict(self.classes)
