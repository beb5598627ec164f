"""The digits that come with graphc, as a data set."""

from __future__ import annotations

from typing import Any

from graphc.dataset.digits import load_digits
from graphc.dataset.sources.arrays import ArrayDataset
from graphc.dataset.sources.source import chosen_sampler
from graphc.errors import ArgumentValueError, user_loc
from graphc.validation.signatures import Remembers


class DigitsDataset(ArrayDataset, Remembers):
    """Images float32 [1, size, size] in 0..1 and labels int32 of the 1797 digits that come with graphc (`load_digits`).

    usage: "train" for 1442 of them, "test" for the other 355. size: side of the images. num_samples, shuffle (True by default),
    sampler, num_shards and shard_id: which images, in which order.
    """

    holds = frozenset(("images",))

    def __init__(
        self,
        usage: str = "train",
        size: int = 32,
        num_samples: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        owner = "DigitsDataset"
        if usage not in ("train", "test"):
            raise ArgumentValueError(f"{owner}: usage must be 'train' or 'test', got {usage!r}", loc=user_loc())
        data = load_digits(size)
        images, labels = (
            (data.train_images, data.train_labels) if usage == "train" else (data.test_images, data.test_labels)
        )
        chosen = chosen_sampler(owner, num_samples, shuffle, sampler, num_shards, shard_id)
        super().__init__({"image": images, "label": labels}, None, chosen)
