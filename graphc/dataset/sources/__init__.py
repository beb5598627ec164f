"""Where rows come from: arrays, users' objects, files. The operations on them come along."""

from graphc.dataset.nodes import batches, buckets, columns, mapping, sequence, zipping
from graphc.dataset.sources.arrays import NumpySlicesDataset
from graphc.dataset.sources.bundled import DigitsDataset
from graphc.dataset.sources.cifar import Cifar10Dataset, Cifar100Dataset
from graphc.dataset.sources.generator import GeneratorDataset
from graphc.dataset.sources.images import ImageFolderDataset
from graphc.dataset.sources.mnist import FashionMnistDataset, MnistDataset
from graphc.dataset.sources.text import CSVDataset, TextFileDataset

__all__ = [
    "CSVDataset",
    "Cifar10Dataset",
    "Cifar100Dataset",
    "DigitsDataset",
    "FashionMnistDataset",
    "GeneratorDataset",
    "ImageFolderDataset",
    "MnistDataset",
    "NumpySlicesDataset",
    "TextFileDataset",
    "batches",
    "buckets",
    "columns",
    "mapping",
    "sequence",
    "zipping",
]  # fmt: skip
