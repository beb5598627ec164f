"""Samples that fill up another data set."""

from __future__ import annotations

from typing import Any

from graphc.dataset.checks import LateError
from graphc.dataset.sources.generator import GeneratorDataset
from graphc.errors import ArgumentTypeError, ArgumentValueError, KindError, user_loc

_OWNER = "PaddedDataset"


class _Samples:
    """The values of dicts, by their numbers."""

    def __init__(self, samples: list[dict[str, Any]]) -> None:
        self._samples, self.columns = samples, list(samples[0])

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, number: int) -> tuple[Any, ...]:
        return tuple(self._samples[number][name] for name in self.columns)


class PaddedDataset(GeneratorDataset):
    """Samples that are given as dicts, to be appended to a data set with the same columns.

    padded_samples: a list of {column: value}; all have the columns of the first.
    """

    def __init__(self, padded_samples: list[dict[str, Any]]) -> None:
        if not isinstance(padded_samples, list):
            raise KindError(
                f"{_OWNER}: padded_samples must be a list, got {type(padded_samples).__name__}", loc=user_loc()
            )
        if not padded_samples:
            raise ArgumentValueError(f"{_OWNER}: padded_samples is empty", loc=user_loc())
        for number, sample in enumerate(padded_samples):
            if not isinstance(sample, dict):
                raise ArgumentTypeError(
                    f"{_OWNER}: padded_samples must hold dicts, one is {type(sample).__name__}", loc=user_loc()
                )
            lacking = [name for name in padded_samples[0] if name not in sample]
            if lacking:
                raise LateError(f"{_OWNER}: sample {number} has no {lacking[0]!r}, which the first has", loc=user_loc())
        self.padded_samples = padded_samples
        samples = _Samples(padded_samples)
        super().__init__(samples, samples.columns, shuffle=False)
