"""`mindspore._checkparam` and the parallel modules, as wrappers call them."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import graphc
from graphc import compat
from graphc.compat import checkparam as check
from graphc.compat import toplevel


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: check.check_number("norm", 0.0, 0.0, check.GT, "Clip"),
            ValueError,
            "Clip: norm must be > 0.0, got 0.0",
        ),
        (
            lambda: check.check("count", 3, "", [2], check.IN, "Adam"),
            ValueError,
            r"Adam: count must be in \[2\], got 3",
        ),
        (lambda: check.check("count", 3, "two", 2, excp_cls=KeyError), KeyError, "count must be == 2"),
        (lambda: check.check_float(1, 0.0, check.GT, "eps"), TypeError, "eps must be of type float, got int"),
        (lambda: check.check_float(0.0, 0.0, check.GT, "eps"), ValueError, "eps must be > 0.0"),
        (lambda: check.check_positive_float(-1.0, "eps"), ValueError, "eps must be > 0"),
        (lambda: check.check_non_negative_float(True, "eps"), TypeError, "eps must be of type float, got bool"),
        (lambda: check.check_float_range(1, 0, 1, check.INC_BOTH, "beta"), TypeError, "beta must be of type float"),
        (lambda: check.check_float_range(1.0, 0, 1, check.INC_LEFT, "beta"), ValueError, r"beta must lie in \[0, 1\)"),
        (lambda: check.check_int_range(0, 0, 1, check.INC_RIGHT, "n"), ValueError, r"n must lie in \(0, 1\]"),
        (lambda: check.check_is_number(float("inf"), float, "lr"), ValueError, "lr must be finite"),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_accepted():
    assert check.check_number("norm", 1, 0.0, check.GE, None) == 1
    assert check.check("kind", "a", "", ["a", "b"], check.IN) == "a"
    assert check.check("kind", "c", "", ["a", "b"], check.NOT_IN) == "c"
    assert check.check_float_range(np.float32(0.5), 0.0, 1.0, check.INC_NEITHER) == 0.5
    assert check.check_is_number(2.0, float) == 2.0
    assert check.check_int_range(1, 0, 1, check.INC_RIGHT) == 1


@pytest.fixture
def mindspore():
    compat.install()
    yield importlib.import_module("mindspore")
    compat.uninstall()
    graphc.reset_auto_parallel_context()


def test_groups_and_settings(mindspore):
    from mindspore.communication import comm_func, management
    from mindspore.parallel._auto_parallel_context import auto_parallel_context

    management.create_group("all", [0])
    management.destroy_group("all")
    assert (management.get_local_rank(), management.get_local_rank_size()) == (0, 1)
    assert management.get_world_rank_from_group_rank("all", 0) == 0
    assert management.get_group_rank_from_world_rank(0, "all") == 0
    with pytest.raises(graphc.ArgumentValueError, match=r"rank_ids must be \[0\]"):
        management.create_group("all", [0, 1])
    with pytest.raises(graphc.ArgumentTypeError, match="group must be a string"):
        management.create_group(1, [0])
    with pytest.raises(graphc.ArgumentValueError, match="there is no rank 1"):
        management.get_world_rank_from_group_rank("all", 1)
    comm_func.barrier()
    total, handle = comm_func.all_reduce(graphc.Tensor([2.0]))
    assert (float(total), handle) == (2.0, None)
    settings = auto_parallel_context()
    settings.set_parallel_mode("auto_parallel")
    assert (settings.get_parallel_mode(), settings.get_pipeline_stages()) == ("auto_parallel", 1)
    assert mindspore.get_auto_parallel_context("parallel_mode") == "auto_parallel"
    with pytest.raises(AttributeError, match="there is no parallel setting 'colour'"):
        settings.get_colour()


def test_classes_of_a_module_are_those_of_its_kind(mindspore):
    optimizers = [c for c in map(mindspore.nn.optim.__getattr__, dir(mindspore.nn.optim)) if isinstance(c, type)]
    assert mindspore.nn.optim.AdaFactor in optimizers
    assert all(issubclass(c, graphc.nn.Optimizer) for c in optimizers)
    schedules = dir(mindspore.nn.learning_rate_schedule)
    assert "CosineDecayLR" in schedules
    assert "Dense" not in schedules


def test_flags_are_marks(mindspore):
    @mindspore.ops.composite.add_flags(has_effect=True)
    def f(x):
        return x

    cell = graphc.nn.Dense(2, 1)
    assert f(3) == 3
    assert toplevel.core(cell, fast=True) is cell
    assert cell.fast
