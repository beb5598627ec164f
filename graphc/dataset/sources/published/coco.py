"""COCO, one JSON file for all images (Lin et al., 2014: cocodataset.org)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.files import text_of, unfit
from graphc.dataset.sources.listed import Files, ListedDataset, Texts
from graphc.dataset.sources.parameters import CACHE, DECODE, DECRYPT, DIRECTORY, EXTRA, READING, SHARDS, choice, file
from graphc.errors import ArgumentValueError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]
#: What a file says of the things in an image.
Things = list[dict[str, Any]]


class CocoDataset(ListedDataset):
    """Images, the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and what is known of the m things in each. After
    "image":

    task "Detection": "bbox" float32 [m, 4] (x, y, width, height), "category_id" uint32 [m, 1], "iscrowd" uint32 [m, 1].
    "Panoptic": these and "area" uint32 [m, 1]. "Stuff": "segmentation" float32 [k, n], the polygons in rows of one length,
    filled up with -1, and "iscrowd" uint32 [m, 1]. "Keypoint": "keypoints" float32 [m, n] and "num_keypoints" uint32 [m, 1].
    "Captioning": "captions", texts [m, 1].

    dataset_dir: the folder of the images. annotation_file: their JSON file, in whose order they come; those without annotations
    are left out. extra_metadata: with a column "_meta-filename", which is in the rows once it is renamed. decrypt: gives the
    bytes of an image by its path. num_samples, shuffle (True by default), sampler, num_shards and shard_id: which images, in
    which order. num_parallel_workers: threads that read and decode. cache must be None. DataError for a file that is something
    else.
    """

    parameters = (
        DIRECTORY,
        file("annotation_file"),
        choice("task", "Detection", "Detection", "Stuff", "Panoptic", "Keypoint", "Captioning"),
        *READING,
        DECODE,
        *SHARDS,
        CACHE,
        EXTRA,
        DECRYPT,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner, path = type(self).__name__, given.annotation_file
        try:
            read = json.loads(text_of(owner, path))
        except ValueError as error:
            raise unfit(owner, path, f"is no JSON: {error}") from error
        try:
            names, values = self._read(owner, path, read, given.task)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
            raise unfit(owner, path, f"has no annotations of {given.task}: {type(error).__name__}: {error}") from error
        images = Files([given.dataset_dir / name for name in names], given.decode, given.decrypt)
        extra = {"_meta-filename": Texts([Path(name).stem for name in names])} if given.extra_metadata else {}
        return {"image": images, **values, **extra}

    def _read(self, owner: str, path: Path, read: Any, task: str) -> tuple[list[str], dict[str, Any]]:
        """Names of files and the columns of a task. KeyError, ValueError and the like for what is not in the file."""
        names = {image["id"]: image["file_name"] for image in read["images"]}
        self._classes = _classes(read["categories"], task) if task in ("Detection", "Panoptic") else None
        known = None if self._classes is None else {numbers[0] for numbers in self._classes.values()}
        things: dict[Any, list[dict[str, Any]]] = {}
        for one in read["annotations"]:
            if one["image_id"] not in names:
                raise unfit(owner, path, f"has an annotation of image {one['image_id']}, which it has not")
            for thing in one["segments_info"] if task == "Panoptic" else [one]:
                if known is not None and thing["category_id"] not in known:
                    raise unfit(owner, path, f"has a thing of category {thing['category_id']}, which it has not")
                things.setdefault(names[one["image_id"]], []).append(thing)
        listed = [image["file_name"] for image in read["images"] if image["file_name"] in things]
        return listed, _COLUMNS[task]([things[name] for name in listed])

    def get_class_indexing(self) -> dict[str, Any]:
        if self._classes is None:
            raise ArgumentValueError(
                f"{type(self).__name__}: get_class_indexing is for the tasks 'Detection' and 'Panoptic'", loc=user_loc()
            )
        return dict(self._classes)


def _classes(categories: Any, task: str) -> dict[str, list[int]]:
    """{name: [number]}, of Panoptic {name: [number, whether it is a thing]}."""
    fields = ("id", "isthing") if task == "Panoptic" else ("id",)
    return {one["name"]: [one[field] for field in fields] for one in categories}


def _numbers(things: list[Things], name: str, default: Any = None) -> list[Array]:
    """uint32 [m, 1] for each image."""
    return [
        np.array([[one[name] if default is None else one.get(name, default)] for one in of], np.uint32) for of in things
    ]


def _filled(rows: list[Any]) -> Array:
    """float32 [m, n]: rows of numbers, the shorter ones filled up with -1."""
    widest = max((len(row) for row in rows), default=0)
    return np.array([[*row, *[-1] * (widest - len(row))] for row in rows], np.float32).reshape(len(rows), widest)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a caption must be a text, got {value!r}")
    return value


def _polygons(thing: dict[str, Any]) -> list[Any]:
    """The polygons of a thing; of a crowd the lengths of runs of pixels."""
    outline = thing["segmentation"]
    return [outline["counts"]] if thing["iscrowd"] else list(outline)


def _boxes(things: list[Things]) -> dict[str, list[Array]]:
    return {
        "bbox": [_filled([one["bbox"] for one in of]) for of in things],
        "category_id": _numbers(things, "category_id"),
        "iscrowd": _numbers(things, "iscrowd", 0),
    }


_COLUMNS: dict[str, Callable[[list[Things]], dict[str, Any]]] = {
    "Detection": _boxes,
    "Panoptic": lambda things: {**_boxes(things), "area": _numbers(things, "area")},
    "Stuff": lambda things: {
        "segmentation": [_filled([row for one in of for row in _polygons(one)]) for of in things],
        "iscrowd": _numbers(things, "iscrowd"),
    },
    "Keypoint": lambda things: {
        "keypoints": [_filled([one["keypoints"] for one in of]) for of in things],
        "num_keypoints": _numbers(things, "num_keypoints"),
    },
    "Captioning": lambda things: {"captions": Texts([[[_text(one["caption"])] for one in of] for of in things])},
}
