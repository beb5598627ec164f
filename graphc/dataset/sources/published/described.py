"""Images that a file of text or of JSON lists, with what it says of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.files import folder_in, lines_of, unfit
from graphc.dataset.sources.listed import ClassesDataset, Files, ListedDataset, Texts
from graphc.dataset.sources.parameters import (
    CACHE,
    CLASS_INDEXING,
    DECODE,
    DECRYPT,
    DIRECTORY,
    EXTENSIONS,
    NUM_SAMPLES,
    NUM_SHARDS,
    READING,
    SAMPLER,
    SHARD_ID,
    SHARDS,
    SHUFFLE,
    WORKERS,
    Parameter,
    choice,
    file,
    usage,
)

Array = np.ndarray[Any, np.dtype[Any]]

#: What the files of images begin with: JPEG, PNG, GIF and BMP.
_HEADS = (b"\xff\xd8\xff", b"\x89PN", b"GIF", b"BM")


def _is_image(owner: str, path: Path) -> bool:
    try:
        with open(path, "rb") as opened:
            return opened.read(3).startswith(_HEADS)
    except OSError as error:
        raise unfit(owner, path, f"cannot be read: {error.strerror}") from error


class CelebADataset(ListedDataset):
    """Faces: "image", the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and "attr", uint32 [40], which of the
    attributes each has (Liu et al., 2015).

    dataset_dir: has list_attr_celeba.txt and the images, and list_eval_partition.txt for a usage other than "all": "train",
    "valid" or "test". extensions: a list such as [".jpg"], by default all files. decrypt: gives the bytes of an image by its
    path. num_samples, shuffle (True by default), sampler, num_shards and shard_id: which images, in which order.
    num_parallel_workers: threads that read and decode. cache must be None. DataError for files that are missing or something
    else.
    """

    parameters = (
        DIRECTORY,
        WORKERS,
        SHUFFLE,
        choice("usage", "all", "all", "train", "valid", "test", none="all"),
        SAMPLER,
        DECODE,
        EXTENSIONS,
        NUM_SAMPLES,
        NUM_SHARDS,
        SHARD_ID,
        CACHE,
        DECRYPT,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner, path = type(self).__name__, given.dataset_dir / "list_attr_celeba.txt"
        lines = [(k, line.split()) for k, line in enumerate(lines_of(owner, path), 1) if k > 2 and line.strip()]
        if given.usage != "all":
            lines = _of_part(owner, given.dataset_dir / "list_eval_partition.txt", lines, given.usage)
        endings = given.extensions or None
        chosen = [(k, words) for k, words in lines if endings is None or Path(words[0]).suffix in endings]
        rows = [_attributes(owner, path, k, words[1:]) for k, words in chosen]
        if len({len(row) for row in rows}) > 1:
            raise unfit(owner, path, "has lines of different numbers of attributes")
        images = Files([given.dataset_dir / words[0] for _, words in chosen], given.decode, given.decrypt)
        return {"image": images, "attr": np.array(rows, np.uint32)}


def _of_part(owner: str, path: Path, lines: list[tuple[int, list[str]]], part: str) -> list[tuple[int, list[str]]]:
    """The lines whose images a file says to be of a part; it lists the same ones in the same order."""
    wanted = str(("train", "valid", "test").index(part))
    said = [line.split() for line in lines_of(owner, path) if line.strip()]
    if [words[0] for words in said] != [words[0] for _, words in lines]:
        raise unfit(owner, path, "does not list the images of list_attr_celeba.txt")
    return [line for line, words in zip(lines, said, strict=True) if words[1:] == [wanted]]


def _attributes(owner: str, path: Path, line: int, words: list[str]) -> list[int]:
    try:
        return [int(int(word) > 0) for word in words]
    except ValueError:
        raise unfit(owner, path, "has something else than numbers after the image", line) from None


class FlickrDataset(ListedDataset):
    """Photographs: "image", the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and "annotation", texts [5], the
    captions of each (Hodosh et al., 2013; Young et al., 2014).

    dataset_dir: has the images, which come in the order of their names. annotation_file: lines of an image's name, "#", the
    number of the caption, a tab and the caption. The other parameters are those of CelebADataset.
    """

    parameters = (DIRECTORY, file("annotation_file"), *READING, Parameter("decode", None, DECODE.check), *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        owner, captions = type(self).__name__, dict[Path, list[str]]()
        for number, line in enumerate(lines_of(owner, given.annotation_file), 1):
            if not line:
                continue
            name, tab, caption = line.partition("\t")
            path = given.dataset_dir / name[:-2]
            if not tab or not name[:-2] or not caption:
                raise unfit(owner, given.annotation_file, "is no name#number, a tab and a caption", number)
            if path in captions or _is_image(owner, path):
                captions.setdefault(path, []).append(caption)
        paths = sorted(captions)
        return {"image": Files(paths, given.decode), "annotation": Texts([captions[p] for p in paths])}


class SBUDataset(ListedDataset):
    """Photographs: "image", the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and "caption", a text (Ordonez et
    al., 2011).

    dataset_dir: has SBU_captioned_photo_dataset_urls.txt and SBU_captioned_photo_dataset_captions.txt, whose lines belong
    together, and the images of those addresses that are there in sbu_images. The other parameters are those of CelebADataset.
    """

    parameters = (DIRECTORY, *READING, DECODE, *SHARDS, CACHE)
    #: Where the names of files begin in addresses: with the last letter of http://static.flickr.com.
    _HOST = len("http://static.flickr.com") - 1

    def columns(self, given: Any) -> dict[str, Any]:
        owner, folder = type(self).__name__, given.dataset_dir
        urls, captions = (folder / f"SBU_captioned_photo_dataset_{part}.txt" for part in ("urls", "captions"))
        images = folder_in(owner, folder / "sbu_images")
        found: list[tuple[Path, str]] = []
        for number, (url, caption) in enumerate(zip(lines_of(owner, urls), lines_of(owner, captions), strict=False), 1):
            if bool(url) != bool(caption):
                raise unfit(owner, urls, f"does not go with {captions.name}: a line of one of them is empty", number)
            path = images / url[self._HOST :].replace("/", "_")
            if url and path.is_file():
                found.append((path, caption.rstrip(" ")))
        return {"image": Files([p for p, _ in found], given.decode), "caption": Texts([c for _, c in found])}


class LFWDataset(ListedDataset):
    """Faces (Huang et al., 2007). task "people", as None is: "image", the file's bytes uint8 [n] or with decode uint8 [H, W,
    3], and "label" uint32, whose it is. "pairs": "image1", "image2" and "label" uint32, whether they are of the same person.

    dataset_dir: has lfw-names.txt, the lists people.txt, peopleDevTrain.txt, peopleDevTest.txt and the same of pairs, and a
    folder for each person in lfw, lfw_funneled or lfw-deepfunneled: image_set "original", "funneled", as None is, or
    "deepfunneled". usage: "10fold", "train", "test", or "all", as None is: the last two. The other parameters are those of
    CelebADataset.
    """

    parameters = (
        DIRECTORY,
        choice("task", None, "people", "pairs", none="people"),
        usage("all", "10fold", "train", "test"),
        choice("image_set", None, "original", "funneled", "deepfunneled", none="funneled"),
        *READING,
        DECODE,
        *SHARDS,
        CACHE,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner, folder = type(self).__name__, given.dataset_dir
        top = (
            folder
            / {"original": "lfw", "funneled": "lfw_funneled", "deepfunneled": "lfw-deepfunneled"}[given.image_set]
        )
        lists = {"10fold": [""], "train": ["DevTrain"], "test": ["DevTest"], "all": ["DevTrain", "DevTest"]}
        paths = [folder / f"{given.task}{part}.txt" for part in lists[given.usage]]
        if given.task == "pairs":
            pairs = [pair for path in paths for pair in _pairs(owner, path, given.usage == "10fold")]
            first, second = ([_face(top, *pair[k]) for pair in pairs] for k in (0, 1))
            same = np.array([one[0] == other[0] for one, other in pairs], np.uint32)
            return {"image1": Files(first, given.decode), "image2": Files(second, given.decode), "label": same}
        lines = [line.split()[0] for line in lines_of(owner, folder / "lfw-names.txt") if line.strip()]
        numbers = {name: k for k, name in enumerate(lines)}
        people = [person for path in paths for person in _people(owner, path, given.usage == "10fold")]
        faces = [(name, k) for name, count in people for k in range(1, count + 1)]
        unknown = next((name for name, _ in faces if name not in numbers), None)
        if unknown is not None:
            raise unfit(owner, folder / "lfw-names.txt", f"has no {unknown}")
        images = Files([_face(top, name, k) for name, k in faces], given.decode)
        return {"image": images, "label": np.array([numbers[name] for name, _ in faces], np.uint32)}


def _face(folder: Path, name: str, number: int) -> Path:
    return folder / name / f"{name}_{number:04}.jpg"


def _people(owner: str, path: Path, folds: bool) -> list[tuple[str, int]]:
    """(name, number of images) of a list: how many follow, and these; with folds before it how many of such lists there are."""
    lines = [line.split() for line in lines_of(owner, path)]
    found: list[tuple[str, int]] = []
    try:
        place = 1 if folds else 0
        for _ in range(int(lines[0][0]) if folds else 1):
            size = int(lines[place][0])
            found += [(lines[k][0], int(lines[k][1])) for k in range(place + 1, place + 1 + size)]
            place += size + 1
    except (ValueError, IndexError):
        raise unfit(owner, path, "is no list of people and how many images there are of them") from None
    return found


def _pairs(owner: str, path: Path, folds: bool) -> list[tuple[tuple[str, int], tuple[str, int]]]:
    """Pairs of (name, number of the image). Of each fold as many of one person, name and two numbers, as of two."""
    lines = [line.split() for line in lines_of(owner, path)]
    found: list[tuple[tuple[str, int], tuple[str, int]]] = []
    try:
        count, each = (int(word) for word in lines[0]) if folds else (1, int(lines[0][0]))
        for fold in range(count):
            start = 1 + 2 * each * fold
            for name, one, other in (lines[k] for k in range(start, start + each)):
                found.append(((name, int(one)), (name, int(other))))
            for name, one, second, other in (lines[k] for k in range(start + each, start + 2 * each)):
                found.append(((name, int(one)), (second, int(other))))
    except (ValueError, IndexError):
        raise unfit(owner, path, "is no list of pairs of people and numbers of images") from None
    return found


class ManifestDataset(ClassesDataset):
    """Images that a manifest lists: "image", the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and "label" int32, or
    int32 [m] of an image with several.

    dataset_file: a JSON object in each line, {"source": path, "usage": ..., "annotation": [{"name": label}, ...]}. usage:
    "train", as None is, "eval" or "inference". class_indexing: {label: number}, and no others; by default labels count in the
    order of their names. What is no JPEG, PNG, GIF or BMP is left out. The other parameters are those of CelebADataset.
    """

    parameters = (
        file("dataset_file"),
        choice("usage", "train", "train", "eval", "inference", none="train"),
        *READING,
        SAMPLER,
        CLASS_INDEXING,
        DECODE,
        NUM_SHARDS,
        SHARD_ID,
        CACHE,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner, found = type(self).__name__, list[tuple[Path, list[str]]]()
        for number, line in enumerate(lines_of(owner, given.dataset_file), 1):
            try:
                entry = json.loads(line)
                path, part = Path(entry.get("source", "")), str(entry.get("usage", "")).lower()
                labels = [str(one["name"]) for one in entry["annotation"]] if part == given.usage else []
            except (ValueError, KeyError, TypeError, AttributeError):
                raise unfit(owner, given.dataset_file, "is no entry of a manifest", number) from None
            known = [name for name in labels if not given.class_indexing or name in given.class_indexing]
            if known and _is_image(owner, path):
                found.append((path, known))
        names = sorted({name for _, labels in found for name in labels})
        self.classes = {name: (given.class_indexing or {}).get(name, k) for k, name in enumerate(names)}
        values = [[self.classes[name] for name in labels] for _, labels in found]
        images = Files([path for path, _ in found], given.decode)
        if all(len(v) == 1 for v in values):
            return {"image": images, "label": np.array([v[0] for v in values], np.int32)}
        return {"image": images, "label": [np.array(v if len(v) > 1 else v[0], np.int32) for v in values]}

    def get_class_indexing(self) -> dict[str, int]:
        return dict(self.classes)
