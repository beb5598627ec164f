"""Samplers as JSON, with MindSpore's field names, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphc.dataset.orders import samplers
from graphc.dataset.orders.samplers import BuiltinSampler
from graphc.dataset.written.values import Writer, read, unreadable

#: By name of the sampler, what it is made with: attributes, but for the number of samples.
_FIELDS = {
    "SequentialSampler": ("start_index",),
    "RandomSampler": ("replacement",),
    "DistributedSampler": ("num_shards", "shard_id", "offset"),
    "SubsetSampler": ("indices",),
    "SubsetRandomSampler": ("indices",),
    "WeightedRandomSampler": ("weights", "replacement"),
    "PKSampler": ("num_val", "shuffle", "class_column"),
}
#: Which of them have levels of mixing, and the argument for that.
_LEVELS = ("RandomSampler", "DistributedSampler")
#: What stands for the sampler that the arguments of a source have made.
GIVEN = "given"


def is_plain(sampler: BuiltinSampler) -> bool:
    """Whether the sampler and those below it have all that is to be written of them."""
    return _is_known(sampler) and all(is_plain(child) for child in sampler.children)


def _is_known(sampler: BuiltinSampler) -> bool:
    name = type(sampler).__name__
    return (name in _FIELDS and type(sampler) is getattr(samplers, name)) or _listed(sampler) is not None


def _listed(sampler: BuiltinSampler) -> list[Any] | None:
    """What a sampler was given as a list of indices; whether they are some is looked at when they are read."""
    if type(sampler) is not samplers.IterSampler or not isinstance(sampler.sampler, (list, tuple, np.ndarray, range)):
        return None
    return [int(i) if isinstance(i, np.integer) else i for i in sampler.sampler]


def write(writer: Writer, where: str, sampler: BuiltinSampler) -> dict[str, Any]:
    """{"sampler_name", "num_samples", ..., "child_sampler": [...]}. One of the user's own is no data."""
    name = type(sampler).__name__
    fields: dict[str, Any] = {"sampler_name": name, "num_samples": sampler.num_samples or 0}
    if (indices := _listed(sampler)) is not None:
        fields["indices"] = writer.value(where, indices)
    elif not _is_known(sampler):
        if isinstance(sampler, samplers.Sampler):
            return writer.unwritten(where, sampler)
        fields = {"sampler_name": GIVEN}
    else:
        held = {field: getattr(sampler, field) for field in _FIELDS[name]}
        fields |= {f: v.tolist() if isinstance(v, np.ndarray) else v for f, v in held.items()}
        if isinstance(sampler, (samplers.RandomSampler, samplers.DistributedSampler)):
            fields["shuffle"] = writer.value(where, sampler.level)
        if isinstance(sampler, samplers.RandomSampler):
            fields["reshuffle_each_epoch"] = sampler.reshuffle
    if sampler.children:
        fields["child_sampler"] = [write(writer, where, child) for child in sampler.children]
    return fields


def read_sampler(fields: Any, given: Callable[[], BuiltinSampler]) -> BuiltinSampler:
    """The sampler of such fields. given: the one that a source has by itself. DataError for anything else."""
    name = fields.get("sampler_name") if isinstance(fields, dict) else None
    if name == GIVEN:
        return given()
    number = fields.get("num_samples") if isinstance(fields, dict) else None
    if name == "IterSampler":
        sampler: BuiltinSampler = samplers.IterSampler(read(fields.get("indices")), number)
    elif name in _FIELDS:
        named = {field: read(fields[field]) for field in (*_FIELDS[name], "shuffle") if field in fields}
        level = named.pop("shuffle") if name in _LEVELS and "shuffle" in named else None
        sampler = getattr(samplers, name)(**named, **({} if level is None else {"shuffle": level}), num_samples=number)
        if isinstance(sampler, samplers.RandomSampler):
            sampler.reshuffle = fields.get("reshuffle_each_epoch", True)
    else:
        raise unreadable(f"there is no sampler {name!r}")
    for child in fields.get("child_sampler", ()):
        sampler.children.append(read_sampler(child, given))
    return sampler
