"""Pooling, resizing, image functions and losses where nothing is recorded: NumPy's formulas, other dtypes, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.ops import primitives as P
from tests.cells import Of
from tests.data.ms_network import IMAGES, LINES, VOLUMES, array, int32


def windows(x, kernel, stride, dilation=(1, 1)):
    """[N, C, rows, columns, kh, kw]"""
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))
    return seen[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def test_unfold_as_a_layer():
    """The channels of the first tap stand first (MindSpore has no CPU kernel of it)."""
    got = nn.Unfold([1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 1, 1])(Tensor(IMAGES)).asnumpy()
    want = windows(IMAGES, (2, 3), (2, 1)).transpose(0, 4, 5, 1, 2, 3)
    np.testing.assert_array_equal(got, want.reshape(1, -1, *want.shape[4:]))
    same = nn.Unfold([1, 2, 2, 1], [1, 2, 1, 1], [1, 2, 1, 1], "same")(Tensor(IMAGES))
    assert same.shape == (1, 8, 3, 6)
    with pytest.raises(graphc.ArgumentValueError, match=r"Unfold: ksizes must be \[1, vertical, horizontal, 1\]"):
        nn.Unfold([2, 2, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1])


def test_grayscale_dilation():
    weight = array(2, 2, 2)
    got = Of(P.Dilation2D(1, 2, "VALID"))(Tensor(IMAGES), Tensor(weight)).asnumpy()
    seen = windows(IMAGES, (2, 2), (1, 1), (2, 2))
    np.testing.assert_array_equal(got, (seen + weight[:, None, None]).max((4, 5)))
    same = P.Dilation2D((2, 1), 1)(Tensor(IMAGES), Tensor(weight))
    assert same.shape == (1, 2, 3, 6)
    assert np.isfinite(same.asnumpy()).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "bfloat16", "float64"])
def test_max_pooling_of_every_dtype(dtype):
    numbers = np.random.default_rng(0).integers(0, 9, (1, 2, 5, 6))
    x = ops.cast(Tensor(numbers), dtype)
    y, places = Of(lambda x: ops.max_pool2d(x, 3, 2, 1, return_indices=True))(x)
    padded = np.pad(numbers, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-1)
    seen = windows(padded, (3, 3), (2, 2))
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(ops.cast(y, "int64").asnumpy(), seen.max((4, 5)))
    # Of equal ones the first, in the order of the plane.
    where = windows(np.pad(np.arange(30).reshape(1, 1, 5, 6), [(0, 0), (0, 0), (1, 1), (1, 1)]), (3, 3), (2, 2))
    first = seen.reshape(*seen.shape[:4], -1).argmax(-1)[..., None]
    want = np.take_along_axis(np.broadcast_to(where, seen.shape).reshape(*seen.shape[:4], -1), first, -1)[..., 0]
    np.testing.assert_array_equal(places.asnumpy(), want)
    plain = ops.max_pool2d(x, 3, 2, 1)
    assert plain.dtype == x.dtype
    np.testing.assert_array_equal(ops.cast(plain, "int64").asnumpy(), seen.max((4, 5)))


def test_max_pooling_of_what_is_not_finite():
    x = np.array([[[[1, np.nan, 3, -np.inf], [np.nan, 5, -np.inf, -np.inf]]]], np.float32)
    y, places = ops.max_pool2d(Tensor(x), 2, 2, return_indices=True)
    np.testing.assert_array_equal(y.asnumpy().ravel(), [np.nan, 3])
    assert places.asnumpy().ravel().tolist() == [1, 2]
    low = Tensor(np.full((1, 1, 2, 2), -np.inf, np.float32))
    y, places = ops.max_pool2d(low, 2, 1, 1, return_indices=True)
    assert (places.asnumpy() >= 0).all()
    assert (y.asnumpy() == -np.inf).all()


def test_pooling_in_float64_and_halves():
    for dtype, near in (("float64", 1e-12), ("float16", 2e-3), ("bfloat16", 2e-2)):
        x = ops.cast(Tensor(VOLUMES), dtype)
        y = ops.avg_pool3d(x, 2, 2, 1, True, False)
        assert y.dtype == x.dtype
        exact = ops.avg_pool3d(Tensor(ops.cast(x, "float64").asnumpy()), 2, 2, 1, True, False).asnumpy()
        np.testing.assert_allclose(ops.cast(y, "float64").asnumpy(), exact, atol=near)


def test_pooling_refuses():
    with pytest.raises(graphc.ShapeError, match="max_pool2d: x is f32"):
        ops.max_pool2d(Tensor(LINES), 2)
    with pytest.raises(graphc.ShapeError, match="avg_pool1d: the window does not fit"):
        ops.avg_pool1d(Tensor(LINES), 9)
    with pytest.raises(graphc.ArgumentValueError, match="more than half"):
        ops.max_pool2d(Tensor(IMAGES), 2, 2, 2)
    with pytest.raises(graphc.ArgumentTypeError, match="kernel_size must be an int or a tuple of 3"):
        ops.avg_pool3d(Tensor(VOLUMES), 2.0)
    with pytest.raises(graphc.ArgumentValueError, match="norm_type must be a number other"):
        ops.lp_pool1d(Tensor(LINES), 0, 2)
    with pytest.raises(graphc.ArgumentValueError, match=r"output_size .* does not belong"):
        ops.max_unpool1d(Tensor(LINES), Tensor(np.zeros(LINES.shape, np.int32)), 2, output_size=(9,))
    one, outside = Tensor(np.ones((1, 2, 1), np.float32)), Tensor(np.array([[[2], [0]]], np.int32))
    with pytest.raises(IndexError, match=r"the indices must lie in \[0, 2\)"):
        ops.max_unpool1d(one, outside, 2)
    assert Of(lambda x, i: ops.max_unpool1d(x, i, 2))(one, outside).asnumpy().tolist() == [[[0, 0], [1, 0]]]
    with pytest.raises(graphc.ArgumentValueError, match=r"windows of .* do not fit"):
        ops.fractional_max_pool2d(Tensor(IMAGES), 3, 5)


def test_windows_placed_at_random():
    graphc.set_seed(3)
    x = Tensor(array(2, 3, 9, 8))
    y, places = Of(nn.FractionalMaxPool2d((2, 3), (4, 3), None, True))(x)
    flat = x.asnumpy().reshape(2, 3, -1)
    np.testing.assert_array_equal(
        np.take_along_axis(flat, places.asnumpy().reshape(2, 3, -1), 2), y.asnumpy().reshape(2, 3, -1)
    )
    assert (y.asnumpy() != nn.FractionalMaxPool2d((2, 3), (4, 3))(x).asnumpy()).any()
    assert nn.FractionalMaxPool3d(2, None, 0.5)(Tensor(array(2, 6, 6, 6))).shape == (2, 3, 3, 3)


def test_resizing_refuses_and_keeps_dtypes():
    for dtype in ("float16", "bfloat16", "float64"):
        assert str(ops.interpolate(ops.cast(Tensor(IMAGES), dtype), 3, None, "bilinear").dtype).lower() == dtype
    x = Tensor(IMAGES)
    same = ops.interpolate(x, (5, 6), None, "bicubic")
    np.testing.assert_allclose(same.asnumpy(), IMAGES, rtol=1e-6)
    with pytest.raises(graphc.ArgumentValueError, match="give one of size and scale_factor"):
        ops.interpolate(x)
    with pytest.raises(graphc.ArgumentValueError, match="must be positive, one or 2"):
        ops.interpolate(x, (3, 3, 3))
    with pytest.raises(graphc.ArgumentTypeError, match="size must be numbers"):
        ops.interpolate(x, 2.5)
    with pytest.raises(graphc.ShapeError, match="mode 'linear' is for tensors of 3 axes"):
        ops.interpolate(x, 3, None, "linear")
    with pytest.raises(graphc.ArgumentValueError, match="mode must be one of"):
        nn.Upsample(3, mode="cubic")
    with pytest.raises(graphc.ArgumentValueError, match="recompute_scale_factor needs scale_factor"):
        ops.interpolate(x, 3, recompute_scale_factor=True)
    with pytest.raises(graphc.ArgumentValueError, match=r"\[GC112\] grid_sample: mode='bicubic'"):
        ops.grid_sample(x, Tensor(array(1, 2, 2, 2)), "bicubic")


def test_points_that_are_no_numbers_lie_outside():
    grid = Tensor(np.array([[[[np.nan, 0], [np.inf, 0], [-np.inf, 1e30]]]], np.float32))
    assert (ops.grid_sample(Tensor(IMAGES), grid).asnumpy() == 0).all()
    assert np.isfinite(ops.grid_sample(Tensor(IMAGES), grid, "nearest", "border").asnumpy()).all()


def smoothed(x, window):
    size = window.shape[0]
    return (np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3)) * window).sum((-2, -1))


def structure(a, b, window, most):
    first, second = (0.01 * most) ** 2, (0.03 * most) ** 2
    ma, mb = smoothed(a, window), smoothed(b, window)
    va, vb = smoothed(a * a, window) - ma**2, smoothed(b * b, window) - mb**2
    cs = (2 * (smoothed(a * b, window) - ma * mb) + second) / (va + vb + second)
    return ((2 * ma * mb + first) / (ma**2 + mb**2 + first) * cs).mean((2, 3)), cs.mean((2, 3))


def test_likeness_of_images():
    a, b = (array(2, 2, 8, 9, seed=s, low=0.0).astype(np.float64) for s in (0, 1))
    b = (a + 0.3 * b) / 1.3
    line = np.exp(-np.array([1, 0, 1]) / (2 * 1.5**2))
    window = np.outer(line, line) / np.outer(line, line).sum()
    given = [Tensor(x.astype(np.float32)) for x in (a, b)]
    np.testing.assert_allclose(
        Of(nn.SSIM(2.0, 3))(*given).asnumpy(), structure(a, b, window, 2.0)[0].mean(1), rtol=1e-4
    )
    fine = structure(a, b, window, 2.0)[1]
    small = [x[:, :, :8, :8].reshape(2, 2, 4, 2, 4, 2).mean((3, 5)) for x in (a, b)]
    coarse = structure(*small, window, 2.0)[0]
    want = (np.maximum(fine, 0) ** 0.3 * np.maximum(coarse, 0) ** 0.7).mean(1)
    np.testing.assert_allclose(Of(nn.MSSSIM(2.0, (0.3, 0.7), 3))(*given).asnumpy(), want, rtol=1e-4)
    want = 10 * np.log10(1.5**2 / ((a - b) ** 2).mean((1, 2, 3)))
    np.testing.assert_allclose(Of(nn.PSNR(1.5))(*given).asnumpy(), want, rtol=1e-5)
    bytes_ = [Tensor((x.asnumpy() * 255).astype(np.uint8)) for x in given]
    want = 20 * np.log10(
        255 / np.sqrt(((bytes_[0].asnumpy().astype(float) - bytes_[1].asnumpy()) ** 2).mean((1, 2, 3)))
    )
    np.testing.assert_allclose(nn.PSNR(255)(*bytes_).asnumpy(), want, rtol=1e-5)
    for dtype in ("int16", "int32", "int64", "uint16", "uint32"):
        np.testing.assert_allclose(Of(nn.PSNR(255))(*(x.astype(dtype) for x in bytes_)).asnumpy(), want, rtol=1e-5)
    # What MindSpore's example gives.
    few = [Tensor(np.array([[[row, row]]])) for row in ([1, 2, 3, 4], [3, 4, 5, 6])]
    assert nn.PSNR()(*few).asnumpy() == pytest.approx([-6.0206], rel=1e-5)
    with pytest.raises(graphc.ShapeError, match="smaller than the window"):
        nn.SSIM()(*given)


def test_channels_dropped_at_random():
    graphc.set_seed(0)
    x = Tensor(1 + array(8, 64, 2, 3, low=0.0))
    y = Of(lambda x: ops.dropout2d(x, 0.25))(x).asnumpy()
    kept = (y != 0).all((2, 3))
    assert (kept | (y == 0).all((2, 3))).all()
    assert 0.65 < kept.mean() < 0.85
    np.testing.assert_allclose(y[kept], x.asnumpy()[kept] / 0.75, rtol=1e-6)
    out, mask = P.Dropout3D(0.5)(Tensor(np.ones((2, 16, 2, 2, 2), np.float32)))
    np.testing.assert_array_equal(out.asnumpy(), 2.0 * mask.asnumpy())
    assert (P.Dropout2D(0.0)(x)[0].asnumpy() == 0).all()
    assert (ops.dropout2d(x, 1.0).asnumpy() == 0).all()
    rows = ops.dropout1d(Tensor(np.ones((64, 3), np.float32)), 0.5).asnumpy()
    assert (rows == rows[:, :1]).all()
    assert nn.Dropout1d(0.5).set_train()(Tensor(np.ones((64, 3), np.float32))).shape == (64, 3)
    assert ops.dropout3d(Tensor(VOLUMES), 0.5, False).asnumpy().tolist() == VOLUMES.tolist()
    with pytest.raises(graphc.ShapeError, match="dropout2d: the input is"):
        ops.dropout2d(Tensor(VOLUMES))


def test_slopes_at_random():
    graphc.set_seed(0)
    x = Tensor(np.array([-2.0, 0.0, 3.0] * 50, np.float32))
    for function in (ops.rrelu, nn.RReLU()):
        y = Of(function)(x).asnumpy().reshape(-1, 3)
        assert (y[:, 1:] == [0, 3]).all()
        slopes = y[:, 0] / -2
        assert 1 / 8 <= slopes.min() < slopes.max() <= 1 / 3
    grad = graphc.grad(Of(lambda x: ops.reduce_sum(ops.rrelu(x))))(x).asnumpy().reshape(-1, 3)
    assert (grad[:, 1:] == [0, 1]).all()
    with pytest.raises(graphc.ArgumentValueError, match="lower must be at most upper"):
        ops.rrelu(x, 0.5, 0.1)


def of_alignments(log_probs, targets, given, wanted):
    """The losses, by a sum over states one after the other in float64."""
    losses = []
    for n in range(log_probs.shape[1]):
        states = [0]
        for label in targets[n, : wanted[n]]:
            states += [label, 0]
        alpha = np.full(len(states), -np.inf)
        alpha[0] = 0
        for t in range(given[n]):
            ways = [alpha, np.append(-np.inf, alpha[:-1])]
            skips = [k > 1 and s != 0 and s != states[k - 2] for k, s in enumerate(states)]
            ways.append(np.where(skips, np.append([-np.inf] * 2, alpha)[: len(states)], -np.inf))
            alpha = np.logaddexp.reduce(ways) + log_probs[t, n, states]
        losses.append(-np.logaddexp.reduce(alpha[-2:]))
    return np.array(losses)


def test_ctc_is_one_loop_of_any_length():
    """One graph, whatever the length; and classes that cannot be leave the losses of others and all gradients finite."""
    rng = np.random.default_rng(0)

    def loss(x, *others):
        losses = ops.ctc_loss(ops.log_softmax(x, 2), *others, 0, "none")[0]
        return losses.sum(), losses

    sizes = set()
    for steps in (16, 300):
        x = rng.normal(size=(steps, 3, 5))
        x[::3, :, 4] = -np.inf
        targets, given, wanted = int32([1, 1, 4], [2, 3, 2], [4, 0, 0]), int32(steps, steps - 5, 9), int32(3, 3, 1)
        args = (x, targets, given, wanted)
        step = graphc.compile(Of(lambda *xs: ops.value_and_grad(loss, 0, has_aux=True)(*xs)), *args)
        (_, losses), gradient = step(*args)
        log_probs = x - np.log(np.exp(x).sum(2, keepdims=True))
        np.testing.assert_allclose(losses.asnumpy(), of_alignments(log_probs, *args[1:]), rtol=1e-10)
        assert np.isfinite(gradient.asnumpy()).all()
        sizes.add(len(step.graph))
    assert len(sizes) == 1


def test_ctc_of_lengths_and_classes_out_of_range():
    x = Tensor(np.log(np.full((4, 5, 3), 1 / 3, np.float32)))
    targets = Tensor(int32([1, 2], [1, 1], [7, 0], [1, 9], [1, 2]))
    given, wanted = Tensor(int32(4, 0, 4, 4, 4)), Tensor(int32(2, 0, 0, 1, 2))
    loss = Of(lambda *xs: ops.ctc_loss(*xs, 0, "none")[0])(x, targets, given, wanted).asnumpy()
    # 4 steps of three equal classes, 12 ways to say "1 2", 10 to say "1"; nothing says nothing. Behind a target is anything.
    ways = [sum(said == w for said in SAID) for w in ((1, 2), (1,))]
    exact = np.log(81 / np.array([*ways, ways[0]]))
    np.testing.assert_allclose(loss, [exact[0], 0, np.log(81), *exact[1:]], rtol=1e-5, atol=1e-6)
    with pytest.raises(graphc.ShapeError, match="ctc_loss: log_probs are"):
        ops.ctc_loss(x, targets, Tensor(int32(1)), wanted)
    for lengths, words in (
        ((int32(4, 0, 4, 4, 5), wanted), "input_lengths has 5, expected 0 to 4, the steps of log_probs"),
        ((int32(4, -1, 4, 4, 4), wanted), "input_lengths has -1, expected 0 to 4"),
        ((given, int32(2, 0, 3, 1, 2)), "target_lengths has 3, expected 0 to 2, the columns"),
        ((given, int32(2, 0, 1, 1, 2)), "label 7 is out of range for 3 classes"),
    ):
        lengths = [x if isinstance(x, Tensor) else Tensor(x) for x in lengths]
        for function in (ops.ctc_loss, Of(lambda *xs: ops.ctc_loss(*xs)[0])):
            with pytest.raises(ValueError, match=words):
                function(x, targets, *lengths)


def test_ctc_of_blanks_among_labels():
    """As of any class; the losses are MindSpore's and torch's."""
    x = np.log(np.random.default_rng(0).dirichlet(np.ones(5), (6, 2))).astype(np.float32)
    lengths = Tensor(int32(6, 6)), Tensor(int32(3, 3))
    for targets, losses in (
        (int32([1, 0, 3], [2, 2, 4]), [5.0267515, 8.671502]),
        (int32([0, 1, 3], [0, 0, 4]), [5.701478, 8.833579]),
        (int32([1, 3, 0], [0, 2, 0]), [3.987107, 6.6983266]),
    ):
        made = Of(lambda *xs: ops.ctc_loss(*xs, 0, "none")[0])(Tensor(x), Tensor(targets), *lengths)
        np.testing.assert_allclose(made.asnumpy(), losses, rtol=2e-6)


def test_ctc_of_other_shapes():
    x, targets = Tensor(np.log(np.full((4, 5, 3), 1 / 3, np.float32))), Tensor(np.ones((5, 2), np.int32))
    given, wanted = Tensor(int32(4, 4, 4, 4, 4)), Tensor(int32(1, 1, 1, 1, 1))
    with pytest.raises(graphc.ShapeError, match="make them rows of a matrix"):
        ops.ctc_loss(x, targets.reshape(-1), given, wanted)
    with pytest.raises(graphc.ArgumentValueError, match="blank must be one of 3"):
        nn.CTCLoss(3)(x, targets, given, wanted)
    alone = nn.CTCLoss(reduction="none")(x[:, 0], Tensor(int32(1, 2)), Tensor(int32(4)), Tensor(int32(2)))
    assert float(alone) == pytest.approx(np.log(81 / sum(said == (1, 2) for said in SAID)), rel=1e-6)


def said(path):
    return tuple(c for i, c in enumerate(path) if c and (i == 0 or path[i - 1] != c))


SAID = [said(p) for p in np.ndindex(3, 3, 3, 3)]


def test_what_undoes_what():
    x = Tensor(IMAGES)
    y, places = ops.max_pool2d(x, 2, return_indices=True)
    back = ops.max_unpool2d(y, places, 2, output_size=(5, 6))
    again, _ = ops.max_pool2d(ops.select(ops.equal(back, 0.0), -9.0, back), 2, return_indices=True)
    np.testing.assert_array_equal(again.asnumpy(), y.asnumpy())
    colors = Tensor(array(4, 5, 3, low=0.0))
    there = P.HSVToRGB()(P.RGBToHSV()(colors))
    np.testing.assert_allclose(there.asnumpy(), colors.asnumpy(), atol=1e-6)
    grey = P.RGBToHSV()(Tensor(np.array([[0, 0, 0], [0.5, 0.5, 0.5]], np.float32))).asnumpy()
    assert grey.tolist() == [[0, 0, 0], [0, 0, 0.5]]
    boxes, others = Tensor(100 * array(5, 4, low=0.0)), Tensor(100 * array(5, 4, low=0.0, seed=1))
    low = [ops.concat((b[:, :2], b[:, :2] + b[:, 2:]), 1) for b in (boxes, others)]
    deltas = ops.bounding_box_encode(*low, (0.1, 0.0, 0.0, 0.2), (0.5, 1.0, 1.0, 2.0))
    found = ops.bounding_box_decode(low[0], deltas, (999, 999), (0.1, 0.0, 0.0, 0.2), (0.5, 1.0, 1.0, 2.0), 1e-4)
    np.testing.assert_allclose(found.asnumpy(), low[1].asnumpy(), rtol=1e-4, atol=1e-3)


def test_a_transposed_convolution_of_volumes_as_a_layer():
    layer = nn.Conv3dTranspose(2, 4, (2, 3, 2), 2, "pad", 1, group=2, has_bias=True)
    x = Tensor(array(1, 2, 3, 4, 3))
    assert layer.weight.shape == (2, 2, 2, 3, 2)
    want = ops.conv3d_transpose(x, layer.weight, "pad", 1, 2, 1, 2) + ops.reshape(layer.bias, (1, -1, 1, 1, 1))
    np.testing.assert_allclose(layer(x).asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)
    assert layer(x).shape == (1, 4, 4, 7, 4)
    with pytest.raises(graphc.ArgumentValueError, match="output_padding must be 0"):
        nn.Conv3dTranspose(2, 4, 2, output_padding=1)
    with pytest.raises(graphc.ShapeError, match="conv3d_transpose: the input is"):
        ops.conv3d_transpose(x, Tensor(array(3, 1, 2, 2, 2)))


def kept_boxes(boxes, scores, most, overlap, least):
    """Box by box, of whole numbers, so that no quotient is rounded."""
    kept = []
    for i in sorted(range(len(boxes)), key=lambda k: (-scores[k], k)):
        if scores[i] <= least or len(kept) == most:
            continue
        spans = [[sorted(boxes[k][axis::2]) for axis in (0, 1)] for k in (i, *kept)]
        sizes = [(y[1] - y[0]) * (x[1] - x[0]) for y, x in spans]
        for (y, x), size in zip(spans[1:], sizes[1:], strict=True):
            (v, w), both = spans[0], 1
            for a, b in ((y, v), (x, w)):
                both *= max(0, min(a[1], b[1]) - max(a[0], b[0]))
            if both and both > overlap * (sizes[0] + size - both):
                break
        else:
            kept.append(i)
    return kept


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("overlap", [0.0, 0.5, 1.0])
def test_boxes_by_score(dtype, overlap):
    rng = np.random.default_rng(3)
    boxes, scores = rng.integers(0, 9, (40, 4)).astype(dtype), rng.integers(0, 6, 40).astype(dtype)  # Ties, no areas.
    for most, least in ((40, 0.0), (3, 1.0), (0, -1.0), (40, 9.0)):
        made = P.NonMaxSuppressionV3()(Tensor(boxes), Tensor(scores), Tensor(most), overlap, Tensor(least))
        assert made.dtype == graphc.int32
        assert made.asnumpy().tolist() == kept_boxes(boxes.tolist(), scores.tolist(), most, overlap, least)
    assert P.NonMaxSuppressionV3()(Tensor(boxes[:0]), Tensor(scores[:0]), 3, overlap, 0.0).shape == (0,)


def test_boxes_by_score_refused():
    # The example of MindSpore's documentation.
    boxes = Tensor(np.float32([[1, 2, 3, 4], [1, 3, 3, 4], [1, 3, 4, 4], [1, 1, 4, 4], [1, 1, 3, 4]]))
    scores = Tensor(np.float32([0.4, 0.5, 0.72, 0.9, 0.45]))
    nms = P.NonMaxSuppressionV3()
    assert nms(boxes, scores, 5, 0.5, 0.0).asnumpy().tolist() == [3, 2, 0]
    with pytest.raises(graphc.ShapeError, match=r"expected floats \[N, 4\] and \[N\]"):
        nms(boxes, scores[:3], 5, 0.5, 0.0)
    with pytest.raises(graphc.ArgumentValueError, match=r"iou_threshold 1\.5"):
        nms(boxes, scores, 5, 1.5, 0.0)
    with pytest.raises(graphc.TraceError, match="GC120"):
        Of(lambda b, s: nms(b, s, 5, 0.5, 0.0))(boxes, scores)


def test_windows_at_random_are_compiled_and_have_gradients():
    samples = Tensor(array(1, 2, 2, low=0, high=0.99))

    def pooled(x):
        y, places = P.FractionalMaxPoolWithFixedKsize(2, (3, 3))(x, samples)
        return y.sum(), places

    gradient, (places,) = Of(lambda x: graphc.grad(pooled, has_aux=True)(x))(Tensor(IMAGES))
    counts = np.stack([np.bincount(p.ravel(), minlength=30) for p in places.asnumpy()[0]]).reshape(IMAGES.shape)
    np.testing.assert_array_equal(gradient.asnumpy(), counts)


INDICES = [[b, j] for b in range(2) for j in range(3)]
#: Labels and lengths of two sequences, and the losses that MindSpore 2.10 gives of LOGITS.
CTC_OF_LOGITS = {
    "whole": ((INDICES, [0, 1, 2, 3, 3, 1], [6, 6]), [4.9674, 6.2663]),
    "a shorter sequence": ((INDICES, [0, 1, 2, 3, 3, 1], [6, 4]), [4.9674, 8.32015]),
    "one that labels do not fit": ((INDICES, [0, 1, 2, 3, 3, 1], [6, 3]), [4.9674, np.inf]),
    "filled up with blanks": ((INDICES, [0, 1, 4, 3, 4, 4], [6, 6]), [6.6559, 7.80289]),
    "filled up with what is no class": ((INDICES, [0, 1, -1, 3, 7, -1], [6, 6]), [6.6559, 7.80289]),
    "of several lengths": (([[0, 0], [0, 1], [1, 0]], [0, 1, 2], [6, 6]), [6.6559, 6.83974]),
}
LOGITS = Tensor(np.random.default_rng(0).standard_normal((6, 2, 5)).astype(np.float32))


@pytest.mark.parametrize("case", CTC_OF_LOGITS)
def test_ctc_of_logits(case):
    (indices, values, lengths), expected = CTC_OF_LOGITS[case]
    given = (Tensor(np.array(indices)), Tensor(int32(*values)), Tensor(int32(*lengths)))
    loss, gradient = ops.CTCLoss()(LOGITS, *given)
    np.testing.assert_allclose(loss.asnumpy(), expected, rtol=1e-5)
    compiled = graphc.value_and_grad(Of(lambda *xs: ops.CTCLoss()(*xs)[0].sum()))(LOGITS, *given)
    np.testing.assert_allclose(compiled[0].asnumpy(), loss.asnumpy().sum(), rtol=1e-6)
    if np.isfinite(expected).all():
        np.testing.assert_allclose(compiled[1].asnumpy(), gradient.asnumpy(), atol=1e-6)


@pytest.mark.parametrize("values", [[0, 4, 2, 3, 3, 1], [0, 9, 2, 3, 3, 1], [0, 1, 2, 3, -1, 1]])
def test_ctc_of_classes_behind_what_is_none(values):
    given = (Tensor(np.array(INDICES)), Tensor(int32(*values)), Tensor(int32(6, 6)))
    for function in (ops.CTCLoss(), Of(lambda *xs: ops.CTCLoss()(*xs)[0])):
        with pytest.raises(ValueError, match="CTCLoss: the labels of a sequence have a class behind one that is none"):
            function(LOGITS, *given)


def test_ctc_of_logits_of_other_shapes():
    with pytest.raises(graphc.ShapeError, match=r"expected \[T, N, C\], \[L, 2\] and \[L\]"):
        ops.CTCLoss()(LOGITS, Tensor(int32([0, 0])), Tensor(int32(1, 2)), Tensor(int32(6, 6)))
    with pytest.raises(graphc.ArgumentValueError, match="ctc_merge_repeated=False is not supported"):
        ops.CTCLoss(ctc_merge_repeated=False)
