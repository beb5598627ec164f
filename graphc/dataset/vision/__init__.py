"""Transforms of images, over NumPy and Pillow (MindSpore: mindspore.dataset.vision). Pillow comes with graphc[vision]."""

from typing import TYPE_CHECKING, Any

from graphc.dataset.transforms.base import not_random
from graphc.dataset.vision.adjust import (
    AdjustBrightness,
    AdjustContrast,
    AdjustGamma,
    AdjustHue,
    AdjustSaturation,
    AdjustSharpness,
    Grayscale,
    Posterize,
    RandomAdjustSharpness,
    RandomAutoContrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    Solarize,
)
from graphc.dataset.vision.affine import RandomAffine
from graphc.dataset.vision.augment import AutoAugment, RandAugment, TrivialAugmentWide
from graphc.dataset.vision.base import Border, Inter
from graphc.dataset.vision.boxes import (
    BoundingBoxAugment,
    RandomCropWithBBox,
    RandomHorizontalFlipWithBBox,
    RandomResizedCropWithBBox,
    RandomResizeWithBBox,
    RandomVerticalFlipWithBBox,
    ResizeWithBBox,
)
from graphc.dataset.vision.channels import ConvertColor, ConvertMode
from graphc.dataset.vision.choices import RandomResize, RandomSelectSubpolicy, UniformAugment
from graphc.dataset.vision.coding import Decode, ToNumpy, ToPIL, ToType
from graphc.dataset.vision.color import RandomColorAdjust
from graphc.dataset.vision.files import (
    ImageReadMode,
    encode_jpeg,
    encode_png,
    get_image_num_channels,
    get_image_size,
    read_file,
    read_image,
    write_file,
    write_jpeg,
    write_png,
)
from graphc.dataset.vision.filters import GaussianBlur, RandomErasing
from graphc.dataset.vision.fixed import (
    Affine,
    Crop,
    Erase,
    FiveCrop,
    HorizontalFlip,
    PadToSize,
    ResizedCrop,
    Rotate,
    SliceMode,
    SlicePatches,
    TenCrop,
    VerticalFlip,
)
from graphc.dataset.vision.geometry import (
    CenterCrop,
    Pad,
    RandomCrop,
    RandomCropDecodeResize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
)
from graphc.dataset.vision.hsv import HsvToRgb, RgbToHsv
from graphc.dataset.vision.linear import LinearTransformation, NormalizePad, RandomLighting
from graphc.dataset.vision.mixing import CutMixBatch, ImageBatchFormat, MixUp
from graphc.dataset.vision.perspective import Perspective, RandomPerspective
from graphc.dataset.vision.pixels import HWC2CHW, CutOut, MixUpBatch, Normalize, Rescale, ToTensor
from graphc.dataset.vision.policies import AutoAugmentPolicy
from graphc.dataset.vision.tones import (
    AutoContrast,
    Equalize,
    Invert,
    RandomColor,
    RandomPosterize,
    RandomSharpness,
    RandomSolarize,
)
from graphc.errors.suggestions import no_member
from graphc.tracebacks import clean
from graphc.validation.signatures import accept

__all__ = [
    "HWC2CHW",
    "AdjustBrightness",
    "AdjustContrast",
    "AdjustGamma",
    "AdjustHue",
    "AdjustSaturation",
    "AdjustSharpness",
    "Affine",
    "AutoAugment",
    "AutoAugmentPolicy",
    "AutoContrast",
    "Border",
    "BoundingBoxAugment",
    "CenterCrop",
    "ConvertColor",
    "ConvertMode",
    "Crop",
    "CutMixBatch",
    "CutOut",
    "Decode",
    "Equalize",
    "Erase",
    "FiveCrop",
    "GaussianBlur",
    "Grayscale",
    "HorizontalFlip",
    "HsvToRgb",
    "ImageBatchFormat",
    "ImageReadMode",
    "Inter",
    "Invert",
    "LinearTransformation",
    "MixUp",
    "MixUpBatch",
    "Normalize",
    "NormalizePad",
    "Pad",
    "PadToSize",
    "Perspective",
    "Posterize",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomAutoContrast",
    "RandomColor",
    "RandomColorAdjust",
    "RandomCrop",
    "RandomCropDecodeResize",
    "RandomCropWithBBox",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomHorizontalFlipWithBBox",
    "RandomInvert",
    "RandomLighting",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResize",
    "RandomResizeWithBBox",
    "RandomResizedCrop",
    "RandomResizedCropWithBBox",
    "RandomRotation",
    "RandomSelectSubpolicy",
    "RandomSharpness",
    "RandomSolarize",
    "RandomVerticalFlip",
    "RandomVerticalFlipWithBBox",
    "Rescale",
    "Resize",
    "ResizeWithBBox",
    "ResizedCrop",
    "RgbToHsv",
    "Rotate",
    "SliceMode",
    "SlicePatches",
    "Solarize",
    "TenCrop",
    "ToNumpy",
    "ToPIL",
    "ToTensor",
    "ToType",
    "TrivialAugmentWide",
    "UniformAugment",
    "VerticalFlip",
    "encode_jpeg",
    "encode_png",
    "get_image_num_channels",
    "get_image_size",
    "not_random",
    "read_file",
    "read_image",
    "write_file",
    "write_jpeg",
    "write_png",
]  # fmt: skip

accept(globals(), __all__, __name__)

if not TYPE_CHECKING:  # For type checkers the module has its names and no others.

    def __getattr__(name: str) -> Any:
        try:
            return no_member("graphc.dataset.vision", name, __all__)
        except (AttributeError, ImportError) as error:
            clean(error)
            raise
