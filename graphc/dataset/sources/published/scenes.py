"""Images in pairs: streets and what is in them, and photographs in two sizes; and patches of photographs."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from graphc.dataset.checks import integer
from graphc.dataset.sources.files import folder_in, text_of, unfit
from graphc.dataset.sources.listed import Files, ListedDataset, Read
from graphc.dataset.sources.parameters import (
    CACHE,
    DECODE,
    DIRECTORY,
    READING,
    REQUIRED,
    SHARDS,
    Parameter,
    choice,
)
from graphc.dataset.sources.published.folders import files_in, subfolders
from graphc.dataset.vision.base import pillow
from graphc.errors import ArgumentValueError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]

_DECODE = Parameter("decode", None, DECODE.check)


#: What the files of a task end in.
_ENDINGS = {
    "instance": "instanceIds.png",
    "semantic": "labelIds.png",
    "color": "color.png",
    "polygon": "polygons.json",
}
#: The scales of ways to make an image smaller.
_SCALES = {"bicubic": (2, 3, 4, 8), "unknown": (2, 3, 4), "mild": (4,), "difficult": (4,), "wild": (4,)}


class _Objects(Read):
    """JSON files, as texts without white space whose keys are sorted."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def name(self, i: int) -> str:
        return self.paths[i].name

    def value(self, i: int) -> Array:
        read = json.loads(self.paths[i].read_text(encoding="utf-8"))
        return np.array(json.dumps(read, ensure_ascii=False, separators=(",", ":"), sort_keys=True))


class CityscapesDataset(ListedDataset):
    """Streets: "image", the file's bytes uint8 [n] or with decode uint8 [H, W, 3], and "task", another image of what is in it,
    or with task "polygon" a text of JSON (Cordts et al., 2016).

    dataset_dir: has leftImg8bit and gtFine or gtCoarse, with folders of the usages, in which there is one for each city.
    quality_mode: "fine" or "coarse". usage: "train", "val", "all", and "test" if it is fine, "train_extra" if coarse. task:
    "instance", "semantic", "color" or "polygon". num_samples, shuffle (True by default), sampler, num_shards and shard_id:
    which images, in which order. num_parallel_workers: threads that read and decode. cache must be None. DataError for files
    that are missing.
    """

    parameters = (
        DIRECTORY,
        choice("usage", "train", "train", "test", "train_extra", "val", "all"),
        choice("quality_mode", "fine", "fine", "coarse"),
        choice("task", "instance", "instance", "semantic", "polygon", "color"),
        *READING,
        _DECODE,
        *SHARDS,
        CACHE,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner, kind = type(self).__name__, f"gt{given.quality_mode.capitalize()}"
        parts = ("train", "test", "val") if given.quality_mode == "fine" else ("train", "train_extra", "val")
        if given.usage not in (*parts, "all"):
            raise ArgumentValueError(
                f"{owner}: usage must be one of {', '.join(map(repr, (*parts, 'all')))} with quality_mode="
                f"{given.quality_mode!r}, got {given.usage!r}",
                loc=user_loc(),
            )
        images, tasks = [], []
        for part in parts if given.usage == "all" else (given.usage,):
            labels = folder_in(owner, given.dataset_dir / kind / part)
            for city in subfolders(folder_in(owner, given.dataset_dir / "leftImg8bit" / part)):
                for path in files_in(city, (".png",)):
                    head = path.name.partition("_leftImg8bit")[0]
                    other = labels / city.name / f"{head}_{kind}_{_ENDINGS[given.task]}"
                    if not other.is_file():
                        raise unfit(owner, other, "is not there")
                    images.append(path)
                    tasks.append(other)
        task = _Objects(tasks) if given.task == "polygon" else Files(tasks, given.decode)
        return {"image": Files(images, given.decode), "task": task}


class DIV2KDataset(ListedDataset):
    """Photographs "hr_image" and "lr_image", the same in a smaller size: the files' bytes uint8 [n] or with decode uint8 [H, W,
    3] (Agustsson and Timofte, 2017).

    dataset_dir: has DIV2K_train_HR, DIV2K_train_LR_bicubic/X2 and so on. usage: "train", "valid" or "all". downgrade: "bicubic"
    or "unknown" with scale 2, 3 or 4, "bicubic" with 8, "mild", "difficult" or "wild" with 4. The other parameters are those of
    CityscapesDataset.
    """

    parameters = (
        DIRECTORY,
        choice("usage", "train", "train", "valid", "all"),
        choice("downgrade", "bicubic", "bicubic", "unknown", "mild", "difficult", "wild"),
        Parameter("scale", 2, lambda owner, name, value: integer(owner, name, value)),
        *READING,
        _DECODE,
        *SHARDS,
        CACHE,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner, scale = type(self).__name__, given.scale
        if scale not in _SCALES[given.downgrade]:
            listed = ", ".join(map(str, _SCALES[given.downgrade]))
            raise ArgumentValueError(
                f"{owner}: scale must be one of {listed} with downgrade={given.downgrade!r}, got {scale}",
                loc=user_loc(),
            )
        first_year = given.downgrade in ("bicubic", "unknown")
        inside = f"LR_{given.downgrade}/X{scale}" if first_year else f"LR_{given.downgrade}"
        ending = f"x{scale}" if first_year else f"x{scale}{given.downgrade[0]}"
        large, small = [], []
        for part in ("train", "valid") if given.usage == "all" else (given.usage,):
            others = folder_in(owner, given.dataset_dir / f"DIV2K_{part}_{'LR_x8' if scale == 8 else inside}")
            for path in files_in(folder_in(owner, given.dataset_dir / f"DIV2K_{part}_HR"), (".png",)):
                other = others / f"{path.stem}{ending}.png"
                if not other.is_file():
                    raise unfit(owner, other, "is not there")
                large.append(path)
                small.append(other)
        return {"hr_image": Files(large, given.decode), "lr_image": Files(small, given.decode)}


class _Sheets:
    """Images [1024, 1024] in gray, which are read when the first patch of them is asked for."""

    def __init__(self, files: list[Path]) -> None:
        self.files = files
        self._read: dict[int, Array] = {}
        self._lock = Lock()

    def patch(self, number: int) -> Array:
        """uint8 [64, 64, 1]: one of the 16 x 16 of each sheet."""
        sheet, place = divmod(number, 256)
        if sheet >= len(self.files):
            raise DataError(f"there are only {len(self.files)} files of patches", code="GC205")
        with self._lock:
            if sheet not in self._read:
                self._read[sheet] = self._sheet(self.files[sheet])
        row, column = (64 * k for k in divmod(place, 16))
        return self._read[sheet][row : row + 64, column : column + 64, None].copy()

    def _sheet(self, path: Path) -> Array:
        with pillow().open(path) as image:
            if image.size != (1024, 1024):
                width, height = image.size
                raise unfit("PhotoTourDataset", path, f"is an image of {width} x {height} pixels, not of 1024 x 1024")
            return np.asarray(image.convert("L"))


class _Patches(Read):
    """Patches by their numbers."""

    def __init__(self, sheets: _Sheets, numbers: Array) -> None:
        self.sheets, self.numbers = sheets, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def name(self, i: int) -> str:
        return f"patch {self.numbers[i]}"

    def value(self, i: int) -> Array:
        return self.sheets.patch(int(self.numbers[i]))


class PhotoTourDataset(ListedDataset):
    """Patches of photographs (Winder and Brown, 2007). usage "train", as None is: "image" uint8 [64, 64, 1]. "test":
    "image1", "image2" and "matches" uint32, whether they show the same point.

    dataset_dir: has a folder of this name, with info.txt, m50_100000_100000_0.txt and .bmp files of 16 x 16 patches. name:
    "notredame", "yosemite", "liberty" or one of them with "_harris". The other parameters are those of CityscapesDataset,
    without decode.
    """

    parameters = (
        DIRECTORY,
        choice("name", REQUIRED, *(n + h for h in ("", "_harris") for n in ("notredame", "yosemite", "liberty"))),
        choice("usage", None, "train", "test", none="train"),
        *READING,
        *SHARDS,
        CACHE,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner = type(self).__name__
        folder = folder_in(owner, given.dataset_dir / given.name)
        sheets = _Sheets(files_in(folder, (".bmp",)))
        points = _table(owner, folder / "info.txt", 2)
        if given.usage == "train":
            return {"image": _Patches(sheets, np.arange(len(points)))}
        matches = _table(owner, folder / "m50_100000_100000_0.txt", 7)
        same = (matches[:, 1] == matches[:, 4]).astype(np.uint32)
        return {"image1": _Patches(sheets, matches[:, 0]), "image2": _Patches(sheets, matches[:, 3]), "matches": same}


def _table(owner: str, path: Path, columns: int) -> Array:
    """int64 [n, columns]: the numbers of a text file."""
    words = text_of(owner, path).split()
    try:
        values = np.array(words, np.int64)
    except ValueError:
        raise unfit(owner, path, "has something else than numbers") from None
    if not len(values) or len(values) % columns:
        raise unfit(owner, path, f"has {len(values)} numbers, which is no multiple of {columns}")
    return values.reshape(-1, columns)
