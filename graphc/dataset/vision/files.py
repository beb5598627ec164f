"""Images from files and in files, and their sizes (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

import io
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.checks import integer
from graphc.dataset.core.rows import to_array
from graphc.dataset.vision.base import is_pil, pillow
from graphc.dataset.vision.coding import undecoded
from graphc.errors import ArgumentTypeError, DataError, user_loc
from graphc.validation.checks import member, string

Array = np.ndarray[Any, np.dtype[Any]]

#: Pillow's names of the formats that are read.
_FORMATS = ("JPEG", "PNG", "BMP", "TIFF", "PPM")
_TIFF_MODES = ("1", "L", "P", "RGB", "RGBA", "I;16")
#: What of 2**15 or 2**14 red, green and blue are in gray, and what is added before the rest is cut off: libpng's, and OpenCV's
#: for the files that it decodes itself.
_BY_PNG, _BY_OPENCV = (9797, 19234, 3737, 0, 15), (4899, 9617, 1868, 1 << 13, 14)


class ImageReadMode(IntEnum):
    """How read_image gives an image: as it is, in gray, or in red, green and blue."""

    UNCHANGED = 0
    GRAYSCALE = 1
    COLOR = 2


def get_image_size(image: Any) -> list[int]:
    """[height, width] of an array [..., H, W, C] or [H, W], or of an image of Pillow's."""
    if is_pil(image):
        return [image.height, image.width]
    shape = _array("get_image_size", image).shape
    return list(shape if len(shape) == 2 else shape[-3:-1])


def get_image_num_channels(image: Any) -> int:
    """The number of channels of an array [..., H, W, C], or of an image of Pillow's; 1 of an array [H, W]."""
    if is_pil(image):
        return len(image.getbands())
    shape = _array("get_image_num_channels", image).shape
    return 1 if len(shape) == 2 else shape[-1]


def _array(owner: str, image: Any) -> Array:
    if not isinstance(image, np.ndarray):
        raise ArgumentTypeError(
            f"{owner}: image must be an array of NumPy's or an image of Pillow's, got {type(image).__name__}",
            loc=user_loc(),
        )
    if image.ndim < 2:
        raise DataError(f"{owner}: an image must have 2 axes or more, got {list(image.shape)}", code="GC201")
    return image


def read_file(filename: str) -> Array:
    """uint8 [n]: the bytes of a file. DataError, a RuntimeError, if it cannot be read."""
    return np.frombuffer(_bytes("read_file", filename), np.uint8).copy()


def write_file(filename: str, data: Any) -> None:
    """Write bytes, uint8 [n], an array or a tensor, into a file. DataError, a RuntimeError, if it cannot be written."""
    values = _given("write_file", "data", data)
    if values.dtype != np.uint8 or (values.size and values.ndim != 1):
        raise DataError(f"write_file: data must be uint8 [n], got {values.dtype} {list(values.shape)}", code="GC201")
    _write("write_file", filename, values)


def read_image(filename: str, mode: ImageReadMode = ImageReadMode.UNCHANGED) -> Array:
    """The image in a file, JPEG, PNG, BMP, TIFF or PPM: uint8 [H, W, 3], or [H, W, 1] if it is gray or to be so.

    An alpha is left out. UNCHANGED gives gray PNG files of 16 bits as uint16, and leaves images as they lie; the other modes turn
    those of JPEG and PNG files as their EXIF says. Colours of 16 bits are read by COLOR alone. DataError, a RuntimeError, for
    what is no such file.
    """
    member("read_image", "mode", mode, ImageReadMode)
    data, module = _bytes("read_image", filename), pillow()
    try:
        with module.open(io.BytesIO(data), formats=_FORMATS) as opened:
            image = _pixels(opened, mode)
    except module.DecompressionBombError as error:
        raise DataError(f"read_image: {filename} is too large an image: {error}", code="GC205") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise undecoded(f"read_image: {filename}", error) from error
    return np.ascontiguousarray(image[..., None] if image.ndim == 2 else image)


def _pixels(opened: Any, mode: ImageReadMode) -> Array:
    """[H, W] or [H, W, 3]: what OpenCV, by which MindSpore reads, makes of an image that Pillow has opened."""
    kind = opened.format
    if kind == "TIFF" and opened.mode not in _TIFF_MODES:
        raise DataError(f"read_image: TIFF files are read in {', '.join(_TIFF_MODES)}, not {opened.mode}", code="GC205")
    codec, raw = (opened.tile[0].codec_name, str(opened.tile[0].args)) if opened.tile else ("", "")
    if codec == "ppm":
        raise DataError("read_image: PPM files are read whose values go to 255 or 65535", code="GC205")
    if "16" in raw and not opened.mode.startswith("I") and mode is not ImageReadMode.COLOR:
        raise DataError("read_image: Pillow reads colours of 16 bits as bytes: give ImageReadMode.COLOR", code="GC205")
    if kind in ("JPEG", "PNG") and mode is not ImageReadMode.UNCHANGED:
        if mode is ImageReadMode.GRAYSCALE:
            opened.draft("L", None)  # The brightness that JPEG files have, not one that is computed of colours.
        opened = pillow("PIL.ImageOps").exif_transpose(opened)
    if opened.mode.startswith("I"):
        deep = np.asarray(opened).astype(np.uint16)
        if mode is ImageReadMode.UNCHANGED:
            return deep
        gray = (deep >> 8).astype(np.uint8)
    elif opened.mode in ("1", "L", "LA"):
        gray = np.asarray(opened.convert("L"))
    else:
        colours = _colours(opened, kind)
        if mode is not ImageReadMode.GRAYSCALE:
            return colours
        gray = _gray(colours, _BY_PNG if kind == "PNG" else _BY_OPENCV)
    coloured = mode is ImageReadMode.COLOR or (mode is ImageReadMode.UNCHANGED and opened.mode == "LA")
    return np.repeat(gray[..., None], 3, 2) if coloured else gray


def _colours(opened: Any, kind: str) -> Array:
    """uint8 [H, W, 3], of inks or with an alpha as well. That of TIFF files is multiplied with, by libtiff."""
    if opened.mode == "CMYK":
        return _of_inks(np.asarray(opened))
    if kind == "TIFF" and opened.mode == "RGBA":
        wide = np.asarray(opened).astype(np.int32)
        return ((wide[..., :3] * wide[..., 3:] + 127) // 255).astype(np.uint8)
    colours: Array = np.asarray(opened.convert("RGB"))
    return colours


def _gray(colours: Array, parts: tuple[int, int, int, int, int]) -> Array:
    red, green, blue = (colours[..., k].astype(np.int32) for k in range(3))
    total: Array = (red * parts[0] + green * parts[1] + blue * parts[2] + parts[3]) >> parts[4]
    return total.astype(np.uint8)


def _of_inks(inks: Array) -> Array:
    """Red, green and blue of cyan, magenta, yellow and black."""
    light = 255 - inks.astype(np.int32)
    black = light[..., 3:]
    colours: Array = black - ((255 - light[..., :3]) * black >> 8)
    return colours.astype(np.uint8)


def encode_jpeg(image: Any, quality: int = 75) -> Array:
    """uint8 [n]: the JPEG file of an image, uint8 [H, W], [H, W, 1] or [H, W, 3]. quality: from 1 to 100."""
    return _encoded("encode_jpeg", image, "JPEG", quality=quality)


def encode_png(image: Any, compression_level: int = 6) -> Array:
    """uint8 [n]: the PNG file of an image, uint8 [H, W], [H, W, 1] or [H, W, 3]. compression_level: from 0 to 9."""
    return _encoded("encode_png", image, "PNG", compression_level=compression_level)


def write_jpeg(filename: str, image: Any, quality: int = 75) -> None:
    """Write what encode_jpeg gives into a file. DataError, a RuntimeError, if it cannot be written."""
    _write("write_jpeg", filename, _encoded("write_jpeg", image, "JPEG", quality=quality))


def write_png(filename: str, image: Any, compression_level: int = 6) -> None:
    """Write what encode_png gives into a file. DataError, a RuntimeError, if it cannot be written."""
    _write("write_png", filename, _encoded("write_png", image, "PNG", compression_level=compression_level))


def _encoded(owner: str, image: Any, kind: str, **amount: int) -> Array:
    ((name, value),) = amount.items()
    value, (low, high) = integer(owner, name, value), {"JPEG": (1, 100), "PNG": (0, 9)}[kind]
    if not low <= value <= high:  # A RuntimeError, where a wrong type is a TypeError: as in MindSpore.
        raise DataError(f"{owner}: {name} must be from {low} to {high}, got {value}", code="GC201")
    pixels = _given(owner, "image", image)
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3)):
        raise DataError(
            f"{owner}: image must be uint8 [H, W], [H, W, 1] or [H, W, 3], got {pixels.dtype} {list(pixels.shape)}",
            code="GC201",
        )
    if not pixels.size:
        raise DataError(f"{owner}: the image {list(pixels.shape)} is empty", code="GC201")
    file = io.BytesIO()
    flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    options = {"quality": value} if kind == "JPEG" else {"compress_level": value}
    pillow().fromarray(np.ascontiguousarray(flat)).save(file, kind, **options)
    return np.frombuffer(file.getvalue(), np.uint8).copy()


def _given(owner: str, name: str, value: Any) -> Array:
    if not isinstance(value, np.ndarray) and not hasattr(value, "asnumpy"):
        raise ArgumentTypeError(
            f"{owner}: {name} must be an array or a tensor, got {type(value).__name__}", loc=user_loc()
        )
    return to_array(value)


def _named(owner: str, filename: Any) -> Path:
    string(owner, "filename", filename)
    return Path(filename)


def _bytes(owner: str, filename: Any) -> bytes:
    path = _named(owner, filename)
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{owner}: {filename} cannot be read: {error.strerror or error}", code="GC205") from error


def _write(owner: str, filename: Any, data: Array) -> None:
    path = _named(owner, filename)
    try:
        path.write_bytes(data.tobytes())
    except OSError as error:
        raise DataError(f"{owner}: {filename} cannot be written: {error.strerror or error}", code="GC205") from error
