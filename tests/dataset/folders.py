"""Made-up folders in the layouts of published data sets of images, a few small images each: what MindSpore reads of them is in
tests/data/ms_sources.json.
"""

import base64
import json
import struct

import numpy as np


def bmp(k, height=2, width=3):
    """The bytes of a BMP file of 24 bits a pixel; k tells images apart."""
    pixels = (np.arange(height * width * 3).reshape(height, width, 3) * 7 + 31 * k) % 256
    row = -(-width * 3 // 4) * 4
    body = b"".join(bytes(r.astype(np.uint8).tobytes()).ljust(row, b"\0") for r in pixels[::-1].reshape(height, -1))
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(body), 2835, 2835, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(body), 0, 0, 54) + head + body


def gray_bmp(k, side):
    """The bytes of a BMP file of 8 bits a pixel, in gray."""
    pixels = ((np.arange(side)[:, None] * 3 + np.arange(side) + 17 * k) % 256).astype(np.uint8)
    palette = b"".join(bytes((v, v, v, 0)) for v in range(256))
    head = struct.pack("<IiiHHIIiiII", 40, side, side, 1, 8, 0, side * side, 2835, 2835, 256, 0)
    body = pixels[::-1].tobytes()
    return b"BM" + struct.pack("<IHHI", 54 + 1024 + len(body), 0, 0, 54 + 1024) + head + palette + body


def idx(magic, shape, data):
    return struct.pack(f">{1 + len(shape)}I", magic, *shape) + bytes(data)


def put(root, files):
    """Write files {path: text or bytes} below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def digits(images, labels, count, start, kind=2049, width=1):
    pixels = bytes((k * 5 + start) % 256 for k in range(count * 784))
    values = [(start + k) % 10 for k in range(count)] if width == 1 else range(start, start + count * width)
    packed = bytes(values) if width == 1 else struct.pack(f">{count * width}I", *values)
    shape = (count,) if width == 1 else (count, width)
    return {images: idx(2051, (count, 28, 28), pixels), labels: idx(kind, shape, packed)}


def mnists(root):
    for k, (part, count) in enumerate((("train", 4), ("t10k", 3))):
        put(root / "kmnist", digits(f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte", count, 10 + k))
    for k, (part, count) in enumerate((("train", 4), ("test", 3))):
        for j, name in enumerate(("mnist", "letters", "byclass")):
            head = f"emnist-{name}-{part}"
            put(
                root / "emnist", digits(f"{head}-images-idx3-ubyte", f"{head}-labels-idx1-ubyte", count + j, 10 * j + k)
            )
    for k, (name, count) in enumerate((("qmnist-train", 3), ("qmnist-test", 10003), ("xnist", 2))):
        put(root / "qmnist", digits(f"{name}-images-idx3-ubyte", f"{name}-labels-idx2-int", count, 20 * k, 0x0C02, 8))


def small_images(root):
    lines = []
    for k in range(4):
        values = " ".join(f"{(j * k) % 3 % 2}.0000" for j in range(256))
        lines.append(values + " " + " ".join(str(int(j == k + 3)) for j in range(10)) + " ")
    put(root / "semeion", {"semeion.data": "\n".join(lines) + "\n", "semeion.names": "-\n"})
    for k, (part, count) in enumerate((("train", 3), ("test", 2), ("unlabeled", 2))):
        pixels = bytes((j * 3 + k) % 251 for j in range(count * 3 * 96 * 96))
        put(root / "stl10", {f"{part}_X.bin": pixels})
        if part != "unlabeled":
            put(root / "stl10", {f"{part}_y.bin": bytes(range(1 + 4 * k, 1 + 4 * k + count))})
    for k, (part, count) in enumerate((("usps", 4), ("usps.t", 3))):
        lines = []
        for i in range(count):
            pairs = " ".join(f"{j + 1}:{-1 + ((j * (i + 2) + k) % 9) / 4}" for j in range(256))
            lines.append(f"{(i + 3 * k) % 10 + 1} {pairs} ")
        put(root / "usps", {part: "\n".join(lines) + "\n"})


def folders(root):
    put(root / "caltech256", {
        "001.ak47/001_0002.jpg": bmp(1), "001.ak47/001_0001.jpg": bmp(2), "002.american-flag/002_0001.jpg": bmp(3),
        "010.beer-mug/010_0001.png": bmp(4), "010.beer-mug/notes.txt": "no image",
    })  # fmt: skip
    put(root / "food101", {
        "images/apple_pie/3.jpg": bmp(1), "images/apple_pie/1.jpg": bmp(2), "images/waffles/2.jpg": bmp(3),
        "images/waffles/7.jpg": bmp(4), "meta/classes.txt": "apple_pie\nwaffles\n",
        "meta/train.txt": "waffles/7\napple_pie/3\napple_pie/1\n", "meta/test.txt": "waffles/2\n",
    })  # fmt: skip
    put(root / "lsun", {
        "bedroom_train/1_2.jpg": bmp(1), "bedroom_train/1_1.jpg": bmp(2), "bedroom_val/2_1.jpg": bmp(3),
        "classroom_train/3_1.jpg": bmp(4), "classroom_val/4_1.jpg": bmp(5), "test/5_1.jpg": bmp(6),
        "other_train/6_1.jpg": bmp(7),
    })  # fmt: skip
    put(root / "omniglot", {
        "images_background/Greek/character01/01.png": bmp(1), "images_background/Greek/character01/02.png": bmp(2),
        "images_background/Greek/character02/01.png": bmp(3), "images_background/Arcadian/character01/01.png": bmp(4),
        "images_evaluation/Tengwar/character01/01.jpg": bmp(5), "images_evaluation/Tengwar/character03/01.jpg": bmp(6),
    })  # fmt: skip
    put(root / "rendered", {
        f"{part}/{kind}/000{k}.png": bmp(10 * i + 3 * j + k)
        for i, part in enumerate(("train", "test", "valid")) for j, kind in enumerate(("positive", "negative"))
        for k in range(1 + j + i)
    })  # fmt: skip
    put(root / "sun397", {
        "ClassName.txt": "/a/abbey\n/a/apartment_building/outdoor\n/b/badlands\n",
        "a/abbey/sun_b.jpg": bmp(1), "a/abbey/sun_a.jpg": bmp(2), "a/apartment_building/outdoor/sun_c.jpg": bmp(3),
        "b/badlands/sun_d.jpg": bmp(4), "b/badlands/sun_e.png": bmp(5),
    })  # fmt: skip


def listed(root):
    put(root / "celeba", {
        "list_attr_celeba.txt": "5\nBald Smiling Young\n" + "".join(
            f"00000{k}.{'png' if k == 3 else 'jpg'} " + " ".join(("-1", " 1")[(k >> b) & 1] for b in range(3)) + " \n"
            for k in range(1, 6)
        ),
        "list_eval_partition.txt": "000001.jpg 0\n000002.jpg 0\n000003.png 1\n000004.jpg 2\n000005.jpg 0\n",
        **{f"00000{k}.{'png' if k == 3 else 'jpg'}": bmp(k) for k in range(1, 6)},
    })  # fmt: skip
    put(root / "flickr", {
        "images/10.jpg": bmp(1), "images/9.jpg": bmp(2), "images/8.txt": "none",
        "tokens.txt": "".join(
            f"{name}#{k}\tA {name} caption , number {k} .\n" for name in ("9.jpg", "10.jpg", "8.txt") for k in range(5)
        ) + "\n",
    })  # fmt: skip
    put(root / "sbu", {
        "SBU_captioned_photo_dataset_urls.txt": "".join(
            f"http://static.flickr.com/{n}.jpg\n" for n in ("3326/b_2", "2522/a_1", "99/missing")
        ),
        "SBU_captioned_photo_dataset_captions.txt": "A house \n  Two dogs, running\nNothing\n",
        "sbu_images/m_3326_b_2.jpg": bmp(1), "sbu_images/m_2522_a_1.jpg": bmp(2),
    })  # fmt: skip
    names = {"Ann_A": 3, "Bob_B": 2, "Cy_C": 1}
    put(root / "lfw", {
        f"{folder}/{name}/{name}_{k:04}.jpg": bmp(40 * f + 10 * j + k)
        for f, folder in enumerate(("lfw", "lfw_funneled", "lfw-deepfunneled"))
        for j, (name, count) in enumerate(names.items()) for k in range(1, count + 1)
    })  # fmt: skip
    put(root / "lfw", {
        "lfw-names.txt": "".join(f"{n}\t{c}\n" for n, c in names.items()),
        "people.txt": "2\n1\nBob_B\t2\n2\nAnn_A\t3\nCy_C\t1\n", "peopleDevTrain.txt": "2\nAnn_A\t2\nCy_C\t1\n",
        "peopleDevTest.txt": "1\nBob_B\t2\n",
        "pairs.txt": "2\t1\nAnn_A\t1\t3\nBob_B\t1\tCy_C\t1\nBob_B\t1\t2\nAnn_A\t2\tBob_B\t2\n",
        "pairsDevTrain.txt": "1\nAnn_A\t1\t2\nAnn_A\t3\tCy_C\t1\n", "pairsDevTest.txt": "1\nBob_B\t2\t1\nBob_B\t1\tAnn_A\t1\n",
    })  # fmt: skip
    put(root / "places365", {
        "categories_places365.txt": "/a/airfield 0\n/a/alley 1\n", "places365_val.txt": "v2.jpg 1\nv1.jpg 0\n",
        "places365_train_standard.txt": "/a/alley/2.jpg 1\n/a/airfield/1.jpg 0\n/a/alley/1.jpg 1\n",
        "places365_train_challenge.txt": "/a/airfield/9.jpg 0\n",
        **{f"{f}/{n}.jpg": bmp(20 * k + j) for k, f in enumerate(("data_256_standard", "data_large_standard"))
           for j, n in enumerate(("a/alley/2", "a/airfield/1", "a/alley/1"))},
        "data_256_challenge/a/airfield/9.jpg": bmp(61), "data_large_challenge/a/airfield/9.jpg": bmp(62),
        "val_256/v1.jpg": bmp(63), "val_256/v2.jpg": bmp(64), "val_large/v1.jpg": bmp(65), "val_large/v2.jpg": bmp(66),
    })  # fmt: skip
    put(root / "manifest", {f"{k}.jpg": bmp(k) for k in range(1, 6)} | {"6.jpg": "no image"})
    put(root / "manifest", {
        "list.manifest": "".join(
            json.dumps({"source": str(root / "manifest" / f"{k}.jpg"), "usage": usage,
                        "annotation": [{"type": "t", "name": n} for n in labels]}) + "\n"
            for k, usage, labels in (
                (1, "TRAIN", ["dog"]), (2, "train", ["cat"]), (3, "eval", ["bird"]), (4, "Train", ["dog", "ant"]),
                (5, "inference", ["cat"]), (6, "train", ["cat"]),
            )
        )
    })  # fmt: skip


VOC = """<annotation><folder>VOC</folder><filename>{}.jpg</filename><size><width>3</width></size>{}</annotation>"""
OBJECT = """<object><name>{}</name><pose>Left</pose>{}<difficult>{}</difficult>
 <bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox></object>"""


POLYGONS = """{"objects": [ {"label": "r\\u00f6ad", "polygon": [[0, 1.50], [2, 3]]} ],
 "imgWidth": 2048, "b": 1e3, "c": true, "d": null}"""
FACES = """0--Parade/p_1.jpg
2
449 330 122 149 1 0 1 2 0 0@
10 20 30 40 0 1 0 0 1 1@
1--Handshaking/h_1.jpg
0
0 0 0 0 0 0 0 0 0 0@
""".replace("@", " ")


def pairs(root):
    put(root / "cityscapes", {
        f"leftImg8bit/{part}/{city}/{city}_00{k}_leftImg8bit.png": bmp(7 * p + 3 * c + k)
        for p, part in enumerate(("train", "test", "val", "train_extra")) for c, city in enumerate(("bochum", "aachen"))
        for k in range(2 - c)
    })  # fmt: skip
    for quality, parts in (("gtFine", ("train", "test", "val")), ("gtCoarse", ("train", "val", "train_extra"))):
        for p, part in enumerate(parts):
            for c, city in enumerate(("bochum", "aachen")):
                for k in range(2 - c):
                    head = f"{quality}/{part}/{city}/{city}_00{k}_{quality}"
                    put(root / "cityscapes", {
                        f"{head}_{task}.png": bmp(50 + 7 * p + 3 * c + k + t)
                        for t, task in enumerate(("instanceIds", "labelIds", "color"))
                    } | {f"{head}_polygons.json": POLYGONS})  # fmt: skip
    for p, part in enumerate(("train", "valid")):
        files = {f"DIV2K_{part}_HR/000{k}.png": bmp(9 * p + k, 4, 4) for k in range(1, 3)}
        for d, (folder, suffix) in enumerate((
            ("LR_bicubic/X2", "x2"), ("LR_bicubic/X3", "x3"), ("LR_unknown/X4", "x4"), ("LR_x8", "x8"),
            ("LR_mild", "x4m"), ("LR_difficult", "x4d"), ("LR_wild", "x4w"),
        )):  # fmt: skip
            files |= {f"DIV2K_{part}_{folder}/000{k}{suffix}.png": bmp(80 + 10 * d + k, 2, 2) for k in range(1, 3)}
        put(root / "div2k", files)
    put(root / "kitti", {f"data_object_image_2/{part}/image_2/00000{k}.png": bmp(k + 9 * p)
                         for p, part in enumerate(("training", "testing")) for k in range(3)})  # fmt: skip
    lines = (
        "Truck 0.00 0 -1.57 599.41 156.40 629.75 189.25 2.85 2.63 12.34 0.47 1.49 69.44 -1.56\n",
        "Car 0.25 1 1.85 387.63 181.54 423.81 203.12 1.67 1.87 3.69 -16.53 2.39 58.49 1.57\n",
        "DontCare -1 -1 -10 503.89 169.71 590.61 190.13 -1 -1 -1 -1000 -1000 -1000 -10\n",
    )
    put(
        root / "kitti",
        {f"data_object_label_2/training/label_2/00000{k}.txt": "".join(lines[: k + 1]) for k in range(3)},
    )
    put(root / "voc", {
        **{f"JPEGImages/2007_{k}.jpg": bmp(k) for k in range(1, 5)},
        **{f"SegmentationClass/2007_{k}.png": bmp(20 + k) for k in range(1, 5)},
        "ImageSets/Segmentation/train.txt": "2007_3\n2007_1\r\n", "ImageSets/Segmentation/val.txt": "2007_2",
        "ImageSets/Main/train.txt": "2007_3\n2007_1\n", "ImageSets/Main/val.txt": "2007_4\n2007_2\n",
        "Annotations/2007_1.xml": VOC.format("2007_1", OBJECT.format("dog", "<truncated>1</truncated>", 0, 1, 2, 3, 4)
                                             + OBJECT.format("cat", "<truncated>0</truncated>", 1, 1.5, 2, 30, 40)),
        "Annotations/2007_2.xml": VOC.format("2007_2", OBJECT.format("ant", "", 0, 5, 6, 7, 8)),
        "Annotations/2007_3.xml": VOC.format("2007_3", OBJECT.format("cat", "", 0, 9, 2, 33, 4)),
        "Annotations/2007_4.xml": VOC.format("2007_4", OBJECT.format("dog", "<truncated>0</truncated>", 0, 9, 2, 33, 4)),
    })  # fmt: skip
    put(root / "wider", {
        **{f"WIDER_{part}/images/{name}": bmp(10 * p + k) for p, part in enumerate(("train", "val", "test"))
           for k, name in enumerate(("0--Parade/p_1.jpg", "1--Handshaking/h_1.jpg"))},
        "wider_face_split/wider_face_train_bbx_gt.txt": FACES,
        "wider_face_split/wider_face_val_bbx_gt.txt": FACES.replace("449", "7"),
        "wider_face_split/wider_face_test_filelist.txt": "0--Parade/p_1.jpg\n1--Handshaking/h_1.jpg\n",
    })  # fmt: skip
    put(root / "phototour/liberty", {
        "patches0000.bmp": gray_bmp(1, 1024), "patches0001.bmp": gray_bmp(2, 1024),
        "info.txt": "".join(f"{k // 2} 0\n" for k in range(260)),
        "m50_100000_100000_0.txt": "0 0 0 1 0 0 0\n3 1 0 258 129 0 0\n255 127 0 256 128 0 0\n",
    })  # fmt: skip


COCO_IMAGES = [{"id": 7, "file_name": "b.jpg"}, {"id": 3, "file_name": "a.jpg"}, {"id": 9, "file_name": "none.jpg"}]
COCO = {
    "instances": {
        "images": COCO_IMAGES,
        "categories": [{"id": 18, "name": "dog", "supercategory": "animal"}, {"id": 1, "name": "person"}],
        "annotations": [
            {"id": 1, "image_id": 3, "category_id": 18, "bbox": [1, 2.5, 3, 4], "iscrowd": 1},
            {"id": 2, "image_id": 7, "category_id": 1, "bbox": [5, 6, 7.125, 8]},
            {"id": 3, "image_id": 3, "category_id": 1, "bbox": [9, 10, 11, 12], "iscrowd": 0},
        ],
    },
    "stuff": {
        "images": COCO_IMAGES,
        "annotations": [
            {"id": 1, "image_id": 3, "segmentation": [[1, 2, 3, 4, 5, 6], [7, 8.5]], "iscrowd": 0},
            {"id": 2, "image_id": 7, "segmentation": {"counts": [4, 5, 6], "size": [3, 5]}, "iscrowd": 1},
        ],
    },
    "keypoints": {
        "images": COCO_IMAGES,
        "annotations": [
            {"id": 1, "image_id": 3, "keypoints": [1, 2, 0, 4, 5, 2], "num_keypoints": 1},
            {"id": 2, "image_id": 3, "keypoints": [6, 7, 1, 9, 9, 1], "num_keypoints": 2},
            {"id": 3, "image_id": 7, "keypoints": [8, 7, 1, 0, 0, 0], "num_keypoints": 1},
        ],
    },
    "panoptic": {
        "images": COCO_IMAGES,
        "categories": [{"id": 18, "name": "dog", "isthing": 1}, {"id": 1, "name": "sky", "isthing": 0}],
        "annotations": [
            {"image_id": 7, "file_name": "b.png", "segments_info": [
                {"id": 1, "category_id": 1, "bbox": [0, 1, 2, 3], "area": 705, "iscrowd": 0},
                {"id": 2, "category_id": 18, "bbox": [4, 1, 2, 3], "area": 7, "iscrowd": 1},
            ]},
            {"image_id": 3, "file_name": "a.png", "segments_info": [
                {"id": 3, "category_id": 18, "bbox": [0, 1, 2, 9], "area": 11, "iscrowd": 0},
            ]},
        ],
    },
    "captions": {
        "images": COCO_IMAGES,
        "annotations": [
            {"id": 1, "image_id": 3, "caption": "A dog ."}, {"id": 2, "image_id": 7, "caption": "Säße"},
            {"id": 3, "image_id": 3, "caption": "Two."},
        ],
    },
}  # fmt: skip


def coco(root):
    put(root / "coco", {f"images/{n}.jpg": bmp(k) for k, n in enumerate("ab")})
    put(root / "coco", {f"{name}.json": json.dumps(content) for name, content in COCO.items()})


def beside_matlab(root):
    """The images whose labels are in files of MATLAB's."""
    put(root / "flowers", {f"jpg/image_0000{k}.jpg": bmp(k) for k in range(1, 7)})
    put(root / "flowers", {f"segmim/segmim_0000{k}.jpg": bmp(30 + k) for k in range(1, 7)})
    put(root / "sbd", {f"img/2008_{k}.jpg": bmp(k) for k in range(1, 4)})
    put(root / "sbd", {"train.txt": "2008_2\n2008_1\n", "val.txt": "2008_3\n", "train_noval.txt": "2008_1\n"})
    kinds = {"Faces": 2, "Faces_easy": 1, "airplanes": 1, "ant": 1, "BACKGROUND_Google": 1}
    put(root / "caltech101/101_ObjectCategories", {
        f"{kind}/image_{j:04}.jpg": bmp(10 * k + j) for k, (kind, n) in enumerate(kinds.items()) for j in range(1, n + 1)
    })  # fmt: skip


def make(root, matlab=None):
    """All folders below `root`. matlab: {path: base64 of a file} of what SciPy wrote."""
    for part in (mnists, small_images, folders, listed, pairs, coco, beside_matlab):
        part(root)
    put(root, {name: base64.b64decode(text) for name, text in (matlab or {}).items()})
    return root
