"""`mindspore._checkparam` and the parallel modules, as wrappers call them."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import graphc
from graphc import compat
from graphc.compat import checkparam as check
from graphc.compat import checkparam_shapes as compat_shapes
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


def test_checks_of_axes_and_sizes_as_in_mindspore():
    check = compat_shapes
    assert [check.once(2), check.twice(3), check.twice((1, 2)), check.triple(2)] == [(2,), (3, 3), (1, 2), (2, 2, 2)]
    assert check.check_and_canonicalize_axes((0, -1), 3) == (0, 2)
    assert check.check_axis_valid(None, 3) == (0, 1, 2)
    assert check.check_axis_valid(-1, 3) == (2,)
    assert check.check_transpose_axis((), 2) == check.check_transpose_axis(((1, 0),), 2) == (1, 0)
    assert check.check_reshape_shp(((2, 3),)) == check.check_reshape_shp((2, 3)) == (2, 3)
    assert check.check_swapaxes_axis((0, -1), 3) == (0, 2)
    assert check.expanded_shape(3, 2, 1) == (1, 2, 1)
    assert check._check_3d_int_or_tuple("k", 3, "p") == (3, 3, 3)
    assert check._check_3d_int_or_tuple("k", 3, "p", ret_five=True) == (1, 1, 3, 3, 3)
    assert check._check_3d_int_or_tuple("k", 0, "p", greater_zero=False) == (0, 0, 0)
    assert check.check_positive_int_sequence([1, 2]) == [1, 2]
    assert check.check_negative_float(-1.0) == -1.0
    assert check.check_equal_int(3, 3, "a", "p") == 3
    assert check.check_file_name_by_regular("a/b.ckpt")
    assert check.check_pad_value_by_mode("pad", 2, "p") == 2
    check.check_types_same_and_valid({"a": graphc.float32, "b": graphc.float32}, [graphc.float32], "p")
    check.check_element_type_of_iterable("a", [1, 2], [int], "p")
    check.check_element_type_of_dict("a", {"a": 1}, [str], [int], "p")
    check.check_hook_fn(print)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: compat_shapes.twice((1, 2, 3)), TypeError, "a tuple of 2, got"),
        (lambda: compat_shapes.check_equal_int(3, 4, "a", "p"), ValueError, "p: a must be == 4, got 3"),
        (lambda: compat_shapes.check_and_canonicalize_axes((0, 0), 3), ValueError, "given twice"),
        (lambda: compat_shapes.check_axis_in_range(3, 3), ValueError, "axis 3 is out of range"),
        (lambda: compat_shapes._check_3d_int_or_tuple("k", (1, 2), "p"), ValueError, "a tuple of three, got"),
        (lambda: compat_shapes._check_3d_int_or_tuple("k", 0, "p"), ValueError, r"p: k\[0\] must be > 0"),
        (lambda: compat_shapes._check_3d_int_or_tuple("k", 2, "p", third_one=True), ValueError, "depth of k must be 1"),
        (
            lambda: compat_shapes.check_types_same_and_valid(
                {"a": graphc.float32, "b": graphc.int32}, [graphc.float32, graphc.int32], "p"
            ),
            TypeError,
            "p: b must be Float32 as a, got Int32",
        ),
        (lambda: compat_shapes.check_positive_int_sequence([1, 0], "n"), ValueError, r"n\[1\] must be > 0"),
        (lambda: compat_shapes.check_str_by_regular("a b"), ValueError, "'a b' does not match"),
        (lambda: compat_shapes.check_element_type_of_iterable("a", [1, "2"], [int], "p"), TypeError, r"a\[1\] must be"),
        (lambda: compat_shapes.check_hook_fn(3), TypeError, "a hook must be a function, got int"),
        (lambda: compat_shapes.check_pad_value_by_mode("same", 2, "p"), ValueError, "padding must be 0 with pad_mode"),
    ],
)
def test_axes_and_sizes_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
