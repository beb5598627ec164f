"""Images whose folders say what they show."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.files import folder_in, lines_of, text_of, unfit
from graphc.dataset.sources.listed import ClassesDataset, Files, ListedDataset, Texts
from graphc.dataset.sources.parameters import (
    CACHE,
    DECODE,
    DIRECTORY,
    READING,
    SHARDS,
    Parameter,
    choice,
    flag,
    usage,
)
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc


def subfolders(folder: Path) -> list[Path]:
    """The folders in a folder, in the order of their names."""
    return sorted(p for p in folder.iterdir() if p.is_dir())


def files_in(folder: Path, endings: Sequence[str] = ()) -> list[Path]:
    """The files in a folder, in the order of their names: all, or those with one of the endings."""
    with os.scandir(folder) as inside:
        there = [one.name for one in inside if one.is_file()]
    return [folder / name for name in sorted(there) if not endings or os.path.splitext(name)[1] in endings]


def by_folder(groups: Sequence[tuple[Path, int]], endings: Sequence[str], decode: bool, dtype: Any) -> dict[str, Any]:
    """The columns "image" and "label" of all images in folders. groups: (folder, its label)."""
    found = [(path, label) for folder, label in groups for path in files_in(folder, endings)]
    labels = np.array([label for _, label in found], dtype)
    return {"image": Files([path for path, _ in found], decode), "label": labels}


class Caltech256Dataset(ClassesDataset):
    """Images, the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and labels int32 of 257 classes (Griffin et al.,
    2007).

    dataset_dir: has a folder of .jpg or .JPEG files for each class, as 001.ak47; labels count them in the order of their names.
    num_samples, shuffle (True by default), sampler, num_shards and shard_id: which images, in which order.
    num_parallel_workers: threads that read and decode. cache must be None. DataError where there are no images, or one is none.
    """

    parameters = (DIRECTORY, *READING, DECODE, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        there = subfolders(given.dataset_dir)
        self.classes = {p.name: k for k, p in enumerate(there)}
        return by_folder([(p, k) for k, p in enumerate(there)], (".jpg", ".JPEG"), given.decode, np.int32)


class OmniglotDataset(ClassesDataset):
    """Images of characters, the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and labels int32 (Lake et al., 2015).

    dataset_dir: has images_background and images_evaluation, in which there is a folder for each alphabet, with one for each
    character; labels count the characters in the order of names. background: the former, also if None. The other parameters are
    those of Caltech256Dataset.
    """

    parameters = (DIRECTORY, flag("background", None, none=True), *READING, DECODE, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        part = "images_background" if given.background else "images_evaluation"
        top = folder_in(type(self).__name__, given.dataset_dir / part)
        there = [character for alphabet in subfolders(top) for character in subfolders(alphabet)]
        self.classes = {f"{p.parent.name}/{p.name}": k for k, p in enumerate(there)}
        return by_folder([(p, k) for k, p in enumerate(there)], (), given.decode, np.int32)


class RenderedSST2Dataset(ClassesDataset):
    """Images of sentences, the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and labels uint32: 0 negative, 1 positive
    (Radford et al., 2021).

    dataset_dir: has train, test and valid, each with folders negative and positive of .png files. usage: "train", "val",
    "test", or "all", as None is. The other parameters are those of Caltech256Dataset.
    """

    parameters = (DIRECTORY, usage("all", "train", "val", "test"), *READING, DECODE, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        owner = type(self).__name__
        parts = ("test", "train", "valid") if given.usage == "all" else (given.usage.replace("val", "valid"),)
        there = [kind for part in parts for kind in subfolders(folder_in(owner, given.dataset_dir / part))]
        self.classes = {name: k for k, name in enumerate(sorted({p.name for p in there}))}
        return by_folder([(p, self.classes[p.name]) for p in there], (".png",), given.decode, np.uint32)


_SCENES = (
    "bedroom", "bridge", "church_outdoor", "classroom", "conference_room", "dining_room", "kitchen", "living_room", "restaurant",
    "tower",
)  # fmt: skip


def _scenes(owner: str, name: str, value: Any) -> list[str]:
    if value is None:
        return list(_SCENES)
    if not isinstance(value, list):
        raise ArgumentTypeError(f"{owner}: {name} must be a list, got {type(value).__name__}", loc=user_loc())
    for one in value:
        if one not in _SCENES:
            raise ArgumentValueError(
                f"{owner}: {name} must be among {', '.join(_SCENES)}, one is {one!r}", loc=user_loc()
            )
    return value or list(_SCENES)


class LSUNDataset(ClassesDataset):
    """Images of scenes, the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and labels uint32 (Yu et al., 2015).

    dataset_dir: has folders such as bedroom_train and bedroom_val, and test. usage: "train", "valid", "test", which has label 0
    throughout, or "all", as None is: the first two. classes: a list of scenes, by default all. Labels count the folders that
    are read, in the order of their names, as in MindSpore: with "all" each scene that is in both parts has two. The other
    parameters are those of Caltech256Dataset.
    """

    parameters = (
        DIRECTORY,
        usage("all", "train", "test", "valid"),
        Parameter("classes", None, _scenes),
        *READING,
        DECODE,
        *SHARDS,
        CACHE,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        parts = {"train": ["train"], "valid": ["val"], "all": ["train", "val"], "test": []}[given.usage]
        there = [
            p
            for p in subfolders(given.dataset_dir)
            if any(f"{scene}_{part}" in p.name for scene in given.classes for part in parts)
        ]
        self.classes = {s: k for k, s in enumerate(s for s in given.classes if any(s in p.name for p in there))}
        if given.usage == "test":
            there = [folder_in(type(self).__name__, given.dataset_dir / "test")]
        return by_folder([(p, k) for k, p in enumerate(there)], (), given.decode, np.uint32)


class SUN397Dataset(ListedDataset):
    """Images of scenes, the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and labels uint32 (Xiao et al., 2010).

    dataset_dir: has ClassName.txt, which names a folder in each line, as /a/abbey; labels are their places in it. Images are
    the files sun_*.jpg in these folders, which come in the order of their names. The other parameters are those of
    Caltech256Dataset.
    """

    parameters = (DIRECTORY, *READING, DECODE, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        owner = type(self).__name__
        names = text_of(owner, given.dataset_dir / "ClassName.txt").split()
        paths, labels = [], []
        for name, label in sorted({name: k for k, name in reversed(list(enumerate(names)))}.items()):
            folder = folder_in(owner, given.dataset_dir / name.lstrip("/"))
            inside = [p for p in files_in(folder, (".jpg",)) if p.name.startswith("sun_")]
            paths += inside
            labels += [label] * len(inside)
        return {"image": Files(paths, given.decode), "label": np.array(labels, np.uint32)}


class Food101Dataset(ListedDataset):
    """Images of dishes, the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and labels, their names as text (Bossard
    et al., 2014).

    dataset_dir: has images, with a folder for each dish, and meta/train.txt and meta/test.txt, which list images as
    apple_pie/1005649, in whose order they come. usage: "train", "test", or "all", as None is. The other parameters are those of
    Caltech256Dataset.
    """

    parameters = (DIRECTORY, usage("all", "train", "test"), *READING, DECODE, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        parts = [part for part in ("train", "test") if given.usage in (part, "all")]
        lists = [lines_of(type(self).__name__, given.dataset_dir / "meta" / f"{part}.txt") for part in parts]
        names = [line for lines in lists for line in lines if line]
        images = Files([given.dataset_dir / "images" / f"{name}.jpg" for name in names], given.decode)
        return {"image": images, "label": Texts([name.split("/")[0] for name in names])}


class Places365Dataset(ListedDataset):
    """Images of places, the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and labels uint32 (Zhou et al., 2017).

    dataset_dir: has places365_train_standard.txt, places365_train_challenge.txt and places365_val.txt, lines of an image and
    its label, and the images in data_256_standard, data_256_challenge and val_256, or, without small, in data_large_standard,
    data_large_challenge and val_large. usage: "train-standard", as None is, "train-challenge" or "val". The other parameters
    are those of Caltech256Dataset.
    """

    parameters = (
        DIRECTORY,
        choice("usage", None, "train-standard", "train-challenge", "val", none="train-standard"),
        flag("small", True),
        DECODE,
        *READING,
        *SHARDS,
        CACHE,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner = type(self).__name__
        listed = given.dataset_dir / f"places365_{given.usage.replace('-', '_')}.txt"
        size = "256" if given.small else "large"
        part = f"val_{size}" if given.usage == "val" else f"data_{size}_{given.usage.removeprefix('train-')}"
        words = text_of(owner, listed).split()
        try:
            labels = np.array(words[1::2], np.uint32)
        except ValueError:
            raise unfit(owner, listed, "has something else than images and their labels") from None
        if len(words) % 2:
            raise unfit(owner, listed, "has an image without a label at its end")
        images = Files([given.dataset_dir / part / name.lstrip("/") for name in words[::2]], given.decode)
        return {"image": images, "label": labels}
