"""Operands of other ranks or shapes than an op takes, and numbers that mean nothing to it, are refused as MindSpore refuses them:
they are not broadcast, cut or read as something else. Each case was tried with MindSpore 2.10.
"""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, mint, nn, ops

RNG = np.random.default_rng(0)


def f(*shape):
    return Tensor(np.asarray(RNG.standard_normal(shape), np.float32))


def u(*shape):
    return Tensor(np.asarray(RNG.random(shape), np.float32))


def i(*shape):
    return Tensor(np.zeros(shape, np.int32))


F = mint.nn.functional

SHAPES = {
    "smooth_l1_loss": lambda: ops.smooth_l1_loss(f(3), f(1, 3)),
    "mint smooth_l1_loss": lambda: F.smooth_l1_loss(f(3), f(1, 3)),
    "SmoothL1Loss": lambda: nn.SmoothL1Loss()(f(3), f(1, 3)),
    "soft_margin_loss": lambda: ops.soft_margin_loss(f(2, 2), f(1, 2, 2)),
    "SoftMarginLoss": lambda: nn.SoftMarginLoss()(f(2, 2), f(1, 2, 2)),
    "kl_div": lambda: ops.kl_div(f(3), f(1, 3)),
    "KLDivLoss": lambda: nn.KLDivLoss()(f(3), f(1, 3)),
    "addn": lambda: ops.addn((f(3), f(1, 3))),
    "accumulate_n": lambda: ops.accumulate_n((f(3), f(1, 3))),
    "polar": lambda: ops.polar(f(2), f(1, 2)),
    "Betainc": lambda: ops.Betainc()(u(3), u(1, 3), u(3)),
    "EqualCount": lambda: ops.EqualCount()(i(3), i(1, 3)),
    "SquareSumAll": lambda: ops.SquareSumAll()(f(4), f(1, 4)),
    "ger": lambda: ops.ger(f(3), f(1, 3)),
    "Ger": lambda: ops.Ger()(f(3), f(1, 3)),
    "Tensor.ger": lambda: f(3).ger(f(1, 3)),
    "mint outer": lambda: mint.outer(f(3), f(1, 3)),
    "mm": lambda: ops.mm(f(1, 2, 3), f(3, 4)),
    "mint mm": lambda: mint.mm(f(2, 3), f(2, 3, 4)),
    "mint bmm": lambda: mint.bmm(f(3, 4), f(4, 5)),
    "mint baddbmm": lambda: mint.baddbmm(f(3, 3), f(3, 3), f(3, 3)),
    "mint addbmm": lambda: mint.addbmm(f(3, 3), f(3, 3), f(3, 3)),
    "addmm": lambda: ops.addmm(f(3, 3), f(1, 3, 3), f(3, 3)),
    "mint addmm": lambda: mint.addmm(f(3, 3), f(1, 3, 3), f(3, 3)),
    "mv": lambda: ops.mv(f(1, 3, 2), f(2)),
    "addmv": lambda: ops.addmv(f(3), f(1, 3, 2), f(2)),
    "MatMul": lambda: ops.MatMul()(f(1, 2, 3), f(1, 3, 4)),
    "index_select": lambda: ops.index_select(f(2, 2, 4), 1, i(1, 1)),
    "index_fill": lambda: ops.index_fill(f(3, 3), 1, i(1, 2), f()),
    "cdist": lambda: ops.cdist(f(1, 2, 2), f(1, 1, 2, 2)),
    "pdist": lambda: ops.pdist(f(1, 3, 2)),
    "vander": lambda: ops.vander(f(1, 4), N=3),
    "cov": lambda: ops.cov(f(1, 2, 3)),
    "iou": lambda: ops.iou(f(1, 3, 4), f(1, 3, 4)),
    "bounding_box_encode": lambda: ops.bounding_box_encode(f(1, 2, 4), f(1, 2, 4)),
    "bounding_box_decode": lambda: ops.bounding_box_decode(f(1, 2, 4), f(1, 2, 4), (768, 1280)),
    "swiglu": lambda: ops.swiglu(f(3, 3), 0),
    "LayerNorm": lambda: ops.LayerNorm()(f(2, 3), f(1, 3), f(1, 3)),
    "ResizeBilinearV2": lambda: ops.ResizeBilinearV2()(f(1, 1, 1, 2, 5), (5, 5)),
    "ResizeNearestNeighbor": lambda: ops.ResizeNearestNeighbor((2, 2))(f(1, 1, 1, 2, 3)),
    "mint diag": lambda: mint.diag(f(1, 2, 3)),
    "trace": lambda: ops.trace(f(1, 3, 3)),
    "mint trace": lambda: mint.trace(f(1, 3, 3)),
    "matrix_set_diag": lambda: ops.matrix_set_diag(f(3, 4), f(1, 4, 3), i(2)),
    "cross_entropy": lambda: ops.cross_entropy(f(3, 5), i(3), weight=f(4)),
    "nll_loss": lambda: ops.nll_loss(f(3, 5), i(3), weight=f(4)),
}

VALUES = {
    "narrow": lambda: ops.narrow(f(3, 3), 0, 2, 2),
    "narrow below": lambda: ops.narrow(f(3, 3), 0, 0, -1),
    "narrow behind": lambda: ops.narrow(f(3, 3), 0, 4, 1),
    "mint narrow": lambda: mint.narrow(f(3, 3), 0, 2, 2),
    "Tensor.narrow": lambda: f(3, 3).narrow(0, 2, 2),
    "arange": lambda: ops.arange(5, 1),
    "arange down": lambda: ops.arange(1, 7, -1),
    "range": lambda: ops.range(6, 0, 1),
    "mint arange": lambda: mint.arange(5, 1),
    "flatten": lambda: ops.flatten(f(1, 2, 3, 4), start_dim=2, end_dim=1),
    "mint flatten": lambda: mint.flatten(f(1, 2, 3, 4), 2, 1),
    "reverse_sequence": lambda: ops.reverse_sequence(f(3, 3), i(3) + 1, -1),
    "strided_slice": lambda: ops.strided_slice(f(3, 2), (1, 0), (2, 1), (1, 1), begin_mask=-1),
    "tril_indices": lambda: ops.tril_indices(-1, 2),
    "triu_indices": lambda: ops.triu_indices(2, -1),
    "logspace": lambda: ops.logspace(1.0, 10.0, steps=10, base=-1),
    "renorm": lambda: ops.renorm(f(3, 3), -1, 0, 6.0),
    "renorm to less": lambda: ops.renorm(f(3, 3), 1, 0, -1.5),
    "dist": lambda: ops.dist(f(2, 2), f(2, 2), p=-1),
    "cdist": lambda: ops.cdist(f(2, 2), f(2, 2), -1.5),
    "cdist NaN": lambda: ops.cdist(f(2, 2), f(2, 2), float("nan")),
    "sequence_mask": lambda: ops.sequence_mask(i(4), -1),
    "batch_norm momentum": lambda: ops.batch_norm(f(2, 2), f(2), u(2), f(2), f(2), momentum=-1.0),
    "batch_norm eps": lambda: ops.batch_norm(f(2, 2), f(2), u(2), f(2), f(2), eps=-1.0),
    "softshrink": lambda: ops.softshrink(f(2, 3), -1.0),
    "randint": lambda: ops.randint(5, 2, (3,)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_that_do_not_fit(name):
    for run in (SHAPES[name], graphc.jit(SHAPES[name])):
        with pytest.raises(graphc.ShapeError, match=r"expected|cannot be halved|is no vector"):
            run()


@pytest.mark.parametrize("name", VALUES)
def test_numbers_that_mean_nothing(name):
    with pytest.raises(graphc.ArgumentValueError) as caught:
        VALUES[name]()
    assert caught.value.code == "GC100"


def test_what_does_fit():
    assert ops.narrow(f(3, 3), 0, 1, 2).shape == ops.narrow(f(3, 3), 0, -2, 2).shape == (2, 3)
    assert ops.arange(3, 3).shape == ops.arange(0, 0, -1).shape == (0,)
    assert ops.cov(f()).shape == ops.cov(f(4)).shape == ()
    assert ops.index_select(f(2, 2, 4), 1, i(3)).shape == (2, 3, 4)
    assert ops.LayerNorm(1, 2)(f(2, 3, 4), f(4), f(4))[0].shape == (2, 3, 4)
    assert ops.baddbmm(f(3, 3), f(3, 3), f(3, 3)).shape == (3, 3)
