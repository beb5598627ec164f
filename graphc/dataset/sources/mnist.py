"""MNIST and its relatives from IDX files (Y. LeCun et al.: yann.lecun.com/exdb/mnist; H. Xiao et al., 2017; T. Clanuwat et al.,
2018; G. Cohen et al., 2017; C. Yadav and L. Bottou, 2019).
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.files import files_with, read_whole, unfit
from graphc.dataset.sources.listed import ListedDataset
from graphc.dataset.sources.parameters import CACHE, DIRECTORY, READING, REQUIRED, SHARDS, choice, flag, usage
from graphc.errors import DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]

#: First numbers of the files: bytes, in one and in three axes; int32, in two.
_LABELS, _IMAGES, _RECORDS = 0x00000801, 0x00000803, 0x00000C02


class MnistDataset(ListedDataset):
    """Images uint8 [28, 28, 1] and labels uint32 of handwritten digits.

    dataset_dir: where train-images-idx3-ubyte, train-labels-idx1-ubyte and the same of t10k are, or those of one of the two.
    usage: "train", "test", or "all", as None is: all that are there, those for testing first, as in MindSpore. num_samples,
    shuffle (True by default), sampler, num_shards and shard_id: which images, in which order. num_parallel_workers has no
    effect on arrays; cache must be None. DataError for files that are missing, cut off or something else.
    """

    parameters = (DIRECTORY, usage("all", "train", "test"), *READING, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        owner = type(self).__name__
        prefixes = [name for name, part in (("t10k", "test"), ("train", "train")) if given.usage in (part, "all")]

        def joined(kind: str, magic: int) -> Array:
            files = files_with(owner, given.dataset_dir, [f"{p}-{kind}" for p in prefixes])
            found = [_values(owner, path, magic) for path in files]
            return np.concatenate(found) if len(found) > 1 else found[0]

        images, labels = _alike(owner, joined("images", _IMAGES), joined("labels", _LABELS))
        return {"image": images[..., None], "label": labels.astype(np.uint32)}


class FashionMnistDataset(MnistDataset):
    """Images uint8 [28, 28, 1] and labels uint32 of clothes: files and parameters are those of MnistDataset."""


class KMnistDataset(MnistDataset):
    """Images uint8 [28, 28, 1] and labels uint32 of Japanese letters: files and parameters are those of MnistDataset."""


class EMnistDataset(ListedDataset):
    """Images uint8 [28, 28, 1] and labels uint32 of letters and digits, lying on their sides, as in the files.

    dataset_dir: where emnist-NAME-train-images-idx3-ubyte, emnist-NAME-train-labels-idx1-ubyte and the same of test are. name:
    "byclass", "bymerge", "balanced", "letters", "digits" or "mnist". The other parameters are those of MnistDataset.
    """

    parameters = (
        DIRECTORY,
        choice("name", REQUIRED, "byclass", "bymerge", "balanced", "letters", "digits", "mnist"),
        usage("all", "train", "test"),
        *READING,
        *SHARDS,
        CACHE,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        names = [f"emnist-{given.name}-{part}" for part in ("test", "train") if given.usage in (part, "all")]
        parts = [_pair(type(self).__name__, given.dataset_dir, name, "labels-idx1-ubyte", _LABELS) for name in names]
        images, labels = (np.concatenate(a) for a in zip(*parts, strict=True))
        return {"image": images[..., None], "label": labels.astype(np.uint32)}


class QMnistDataset(ListedDataset):
    """Images uint8 [28, 28, 1] of handwritten digits and labels uint32, or all that is known of each, uint32 [8].

    dataset_dir: where qmnist-train-images-idx3-ubyte, qmnist-train-labels-idx2-int, the same of qmnist-test and of xnist are.
    usage: "train", "test", its first 10000 images "test10k" or the others "test50k", "nist", or "all", as None is: training,
    test and nist. compat: the digit alone, but if it is None. The other parameters are those of MnistDataset.
    """

    parameters = (
        DIRECTORY,
        usage("all", "train", "test", "test10k", "test50k", "nist"),
        flag("compat", True),
        *READING,
        *SHARDS,
        CACHE,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner = type(self).__name__
        heads = {"train": ["qmnist-train"], "nist": ["xnist"], "all": ["qmnist-train", "qmnist-test", "xnist"]}
        parts = [
            _pair(owner, given.dataset_dir, name, "labels-idx2-int", _RECORDS)
            for name in heads.get(given.usage, ["qmnist-test"])
        ]
        part = {"test10k": slice(0, 10000), "test50k": slice(10000, None)}.get(given.usage, slice(None))
        images, records = (np.concatenate(a)[part] for a in zip(*parts, strict=True))
        labels = records[:, 0] if given.compat else records
        return {"image": images[..., None], "label": labels.astype(np.uint32)}


def _pair(owner: str, folder: Path, name: str, ending: str, magic: int) -> tuple[Array, Array]:
    images = _values(owner, folder / f"{name}-images-idx3-ubyte", _IMAGES)
    return _alike(owner, images, _values(owner, folder / f"{name}-{ending}", magic))


def _alike(owner: str, images: Array, labels: Array) -> tuple[Array, Array]:
    """Both, if there are as many. DataError else."""
    if len(images) != len(labels):
        raise DataError(
            f"{owner}: there are {len(images)} images and {len(labels)} labels", code="GC205", loc=user_loc()
        )
    return images, labels


def _values(owner: str, path: Path, magic: int) -> Array:
    """The numbers of an IDX file, in their shape: bytes, or integers of four bytes."""
    data = read_whole(owner, path)
    axes = magic & 0xFF
    kind, size = (">i4", 4) if magic == _RECORDS else ("u1", 1)
    head = 4 * (1 + axes)
    if len(data) < head or struct.unpack(">I", data[:4])[0] != magic:
        of = "integers" if size == 4 else "bytes"
        raise unfit(owner, path, f"is no IDX file of {of} in {axes} axes")
    shape = struct.unpack(f">{axes}I", data[4:head])
    wanted = head + size * int(np.prod(shape, dtype=object))
    if len(data) != wanted:
        raise unfit(owner, path, f"has {len(data)} bytes, its head says {wanted}")
    return np.frombuffer(data, kind, offset=head).reshape(shape)
