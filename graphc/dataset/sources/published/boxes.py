"""Images with boxes around what is in them: a file for each image, or one list for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from graphc.dataset.sources.files import folder_in, lines_of, read_whole, unfit
from graphc.dataset.sources.listed import Files, ListedDataset, Texts
from graphc.dataset.sources.parameters import (
    CACHE,
    CLASS_INDEXING,
    DECODE,
    DECRYPT,
    DIRECTORY,
    EXTRA,
    READING,
    SHARDS,
    Parameter,
    choice,
    usage,
)
from graphc.dataset.sources.published.folders import files_in, subfolders
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


def _text(owner: str, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{owner}: {name} must be of type str, got {type(value).__name__}", loc=user_loc())
    return value


class VOCDataset(ListedDataset):
    """The PASCAL VOC challenges (Everingham et al., 2010). task "Segmentation": "image" and "target", what is where in it,
    the files' bytes uint8 [n] or with decode uint8 [H, W, 3]. "Detection": "image", "bbox" float32 [m, 4] (x, y, width,
    height), "label" uint32 [m, 1], "difficult" uint32 [m, 1] and "truncate" uint32 [m, 1].

    dataset_dir: has JPEGImages, SegmentationClass, Annotations and ImageSets. usage: the list ImageSets/Segmentation/USAGE.txt
    or ImageSets/Main/USAGE.txt, in whose order images come. class_indexing: {name: label} of the classes that count, for
    "Detection"; by default all, in the order of their names; images without any are left out. extra_metadata: with a column
    "_meta-filename", which is in the rows once it is renamed. decrypt: gives the bytes of an image by its path. num_samples,
    shuffle (True by default), sampler, num_shards and shard_id: which images, in which order. num_parallel_workers: threads
    that read and decode. cache must be None. DataError for files that are missing or something else.
    """

    parameters = (
        DIRECTORY,
        choice("task", "Segmentation", "Segmentation", "Detection"),
        Parameter("usage", "train", _text),
        CLASS_INDEXING,
        *READING,
        DECODE,
        *SHARDS,
        CACHE,
        EXTRA,
        DECRYPT,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner, folder = type(self).__name__, given.dataset_dir
        self._classes: dict[str, int] | None = None
        if given.task == "Segmentation":
            if given.class_indexing is not None:
                raise ArgumentValueError(f"{owner}: class_indexing is for the task 'Detection'", loc=user_loc())
            names = lines_of(owner, folder / "ImageSets" / "Segmentation" / f"{given.usage}.txt")
            targets = Files([folder / "SegmentationClass" / f"{n}.png" for n in names], given.decode, given.decrypt)
            columns: dict[str, Any] = {"target": targets}
        else:
            listed = lines_of(owner, folder / "ImageSets" / "Main" / f"{given.usage}.txt")
            names, columns = self._detection(owner, folder / "Annotations", listed, given.class_indexing)
        images = Files([folder / "JPEGImages" / f"{n}.jpg" for n in names], given.decode, given.decrypt)
        return {"image": images, **columns, **({"_meta-filename": Texts(names)} if given.extra_metadata else {})}

    def _detection(
        self, owner: str, folder: Path, listed: list[str], class_indexing: dict[str, int] | None
    ) -> tuple[list[str], dict[str, Any]]:
        objects = {name: _objects(owner, folder / f"{name}.xml", class_indexing) for name in listed}
        found = sorted({label for of_image in objects.values() for label, _ in of_image})
        self._classes = class_indexing or {label: k for k, label in enumerate(found)}
        names = [name for name in listed if objects[name]]
        columns: dict[str, list[Array]] = {"bbox": [], "label": [], "difficult": [], "truncate": []}
        for name in names:
            labels = [self._classes[label] for label, _ in objects[name]]
            numbers = np.array([values for _, values in objects[name]], np.float32)
            numbers[:, 2:4] -= numbers[:, :2]
            columns["bbox"].append(numbers[:, :4])
            columns["label"].append(np.array(labels, np.uint32)[:, None])
            columns["difficult"].append(numbers[:, 4:5].astype(np.uint32))
            columns["truncate"].append(numbers[:, 5:6].astype(np.uint32))
        return names, columns

    def get_class_indexing(self) -> dict[str, int]:
        if self._classes is None:
            owner = type(self).__name__
            raise ArgumentValueError(f"{owner}: get_class_indexing is for the task 'Detection'", loc=user_loc())
        return dict(self._classes)


_NUMBERS = ("bndbox/xmin", "bndbox/ymin", "bndbox/xmax", "bndbox/ymax", "difficult", "truncated")


def _objects(owner: str, path: Path, wanted: dict[str, int] | None) -> list[tuple[str, list[float]]]:
    """(label, numbers as above) of the objects in an annotation, those of the wanted labels."""
    try:
        root = ElementTree.fromstring(read_whole(owner, path))
    except ElementTree.ParseError as error:
        raise unfit(owner, path, f"is no XML: {error}") from error
    found = []
    objects = root.findall("object")
    if not objects:
        raise unfit(owner, path, "has no object")
    for one in objects:
        label = (one.findtext("name") or "").strip()
        if one.find("bndbox") is None:
            raise unfit(owner, path, "has an object without bndbox")
        try:
            numbers = [float(one.findtext(place) or 0) for place in _NUMBERS]
        except ValueError:
            raise unfit(owner, path, f"has something else than numbers in {label!r}") from None
        if not wanted or label in wanted:
            found.append((label, numbers))
    return found


class KITTIDataset(ListedDataset):
    """Streets (Geiger et al., 2012): "image", the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and of usage
    "train" for the m objects of each "label" uint32 [m, 1], "truncated" float32 [m, 1], "occluded" uint32 [m, 1], "alpha"
    float32 [m, 1], "bbox" float32 [m, 4], "dimensions" float32 [m, 3], "location" float32 [m, 3] and "rotation_y" float32 [m,
    1].

    dataset_dir: has data_object_image_2/training/image_2, the same of testing, and data_object_label_2/training/label_2, with
    files 000000.png and 000000.txt and so on. Labels count the names in these in their order. usage: "train", as None is, or
    "test". The other parameters are those of VOCDataset.
    """

    parameters = (DIRECTORY, usage("train", "test"), *READING, DECODE, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        owner, part = type(self).__name__, f"{given.usage}ing"
        folder = folder_in(owner, given.dataset_dir / "data_object_image_2" / part / "image_2")
        paths = [folder / f"{k:06}.png" for k in range(len(files_in(folder)))]
        if given.usage == "test":
            return {"image": Files(paths, given.decode)}
        labels = given.dataset_dir / "data_object_label_2" / part / "label_2"
        objects = {path: _lines(owner, labels / f"{path.stem}.txt") for path in paths}
        there = [path for path in paths if objects[path]]
        numbers = {n: k for k, n in enumerate(sorted({n for path in there for n, _ in objects[path]}))}
        columns: dict[str, list[Array]] = {"label": [], **{name: [] for name in _PLACES}}
        for path in there:
            columns["label"].append(np.array([numbers[n] for n, _ in objects[path]], np.uint32)[:, None])
            values = np.array([v for _, v in objects[path]], np.float64).astype(np.float32)
            for name, places in _PLACES.items():
                part_of = values[:, places]
                # -1, which says that it is not known, is the largest number there, as in MindSpore.
                columns[name].append(part_of.astype(np.int64).astype(np.uint32) if name == "occluded" else part_of)
        return {"image": Files(there, given.decode), **columns}


#: Where the numbers of each column are in a line, after the name.
_PLACES = {
    "truncated": slice(0, 1),
    "occluded": slice(1, 2),
    "alpha": slice(2, 3),
    "bbox": slice(3, 7),
    "dimensions": slice(7, 10),
    "location": slice(10, 13),
    "rotation_y": slice(13, 14),
}


def _lines(owner: str, path: Path) -> list[tuple[str, list[float]]]:
    """(name, 14 numbers) of each line."""
    found = []
    for number, line in enumerate(lines_of(owner, path), 1):
        words = line.split()
        try:
            values = [float(word) for word in words[1:15]]
        except ValueError:
            raise unfit(owner, path, "has something else than numbers after the name", number) from None
        if len(values) < 14:
            raise unfit(owner, path, f"has {len(values)} numbers, not 14", number)
        found.append((words[0], values))
    return found


class WIDERFaceDataset(ListedDataset):
    """Faces (Yang et al., 2016): "image", the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and but for usage
    "test" of the m faces in each "bbox" int32 [m, 4], "blur", "expression", "illumination", "occlusion", "pose" and "invalid"
    int32 [m].

    dataset_dir: has WIDER_train/images, WIDER_val/images and WIDER_test/images, with a folder for each event, and
    wider_face_split/wider_face_train_bbx_gt.txt and the same of val. usage: "train", "valid", "test", or "all", as None is: the
    first two. The other parameters are those of VOCDataset.
    """

    parameters = (DIRECTORY, usage("all", "train", "test", "valid"), *READING, DECODE, *SHARDS, CACHE)
    _NAMES = ("blur", "expression", "illumination", "occlusion", "pose", "invalid")

    def columns(self, given: Any) -> dict[str, Any]:
        owner = type(self).__name__
        paths: list[Path] = []
        faces: dict[Path, Array] = {}
        for part in ("train", "val") if given.usage == "all" else (given.usage.removesuffix("id"),):
            top = folder_in(owner, given.dataset_dir / f"WIDER_{part}" / "images")
            paths += [path for event in subfolders(top) for path in files_in(event, (".jpg",))]
            if part != "test":
                listed = given.dataset_dir / "wider_face_split" / f"wider_face_{part}_bbx_gt.txt"
                faces |= {top / name: values for name, values in _faces(owner, listed).items()}
        if given.usage == "test":
            return {"image": Files(paths, given.decode)}
        unknown = next((path for path in paths if path not in faces), None)
        if unknown is not None:
            raise unfit(owner, unknown, "is in no list of faces")
        values = [faces[path] for path in paths]
        columns = {name: [v[:, 4 + k] for v in values] for k, name in enumerate(self._NAMES)}
        return {"image": Files(paths, given.decode), "bbox": [v[:, :4] for v in values], **columns}


def _faces(owner: str, path: Path) -> dict[str, Array]:
    """{image: int32 [m, 10]}: of each image its name, the number of faces and a line for each, one of zeros for none."""
    lines = lines_of(owner, path)
    found: dict[str, Array] = {}
    place = 0
    while place < len(lines):
        try:
            count = max(int(lines[place + 1]), 1)
            rows = [lines[k].split() for k in range(place + 2, place + 2 + count)]
            values = np.array(rows, np.int32)
        except (ValueError, IndexError):
            raise unfit(owner, path, "is no list of images and faces", place + 1) from None
        if values.shape != (count, 10):
            raise unfit(owner, path, "has a face that is no ten numbers", place + 1)
        found[lines[place]] = values
        place += 2 + count
    return found
