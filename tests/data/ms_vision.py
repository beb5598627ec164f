"""What MindSpore 2.10 (CPU) makes of images by transforms of colours, files and boxes, and what it refuses: writes ms_vision.json
beside this file.

usage: python ms_vision.py, where MindSpore and Pillow are installed. tests/dataset/test_recorded.py evaluates the same
expressions on graphc.
"""

import atexit
import collections
import functools
import json
import pathlib
import shutil
import tempfile
import zlib

import numpy as np

#: 9x12 pixels without any order, the same as floats from 0 to 1, two boxes in IMAGE and points in the image and beside it.
PIXELS = (np.arange(9 * 12 * 3) ** 2 * 31 % 1021 % 256).astype(np.uint8).reshape(9, 12, 3)
SHARES = (PIXELS / 255).astype(np.float32)
SQUARE = np.arange(144).reshape(12, 12) % 7 - 3.0
BOXES = np.array([[0, 1, 3, 2, 0, 0, 9], [2, 1, 4, 3, 1, 0, 8]], np.float32)
CORNERS, INWARDS, OUTWARDS = (
    [(0, 0), (11, 0), (11, 8), (0, 8)],
    ((0, 1), (10, 0), (9, 7), (2, 8)),
    [[3, -2], [11, 1], [12, 9], [-1, 8]],
)
TRANSFORMS = [
    *(
        f"V.RgbToHsv(True)({x})"
        for x in ("PIXELS", "SHARES", "FLOAT", "PIXELS.astype(np.int32)", "np.stack([IMAGE, DIM])")
    ),
    *(f"V.RgbToHsv()({x}.transpose(2, 0, 1))" for x in ("PIXELS", "SHARES")),
    "V.RgbToHsv()(np.stack([IMAGE, DIM]).transpose(0, 3, 1, 2))",
    "V.RgbToHsv(True)(FLAT)",
    *(f"V.HsvToRgb(True)({x})" for x in ("SHARES.astype(float)", "-SHARES.astype(float)", "SHARES.astype(float) * 3")),
    "V.HsvToRgb()(SHARES.transpose(2, 0, 1).astype(float))",
    "V.HsvToRgb(is_hwc=True)(np.stack([SHARES, SHARES[::-1]]).astype(float))",
    *(f"V.ToNumpy()({x})" for x in ("PIL", "IMAGE", "[1, 2]", "PIL.convert('1')", "3", "'a'")),
    *(f"V.ToType({d})({x})" for d in ("np.float32", "'int16'", "bool") for x in ("IMAGE", "PIL")),
    *(
        f"V.NormalizePad([123.5, 116.0, 103.5], [58.0, 57.5, 57.0], is_hwc=False{d})(PIXELS.transpose(2, 0, 1))"
        for d in ("", ", dtype='float16'")
    ),
    "V.NormalizePad((120,), (60,), is_hwc=False)(FLOAT.astype(np.float64).transpose(2, 0, 1))",
    *(
        f"V.LinearTransformation({m}, {v})({x})"
        for m, v, x in (
            ("SQUARE", "np.arange(12) / 2", "GRAY"),
            ("SQUARE.astype(np.float32)", "np.ones(12, np.float32)", "GRAY"),
            ("SQUARE.astype(np.int32)", "np.ones(12, np.uint8)", "GRAY"),
            ("SQUARE", "np.zeros(12)", "np.arange(12)"),
            ("SQUARE", "np.zeros(12)", "GRAY.reshape(2, 2, 3)"),
        )
    ),
    *(f"V.RandomLighting(0)({x})" for x in ("IMAGE", "PIL", "PIL.convert('L')")),
    *(
        f"V.Perspective({a}, V.Inter.{i})(PIXELS)"
        for i in ("NEAREST", "BILINEAR", "BICUBIC", "AREA", "PILCUBIC")
        for a in ("CORNERS, INWARDS", "INWARDS, OUTWARDS")
    ),
    *(
        f"V.Perspective(INWARDS, OUTWARDS, V.Inter.{i})({x})"
        for i in ("NEAREST", "BILINEAR", "BICUBIC")
        for x in (
            "SHARES",
            "PIXELS.astype(np.uint16) * 200",
            "PIXELS[..., 0].astype(np.int16) - 99",
            "PIXELS[..., :1] > 99",
        )
    ),
    *(
        f"V.Perspective(CORNERS, INWARDS, V.Inter.{i})(PIL)"
        for i in ("NEAREST", "BILINEAR", "BICUBIC", "ANTIALIAS")[:3]
    ),
    "V.Perspective(CORNERS, INWARDS, V.Inter.NEAREST)(PIXELS.astype(np.int32) * -9)",
    "V.Perspective([(0, 0)] * 4, INWARDS)(IMAGE)",
    "V.Perspective([(0, 0)] * 4, INWARDS)(PIL)",
    "V.RandomPerspective(0.0, 1.0, V.Inter.NEAREST)(PIL)",
    "V.RandomPerspective(prob=0.0)(PIL)",
    *(f"np.array(V.get_image_size({x}))" for x in ("IMAGE", "GRAY", "PIL", "np.zeros((2, 3, 4, 5, 3))")),
    *(f"np.array(V.get_image_num_channels({x}))" for x in ("IMAGE", "GRAY", "PIL", "np.zeros((2, 3, 4, 5, 7))")),
    *(
        f"V.read_image(saved({x}), V.ImageReadMode.{mode})"
        for mode in ("UNCHANGED", "GRAYSCALE", "COLOR")
        for x in (
            *(f"IMAGE, '{kind}'" for kind in ("PNG", "BMP", "TIFF", "PPM", "JPEG")),
            *(f"GRAY, '{kind}'" for kind in ("PNG", "BMP", "TIFF", "JPEG")),
            *(f"RGBA, '{kind}'" for kind in ("PNG", "TIFF")),
            "RGBA[..., :2], 'PNG'",
            "GRAY.astype(np.uint16) * 257 + 9, 'PNG'",
            "GRAY > 99, 'PNG'",
            "PIL.convert('P'), 'PNG'",
            "PIL.convert('CMYK'), 'JPEG'",
            "IMAGE, 'JPEG', 6",
            "IMAGE, 'PNG', 6",
        )
    ),
    *(f"V.encode_jpeg({a})" for a in ("PIXELS", "PIXELS, 30", "GRAY", "GRAY[..., None], 100")),
    *(f"V.Decode()(V.encode_png({a}))" for a in ("PIXELS", "PIXELS, 0", "GRAY", "GRAY[..., None], 9")),
    *(f"V.read_image(written(V.write_{kind}, {a}))" for kind, a in (("png", "IMAGE, 1"), ("jpeg", "GRAY"))),
    "V.read_file(written(V.write_file, np.arange(5).astype(np.uint8)))",
    *(
        f"V.CutMixBatch(V.ImageBatchFormat.NHWC, prob=0.0)(PIXELS[None], np.{x})"
        for x in ("eye(1, 3, dtype=int)", "ones((1, 2, 3))")
    ),
    *(f"V.RandAugment(0)({x})" for x in ("IMAGE", "PIL")),
    *(
        f"V.RandomSelectSubpolicy([[(V.Invert(), 1), (V.HorizontalFlip(), {p})]])({x})"
        for p in (0, 1.0)
        for x in ("IMAGE", "PIL")
    ),
    *(
        f"V.{a}(IMAGE.copy(), BOXES.copy())"
        for a in (
            "ResizeWithBBox((10, 14))",
            "ResizeWithBBox(7, V.Inter.NEAREST)",
            "RandomResizeWithBBox((5, 7))",
            "RandomHorizontalFlipWithBBox(1)",
            "RandomHorizontalFlipWithBBox(0)",
            "RandomVerticalFlipWithBBox(1.0)",
            "RandomCropWithBBox((5, 7))",
            "RandomCropWithBBox((12, 11), [1, 2, 3, 5])",
            "RandomCropWithBBox((9, 9), (1, 2), False, (7, 8, 9))",
            "RandomCropWithBBox((7, 9), 1, False, 0, V.Border.EDGE)",
            "RandomResizedCropWithBBox(5, (1, 1), (1.4, 1.4))",
            "RandomResizedCropWithBBox((5, 6), (1, 1), (1.4, 1.4), V.Inter.AREA)",
            "BoundingBoxAugment(V.Invert(), 1.0)",
            "BoundingBoxAugment(V.Invert(), 0)",
            "BoundingBoxAugment(V.Resize(2), 1)",
            "BoundingBoxAugment(V.RandomRotation((90, 90), expand=True), 1.0)",
        )
    ),
    "V.RandomHorizontalFlipWithBBox(1)(GRAY.copy(), np.array([[0.25, 1, 1.5, 2]], np.float32))",
    "V.RandomVerticalFlipWithBBox(1)(PIL, np.array([[0.25, 1.1, 1.5, 2.3]], np.float32))",
    "V.BoundingBoxAugment(V.Invert(), 1.0)(IMAGE.copy(), np.array([[1.5, 0.5, 2.6, 2.4]], np.float32))",
]
REFUSED = [
    *(f"V.{name}({a})" for name in ("RgbToHsv", "HsvToRgb") for a in ("1", "None")),
    *(
        f"V.{name}({a})({x})"
        for name in ("RgbToHsv", "HsvToRgb")
        for a, x in (
            ("True", "GRAY"),
            ("True", "RGBA"),
            ("", "IMAGE"),
            ("True", "PIL"),
            ("True", "np.zeros((0, 2, 3))"),
            ("True", "np.array([[['a', 'b', 'c']]])"),
            ("True", "IMAGE[None, None]"),
        )
    ),
    "V.RgbToHsv(True)(IMAGE > 100)",
    *(f"V.ToType({a})" for a in ("3", "", "None")),
    *(
        f"V.NormalizePad({a})"
        for a in (
            "[256], [1]",
            "[1], [256]",
            "[1], ['a']",
            "[1], [True]",
            "[1], [0]",
            "[1, 2], [3]",
            "1, 2",
            "[1], [1], np.float32",
            "[1], [1], 'float64'",
            "[1], [1], 'float32', 1",
        )
    ),
    *(
        f"V.NormalizePad({a})({x})"
        for a, x in (
            ("[1, 2], [1, 2]", "IMAGE"),
            ("[1, 2, 3], [1, 2, 3]", "IMAGE.transpose(2, 0, 1)"),
            ("[1], [2]", "IMAGE[None]"),
            ("[1], [2]", "np.arange(3)"),
            ("[1, 2], [1, 2]", "GRAY"),
            ("[1], [2], is_hwc=False", "GRAY"),
        )
    ),
    *(
        f"V.LinearTransformation({a})"
        for a in (
            "np.ones((2, 3)), np.zeros(2)",
            "np.ones((2, 2)), np.zeros(3)",
            "[[1]], np.zeros(1)",
            "np.ones((1, 1)), [1]",
        )
    ),
    *(f"V.LinearTransformation(SQUARE, np.zeros(12))({x})" for x in ("IMAGE", "PIL")),
    *(f"V.RandomLighting({a})" for a in ("-1", "'a'", "None", "1e9")),
    *(f"V.RandomLighting(0)({x})" for x in ("GRAY", "RGBA", "IMAGE[None]", "IMAGE.astype(np.int64)")),
    *(f"V.RandomResize({a})" for a in ("0", "2.0", "(1, 2, 3)", "'a'", "None")),
    "V.RandomResize((3, 4))(np.arange(4))",
    *(
        f"V.Perspective({a})"
        for a in (
            "CORNERS[:3], INWARDS",
            "CORNERS, CORNERS + [(1, 2)]",
            "3, INWARDS",
            "[1, 2, 3, 4], INWARDS",
            "[(1, 2)] * 3 + [(1, 2, 3)], INWARDS",
            "[(1, 2.0)] * 4, INWARDS",
            "[(1, 2**31)] * 4, INWARDS",
            "CORNERS, INWARDS, 0",
        )
    ),
    *(
        f"V.Perspective(CORNERS, INWARDS{i})({x})"
        for i, x in (
            ("", "PIXELS.astype(np.int32)"),
            ("", "PIXELS.astype(np.float16)"),
            ("", "PIXELS[None]"),
            ("", "np.arange(3)"),
            (", V.Inter.ANTIALIAS", "PIXELS"),
            (", V.Inter.AREA", "PIL"),
            (", V.Inter.PILCUBIC", "PIL"),
            (", V.Inter.BICUBIC", "np.zeros((9, 9, 5), np.uint8)"),
        )
    ),
    *(f"V.RandomPerspective({a})" for a in ("1", "1.5", "0.5, 1", "0.5, 2.0", "0.5, 0.5, 3")),
    "V.RandomPerspective(0.5, 1.0, V.Inter.AREA)(PIL)",
    *(f"V.get_image_{what}({x})" for what in ("size", "num_channels") for x in ("np.arange(3)", "[1]", "np.array(3)")),
    *(f"V.read_{what}({x})" for what in ("file", "image") for x in ("3", "'/nowhere/at/all'", "'/'", "None")),
    "V.read_image(saved(IMAGE, 'GIF'))",
    "V.read_image(written(V.write_file, np.arange(9).astype(np.uint8)))",
    *(f"V.read_image(saved(IMAGE, 'PNG'), {mode})" for mode in ("1", "None")),
    *(f"V.encode_jpeg({a})" for a in ("IMAGE, 0", "IMAGE, 101", "IMAGE, 1.0")),
    *(f"V.encode_png({a})" for a in ("IMAGE, -1", "IMAGE, 10", "IMAGE, 1.0")),
    *(
        f"V.encode_{kind}({x})"
        for kind in ("jpeg", "png")
        for x in (
            "RGBA",
            "FLOAT",
            "np.zeros(3, np.uint8)",
            "IMAGE[None]",
            "PIL",
            "[1]",
            "np.zeros((0, 3, 3), np.uint8)",
        )
    ),
    *(
        f"V.write_file({a})"
        for a in ("1, np.zeros(2, np.uint8)", "'/tmp/x', b'a'", "'/tmp/x', [1]", "'/', np.zeros(1, np.uint8)")
    ),
    *(f"written(V.write_file, {x})" for x in ("np.zeros((2, 2), np.uint8)", "np.zeros(2, np.int8)")),
    *(f"V.write_{kind}('/nowhere/at/all', IMAGE)" for kind in ("png", "jpeg")),
    *(f"V.write_{kind}(1, IMAGE)" for kind in ("png", "jpeg")),
    *(
        f"V.CutMixBatch({a})"
        for a in (
            "0",
            "",
            *(f"V.ImageBatchFormat.NHWC, {more}" for more in ("0", "'a'", "2**24 + 1", "1, 1.5", "1, 'a'")),
        )
    ),
    *(
        f"V.CutMixBatch(V.ImageBatchFormat.{a})"
        for a in (
            "NCHW)(PIXELS[None], np.eye(1, 3, dtype=int)",
            "NHWC)(PIXELS[None], np.eye(2, 3, dtype=int)",
            "NHWC)(PIXELS[None], np.ones(1, int)",
            "NHWC)(PIXELS, np.eye(9, dtype=int)",
            "NHWC)(PIXELS[None]",
            "NHWC)(PIXELS[None, ..., :2], np.eye(1, 3, dtype=int)",
        )
    ),
    *(f"V.MixUp({a})" for a in ("0, 1", "1.0, 1", "4, 0", "4, 'a'", "4, 1, 1", "2**24 + 1, 1")),
    *(
        f"V.MixUp(2, 1)({a})"
        for a in ("np.stack([PIXELS] * 3), np.eye(3)", "PIXELS, np.eye(2, 3)", "np.stack([PIXELS] * 2), np.eye(3)")
    ),
    *(
        f"V.RandAugment({a})"
        for a in (
            "-1",
            "1.0",
            "2, 31",
            "2, -1",
            "2, 1.0",
            "2, 0, 1",
            "2, 1, 2, 0",
            "fill_value=256",
            "fill_value=(1, 2)",
            "fill_value=[1, 2, 3]",
        )
    ),
    *(f"V.TrivialAugmentWide({a})" for a in ("1", "2.0", "2, 0", "2, V.Inter.NEAREST, -1")),
    *(f"V.AutoAugment({a})" for a in ("'imagenet'", "None", "interpolation=0", "fill_value=300", "fill_value=1.0")),
    *(
        f"V.{name}()({x})"
        for name in ("RandAugment", "TrivialAugmentWide", "AutoAugment")
        for x in ("GRAY", "RGBA", "IMAGE[None]")
    ),
    *(
        f"V.UniformAugment({a})"
        for a in (
            "[V.Invert()]",
            "[], 1",
            "[3, 4], 1",
            "[V.Invert, V.Invert], 1",
            "'ab', 1",
            "3, 1",
            "[V.Invert()], 0",
            "[V.Invert()], 1.0",
        )
    ),
    *(
        f"V.RandomSelectSubpolicy({a})"
        for a in (
            "[[(V.Invert(), 1.5)]]",
            "[[(V.Invert(), 'a')]]",
            "[[(3, 1)]]",
            "[[[V.Invert(), 1]]]",
            "[[(V.Invert(),)]]",
            "[[]]",
            "[]",
            "((V.Invert(), 1),)",
            "[((V.Invert(), 1),)]",
        )
    ),
    *(
        f"V.ResizeWithBBox(10)(IMAGE{x})"
        for x in (
            *(f", BOXES.astype(np.{d})" for d in ("float64", "int32", "float16")),
            ", BOXES[:, :3]",
            ", BOXES[0]",
            ", BOXES[:0]",
            ", BOXES[None]",
            "",
            ", BOXES + 4",
            ", BOXES - 0.5",
            "[None], BOXES",
        )
    ),
    *(f"V.ResizeWithBBox({a})" for a in ("0", "'a'", "10, 0")),
    "V.RandomResizeWithBBox(0)",
    *(f"V.Random{way}FlipWithBBox({a})" for way in ("Horizontal", "Vertical") for a in ("2", "'a'")),
    *(f"V.RandomCropWithBBox(3{a})" for a in (", -1", ", 1, 1", ", 1, True, 256", ", 1, True, 0, 'edge'")),
    "V.RandomCropWithBBox((8, 11))(IMAGE, BOXES)",
    *(f"V.RandomResizedCropWithBBox(5, {a})" for a in ("(2, 1)", "interpolation=0", "max_attempts=0", "ratio=(0, 1)")),
    *(f"V.BoundingBoxAugment({a})" for a in ("3", "len", "V.Grayscale()", "V.Invert(), 2", "V.Invert(), 'a'")),
    "V.BoundingBoxAugment(V.Invert(), 1.0)(IMAGE, np.array([[1, 1, 0, 2]], np.float32))",
]
#: How often each result comes, in so many calls.
DRAWN = {
    "V.RandAugment(1, 7)(PIXELS.copy())": 3000,
    "V.RandAugment(1, 5, 8, V.Inter.BILINEAR)(PIXELS.copy())": 3000,
    "V.AutoAugment()(PIXELS.copy())": 3000,
    "V.TrivialAugmentWide(2)(PIXELS.copy())": 3000,
}
#: What stays of images of 16x16 pixels, in the mean of so many labels.
MIXED = "V.CutMixBatch(V.ImageBatchFormat.NHWC, {})(np.zeros((100, 16, 16, 3), np.uint8), np.eye(100, dtype=int))"


def names(known):
    """What expressions may name: what those of ms_images.py may, and more."""
    more = {"PIXELS": PIXELS, "SHARES": SHARES, "SQUARE": SQUARE, "BOXES": BOXES, "saved": saved, "written": written}
    return known | more | {"CORNERS": CORNERS, "INWARDS": INWARDS, "OUTWARDS": OUTWARDS}


@functools.cache
def folder():
    """Where files are written. It goes with the process."""
    made = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, made)
    return made


def saved(image, kind, orientation=None):
    """The name of a new file with an image."""
    from PIL import Image

    given = image if hasattr(image, "getbands") else Image.fromarray(image)
    exif = Image.Exif()
    if orientation:
        exif[0x112] = orientation
    with tempfile.NamedTemporaryFile(suffix=f".{kind.lower()}", dir=folder(), delete=False) as file:
        given.save(file, kind, **({"exif": exif} if orientation else {}))
    return file.name


def written(write, *arguments):
    """The name of a new file that a function has written."""
    with tempfile.NamedTemporaryFile(dir=folder(), delete=False) as file:
        pass
    write(file.name, *arguments)
    return file.name


def drawn(text, known, times):
    """How often each result comes: by the checksum of its bytes."""
    code = compile(text, "drawn", "eval")
    return dict(collections.Counter(str(zlib.crc32(eval(code, known).tobytes())) for _ in range(times)))


def staying(known, alpha):
    """The mean of what stays of an image, of 10,000 labels."""
    return float(np.mean([np.diag(eval(MIXED.format(alpha), known)[1]) for _ in range(100)]))


def main():
    import mindspore.dataset as ds
    import ms_images
    from mindspore.dataset import transforms, vision
    from ms_dataset import error, plain
    from ms_dataset import names as shared

    known = names(ms_images.names(shared(ds, transforms, vision)))
    found = {"transforms": {}, "refused": {}}
    for text in TRANSFORMS:
        result = eval(text, known)
        found["transforms"][text] = [plain(r) for r in (result if isinstance(result, tuple) else (result,))]
    for text in REFUSED:
        found["refused"][text] = error(lambda text=text: eval(text, known))
    found["drawn"] = {text: drawn(text, known, times) for text, times in DRAWN.items()}
    found["staying"] = {str(alpha): staying(known, alpha) for alpha in (0.3, 1.0, 4.0)}
    pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
