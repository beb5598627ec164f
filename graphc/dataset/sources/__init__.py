"""Where rows come from: arrays, users' objects, files. The operations on them come along."""

from graphc.dataset.nodes import batches, buckets, columns, mapping, sequence
from graphc.dataset.sources.arrays import NumpySlicesDataset
from graphc.dataset.sources.generator import GeneratorDataset

__all__ = ["GeneratorDataset", "NumpySlicesDataset", "batches", "buckets", "columns", "mapping", "sequence"]
