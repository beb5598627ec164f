"""Errors are of the builtin classes that MindSpore raises for the same mistake (tests/data/ms_error_classes.py)."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import graphc
import graphc.dataset as ds
from graphc import nn
from graphc.common.initializer import initializer
from graphc.errors import GraphcError
from tests.data.ms_error_classes import COMPOSITIONS, GIVEN, RAISING, given, raised

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_error_classes.json").read_text())
MODULES = SimpleNamespace(
    nn=nn, ds=ds, vision=ds.vision, transforms=ds.transforms, initializer=initializer, Tensor=graphc.Tensor,
    Parameter=graphc.Parameter, ParameterTuple=graphc.ParameterTuple,
)  # fmt: skip


@pytest.mark.parametrize("name", RAISING)
def test_a_mistake_is_of_mindspores_class(name):
    found, wanted = raised(MODULES, name), getattr(builtins, RECORDED["classes"][name])
    assert found is not None
    assert issubclass(found, wanted)
    assert issubclass(found, GraphcError)


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_compositions_give_arrays(composition, name):
    assert given(MODULES, composition, name) == RECORDED["given"][composition][name]
