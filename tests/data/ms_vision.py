"""What MindSpore 2.10 (CPU) makes of images by transforms of colours, files and boxes, and what it refuses: writes ms_vision.json
beside this file.

usage: python ms_vision.py, where MindSpore and Pillow are installed. tests/dataset/test_recorded.py evaluates the same
expressions on graphc.
"""

import json
import pathlib

import numpy as np

#: 14x22 pixels without any order, and the same as floats from 0 to 1.
NOISE = (np.arange(14 * 22 * 3) ** 2 * 31 % 1021 % 256).astype(np.uint8).reshape(14, 22, 3)
SHARES = (NOISE / 255).astype(np.float32)
SQUARE = np.arange(144).reshape(12, 12) % 7 - 3.0
TRANSFORMS = [
    *(
        f"V.RgbToHsv(True)({x})"
        for x in ("NOISE", "SHARES", "FLOAT", "NOISE.astype(np.int32)", "np.stack([IMAGE, DIM])")
    ),
    *(f"V.RgbToHsv()({x}.transpose(2, 0, 1))" for x in ("NOISE", "SHARES")),
    "V.RgbToHsv()(np.stack([IMAGE, DIM]).transpose(0, 3, 1, 2))",
    "V.RgbToHsv(True)(FLAT)",
    *(f"V.HsvToRgb(True)({x})" for x in ("SHARES.astype(float)", "-SHARES.astype(float)", "SHARES.astype(float) * 3")),
    "V.HsvToRgb()(SHARES.transpose(2, 0, 1).astype(float))",
    "V.HsvToRgb(is_hwc=True)(np.stack([SHARES, SHARES[::-1]]).astype(float))",
    *(f"V.ToNumpy()({x})" for x in ("PIL", "IMAGE", "[1, 2]", "PIL.convert('1')", "3", "'a'")),
    *(f"V.ToType({d})({x})" for d in ("np.float32", "'int16'", "bool") for x in ("IMAGE", "PIL")),
    *(
        f"V.NormalizePad([123.5, 116.0, 103.5], [58.0, 57.5, 57.0], is_hwc=False{d})(NOISE.transpose(2, 0, 1))"
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
]


def names(known):
    """What expressions may name: what those of ms_images.py may, and more."""
    return known | {"NOISE": NOISE, "SHARES": SHARES, "SQUARE": SQUARE}


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
    pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
