"""Images whose labels, or which themselves, are in files of MATLAB's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.files import folder_in, lines_of, unfit
from graphc.dataset.sources.listed import ClassesDataset, Files, ListedDataset, Read
from graphc.dataset.sources.matlab import field, read_matlab
from graphc.dataset.sources.parameters import (
    DECODE,
    DIRECTORY,
    NUM_SAMPLES,
    SHARDS,
    SHUFFLE,
    Parameter,
    choice,
    usage,
)
from graphc.dataset.sources.published.folders import files_in, subfolders

Array = np.ndarray[Any, np.dtype[Any]]

_ONE_WORKER = (NUM_SAMPLES, Parameter("num_parallel_workers", 1), SHUFFLE)


class _Annotations(Read):
    """Arrays in files of MATLAB's, one each, under these names."""

    def __init__(self, owner: str, paths: list[Path], *names: str) -> None:
        self.owner, self.paths, self.names = owner, paths, names

    def __len__(self) -> int:
        return len(self.paths)

    def name(self, i: int) -> str:
        return self.paths[i].name

    def value(self, i: int) -> Array:
        path = self.paths[i]
        value = field(self.owner, path, read_matlab(self.owner, path), *self.names)
        return np.stack(value) if isinstance(value, list) else np.asarray(value)


class SVHNDataset(ListedDataset):
    """House numbers: "image" uint8 [32, 32, 3] and "label" uint32, a digit (Netzer et al., 2011).

    dataset_dir: where train_32x32.mat, test_32x32.mat and extra_32x32.mat are. usage: "train", "test", "extra", or "all", as
    None is. num_samples, shuffle (True by default), sampler, num_shards and shard_id: which images, in which order.
    num_parallel_workers has no effect on arrays. DataError for files that are missing or something else.
    """

    parameters = (DIRECTORY, usage("all", "train", "test", "extra"), *_ONE_WORKER, *SHARDS)

    def columns(self, given: Any) -> dict[str, Any]:
        owner, images, labels = type(self).__name__, list[Array](), list[Array]()
        for part in ("train", "test", "extra") if given.usage == "all" else (given.usage,):
            path = given.dataset_dir / f"{part}_32x32.mat"
            read = read_matlab(owner, path)
            image, label = field(owner, path, read, "X"), field(owner, path, read, "y").reshape(-1)
            if image.ndim != 4 or image.shape[3] != len(label):
                raise unfit(owner, path, f"has images {list(image.shape)} and {len(label)} labels")
            images.append(image.transpose(3, 0, 1, 2))
            labels.append(label.astype(np.uint32) % 10)
        return {"image": np.concatenate(images), "label": np.concatenate(labels)}


_FLOWERS = """pink primrose, hard-leaved pocket orchid, canterbury bells, sweet pea, english marigold, tiger lily, moon
orchid, bird of paradise, monkshood, globe thistle, snapdragon, colt's foot, king protea, spear thistle, yellow iris,
globe-flower, purple coneflower, peruvian lily, balloon flower, giant white arum lily, fire lily, pincushion flower,
fritillary, red ginger, grape hyacinth, corn poppy, prince of wales feathers, stemless gentian, artichoke, sweet william,
carnation, garden phlox, love in the mist, mexican aster, alpine sea holly, ruby-lipped cattleya, cape flower, great
masterwort, siam tulip, lenten rose, barbeton daisy, daffodil, sword lily, poinsettia, bolero deep blue, wallflower,
marigold, buttercup, oxeye daisy, common dandelion, petunia, wild pansy, primula, sunflower, pelargonium, bishop of
llandaff, gaura, geranium, orange dahlia, pink-yellow dahlia?, cautleya spicata, japanese anemone, black-eyed susan,
silverbush, californian poppy, osteospermum, spring crocus, bearded iris, windflower, tree poppy, gazania, azalea, water
lily, rose, thorn apple, morning glory, passion flower, lotus, toad lily, anthurium, frangipani, clematis, hibiscus,
columbine, desert-rose, tree mallow, magnolia, cyclamen, watercress, canna lily, hippeastrum, bee balm, ball moss, foxglove,
bougainvillea, camellia, mallow, mexican petunia, bromelia, blanket flower, trumpet creeper, blackberry lily"""


class Flowers102Dataset(ClassesDataset):
    """Flowers (Nilsback and Zisserman, 2008): "image", the file's bytes uint8 [n] or with decode uint8 [H, W, 3], with
    task "Segmentation" "segmentation", such an image of what is flower, and "label" uint32 of 102 kinds.

    dataset_dir: has imagelabels.mat, setid.mat, jpg and, for "Segmentation", segmim. task: "Classification", as None is, or
    "Segmentation". usage: "train", "valid", "test", or "all", as None is: train, test and valid. num_parallel_workers: threads
    that read and decode. The other parameters are those of SVHNDataset.
    """

    parameters = (
        DIRECTORY,
        choice("task", "Classification", "Classification", "Segmentation", none="Classification"),
        choice("usage", "all", "all", "train", "valid", "test", none="all"),
        *_ONE_WORKER,
        DECODE,
        *SHARDS,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner, folder = type(self).__name__, given.dataset_dir
        self.classes = {name: k for k, name in enumerate(_FLOWERS.replace("\n", " ").split(", "))}
        sets, kinds = folder / "setid.mat", folder / "imagelabels.mat"
        names = {"train": "trnid", "test": "tstid", "valid": "valid"}
        read = read_matlab(owner, sets)
        chosen = [name for part, name in names.items() if given.usage in (part, "all")]
        numbers = np.concatenate([field(owner, sets, read, name).reshape(-1) for name in chosen]).astype(np.int64)
        labels = field(owner, kinds, read_matlab(owner, kinds), "labels").reshape(-1)
        if len(numbers) and not 1 <= numbers.min() <= numbers.max() <= len(labels):
            raise unfit(owner, sets, f"names other images than the {len(labels)} that have labels")
        images = Files([folder / "jpg" / f"image_{k:05}.jpg" for k in numbers], given.decode)
        columns: dict[str, Any] = {"image": images}
        if given.task == "Segmentation":
            columns["segmentation"] = Files([folder / "segmim" / f"segmim_{k:05}.jpg" for k in numbers], given.decode)
        return {**columns, "label": (labels[numbers - 1] - 1).astype(np.uint32)}

    def get_class_indexing(self) -> dict[str, int]:
        return dict(self.classes)


class SBDataset(ListedDataset):
    """Semantic boundaries (Hariharan et al., 2011): "image", the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and
    "task" uint8: [20, H, W], the boundaries of each class, or with task "Segmentation" [H, W], the class of each pixel.

    dataset_dir: has img, cls, and the lists train.txt, val.txt and train_noval.txt. task: "Boundaries" or "Segmentation".
    usage: "train", "val", "train_noval", or "all": train and val. decode: of the image; None is False. num_parallel_workers:
    threads that read and decode. The other parameters are those of SVHNDataset.
    """

    parameters = (
        DIRECTORY,
        choice("task", "Boundaries", "Boundaries", "Segmentation"),
        choice("usage", "all", "all", "train", "val", "train_noval"),
        *_ONE_WORKER,
        Parameter("decode", None, DECODE.check),
        *SHARDS,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner, folder = type(self).__name__, given.dataset_dir
        parts = ("train", "val") if given.usage == "all" else (given.usage,)
        names = [line.strip() for part in parts for line in lines_of(owner, folder / f"{part}.txt") if line.strip()]
        outlines = [folder / "cls" / f"{name}.mat" for name in names]
        images = Files([folder / "img" / f"{name}.jpg" for name in names], given.decode)
        return {"image": images, "task": _Annotations(owner, outlines, "GTcls", given.task)}


#: Folders of annotations whose names are others than those of the images.
_OTHERS = {
    "Faces": "Faces_2",
    "Faces_easy": "Faces_3",
    "Motorbikes": "Motorbikes_16",
    "airplanes": "Airplanes_Side_2",
}


class Caltech101Dataset(ClassesDataset):
    """Things (Fei-Fei et al., 2004): "image", the file's bytes uint8 [n] or with decode uint8 [H, W, 3]; with target_type
    "category", as None is, "category" int64, the class; with "annotation" "annotation" float64 [2, n], the outline; with "all"
    both.

    dataset_dir: has 101_ObjectCategories, with a folder for each class, which count in the order of their names, and
    Annotations. decode: False by default. num_parallel_workers: threads that read and decode. The other parameters are those of
    SVHNDataset.
    """

    parameters = (
        DIRECTORY,
        choice("target_type", None, "category", "annotation", "all", none="category"),
        *_ONE_WORKER,
        DECODE,
        *SHARDS,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner, folder = type(self).__name__, given.dataset_dir
        there = [
            p for p in subfolders(folder_in(owner, folder / "101_ObjectCategories")) if p.name != "BACKGROUND_Google"
        ]
        self.classes = {p.name: k for k, p in enumerate(there)}
        images, labels, outlines = list[Path](), list[int](), list[Path]()
        for label, kind in enumerate(there):
            for k in range(1, len(files_in(kind)) + 1):
                images.append(kind / f"image_{k:04}.jpg")
                labels.append(label)
                outlines.append(folder / "Annotations" / _OTHERS.get(kind.name, kind.name) / f"annotation_{k:04}.mat")
        columns: dict[str, Any] = {"image": Files(images, given.decode)}
        if given.target_type != "annotation":
            columns["category"] = np.array(labels, np.int64)
        if given.target_type != "category":
            columns["annotation"] = _Annotations(owner, outlines, "obj_contour")
        return columns

    def get_class_indexing(self) -> dict[str, int]:
        return dict(self.classes)
