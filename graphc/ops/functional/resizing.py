"""Sequences, images and volumes of another size. Each axis is resized by itself: entries picked, or a product with a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.declared.banded import bands
from graphc.ops.functional.adaptive_pooling import adaptive
from graphc.ops.functional.core import Extents, call, cast
from graphc.ops.functional.products import matmul
from graphc.ops.functional.reduce import reduce_mean
from graphc.ops.functional.shapes import transpose, whole_numbers
from graphc.ops.functional.slicing import gather
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import one_of

Places = Any  # float64[wanted]: where the entries of the result lie among those that there are.

#: Of so many numbers of a matrix one is kept at most where an axis is multiplied by bands.
_SPARSE = 3

Scales = Sequence[float | None]

# ---- where entries lie


def _corner_places(have: int, wanted: int) -> Places:
    """The first and the last entry keep their places."""
    return np.arange(wanted) * ((have - 1) / (wanted - 1) if wanted > 1 else 0.0)


def _left_places(have: int, wanted: int, scale: float | None = None) -> Places:
    """Entries are where they begin; the step is the inverse of the scale, where one is given."""
    return np.arange(wanted) * (1 / scale if scale else have / wanted)


def _center_places(have: int, wanted: int, scale: float | None = None) -> Places:
    """Entries are at the middles of equal parts."""
    return (np.arange(wanted) + 0.5) * (1 / scale if scale else have / wanted) - 0.5


# ---- how entries are made of those around


def _picked(x: Tensor, axis: int, places: Places) -> Tensor:
    """The entries of an axis at whole places."""
    index = np.clip(places, 0, x.shape[axis] - 1).astype(np.int32)
    return x if np.array_equal(index, np.arange(x.shape[axis])) else gather(x, Tensor(index), axis)


def _linear_weights(have: int, places: Places) -> Any:
    """[wanted, have]: the shares of the two entries around a place."""
    places = np.clip(places, 0, have - 1)
    low = np.floor(places).astype(int)
    share, rows = places - low, np.arange(len(places))
    weights = np.zeros((len(places), have))
    np.add.at(weights, (rows, low), 1 - share)
    np.add.at(weights, (rows, np.minimum(low + 1, have - 1)), share)
    return weights


def _cubic_weights(have: int, places: Places, bend: float, inside_only: bool) -> Any:
    """[wanted, have]: the shares of the four entries around a place, by cubic convolution (Keys, 1981).

    bend: the derivative at distance 1. Entries beyond the ends are those at the ends, or, with inside_only, left out and the
    other shares divided by their sum.
    """
    low = np.floor(places).astype(int)
    rows = np.arange(len(places))
    weights = np.zeros((len(places), have))
    for offset in (-1, 0, 1, 2):
        at = low + offset
        d = np.abs(places - at)
        near = ((bend + 2) * d - (bend + 3)) * d * d + 1
        far = ((bend * d - 5 * bend) * d + 8 * bend) * d - 4 * bend
        share = np.where(d <= 1, near, np.where(d < 2, far, 0.0))
        if inside_only:
            share = np.where((at >= 0) & (at < have), share, 0.0)
        np.add.at(weights, (rows, np.clip(at, 0, have - 1)), share)
    return weights / weights.sum(1, keepdims=True) if inside_only else weights


def _area_weights(have: int, wanted: int, step: float) -> Any:
    """[wanted, have]: how much of each part of `step` entries an entry covers."""
    begin = (np.arange(wanted) * step)[:, None]
    entry = np.arange(have)[None, :]
    covered = np.minimum(begin + step, entry + 1) - np.maximum(begin, entry)
    if step * wanted > have:
        # The last part reaches beyond the end, where the last entry stands again.
        covered[:, -1] += np.maximum(begin[:, 0] + step - np.maximum(begin[:, 0], have), 0)
    return np.maximum(covered, 0) / step


def _weighted(x: Tensor, axis: int, weights: Any) -> Tensor:
    """An axis times a matrix [wanted, have], of whose rows mostly little is not zero."""
    if np.array_equal(weights, np.eye(x.shape[axis])):
        return x
    if x.tensor_type.is_float:
        dtype = np.float64 if x.tensor_type.dtype == "float64" else np.float32
        (starts, there), (back_starts, turned) = bands(weights), bands(weights.T)
        if max(there.size, turned.size) * _SPARSE <= weights.size:
            parts = [starts, there.astype(dtype), back_starts, turned.astype(dtype)]
            return call("BandedProduct", x, *map(Tensor, parts), axis=axis)
    last = x.ndim - 1
    order = (*(i for i in range(last + 1) if i != axis), axis)
    matrix = Tensor(np.ascontiguousarray(weights.T).astype(x.tensor_type.numpy))
    if axis == last:
        return matmul(x, matrix)
    back = (*range(axis), last, *range(axis, last))
    return transpose(matmul(transpose(x, order), matrix), back)


def _resized(x: Tensor, sizes: Sequence[int], resize: Callable[[Tensor, int, int], Tensor]) -> Tensor:
    """resize(x, axis, wanted) for each of the axes behind the second."""
    made = x
    for axis, wanted in enumerate(sizes, 2):
        made = resize(made, axis, wanted)
    return made.twin() if made is x else made


# ---- one function for each way


def resize_nearest(
    x: Tensor, sizes: Sequence[int], corners: bool = False, centers: bool = False, scales: Scales | None = None
) -> Tensor:
    """[N, C, ...] in other sizes: each entry is the one at the same relative place.

    As in MindSpore a scale counts only if it makes the size neither the same nor twice what it was.
    """

    def axis_of(x: Tensor, axis: int, wanted: int) -> Tensor:
        have, scale = x.shape[axis], scales[axis - 2] if scales else None
        if corners:
            return _picked(x, axis, np.floor(_corner_places(have, wanted) + 0.5))
        if wanted in (have, 2 * have):
            scale = None
        step = 1 / scale if scale else have / wanted
        return _picked(x, axis, np.floor(np.arange(wanted) * step + (step / 2 if centers else 0)))

    return _resized(x, sizes, axis_of)


def resize_linear(
    x: Tensor, sizes: Sequence[int], corners: bool = False, centers: bool = False, scales: Scales | None = None
) -> Tensor:
    """[N, C, ...] in other sizes, by linear interpolation along each axis."""

    def axis_of(x: Tensor, axis: int, wanted: int) -> Tensor:
        have, scale = x.shape[axis], scales[axis - 2] if scales else None
        if corners:
            places = _corner_places(have, wanted)
        else:
            places = (_center_places if centers else _left_places)(have, wanted, scale)
        return _weighted(x, axis, _linear_weights(have, places))

    return _resized(x, sizes, axis_of)


def resize_bilinear(
    x: Tensor, size: Sequence[int], align_corners: bool = False, half_pixel_centers: bool = False
) -> Tensor:
    """Images [N, C, H, W] in another height and width, by bilinear interpolation."""
    return resize_linear(x, wanted_plane(size), align_corners, half_pixel_centers)


def resize_cubic(
    x: Tensor,
    size: Sequence[int],
    corners: bool = False,
    centers: bool = False,
    scales: Scales | None = None,
    repeated: bool = False,
) -> Tensor:
    """Images [N, C, H, W] in another height and width, by cubic convolution, as MindSpore does it: with `centers` the
    derivative at distance 1 is -0.5 and entries beyond the ends are left out, else, or if `repeated`, it is -0.75 and the
    ends are repeated, which is what torch does in any case.
    """

    def axis_of(x: Tensor, axis: int, wanted: int) -> Tensor:
        have, scale = x.shape[axis], scales[axis - 2] if scales else None
        if corners:
            places = _corner_places(have, wanted)
        else:
            places = (_center_places if centers else _left_places)(have, wanted, scale)
        halves = centers and not corners and not repeated
        return _weighted(x, axis, _cubic_weights(have, places, -0.5 if halves else -0.75, halves))

    return _resized(x, wanted_plane(size), axis_of)


def resize_by_places(x: Tensor, sizes: Sequence[int], mode: str, corners: bool) -> Tensor:
    """[N, C, ...] in other sizes, by the entries where parts begin ("nearest"), or those on both sides ("linear") or the four
    ("cubic") around the middles of parts; with `corners` the latter two keep the first and the last entry."""

    def axis_of(x: Tensor, axis: int, wanted: int) -> Tensor:
        have = x.shape[axis]
        if mode == "nearest":
            return _picked(x, axis, np.floor(_left_places(have, wanted)))
        places = (_corner_places if corners else _center_places)(have, wanted)
        weights = _linear_weights(have, places) if mode == "linear" else _cubic_weights(have, places, -0.75, False)
        return _weighted(x, axis, weights)

    return _resized(x, sizes, axis_of)


def resize_area(images: Tensor, size: Extents, align_corners: bool = False) -> Tensor:
    """float32[N, H, W, C]: images [N, H, W, C] in another height and width, each pixel the mean of what it covers."""
    x = transpose(cast(images, "float32"), (0, 3, 1, 2))

    def axis_of(x: Tensor, axis: int, wanted: int) -> Tensor:
        have = x.shape[axis]
        step = (have - 1) / (wanted - 1) if align_corners and wanted > 1 else have / wanted
        return _weighted(x, axis, _area_weights(have, wanted, step))

    return transpose(_resized(x, wanted_plane(size), axis_of), (0, 2, 3, 1))


def wanted_plane(size: Any) -> tuple[int, int]:
    """A height and a width, of numbers or a tensor that is known."""
    sizes = whole_numbers("resize", "size", size)
    if len(sizes) != 2 or min(sizes) < 1:
        raise ArgumentValueError(f"size must be a height and a width of at least 1, got {sizes}", loc=user_loc())
    return sizes[0], sizes[1]


def resize_nearest_neighbor(input_x: Tensor, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """[N, C, H, W] with another height and width: each pixel is the one at the same relative place."""
    return resize_nearest(input_x, wanted_plane(size), align_corners)


def _upsampled(
    owner: str, axes: int, x: Tensor, output_size: Any, scales: Any
) -> tuple[tuple[int, ...], Scales | None]:
    """The sizes of the axes behind the second, so many, by one of output_size and scales."""
    if x.ndim != 2 + axes or (output_size is None) == (scales is None):
        raise ArgumentValueError(
            f"{owner}: expected [N, C, {'D, H, W'[-3 * axes + 2 :]}] and one of output_size and scales", loc=user_loc()
        )
    if output_size is not None:
        return tuple(int(s) for s in output_size), None
    return tuple(int(n * s) for n, s in zip(x.shape[2:], scales, strict=True)), tuple(scales)


def upsample_nearest(owner: str, axes: int, x: Tensor, output_size: Any = None, scales: Any = None) -> Tensor:
    """[N, C, ...] with so many further axes in another size, by nearest neighbours."""
    sizes, steps = _upsampled(owner, axes, x, output_size, scales)
    return resize_nearest(x, sizes, scales=steps)


def upsample_nearest3d(x: Tensor, output_size: Extents = None, scales: float | Sequence[float] | None = None) -> Tensor:
    """Volumes [N, C, D, H, W] in another size, by nearest neighbours."""
    return upsample_nearest("UpsampleNearest3D", 3, x, output_size, scales)


def upsample_trilinear3d(
    x: Tensor,
    output_size: Extents = None,
    scales: float | Sequence[float] | None = None,
    *,
    align_corners: bool = False,
) -> Tensor:
    """Volumes [N, C, D, H, W] in another size, by trilinear interpolation."""
    sizes, steps = _upsampled("UpsampleTrilinear3D", 3, x, output_size, scales)
    return resize_linear(x, sizes, align_corners, True, steps)


def resize_linear1d(x: Tensor, size: Extents, coordinate_transformation_mode: str = "align_corners") -> Tensor:
    """Sequences [N, C, L] in another length, by linear interpolation; of length 1: their first entry."""
    modes = ("align_corners", "half_pixel")
    one_of("ResizeLinear1D", "coordinate_transformation_mode", coordinate_transformation_mode, modes)
    sizes = whole_numbers("ResizeLinear1D", "size", size)
    if len(sizes) != 1 or sizes[0] < 1:
        raise ArgumentValueError(f"ResizeLinear1D: size must be one positive number, got {sizes}", loc=user_loc())
    length = sizes[0]
    corners = coordinate_transformation_mode == "align_corners" or length == 1
    return resize_linear(x, (length,), corners, True)


# ---- all of them by name

#: mode -> numbers of axes, whether it has align_corners.
MODES = {
    "nearest": ((3, 4, 5), False),
    "nearest-exact": ((3, 4), False),
    "linear": ((3,), True),
    "bilinear": ((4,), True),
    "trilinear": ((5,), True),
    "bicubic": ((4,), True),
    "area": ((3, 4, 5), False),
}


def interpolate(
    input: Tensor,
    size: Extents = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """[N, C, L], [N, C, H, W] or [N, C, D, H, W] in another size (MindSpore: ops.interpolate).

    size or scale_factor: a number or one per axis; sizes by a factor are rounded down. mode: "nearest", "nearest-exact" (of
    sequences and images), "linear" (sequences), "bilinear", "bicubic" (images), "trilinear" (volumes) or "area" (means).
    align_corners: whether the first and last entries keep their places, in the linear and cubic modes. The step between
    places is the inverse of scale_factor, or with recompute_scale_factor that of the sizes.
    Raises ArgumentTypeError, ArgumentValueError and ShapeError.
    """
    return resized(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


def resized(
    input: Tensor,
    size: Any,
    scale_factor: Any,
    mode: str,
    align_corners: bool | None,
    recompute_scale_factor: bool | None,
    repeated: bool = False,
) -> Tensor:
    """`interpolate`; repeated: see `resize_cubic`."""
    one_of("interpolate", "mode", mode, MODES)
    ranks, has_corners = MODES[mode]
    if input.ndim not in ranks:
        raise ShapeError(
            f"interpolate: mode {mode!r} is for tensors of {' or '.join(map(str, ranks))} axes, got {input.tensor_type}",
            loc=user_loc(),
        )
    if not has_corners and align_corners is not None:
        having = ", ".join(repr(name) for name, (_, corners) in MODES.items() if corners)
        raise ArgumentValueError(
            f"interpolate: align_corners is for the modes {having}, got it with mode {mode!r}", loc=user_loc()
        )
    for name, flag in (("align_corners", align_corners), ("recompute_scale_factor", recompute_scale_factor)):
        if flag is not None and not isinstance(flag, bool):
            raise ArgumentTypeError(f"interpolate: {name} must be a bool or None", loc=user_loc())
    sizes, scales = _wanted(input, size, scale_factor)
    if size is not None and recompute_scale_factor:
        raise ArgumentValueError("interpolate: recompute_scale_factor needs scale_factor, not size", loc=user_loc())
    if recompute_scale_factor:
        scales = None
    if mode == "area":
        return adaptive(input, sizes, reduce_mean)
    if mode.startswith("nearest"):
        return resize_nearest(input, sizes, False, mode == "nearest-exact", scales)
    if mode == "linear" and sizes == (1,):
        return resize_linear1d(input, 1)
    if mode == "bicubic":
        return resize_cubic(input, sizes, bool(align_corners), not align_corners, scales, repeated)
    return resize_linear(input, sizes, bool(align_corners), not align_corners, scales)


def _wanted(x: Tensor, size: Any, scale_factor: Any) -> tuple[tuple[int, ...], Scales | None]:
    """The sizes of the axes behind the second, and the factors if these were given."""
    given, name = (size, "size") if size is not None else (scale_factor, "scale_factor")
    if (size is None) == (scale_factor is None):
        raise ArgumentValueError("interpolate: give one of size and scale_factor", loc=user_loc())
    values = tuple(given) if isinstance(given, (tuple, list)) else (given,) * (x.ndim - 2)
    kinds = int if name == "size" else (int, float)
    if any(isinstance(v, bool) or not isinstance(v, kinds) for v in values):
        raise ArgumentTypeError(f"interpolate: {name} must be numbers, got {given!r}", loc=user_loc())
    if len(values) != x.ndim - 2 or min(values) <= 0:
        raise ArgumentValueError(
            f"interpolate: {name} must be positive, one or {x.ndim - 2} for {x.tensor_type}, got {given!r}",
            loc=user_loc(),
        )
    if name == "size":
        return values, None
    return tuple(int(n * f) for n, f in zip(x.shape[2:], values, strict=True)), values


def upsample(
    input: Tensor,
    size: Extents = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """As `interpolate` (MindSpore: ops.upsample)."""
    return interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


__all__ = [
    "interpolate",
    "resize_nearest_neighbor",
    "upsample",
]
