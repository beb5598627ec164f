"""Batches of any object's samples, by samplers, in worker processes (MindSpore: mindspore.dataset.dataloader)."""

from graphc.dataset.dataloader.collate import default_collate, default_convert
from graphc.dataset.dataloader.datasets import Dataset, IterableDataset, TensorDataset
from graphc.dataset.dataloader.fetching import get_worker_info
from graphc.dataset.dataloader.loader import DataLoader
from graphc.dataset.dataloader.samplers import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)
from graphc.validation.signatures import accept

__all__ = [
    "BatchSampler", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset", "RandomSampler", "Sampler",
    "SequentialSampler", "TensorDataset", "default_collate", "default_convert", "get_worker_info",
]  # fmt: skip

accept(globals(), __all__, __name__)
