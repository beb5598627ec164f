"""Images from the bytes of files, and images of Pillow's (MindSpore: mindspore.dataset.vision)."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from graphc.dataset.checks import truth
from graphc.dataset.core.rows import to_array
from graphc.dataset.schema import numpy_dtype
from graphc.dataset.transforms.arrays import TypeCast
from graphc.dataset.transforms.base import Transform
from graphc.dataset.vision.base import OnDevice, is_pil, pillow
from graphc.errors import ArgumentTypeError, DataError, DataKindError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


def decoded(data: bytes, what: str) -> Any:
    """The image of Pillow's in the bytes of a file, in RGB. DataError, which says `what` it is, for anything else."""
    module = pillow()
    try:
        with module.open(io.BytesIO(data)) as opened:
            return opened.convert("RGB")
    except module.DecompressionBombError as error:
        raise DataError(f"{what} is too large an image: {error}", code="GC205") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise undecoded(what, error) from error


def undecoded(what: str, error: Exception) -> DataError:
    """The error for what is no image, with what Pillow says of it; of bytes that it does not know it says where they lie."""
    said = "" if isinstance(error, pillow().UnidentifiedImageError) else f": {error}"
    return DataError(f"{what} is no image that can be decoded{said}", code="GC205")


class Decode(OnDevice):
    """The image in the bytes of a file, uint8 [n] or bytes, as uint8 [H, W, 3], or as an image of Pillow's with to_pil."""

    def __init__(self, to_pil: bool = False) -> None:
        self.to_pil = truth("Decode", "to_pil", to_pil)

    def __call__(self, *inputs: Any) -> Any:
        if len(inputs) != 1:
            raise ArgumentTypeError(f"Decode takes one image, got {len(inputs)}", loc=user_loc())
        data = inputs[0]
        if not isinstance(data, bytes):
            array = to_array(data)
            if array.size == 1 and array.dtype.kind == "S":
                # NumPy leaves zeros at the end out of values, not out of arrays.
                array = np.frombuffer(array.tobytes(), np.uint8)
            if array.ndim != 1 or array.dtype != np.uint8:
                raise DataKindError(
                    f"Decode: the bytes of a file are uint8 [n], got {array.dtype} {list(array.shape)}", code="GC201"
                )
            data = array.tobytes()
        image = decoded(data, "the value for Decode")
        return image if self.to_pil else np.asarray(image)


class ToPIL(Transform):
    """An array [H, W] or [H, W, C], uint8 where it has channels, as an image of Pillow's."""

    def __call__(self, *inputs: Any) -> Any:
        if len(inputs) != 1:
            raise ArgumentTypeError(f"ToPIL takes one image, got {len(inputs)}", loc=user_loc())
        if is_pil(inputs[0]):
            return inputs[0]
        image = to_array(inputs[0])
        if image.ndim == 3 and image.shape[2] == 1:
            image = image[..., 0]
        if image.ndim not in (2, 3) or (
            image.ndim == 3 and (image.dtype != np.uint8 or image.shape[2] not in (2, 3, 4))
        ):
            raise DataKindError(
                f"ToPIL: an image must be [H, W], or uint8 [H, W, C], got {image.dtype} {list(image.shape)}",
                code="GC201",
            )
        if image.dtype == bool:
            image = image.astype(np.uint8) * 255
        try:
            return pillow().fromarray(np.ascontiguousarray(image))
        except (TypeError, ValueError) as error:
            raise DataError(f"ToPIL: Pillow has no image of {image.dtype} {list(image.shape)}", code="GC201") from error


class ToNumpy(Transform):
    """An image of Pillow's, or a list of numbers, as an array; an array as it is, copied."""

    def apply(self, value: Array) -> Array:
        return value.copy()


class ToType(TypeCast):
    """The value in another dtype, as transforms.TypeCast makes it; an image of Pillow's becomes an array."""

    def __init__(self, data_type: Any) -> None:
        self.dtype = numpy_dtype("ToType", data_type)
