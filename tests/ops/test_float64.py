"""Kernels of float64: every sample of the ops that have one, on one thread and on two, and in checked mode."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from graphc.ir import Sample, all_ops
from graphc.ir.op import Kernel
from graphc.lower import cost, lower
from graphc.ops.declared import float64_convolutions, reference
from graphc.testing.ops import sample_graph, samples_of
from graphc_codegen import compile_program

OPS = [
    n
    for n, d in all_ops().items()
    if isinstance(d.lower, Kernel)
    and (d.lower.double or "float64" in d.lower.dtypes)
    and d.samples
    # Which gives complex numbers: a pass takes these apart before.
    and n != "Eig"
]


def doubled(x):
    x = np.asarray(x)
    return x.astype(np.float64) if x.dtype == np.float32 else x


def graph_of(name):
    samples = [s for s in samples_of(name) if s.operands and np.asarray(s.operands[0]).dtype == np.float32]
    return sample_graph(name, [Sample(tuple(map(doubled, s.operands)), _attrs(s)) for s in samples])


def _attrs(sample):
    """Those of a sample, with the dtype that its operands have now."""
    return {k: "float64" if (k, v) == ("dtype", "float32") else v for k, v in sample.attrs.items()}


@pytest.mark.parametrize("name", OPS)
def test_every_sample(name):
    check_samples(name)


@pytest.mark.parametrize("some", [1, 3000])
@pytest.mark.parametrize("name", [n for n in OPS if "Conv2D" in n])
def test_convolutions_by_products(name, some):
    """Those of few channels, too, and each image by itself or some together."""
    with patch.multiple(float64_convolutions, _LEAST_CHANNELS=1, _LEAST_TERMS=1, _SOME=some):
        check_samples(name)


@pytest.mark.parametrize("window", [(2, 3), (16, 2), (3, 3)], ids=str)
def test_windows_that_stand_apart_have_one_copy(window):
    """Each pixel is in one window at the most, however many taps these have; others are added up tap by tap, if these are few."""
    rng, stride, dilation, plane = np.random.default_rng(0), (20, 5), (1, 2), (2, 3)
    axes = zip(plane, stride, dilation, window, strict=True)
    image = [(n - 1) * step + apart * (size - 1) + 1 for n, step, apart, size in axes]
    image[0] += 4  # Rows that no window sees.
    dy, w = rng.normal(size=(3, 17, *plane)), rng.normal(size=(17, 9, *window))
    attrs = {"shape": (3, 9, *image), "pad": (0, 0, 0, 0), "stride": stride, "dilation": dilation}
    check(*sample_graph("Conv2DBackpropInput", [Sample((dy, w), attrs)]))


def check_samples(name):
    """Run them on one thread and on two, and in checked mode."""
    check(*graph_of(name))


def check(graph, inputs):
    wanted = reference.run(graph, inputs).results
    for threads, checked in ((1, False), (2, False), (1, True)):
        # As if threads cost nothing: small loops are divided, too.
        with patch.multiple(cost, _MEET=-1e9, _MEET_EACH=0.0, _DISPATCH=-1e9):
            lowered = lower(graph, canary=True, threads=threads)
        bound = compile_program(lowered.program, cache_dir=None, checked=checked).bind([], list(lowered.constants))
        bound.run([inputs[i] for i in lowered.inputs])
        bound.check_canaries()
        for (buffer, type), want in zip(lowered.results, wanted, strict=True):
            read = bound.read(buffer)
            got = (read.view(np.complex128) if type.is_complex else read).reshape(type.shape)
            np.testing.assert_allclose(got, want, 1e-12, 1e-12, err_msg=f"{threads} threads, checked={checked}")
