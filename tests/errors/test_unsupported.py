"""Names that are left out on purpose: the error says what to use, and no entry outlives its reason."""

from __future__ import annotations

import importlib

import pytest

import graphc
import graphc.dataset as ds
from graphc import Tensor, nn, ops
from graphc.errors.unsupported import INSTEAD


def part(name):
    return {"Tensor": Tensor, "Cell": nn.Cell, "Dataset": ds.Dataset}.get(name) or importlib.import_module(name)


@pytest.mark.parametrize("where", INSTEAD)
def test_what_is_left_out_is_not_there(where):
    owner = part(where)
    there = [name for name in INSTEAD[where] if name in getattr(owner, "__all__", dir(owner))]
    assert not there, "these exist: take their entries away"
    assert all(use.startswith("use ") and not use.endswith(".") for use in INSTEAD[where].values())


def test_the_error_says_what_to_use():
    with pytest.raises(graphc.TraceAttributeError, match=r"(?s)GC140.*'GroupTopk'.*use the function written out"):
        ops.GroupTopk  # noqa: B018
    with pytest.raises(ImportError, match=r"has no 'BasicLSTMCell'; use the layer of graphc\.nn"):
        from graphc.ops import BasicLSTMCell  # noqa: F401
    with pytest.raises(AttributeError, match=r"(?s)Tensor has no attribute 'set_'.*use x.copy_"):
        Tensor([1.0]).set_(Tensor([2.0]))
    with pytest.raises(AttributeError, match=r"(?s)Parameter has no attribute 'pin_memory'.*use nothing"):
        graphc.Parameter(Tensor([1.0]), name="w").pin_memory()
    with pytest.raises(AttributeError, match=r"(?s)Dense has no attribute 'shard'.*use the cell itself"):
        nn.Dense(2, 2).shard(((1, 1),))
    with pytest.raises(ImportError, match="no 'GraphCell'; use the Cell itself"):
        from graphc.nn import GraphCell  # noqa: F401
    with pytest.raises(ImportError, match="no 'OBSMindDataset'; use MindDataset"):
        from graphc.dataset import OBSMindDataset  # noqa: F401
    with pytest.raises(ImportError, match="no 'VideoDecoder'; use GeneratorDataset"):
        from graphc.dataset.vision import VideoDecoder  # noqa: F401
    with pytest.raises(AttributeError, match=r"(?s)BatchDataset has no attribute 'device_que'.*use Model.train"):
        ds.NumpySlicesDataset([1]).batch(1).device_que()
    with pytest.raises(AttributeError, match=r"(?s)BatchDataset has no attribute 'shufle'.*did you mean d.shuffle"):
        ds.NumpySlicesDataset([1]).batch(1).shufle(2)
    with pytest.raises(AttributeError, match=r"(?s)transforms has no attribute 'Plugin'.*use a function"):
        ds.transforms.Plugin  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"(?s)graphc has no attribute 'FlopsUtilizationCollector'.*use `graphc profile`"
    ):
        graphc.FlopsUtilizationCollector  # noqa: B018
