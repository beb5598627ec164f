"""What `mindspore.dataset.engine.datasets` notes of a training, for whoever asks: graphc starts none again by itself."""

from __future__ import annotations

from typing import Any

_noted: list[Any] = [None]


def _set_training_dataset(dataset: Any) -> None:
    """Note the data set, or iterator, of the training."""
    _noted[0] = dataset


def _get_training_dataset() -> Any:
    """What was noted last; None before."""
    return _noted[0]


__all__: list[str] = []  # What it has is private.
