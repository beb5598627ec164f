"""The builtin classes of MindSpore's errors, and what its transforms are given, for tests/errors/test_classes_of_errors.py.

Run with MindSpore's Python in an empty folder: python ms_error_classes.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

#: A module, `mindspore` or `graphc`, and those of data sets beside it.
Modules = SimpleNamespace
IMAGE = np.zeros((4, 4, 3), np.uint8)


def dense(m: Modules) -> Any:
    return m.nn.Dense(2, 2)


def _rows(m: Modules) -> Any:
    return m.ds.NumpySlicesDataset([1, 2, 3, 4], shuffle=False)


#: name -> what raises.
RAISING: dict[str, Callable[[Modules], Any]] = {
    "MSELoss.reduction": lambda m: m.nn.MSELoss(reduction=1),
    "L1Loss.reduction": lambda m: m.nn.L1Loss(reduction=True),
    "SoftmaxCrossEntropyWithLogits.reduction": lambda m: m.nn.SoftmaxCrossEntropyWithLogits(reduction=None),
    "CrossEntropyLoss.reduction": lambda m: m.nn.CrossEntropyLoss(reduction=0),
    "BCELoss.reduction": lambda m: m.nn.BCELoss(reduction=["mean"]),
    "Conv2d.kernel_size": lambda m: m.nn.Conv2d(2, 2, (1, 2, 3)),
    "Conv2d.stride": lambda m: m.nn.Conv2d(2, 2, 3, stride=(1, 2, 3)),
    "Conv2d.dilation": lambda m: m.nn.Conv2d(2, 2, 3, dilation=()),
    "Conv2dTranspose.kernel_size": lambda m: m.nn.Conv2dTranspose(2, 2, (1, 2, 3)),
    "Conv1d.pad_mode": lambda m: m.nn.Conv1d(2, 2, 3, pad_mode=1),
    "Conv2dTranspose.pad_mode": lambda m: m.nn.Conv2dTranspose(2, 2, 3, pad_mode=None),
    "Dense.activation": lambda m: m.nn.Dense(2, 2, activation="of my own"),
    "get_activation": lambda m: m.nn.get_activation("of my own"),
    "TransformerEncoderLayer.activation": lambda m: m.nn.TransformerEncoderLayer(4, 2, activation=3),
    "Pad.mode": lambda m: m.nn.Pad(((1, 1), (1, 1)), mode=3),
    "Cell.construct": lambda m: m.nn.Cell()(m.Tensor([1.0])),
    "CellList.construct": lambda m: m.nn.CellList([dense(m)])(m.Tensor([1.0])),
    "CellDict.construct": lambda m: m.nn.CellDict({"a": dense(m)})(m.Tensor([1.0])),
    "Momentum.learning_rate": lambda m: m.nn.Momentum(dense(m).trainable_params(), "a", 0.9),
    "Adam.learning_rate": lambda m: m.nn.Adam(dense(m).trainable_params(), learning_rate="0.1"),
    "Parameter.name": lambda m: m.Parameter(m.Tensor([1.0]), name=3),
    "Parameter.name of one that is there": lambda m: setattr(dense(m).weight, "name", 3),
    "initializer.shape": lambda m: m.initializer("normal", "a"),
    "ParameterTuple of two with one name": lambda m: m.ParameterTuple(
        (m.Parameter(m.Tensor([1.0]), name="a"), m.Parameter(m.Tensor([2.0]), name="a"))
    ),
    "split of nothing": lambda m: _rows(m).split([]),
    "split of ints and floats": lambda m: _rows(m).split([3, 0.25]),
    "TextFileDataset of no files": lambda m: m.ds.TextFileDataset([]),
    "GeneratorDataset.column_names": lambda m: m.ds.GeneratorDataset([1, 2], []),
    "num_shards without shard_id": lambda m: m.ds.FakeImageDataset(2, num_shards=2),
    "sampler and shuffle": lambda m: m.ds.FakeImageDataset(2, sampler=m.ds.SequentialSampler(), shuffle=True),
    "sampler and num_shards": lambda m: m.ds.FakeImageDataset(
        2, sampler=m.ds.SequentialSampler(), num_shards=2, shard_id=0
    ),
    "Compose of a number": lambda m: m.transforms.Compose([3]),
    "RandomApply of a number": lambda m: m.transforms.RandomApply([3]),
    "Concatenate.prepend": lambda m: m.transforms.Concatenate(0, prepend=3),
    "Resize of a text": lambda m: m.vision.Resize(3)("a"),
    "Normalize of a text": lambda m: m.vision.Normalize([1.0], [1.0])("a"),
    "ToTensor of a text": lambda m: m.vision.ToTensor()("a"),
    "ToPIL of floats": lambda m: m.vision.ToPIL()(IMAGE.astype(np.float32)),
    "Decode of an image": lambda m: m.vision.Decode()(IMAGE),
    "Grayscale of an array": lambda m: m.vision.Grayscale()(IMAGE),
    "FiveCrop of an array": lambda m: m.vision.FiveCrop(2)(IMAGE),
}

#: name -> what a composition is called with.
GIVEN: dict[str, Any] = {
    "list": [1, 2],
    "int": 3,
    "float": 2.5,
    "text": "ab",
    "bytes": b"ab",
    "tuple": (1, 2),
    "bool": True,
}
#: name -> a composition of one function.
COMPOSITIONS: dict[str, Callable[[Modules, Any], Any]] = {
    "Compose": lambda m, f: m.transforms.Compose([f]),
    "RandomApply": lambda m, f: m.transforms.RandomApply([f], 1.0),
    "RandomChoice": lambda m, f: m.transforms.RandomChoice([f]),
    "RandomOrder": lambda m, f: m.transforms.RandomOrder([f]),
}


def kind(value: Any) -> list[Any]:
    """What the function behind a composition sees of a value, and what comes out."""
    array = isinstance(value, np.ndarray)
    return [type(value).__name__, *([str(value.dtype), list(value.shape)] if array else [])]


def given(m: Modules, composition: str, name: str) -> list[Any]:
    """What a composition gives its function for a value, and its own result."""
    seen: list[Any] = []
    result = COMPOSITIONS[composition](m, lambda x: seen.append(kind(x)) or x)(GIVEN[name])
    return [*seen, kind(result)]


def raised(m: Modules, name: str) -> type[Exception] | None:
    """The class of the error."""
    try:
        RAISING[name](m)
    except Exception as error:
        return type(error)
    return None


def main(path: str) -> None:
    import mindspore
    import mindspore.dataset as ds
    from mindspore.common.initializer import initializer

    m = SimpleNamespace(
        **{n: getattr(mindspore, n) for n in ("nn", "Tensor", "Parameter", "ParameterTuple")},
        ds=ds, vision=ds.vision, transforms=ds.transforms, initializer=initializer,
    )  # fmt: skip
    classes = {}
    for name in RAISING:
        found = raised(m, name)
        classes[name] = found.__name__ if found else None
    kinds = {c: {name: given(m, c, name) for name in GIVEN} for c in COMPOSITIONS}
    with open(path, "w") as file:
        json.dump({"classes": classes, "given": kinds}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
