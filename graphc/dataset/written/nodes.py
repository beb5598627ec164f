"""Pipelines as JSON, node by node, and back.

A node is {"op_type", "children", ...}: what it is made with, under MindSpore's names. What MindSpore's JSON leaves out, such as
how columns are filled up, stands there, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from graphc import dataset as public
from graphc.dataset import config
from graphc.dataset.core.dataset import Dataset
from graphc.dataset.nodes.batches import BatchDataset, PaddedBatchDataset, Padding
from graphc.dataset.nodes.buckets import BucketBatchByLengthDataset
from graphc.dataset.nodes.columns import ProjectDataset, RenameDataset
from graphc.dataset.nodes.concat import ConcatDataset
from graphc.dataset.nodes.mapping import FilterDataset, MapDataset
from graphc.dataset.nodes.sequence import RepeatDataset, ShuffleDataset, SkipDataset, TakeDataset
from graphc.dataset.nodes.waiting import SyncWaitDataset
from graphc.dataset.nodes.zipping import ZipDataset
from graphc.dataset.orders.samplers import SequentialSampler
from graphc.dataset.sources.source import MappableDataset
from graphc.dataset.written import orders
from graphc.dataset.written.values import Writer, made, read, read_transform, unreadable
from graphc.errors import GraphcError
from graphc.validation.signatures import Remembers

Fields = dict[str, Any]
#: Arguments of sources that only say which sampler they have.
_SAMPLED = ("num_samples", "shuffle", "sampler", "num_shards", "shard_id")
#: What all nodes have.
_COMMON = ("op_type", "children", "num_parallel_workers", "connector_queue_size")


def write(dataset: Dataset, writer: Writer) -> Fields:
    """The pipeline as JSON. DataError for Python code in it, where the writer does not name it."""
    name, fields = _own(dataset, writer)
    children = dataset.whole if isinstance(dataset, ConcatDataset) else dataset.children
    return {
        "op_type": name,
        "children": [write(child, writer) for child in children],
        "num_parallel_workers": dataset.num_parallel_workers,
        "connector_queue_size": config.get_prefetch_size(),
        **fields,
    }


def _own(dataset: Dataset, writer: Writer) -> tuple[str, Fields]:
    for name, (cls, fields, _) in _NODES.items():
        if type(dataset) is cls:
            return name, fields(dataset, writer)
    return type(dataset).__name__, _source(dataset, writer)


def read_node(value: Any) -> Dataset:
    """The data set of such JSON. DataError for anything else."""
    name = value.get("op_type") if isinstance(value, dict) else None
    if not isinstance(name, str):
        raise unreadable('a node has no "op_type"')
    below = value.get("children") or []
    if not isinstance(below, list):
        raise unreadable(f'"children" of {name} is {below!r}')
    children = [read_node(child) for child in below]
    fields = {key: held for key, held in value.items() if key not in _COMMON}
    for held in fields.values():
        for code in held if isinstance(held, list) else [held]:
            if isinstance(code, dict) and "python_module" in code:
                raise unreadable(f"{code.get('tensor_op_name')} is Python code, which is not written")
    try:
        return _made(name, children, fields, value.get("num_parallel_workers"))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        if isinstance(error, GraphcError):
            raise
        raise unreadable(f"{name}: {type(error).__name__}: {error}") from error


def _made(name: str, children: list[Dataset], fields: Fields, workers: int | None) -> Dataset:
    if name not in _NODES:
        return _read_source(name, fields, workers)
    lacking = [key for key in _REQUIRED.get(name, ()) if key not in fields]
    if lacking or not children:
        raise unreadable(f"{name} has no {lacking[0] if lacking else 'children'!r}")
    dataset: Dataset = _NODES[name][2](children, fields, workers)
    return dataset


# ---- sources


def _source(dataset: Dataset, writer: Writer) -> Fields:
    name = type(dataset).__name__
    if not _is_source(name, type(dataset)) or not isinstance(dataset, Remembers) or dataset.made_with is None:
        return {"source": writer.unwritten("serialize", dataset)}
    plain = isinstance(dataset, MappableDataset) and orders.is_plain(dataset.sampler)
    # Samplers that only the source knows are made again by what it was given.
    dropped = _SAMPLED if plain and "sampler" in inspect.signature(type(dataset)).parameters else ("sampler",)
    given = writer.arguments(f"serialize: {name}", dataset, (*dropped, "num_parallel_workers"))
    assert isinstance(dataset, MappableDataset)
    return {**given, "sampler": orders.write(writer, f"serialize: {name}", dataset.sampler)}


def _read_source(name: str, fields: Fields, workers: int | None) -> Dataset:
    cls: Any = getattr(public, name) if name in public.__all__ else None
    if not _is_source(name, cls) or not issubclass(cls, Remembers):
        raise unreadable(f"there is no data set {name!r} to be made of JSON")
    sampler = fields.pop("sampler", None)
    if "num_parallel_workers" in inspect.signature(cls).parameters and workers is not None:
        fields["num_parallel_workers"] = workers
    dataset = made(cls, name, fields)
    if sampler is not None:
        dataset.sampler = orders.read_sampler(sampler, lambda: dataset.sampler)
    assert isinstance(dataset, Dataset)
    return dataset


def _is_source(name: str, cls: Any) -> bool:
    return name in public.__all__ and isinstance(cls, type) and issubclass(cls, MappableDataset)


# ---- nodes


def _map(dataset: MapDataset, writer: Writer) -> Fields:
    job = dataset.job
    return {
        "operations": [writer.transform("serialize: map", o) for o in job.operations],
        "input_columns": job.inputs,
        "output_columns": job.outputs,
        "python_multiprocessing": dataset.processes,
        "callback": [writer.unwritten("serialize: map", c) for c in dataset.callbacks],
    }


def _read_map(children: list[Dataset], fields: Fields, workers: int | None) -> Dataset:
    return children[0].map(
        [read_transform(o) for o in fields["operations"]],
        fields["input_columns"],
        fields["output_columns"] or None,
        workers,
        fields.get("python_multiprocessing", False),
    )


def _batch(dataset: BatchDataset, writer: Writer) -> Fields:
    size, job = dataset.batch_size, dataset.job
    fields: Fields = {
        "batch_size": size if isinstance(size, int) else writer.unwritten("serialize: batch", size),
        "drop_remainder": dataset.drop_remainder,
        "input_columns": [] if job is None else [job.known[p] for p in job.places],
        "output_columns": [] if job is None else job.outputs,
    }
    if job is not None:
        fields["per_batch_map"] = writer.unwritten("serialize: batch", job.per_batch_map)
    return fields


def _read_batch(children: list[Dataset], fields: Fields, workers: int | None) -> Dataset:
    return children[0].batch(fields["batch_size"], fields["drop_remainder"], workers)


def _padding(padding: Padding | None, writer: Writer) -> Any:
    if padding is None:
        return None
    rules = {padding.known[place]: rule for place, rule in padding.of.items()} if padding.named else {}
    return writer.value("serialize: pad_info", rules)


def _padded(dataset: PaddedBatchDataset, writer: Writer) -> Fields:
    size = dataset.batch_size
    return {
        "batch_size": size if isinstance(size, int) else writer.unwritten("serialize: padded_batch", size),
        "drop_remainder": dataset.drop_remainder,
        "pad_info": _padding(dataset.padding, writer),
    }


def _bucket(dataset: BucketBatchByLengthDataset, writer: Writer) -> Fields:
    length = dataset.element_length_function
    return {
        "column_names": dataset.column_names,
        "bucket_boundaries": dataset.boundaries,
        "bucket_batch_sizes": dataset.sizes,
        "element_length_function": None
        if length is None
        else writer.unwritten("serialize: bucket_batch_by_length", length),
        "pad_info": _padding(dataset.padding, writer),
        "pad_to_bucket_boundary": dataset.to_boundary,
        "drop_remainder": dataset.drop_remainder,
    }


def _read_bucket(children: list[Dataset], fields: Fields) -> Dataset:
    sizes = (fields["column_names"], fields["bucket_boundaries"], fields["bucket_batch_sizes"])
    options = (read(fields["pad_info"]), fields["pad_to_bucket_boundary"], fields["drop_remainder"])
    return children[0].bucket_batch_by_length(*sizes, None, *options)


def _concat(dataset: ConcatDataset, writer: Writer) -> Fields:
    sampler = dataset.sampler
    return {} if sampler is None else {"sampler": orders.write(writer, "serialize: concat", sampler)}


def _read_concat(children: list[Dataset], fields: Fields) -> Dataset:
    dataset = ConcatDataset(children)
    if "sampler" in fields:
        dataset.use_sampler(orders.read_sampler(fields["sampler"], SequentialSampler))
    return dataset


def _wait(dataset: SyncWaitDataset, writer: Writer) -> Fields:
    return {"condition": writer.unwritten("serialize", dataset)}


def _refuse_code() -> Dataset:
    raise unreadable("the pipeline has Python code, which is not written")


#: op_type -> its class, what is written of one, and how that is read.
_NODES: dict[str, tuple[type[Dataset], Callable[..., Fields], Callable[..., Dataset]]] = {
    "Map": (MapDataset, _map, _read_map),
    "Batch": (BatchDataset, _batch, _read_batch),
    "PaddedBatch": (
        PaddedBatchDataset,
        _padded,
        lambda c, f, w: c[0].padded_batch(f["batch_size"], f["drop_remainder"], pad_info=read(f["pad_info"])),
    ),
    "BucketBatchByLength": (BucketBatchByLengthDataset, _bucket, lambda c, f, w: _read_bucket(c, f)),
    "Shuffle": (
        ShuffleDataset,
        lambda d, w: {"buffer_size": d.buffer_size, "reset_each_epoch": d.again},
        lambda c, f, w: ShuffleDataset(c[0], f["buffer_size"], f["reset_each_epoch"]),
    ),
    "Repeat": (RepeatDataset, lambda d, w: {"count": d.repeats}, lambda c, f, w: c[0].repeat(f["count"])),
    "Skip": (SkipDataset, lambda d, w: {"count": d.skipped}, lambda c, f, w: c[0].skip(f["count"])),
    "Take": (TakeDataset, lambda d, w: {"count": d.taken}, lambda c, f, w: c[0].take(f["count"])),
    "Project": (
        ProjectDataset,
        lambda d, w: {"columns": d.get_col_names()},
        lambda c, f, w: c[0].project(f["columns"]),
    ),
    "Rename": (
        RenameDataset,
        lambda d, w: {"input_columns": list(d.changed), "output_columns": list(d.changed.values())},
        lambda c, f, w: c[0].rename(f["input_columns"], f["output_columns"]),
    ),
    "Zip": (ZipDataset, lambda d, w: {}, lambda c, f, w: ZipDataset(tuple(c))),
    "Concat": (ConcatDataset, _concat, lambda c, f, w: _read_concat(c, f)),
    "Filter": (
        FilterDataset,
        lambda d, w: {"predicate": w.unwritten("serialize: filter", d.predicate)},
        lambda c, f, w: _refuse_code(),
    ),
    "SyncWait": (SyncWaitDataset, _wait, lambda c, f, w: _refuse_code()),
}
#: op_type -> what it cannot be read without.
_REQUIRED = {
    "Map": ("operations", "input_columns", "output_columns"),
    "Batch": ("batch_size", "drop_remainder"),
    "PaddedBatch": ("batch_size", "drop_remainder", "pad_info"),
    "BucketBatchByLength": (
        "column_names",
        "bucket_boundaries",
        "bucket_batch_sizes",
        "pad_info",
        "pad_to_bucket_boundary",
        "drop_remainder",
    ),
    "Shuffle": ("buffer_size", "reset_each_epoch"),
    **dict.fromkeys(("Repeat", "Skip", "Take"), ("count",)),
    "Project": ("columns",),
    "Rename": ("input_columns", "output_columns"),
}
