"""Data that nobody has measured, for trying a pipeline out."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from graphc.dataset import config
from graphc.dataset.checks import INT32_MAX, LateError, integer, names, truth
from graphc.dataset.orders.mersenne import Mt19937, canonical, integers
from graphc.dataset.schema import Schema
from graphc.dataset.sources.listed import ListedDataset, Read
from graphc.dataset.sources.parameters import (
    CACHE,
    NUM_SAMPLES,
    NUM_SHARDS,
    READING,
    SHARD_ID,
    SHARDS,
    SHUFFLE,
    WORKERS,
    Parameter,
    number,
)
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


def _size(owner: str, name: str, value: Any) -> list[int]:
    if not isinstance(value, (list, tuple)):
        raise ArgumentTypeError(f"{owner}: {name} must be a list or tuple, got {type(value).__name__}", loc=user_loc())
    if len(value) != 3:
        raise ArgumentValueError(f"{owner}: {name} must have three numbers, got {len(value)}", loc=user_loc())
    return [integer(owner, f"{name}[{k}]", one, 1, INT32_MAX) for k, one in enumerate(value)]


class _FakeImages(Read):
    """Noise, as MindSpore has it: the bytes of normal numbers in float64 of which the negative ones are 0."""

    def __init__(self, count: int, size: list[int], seed: int) -> None:
        self.count, self.size, self.seed = count, size, seed

    def __len__(self) -> int:
        return self.count

    def value(self, i: int) -> Array:
        length = math.prod(self.size)
        numbers = np.maximum(normals(Mt19937(self.seed + i), -(-length // 8)), 0.0)
        return numbers.view(np.uint8)[:length].reshape(self.size).copy()


def normals(generator: Mt19937, count: int) -> Array:
    """float64 [count]: libstdc++'s std::normal_distribution, pairs by Marsaglia's polar method."""
    made = np.empty(0, np.float64)
    while len(made) < count:
        # About four of five pairs lie in the circle. What is drawn beyond those needed is used up.
        x, y = (2.0 * canonical(generator, 2 * max(count, 8)) - 1.0).reshape(-1, 2).T
        square = x * x + y * y
        inside = (square <= 1.0) & (square > 0.0)
        x, y, square = x[inside], y[inside], square[inside]
        # The C library's logarithm, to the bit; NumPy's may differ in the last one.
        logarithms = np.fromiter(map(math.log, square.tolist()), np.float64, len(square))
        factor = np.sqrt(-2.0 * logarithms / square)
        made = np.concatenate([made, np.stack([y * factor, x * factor], 1).reshape(-1)])
    return made[:count]


class FakeImageDataset(ListedDataset):
    """Noise "image" uint8, of image_size [H, W, C], and random "label" uint32 below num_classes: those of MindSpore, bit for
    bit.

    num_images: how many. base_seed: the first one's, each further one has the next. num_samples, shuffle (True by default),
    sampler, num_shards and shard_id: which images, in which order. num_parallel_workers: threads that make them. cache must be
    None.
    """

    parameters = (
        number("num_images", 1000, 1, INT32_MAX),
        Parameter("image_size", (224, 224, 3), _size),
        number("num_classes", 10, 1, INT32_MAX),
        number("base_seed", 0, -INT32_MAX, INT32_MAX),
        *READING,
        *SHARDS,
        CACHE,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        self._classes = given.num_classes
        drawn = [integers(Mt19937(given.base_seed + k), np.array([given.num_classes])) for k in range(given.num_images)]
        images = _FakeImages(given.num_images, given.image_size, given.base_seed)
        return {"image": images, "label": np.concatenate(drawn).astype(np.uint32)}

    def num_classes(self) -> int:
        return int(self._classes)


class _RandomBytes(Read):
    """Values whose bytes are all the same, a random one. shape: -1 for a random size of up to 32."""

    def __init__(self, count: int, dtype: np.dtype[Any], shape: list[int], seed: list[int]) -> None:
        self.count, self.dtype, self.shape, self.seed = count, dtype, shape, seed

    def __len__(self) -> int:
        return self.count

    def value(self, i: int) -> Array:
        generator = np.random.default_rng([*self.seed, i])
        byte = generator.integers(256)
        shape = [int(generator.integers(1, 33)) if s < 0 else s for s in self.shape]
        if self.dtype == np.bool_:
            return np.full(shape, byte > 0)
        return np.full((*shape, self.dtype.itemsize), byte, np.uint8).view(self.dtype)[..., 0]


def _schema(owner: str, name: str, value: Any) -> Schema | None:
    if value is None or isinstance(value, Schema):
        return value
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentTypeError(
            f"{owner}: {name} must be a Schema or a path, got {type(value).__name__}", loc=user_loc()
        )
    return Schema(os.fspath(value))


def _column_names(owner: str, name: str, value: Any) -> list[str] | None:
    return None if value is None else names(owner, name, value, alone=False, empty=True, twice=LateError) or None


#: What the columns of a data set without a schema may be.
_KINDS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")


class RandomDataset(ListedDataset):
    """Rows of random bytes, those of a value all alike, in the order in which they are made.

    total_rows: how many, by default the schema's numRows, or a random number of up to 1024. schema: a Schema or the path of its
    JSON file, by default one of up to four random columns "c0", "c1" and so on. columns_list: which of its columns; without a
    schema the names of as many. num_samples: at most so many rows. num_shards and shard_id: a share of them. shuffle: False by
    default. num_parallel_workers: threads that make them. cache must be None. With a seed (config.set_seed) rows are the same
    each time.
    """

    parameters = (
        Parameter(
            "total_rows", None, lambda o, n, v: None if v is None else integer(o, n, v, 0, INT32_MAX, LateError) or None
        ),
        Parameter("schema", None, _schema),
        Parameter("columns_list", None, _column_names),
        NUM_SAMPLES,
        WORKERS,
        CACHE,
        SHUFFLE,
        NUM_SHARDS,
        SHARD_ID,
    )

    def build(self, given: Any) -> None:
        given.sampler = None
        given.shuffle = given.shuffle is not None and truth(type(self).__name__, "shuffle", given.shuffle)
        super().build(given)

    def columns(self, given: Any) -> dict[str, Any]:
        owner, seed = type(self).__name__, config.drawn_seed()
        rows = given.total_rows or (given.schema.num_rows if given.schema else None)
        generator = np.random.default_rng(seed)
        rows = rows or int(generator.integers(1, 1025))
        kinds = _of_schema(owner, given.schema) if given.schema else _drawn(generator, given.columns_list)
        lacking = [name for name in given.columns_list or () if name not in kinds]
        if lacking:
            raise ArgumentValueError(f"{owner}: the schema has no column {lacking[0]!r}", loc=user_loc())
        chosen = given.columns_list or list(kinds)
        return {name: _RandomBytes(rows, *kinds[name], [seed, k]) for k, name in enumerate(chosen)}


def _of_schema(owner: str, schema: Schema) -> dict[str, tuple[np.dtype[Any], list[int]]]:
    """{column: (dtype, shape)}. ArgumentValueError for columns of texts, or none."""
    if not schema.columns:
        raise ArgumentValueError(f"{owner}: the schema has no columns", loc=user_loc())
    for column in schema.columns:
        if column["type"] == "string":
            raise ArgumentValueError(f"{owner}: column {column['name']!r} of the schema is of texts", loc=user_loc())
    return {c["name"]: (np.dtype(c["type"]), c.get("shape", [])) for c in schema.columns}


def _drawn(generator: np.random.Generator, listed: list[str] | None) -> dict[str, tuple[np.dtype[Any], list[int]]]:
    """{column: (dtype, shape)}, at random: up to four columns of up to four axes, or those that are listed."""
    chosen = listed or [f"c{k}" for k in range(generator.integers(1, 5))]
    return {
        name: (
            np.dtype(_KINDS[generator.integers(len(_KINDS))]),
            generator.integers(1, 33, generator.integers(1, 5)).tolist(),
        )
        for name in chosen
    }
