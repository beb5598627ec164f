"""Operands and arguments that fit no function are refused by name, not by what fails inside."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import graphc
from graphc import Tensor, mint, nn, ops
from graphc import numpy as gnp

ONE, ROW = Tensor(1.0), Tensor([1.0, 2.0])
CUBE = Tensor(np.arange(24, dtype=np.float32).reshape(2, 3, 4))

REFUSED = {
    "roll: shifts must be an int or a tuple of them, got 2.0": lambda: ops.roll(ROW, 2.0),
    "moveaxis: source must be an int": lambda: ops.movedim(CUBE, 0.0, 1),
    "names an axis twice": lambda: ops.movedim(CUBE, (0, 2), (0, 0)),
    "tensor_split: indices_or_sections must be an int": lambda: ops.tensor_split(ROW, 2.0),
    "repeat_interleave: repeats must be an int": lambda: mint.repeat_interleave(ROW, 2.0),
    "is not in range|out of range": lambda: ops.diag_embed(ROW, 0, 5, 0),
    "diag_embed: input is": lambda: ops.diag_embed(ONE),
    "diagflat: offset must be an int": lambda: ops.diagflat(ROW, 1.0),
    "select_scatter: index 7 is out of range for axis 0": lambda: ops.select_scatter(CUBE, CUBE[0], 0, 7),
    "slice_scatter: step must not be 0": lambda: ops.slice_scatter(CUBE, CUBE, step=0),
    "an index has a slice with the step 0": lambda: ROW[::0],
    "strided_slice: .* no stride 0": lambda: ops.strided_slice(ROW, (0,), (2,), (0,)),
    "slice: .* are not one number for each axis": lambda: ops.slice(CUBE, (0, 0), (1, 1)),
    "batch_dot: axes must be one axis or two": lambda: ops.batch_dot(CUBE, CUBE, (1, 1, 1)),
    "matrix_band_part: x is": lambda: ops.MatrixBandPart()(ROW, 1, 1),
    "matrix_diag_part: x is": lambda: ops.matrix_diag_part(ROW),
    "matrix_set_diag: x is": lambda: ops.matrix_set_diag(ROW, ROW),
    "lu_unpack: LU_data is": lambda: ops.lu_unpack(ROW, Tensor([1], "int32")),
    "depth_to_space: x is .* expected .N, C, H, W.": lambda: ops.DepthToSpace(1)(CUBE),
    "space_to_depth: x is .* expected .N, C, H, W.": lambda: ops.SpaceToDepth(1)(CUBE),
    "reverse_sequence: seq_lengths are": lambda: ops.reverse_sequence(CUBE, Tensor([1]), 1, 0),
    "LayerNorm: begin_norm_axis": lambda: ops.LayerNorm()(ONE, ONE, ONE),
    "ScatterAddWithAxis: axis 3 is out of range": lambda: ops.operations.array_ops.ScatterAddWithAxis(3)(ROW, ROW, ROW),
    "MaxPool3D: x is .* expected 5 axes": lambda: ops.MaxPool3D(2)(CUBE),
    "AvgPool3D: x is .* expected 5 axes": lambda: ops.AvgPool3D(2)(CUBE),
    "max_pool2d: x is .* expected real numbers": lambda: ops.max_pool2d(Tensor(np.ones((1, 1, 2, 2), bool)), 2),
    "multi_margin_loss: .* class numbers": lambda: ops.multi_margin_loss(CUBE[0], Tensor([True, True, False])),
    "NLLLoss: logits are .* expected floats": lambda: ops.NLLLoss()(Tensor([[1]]), Tensor([0], "int32"), ROW[:1]),
    "pad: padding must come in pairs": lambda: ops.pad(CUBE, (1, 1, 1), "reflect"),
    "mirror_pad: paddings have the shape": lambda: ops.mirror_pad(CUBE, ((1, 1),), "REFLECT"),
    "crop_and_resize: index -1 is out of range for a size of 1": lambda: ops.crop_and_resize(
        CUBE[None], CUBE[:1, 0], Tensor([-1], "int32"), (2, 2)
    ),
    "resize: size must be an int": lambda: ops.ResizeNearestNeighborV2()(CUBE[None], 2.5),
    "arange: .* must be finite": lambda: mint.arange(float("nan")),
    "scalar_cast: nan is no int64": lambda: ops.scalar_cast(float("nan"), "int64"),
    "tile: reps must be an int or a tuple of them, got 1.5": lambda: gnp.tile(ROW, 1.5),
    "Bincount: a number is .* expected one element": lambda: ops.Bincount()(
        Tensor([1], "int32"), Tensor([3, 4]), ROW[:1]
    ),
    "tuple_to_array needs numbers of one type": lambda: ops.tuple_to_array(1),
    "addn: x must be a tuple or list of Tensors, got int": lambda: ops.addn(7),
    "stack: tensors must be a tuple or list of Tensors, got a list with int": lambda: ops.stack([ROW, 2]),
    "while_loop: cond_fn must be a function, got Tensor": lambda: ops.while_loop(ROW, 2, 3),
    "softplus: beta must be a number, got tuple": lambda: ops.softplus(ROW, (1, 2)),
    "Dilation2D: pad_mode must be a text, got 3": lambda: ops.Dilation2D(1, 2, 3)(ROW, ROW),
    "gather_nd|these data are no tensor": lambda: ops.gather_nd(ROW, [[1, 2], [3]]),
    "arange: expected numbers, got tuple": lambda: ops.arange((1, 2)),
    "diff: n must be at least 0, got -1": lambda: ops.diff(ROW, -1),
    "cannot be pooled to 1099511627776 parts": lambda: ops.adaptive_max_pool1d(CUBE, 2**40),
    "std: axis must be an int or a tuple or list of ints or None, got float": lambda: gnp.std(CUBE, 1.5),
    "flip: axis must be integers, got NoneType": lambda: ops.flip(ROW, None),
    "scalar_lt: '<' not supported": lambda: ops.scalar_lt(1, "a"),
    "MatrixSolveLs: .* are no matrices": lambda: ops.MatrixSolveLs()(ROW, ROW, 0.0),
    "ResizeLinear1D: size must be one positive number": lambda: ops.operations.image_ops.ResizeLinear1D()(CUBE, [2, 3]),
    "a window of 2 axes does not slide over 0": lambda: ops.MaxPoolWithArgmax()(CUBE[0]),
    "L1Loss: logits holds int, of which nothing can be made": lambda: nn.L1Loss()([[1, 2], [3]], 2.0),
    "DiceLoss: label must be a Tensor, got ellipsis": lambda: nn.DiceLoss()(CUBE[0], ...),
    "ZeroPad1d: padding is slice": lambda: mint.nn.ZeroPad1d(slice(1, 2)),
    "float.. of f32.2., which has 2 elements": lambda: float(ROW),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_fits_no_function_is_refused_by_name(message):
    with pytest.raises((TypeError, ValueError), match=message):
        REFUSED[message]()


def test_what_fits_after_all():
    assert ops.sequence_mask(Tensor(np.zeros(0, np.int32))).shape == (0, 0)
    assert ops.reverse_sequence(CUBE[:0], Tensor(np.zeros(0, np.int32)), 1, 0).shape == (0, 3, 4)
    assert mint.tile(ROW, 2).asnumpy().tolist() == [1, 2, 1, 2]
    assert gnp.tile(ROW, Tensor([2])).asnumpy().tolist() == [1, 2, 1, 2]
    assert gnp.bincount(Tensor([1, 2], "uint8")).asnumpy().tolist() == [0, 1, 1]
    assert gnp.bincount(Tensor([1, 2, 1]), Tensor([1.0, 2.0, 0.5]), length=2).asnumpy().tolist() == [0, 1.5]
    assert ops.Bincount()(Tensor([1], "int32"), Tensor([3], "int32"), ROW[:1]).asnumpy().tolist() == [0, 1, 0]
    assert ops.matrix_diag(CUBE[0], Tensor([0]), Tensor([4]), Tensor([4])).shape == (3, 4, 4)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_decompositions_of_what_is_not_finite_are_nan(value):
    both = np.stack([np.eye(2), np.full((2, 2), value)]).astype(np.float32)
    s, u, v = (x.asnumpy() for x in ops.svd(Tensor(both)))
    for made in (s, u, v, ops.pinv(Tensor(both)).asnumpy()):
        assert np.isfinite(made[0]).all()
        assert np.isnan(made[1]).all()


def test_sizes_beyond_any_memory():
    for call in (
        lambda: ops.ones(2**70),
        lambda: ops.randperm(2**70),
        lambda: mint.nn.LayerNorm(2**70),
        lambda: ops.eye(2**70),
    ):
        with pytest.raises(MemoryError, match=r"GC184.*out of memory"):
            call()
    assert ops.diff(ROW, 2**40).shape == (0,)


def test_what_python_says_of_its_own_values():
    with pytest.raises(IndexError, match=r"GC100.*tuple_getitem"):
        ops.tuple_getitem((1,), 3)
    with pytest.raises(KeyError, match="dict_getitem"):
        ops.dict_getitem({}, "a")
    with pytest.raises(ZeroDivisionError, match=r"GC100.*scalar_div"):
        ops.scalar_div(1, 0)


def test_numbers_of_numpy_are_numbers():
    assert gnp.add(ROW, np.float64(2.0)).asnumpy().tolist() == [3.0, 4.0]
    assert gnp.asarray(np.float64(2.0)).dtype == graphc.float32


#: What hardly any function takes.
ODD = (object(), [[1, 2], [3]], 2**70, {})
#: Functions whose loop runs as often as they are told, and those that take anything.
ENDLESS = {"mvlgamma", "print_", "vander"}


@pytest.mark.parametrize("owner", [ops, mint, mint.nn.functional, gnp], ids=lambda o: o.__name__)
def test_no_odd_argument_fails_inside(owner):
    wrong, count = {}, 0
    for name in set(owner.__all__) - ENDLESS:
        function = getattr(owner, name)
        if not inspect.isfunction(function):
            continue
        needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        needed = [p for p in needed if p.kind is p.POSITIONAL_OR_KEYWORD]
        for odd in ODD:
            for place in range(len(needed)):
                count += 1
                arguments = [CUBE] * len(needed)
                arguments[place] = odd
                try:
                    function(*arguments)
                except graphc.InternalError as error:
                    wrong[name, place, str(odd)] = str(error).partition("\n")[0]
                except graphc.GraphcError:
                    continue
                except Exception as error:
                    wrong[name, place, str(odd)] = repr(error)
    assert not wrong
    assert count > 300
