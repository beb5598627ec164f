"""A loss of frequencies and a Fourier neural operator: compiled steps, with gradients as finite differences give them."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops

RNG = np.random.default_rng(0)


class FocalFrequency(nn.Cell):
    """The distance of two images' frequencies, each weighted by itself (Jiang et al., "Focal frequency loss", 2021)."""

    def construct(self, x, target):
        distance = ops.abs(ops.rfft2(x, norm="ortho") - ops.rfft2(target, norm="ortho"))
        return ops.mean(ops.stop_gradient(distance / distance.max()) * ops.square(distance)) + ops.mean(distance)


class Blurred(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, pad_mode="same", has_bias=False)
        self.loss = FocalFrequency()

    def construct(self, x, target):
        return self.loss(self.conv(x), target)


class Spectral(nn.Cell):
    """Low frequencies times complex weights (Li et al., "Fourier neural operator", 2021), which are two real parameters."""

    def __init__(self, channels, modes, whole=False):
        super().__init__()
        self.modes, self.whole = modes, whole
        shape = (channels, channels, modes, modes)
        re, im = RNG.standard_normal((2, *shape))
        if whole:
            self.w = Parameter((re + 1j * im), name="w")
        else:
            self.re, self.im = Parameter(re, name="re"), Parameter(im, name="im")

    def construct(self, x):
        n, m = x.shape[-2:]
        w = self.w if self.whole else ops.Complex()(self.re, self.im)
        z = ops.rfft2(x)[:, :, : self.modes, : self.modes]
        y = ops.einsum("bixy,ioxy->boxy", z, w)
        y = ops.pad(y, (0, m // 2 + 1 - self.modes, 0, n - self.modes))
        return ops.irfft2(y, (n, m))


def differences(call, array, places, unit=1.0):
    """The derivative by some elements of an array, or their imaginary parts, which are changed in between."""
    found, step = [], 1e-5
    for place in places:
        kept, values = array[place], []
        for sign in (1, -1):
            array[place] = kept + sign * step * unit
            values.append(float(call()))
        array[place] = kept
        found.append((values[0] - values[1]) / (2 * step))
    return found


def places_of(shape):
    return [tuple(int(RNG.integers(n)) for n in shape) for _ in range(4)]


def test_a_loss_of_frequencies():
    net = Blurred().to_float(graphc.float32)
    x, target = (RNG.standard_normal(s).astype(np.float32) for s in ((2, 1, 12, 10), (2, 2, 12, 10)))
    loss, (gradient,) = graphc.value_and_grad(net, None, net.trainable_params())(Tensor(x), Tensor(target))
    weight = net.conv.weight

    def plain(w):
        rows = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
        y = sum(
            w[None, :, 0, i, j, None, None] * rows[:, :, i : i + 12, j : j + 10] for i in range(3) for j in range(3)
        )
        z = np.abs(np.fft.rfft2(y, norm="ortho") - np.fft.rfft2(target, norm="ortho"))
        return z

    w = weight.asnumpy().astype(np.float64)
    share = plain(w) / plain(w).max()
    assert float(loss) == pytest.approx((share * plain(w) ** 2).mean() + plain(w).mean(), rel=1e-5)
    places = places_of(w.shape)
    wanted = differences(lambda: (share * plain(w) ** 2).mean() + plain(w).mean(), w, places)
    np.testing.assert_allclose([gradient.asnumpy()[p] for p in places], wanted, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("whole", [False, True])
def test_a_fourier_neural_operator(whole):
    net = Spectral(3, 4, whole)
    x = Tensor(RNG.standard_normal((2, 3, 12, 10)))
    target = Tensor(RNG.standard_normal((2, 3, 12, 10)))

    class Loss(nn.Cell):
        def __init__(self):
            super().__init__()
            self.net = net

        def construct(self, x, target):
            return ops.square(self.net(x) - target).mean()

    loss = Loss()
    value, gradients = graphc.value_and_grad(loss, None, net.trainable_params())(x, target)
    for parameter, gradient in zip(net.trainable_params(), gradients, strict=True):
        array = parameter.asnumpy().copy()
        places = places_of(array.shape)

        def call(parameter=parameter, array=array):
            parameter.set_data(Tensor(array))
            return loss(x, target)

        got = [gradient.asnumpy()[p] for p in places]
        np.testing.assert_allclose(np.real(got), differences(call, array, places), rtol=1e-6, atol=1e-8)
        if whole:
            np.testing.assert_allclose(np.imag(got), differences(call, array, places, 1j), rtol=1e-6, atol=1e-8)
    assert float(value) > 0
