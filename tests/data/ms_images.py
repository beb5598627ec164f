"""What MindSpore 2.10 (CPU) makes of images by transforms that draw nothing, and slices: writes ms_images.json beside this file.

usage: python ms_images.py, where MindSpore and Pillow are installed. tests/dataset/test_recorded.py evaluates the same
expressions on graphc.
"""

import json
import pathlib

import numpy as np

#: 14x22 pixels without any order.
NOISE = (np.arange(14 * 22 * 3) ** 2 * 31 % 1021 % 256).astype(np.uint8).reshape(14, 22, 3)
TRANSFORMS = [
    *(
        f"V.Resize({s}, V.Inter.{i})(NOISE)"
        for i in ("NEAREST", "BILINEAR", "AREA")
        for s in ("(18, 18)", "(7, 11)", "17")
    ),
    "V.Resize((34, 3), V.Inter.NEAREST)(NOISE[:6])",
    "V.Resize((3, 4))(np.stack([IMAGE, 255 - IMAGE]))",
    "V.CenterCrop(3)(np.stack([IMAGE, 255 - IMAGE]))",
    "V.HorizontalFlip()(np.stack([IMAGE, 255 - IMAGE]))",
    *(f"V.{flip}Flip()({x})" for flip in ("Horizontal", "Vertical") for x in ("IMAGE", "GRAY", "PIL")),
    "V.Crop((1, 2), (3, 4))(IMAGE)",
    "V.Crop([0, 0], 2)(GRAY)",
    "V.Crop((1, 2), 3)(PIL)",
    *(f"V.ResizedCrop(1, 2, 3, 4, (5, 6), V.Inter.{i})(IMAGE)" for i in ("NEAREST", "BILINEAR", "AREA")),
    "V.ResizedCrop(1, 2, 11, 15, 7)(NOISE)",
    *(f"V.Rotate({a})(NOISE)" for a in ("30", "-405.5", "90, expand=True", "20, center=(3, 4), fill_value=9")),
    "V.Rotate(30, V.Inter.BILINEAR)(NOISE)",
    "V.Rotate(30, V.Inter.BILINEAR, True)(GRAY)",
    *(f"V.Rotate({a})(NOISE)" for a in ("30, V.Inter.BILINEAR, True, (3, 9)", "-75, V.Inter.NEAREST, True, (-2, 1.5)")),
    "V.Rotate(30)(PIL)",
    "V.Rotate(30)(np.stack([IMAGE, 255 - IMAGE]))",
    "V.Affine(15, (-0.1, 0.1), 1.1, (2, 5))(NOISE)",
    "V.Affine(15.0, [0.2, -0.3], 0.7, 10, V.Inter.BILINEAR, (1, 2, 3))(NOISE)",
    *(f"V.Affine({a}, V.Inter.BICUBIC)(NOISE)" for a in ("15, (-0.1, 0.1), 1.1, (2, 5)", "-37, (0, 0), 0.8, 0")),
    "V.Affine(0, (0, 0), 1, 0)(GRAY)",
    *(f"V.Erase({a})(IMAGE)" for a in ("1, 2, 2, 3", "1, 2, 2, 3, (1, 2, 3)", "3, 5, 4, 6, 7.9")),
    *(
        f"V.PadToSize({a})(IMAGE)"
        for a in ("(8, 11)", "9, 1, (1, 2, 3)", "(8, 11), (2, 0), 7", "8, [], 0, V.Border.EDGE")
    ),
    "V.PadToSize(6)(GRAY)",
    *(f"V.{crop})(PIL)" for crop in ("FiveCrop(3", "FiveCrop((2, 4)", "TenCrop(3", "TenCrop((2, 4), True")),
    *(
        f"V.Adjust{what}({share})({x})"
        for what in ("Brightness", "Contrast", "Saturation", "Sharpness")
        for share in (0, 0.55, 1.3)
        for x in ("NOISE", "FLOAT")
    ),
    *(f"V.Adjust{what}(1.3)(PIL)" for what in ("Brightness", "Contrast", "Saturation", "Sharpness")),
    "V.AdjustBrightness(1.3)(GRAY)",
    "V.AdjustSharpness(1.3)(GRAY)",
    *(f"V.AdjustHue({part})({x})" for part in (-0.5, 0.1) for x in ("NOISE", "PIL")),
    *(f"V.AdjustGamma({a})({x})" for a in ("0.5", "2.0, 1.3", "3, 0.5") for x in ("NOISE", "FLOAT", "PIL")),
    *(f"V.Posterize({bits})({x})" for bits in (0, 3, 8) for x in ("IMAGE", "GRAY")),
    *(f"V.Solarize({a})({x})" for a in ("100", "(50, 150)", "(99.5, 99.5)") for x in ("IMAGE", "GRAY", "PIL")),
    *(f"V.Grayscale({a})(PIL)" for a in ("", "3")),
    *(f"V.GaussianBlur({a})(NOISE)" for a in ("7", "(11, 3), 0.9")),
    "V.GaussianBlur(5, 1.5)(NOISE[..., 0].astype(np.uint16) * 257)",
    "V.RandomGrayscale(1.0)(PIL)",
    *(f"V.RandomAutoContrast(10.0, 7, {p})(DIM)" for p in (0.0, 1.0)),
    *(f"V.RandomEqualize({p})(DIM)" for p in (0.0, 1.0)),
    *(f"V.RandomInvert({p})({x})" for p in (0.0, 1.0) for x in ("IMAGE", "PIL")),
    "V.RandomAdjustSharpness(1.7, 1.0)(NOISE)",
    "V.RandomColor((1.3, 1.3))(NOISE)",
    "V.RandomSharpness((0.55, 0.55))(NOISE)",
    "V.RandomColorAdjust(saturation=(1.3, 1.3))(NOISE)",
    "V.RandomAffine((20, 20), resample=V.Inter.BILINEAR)(NOISE)",
    "V.Equalize()(DIM[..., :1])",
    *(
        f"V.ConvertColor(V.ConvertMode.COLOR_{mode})({x})"
        for modes, values in (
            ("BGR2BGRA BGRA2BGR BGR2RGBA RGBA2BGR BGR2RGB BGRA2RGBA", ("IMAGE", "GRAY", "FLOAT", "RGBA")),
            ("BGR2GRAY RGB2GRAY BGRA2GRAY RGBA2GRAY", ("IMAGE", "FLOAT", "RGBA")),
            ("GRAY2BGR GRAY2BGRA", ("GRAY", "GRAY[..., None]")),
        )
        for mode in modes.split()
        for x in values
    ),
    *(
        f"V.SlicePatches({a})(IMAGE)"
        for a in ("", "2, 3", "2, 3, V.SliceMode.DROP", "2, 3, V.SliceMode.PAD, 9", "5, 7")
    ),
    "V.SlicePatches(2, 2)(GRAY)",
    *(
        f"T.Slice({a})(np.arange(5))"
        for a in ("0", "-1", "[2, 0, 2]", "slice(1, 3)", "slice(3, 9)", "None", "True", "...", "")
    ),
    *(f"T.Slice({a})(np.arange(12).reshape(3, 4))" for a in ("0", "0, 1", "[0, 2], [1, 3]", "..., 0", "[-1], -1")),
    "T.Slice([0, 2])(np.array(['a', 'b', 'c']))",
]
REFUSED = [
    *(f"V.Crop({a})" for a in ("(1, 2, 3), 2", "1, 2", "(-1, 2), 2", "(1.0, 2), 2", "(1, 2), 0")),
    *(f"V.ResizedCrop({a})" for a in ("-1, 0, 1, 1, 2", "0, 0, 0, 1, 2", "0, 0, 1, 1.0, 2", "0, 0, 1, 1, 2, 3")),
    *(f"V.Rotate({a})" for a in ("'a'", "(1, 2)", "1, 2", "1, expand=1", "1, center=(1,)", "1, fill_value=256")),
    *(
        f"V.Affine({a})"
        for a in ("181, (0, 0), 1, 0", "0, (2, 0), 1, 0", "0, 0, 1, 0", "0, (0, 0), 0, 0", "0, (0, 0), 1, (1,)")
    ),
    *(
        f"V.Erase({a})"
        for a in ("-1, 0, 1, 1", "0, 0, 0, 1", "0, 0, 1, 1, 256", "0, 0, 1, 1, (1, 2)", "0, 0, 1, 1, 1, 1")
    ),
    *(f"V.PadToSize({a})" for a in ("0", "1.5", "3, -1", "3, (1, 'a')", "3, None, 256", "3, None, 0, 'edge'")),
    *(
        f"V.Adjust{what}({a})"
        for what in ("Brightness", "Contrast", "Saturation", "Sharpness", "Gamma")
        for a in ("-1", "'a'")
    ),
    *(f"V.AdjustHue({a})" for a in ("0.6", "'a'")),
    "V.AdjustGamma(1, 'a')",
    *(f"V.Posterize({a})" for a in ("9", "-1", "1.0")),
    *(f"V.Solarize({a})" for a in ("256", "'a'", "(1, 2, 3)", "(2, 1)")),
    *(f"V.Grayscale({a})" for a in ("2", "'a'")),
    *(
        f"V.{a}"
        for a in ("FiveCrop(0)", "TenCrop((1, 2, 3))", "TenCrop(2, 1)", "RandomGrayscale(2.0)", "RandomInvert('a')")
    ),
    *(f"V.{a}" for a in ("RandomEqualize(-0.1)", "RandomAutoContrast(50.0)", "RandomAdjustSharpness(-1)")),
    *(f"V.{a}" for a in ("ConvertColor(0)", "SlicePatches(0)", "SlicePatches(1, 1.5)", "SlicePatches(1, 1, 0)")),
    *(f"V.SlicePatches(1, 1, V.SliceMode.PAD, {a})" for a in ("256", "1.5")),
    *(f"T.Slice({a})" for a in ("'a'", "1.5", "(0, 1)", "[slice(1)]")),
]


def names(known):
    """What expressions may name: what those of ms_dataset.py may, and more."""
    return known | {"NOISE": NOISE, "RGBA": known["IMAGE"][:4].reshape(3, 7, 4)}


def main():
    import mindspore.dataset as ds
    from mindspore.dataset import transforms, vision
    from ms_dataset import error, plain
    from ms_dataset import names as shared

    known = names(shared(ds, transforms, vision))
    found = {"transforms": {}, "refused": {}}
    for text in TRANSFORMS:
        result = eval(text, known)
        found["transforms"][text] = [plain(r) for r in (result if isinstance(result, tuple) else (result,))]
    for text in REFUSED:
        found["refused"][text] = error(lambda text=text: eval(text, known))
    pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
