"""Orders, operations and transforms of data sets as MindSpore 2.10 has them (CPU): writes ms_dataset.json beside this file.

usage: python ms_dataset.py, where MindSpore and Pillow are installed. tests/dataset/test_recorded.py evaluates the same
expressions on graphc.
"""

import json
import pathlib

import numpy as np

#: What expressions may name besides these: ds, V and T, the modules; `rows`, all rows of a data set as lists; PIL images.
IMAGE = (np.arange(105).reshape(5, 7, 3) * 37 % 256).astype(np.uint8)
#: Bytes from 40 to 103 with a few others, and of one value.
DIM = (np.arange(105).reshape(5, 7, 3) ** 2 % 64 + 40).astype(np.uint8)
DIM[0, 0], DIM[4, 6] = (12, 60, 90), (120, 41, 199)
FLAT = np.full((4, 3, 3), 77, np.uint8)
GRAY = (np.arange(12).reshape(4, 3) * 53 % 256).astype(np.uint8)
FLOAT = (np.arange(60).reshape(4, 5, 3) * 7 % 11 / 11).astype(np.float32)
WEIGHTS = [1, 2, 3, 4, 5, 0, 0, 1, 1, 1]


class Numbers:
    """A source of numbered samples."""

    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return np.array([i, i + 0.5], np.float32), np.array(i, np.int32)


class Ragged:
    """Samples of growing length."""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return np.arange(i + 1), i


N = "ds.NumpySlicesDataset(list(range({})), ['x'], {})"
SAMPLERS = {
    "random": "RandomSampler()",
    "random, some": "RandomSampler(num_samples=4)",
    "with replacement": "RandomSampler(replacement=True, num_samples=6)",
    "sequential": "SequentialSampler(3, 4)",
    "beyond the end": "SequentialSampler(7, 10)",
    "subset": "SubsetSampler([3, 1, 7, 3])",
    "subset, some": "SubsetSampler([3, 1, 7, 3], num_samples=2)",
    "subset at random": "SubsetRandomSampler([0, 1, 2, 3, 4, 5, 6, 7])",
    "subset at random, some": "SubsetRandomSampler([0, 1, 2, 3, 4, 5, 6, 7], num_samples=3)",
    "weighted": f"WeightedRandomSampler({WEIGHTS}, 8)",
    "weighted, without replacement": f"WeightedRandomSampler({WEIGHTS}, 6, replacement=False)",
    "distributed": "DistributedSampler(4, 1)",
    "distributed, some": "DistributedSampler(4, 1, num_samples=2)",
    "distributed in order": "DistributedSampler(4, 3, False)",
    "distributed from shard 0": "DistributedSampler(4, 2, False, offset=0)",
    "distributed from shard 2": "DistributedSampler(4, 1, False, offset=2)",
    "distributed from shard 3": "DistributedSampler(4, 3, True, offset=3)",
}
ANY_NEXT = f"[d.use_sampler(ds.RandomSampler()) or d for a in [{N.format(4, 'shuffle=False')}] " + (
    f"for b in [{N.format(2, 'shuffle=False')}.map(lambda x: x + 10)] for c in [{N.format(3, '')}.map(lambda x: x + 20)] "
    "for d in [{}]][0]"
)
ORDERS = {
    "default": N.format(10, ""),
    "300": N.format(300, "shuffle=True"),
    "70000": f"{N.format(70000, '')}.take(50)",
    "number": "ds.GeneratorDataset(Numbers(), ['a', 'b']).project(['b'])",
    "some": N.format(10, "num_samples=4"),
    "shards": N.format(10, "num_shards=3, shard_id=1"),
    "buffer": N.format(10, "shuffle=False") + ".shuffle(4)",
    "buffer beyond the end": N.format(8, "shuffle=False") + ".shuffle(100)",
    "buffer of a repeat": N.format(8, "shuffle=False") + ".repeat(2).shuffle(3)",
    "two buffers": N.format(8, "shuffle=False") + ".shuffle(3).shuffle(4)",
    "buffer, cut": N.format(10, "shuffle=False") + ".shuffle(4).take(3)",
    "repeat, cut": N.format(10, "") + ".repeat(3).take(12)",
    "repeat of a buffer, cut": N.format(10, "shuffle=False") + ".shuffle(4).repeat(3).take(13)",
    "repeat of a cut repeat": N.format(10, "") + ".repeat(3).take(12).repeat(2).skip(3).take(14)",
    "repeat beside fewer rows": f"ds.zip(({N.format(10, '')}.repeat(3).rename('x', 'y'), {N.format(12, '')}))",
    "repeats in a row, cut": f"({N.format(5, '')}.repeat(2) + {N.format(5, '')}.repeat(2)).take(7)",
    "split": N.format(10, "") + ".split([6, 4])[0]",
    "split, rest": N.format(10, "shuffle=False") + ".split([6, 4])[1]",
    "split in order": N.format(11, "") + ".split([0.5, 0.25, 0.25], randomize=False)[1]",
    "split of a map": N.format(10, "shuffle=False") + ".map(lambda x: x, ['x']).split([6, 4])[0]",
    **{title: N.format(10, f"sampler=ds.{made}") for title, made in SAMPLERS.items()},
    "the next of any": ANY_NEXT.format("a.concat([b, c])"),
    "the next of any, repeated": ANY_NEXT.format("a.concat([b, c])") + ".repeat(2)",
    "the next of any of two": ANY_NEXT.format("b + c"),
    "from a row on": f"[d.set_init_step(3) or d for d in [{N.format(10, '')}]][0]",
    "from a batch on": f"[d.set_init_step(2) or d for d in [{N.format(10, '')}.repeat(2).batch(3).map(lambda x: x.sum())]][0]",
}
R = "ds.GeneratorDataset(Ragged(), ['a', 'i'], shuffle=False)"
X = "ds.NumpySlicesDataset({'d': np.arange(12).reshape(6, 2), 'l': np.arange(6)}, shuffle=False)"
OPERATIONS = {
    "batch": f"{X}.batch(4)",
    "batch, full ones": f"{X}.batch(4, drop_remainder=True)",
    "batch of a repeat": f"{X}.repeat(2).batch(5)",
    "batch of a batch": f"{X}.batch(2).batch(2)",
    "batch by a function": f"{X}.repeat(2).batch(lambda info: info.get_batch_num() + 1)",
    "batch by a function, twice": f"{X}.batch(lambda info: info.get_batch_num() + 1 + info.get_epoch_num()).repeat(2)",
    "per_batch_map": f"{X}.batch(2, per_batch_map=lambda d, l, info: ([x * 2 for x in d], l))",
    "per_batch_map, one column": f"{X}.batch(2, per_batch_map=lambda l, info: (np.stack(l) * 2,), input_columns=['l'])",
    "per_batch_map, new columns": f"{X}.batch(2, per_batch_map=lambda l, i: (l, l), "
    "input_columns=['l'], output_columns=['p', 'q'])",
    "padded": f"{R}.padded_batch(2, pad_info={{}})",
    "padded and cut": f"{R}.padded_batch(3, True, pad_info={{'a': ([4], -1)}})",
    "padded to the largest": f"{R}.padded_batch(4, pad_info={{'a': ([None], 7)}})",
    "buckets": f"{R}.bucket_batch_by_length(['a'], [2, 4], [2, 2, 2], lambda x: x.shape[0], {{'a': ([None], 0)}})",
    "buckets by the first axis": f"{R}.bucket_batch_by_length(['a'], [2, 4], [1, 2, 2], pad_info={{}})",
    "buckets to the boundary": f"{R}.bucket_batch_by_length(['a'], [3, 8], [2, 3, 2], pad_info={{'a': ([None], 9)}}, "
    "pad_to_bucket_boundary=True)",
    "buckets to the boundary, rules without": f"{R}.bucket_batch_by_length(['a'], [2, 4], [2, 2, 2], pad_info={{}}, "
    "pad_to_bucket_boundary=True)",
    "buckets to the boundary, no shape": f"{R}.bucket_batch_by_length(['a'], [2, 8], [2, 2, 2], pad_info={{'a': (None, 0)}}, "
    "pad_to_bucket_boundary=True)",
    "buckets, full ones": f"{R}.bucket_batch_by_length(['a'], [3, 8], [2, 3, 2], drop_remainder=True)",
    "map": f"{X}.map(lambda d: d + 0.5, 'd')",
    "map of the first column": f"{X}.map([lambda d: d * 2, lambda d: d + 1])",
    "map to more columns": f"{X}.map(lambda l: (l, -l), ['l'], ['p', 'q'])",
    "map to fewer columns": f"{X}.map(lambda d, l: d + l, ['d', 'l'], ['p'])",
    "filter": f"{X}.filter(lambda l: l % 2 == 0, ['l'])",
    "skip and take": f"{X}.skip(2).take(3)",
    "zip": f"ds.zip(({X}, {N.format(4, 'shuffle=False')})).repeat(2)",
    "concat": f"{N.format(3, 'shuffle=False')} + {N.format(2, 'shuffle=False')}",
    "project and rename": f"{X}.project(['l', 'd']).rename(['l'], ['m'])",
    "batches of a batch_sampler": "ds.GeneratorDataset(Numbers(), ['a', 'b'], batch_sampler=[[0], [2, 3]])",
    "batches of a collate_fn": "ds.GeneratorDataset(Numbers(), ['a', 'b'], batch_sampler=[[0, 1]], "
    "collate_fn=lambda a, b: (np.stack(a) * 2, np.stack(b)))",
    "values of Python": "ds.GeneratorDataset([(1, 2.5, True, 'text', [1, 2])], ['a', 'b', 'c', 'd', 'e'], shuffle=False)",
}
SIZES = {
    f"{X}.{end}": None
    for end in (
        "repeat(-1)", "repeat(3).batch(2)", "repeat(3).repeat(2)", "batch(4).repeat(2)", "batch(4, True)",
        "batch(2).batch(2, True)",
        "shuffle(2)", "skip(2)", "take(4)", "batch(lambda info: 4)", "filter(lambda d, l: l > 2)", "map(lambda d: d, 'd')",
        "filter(lambda d, l: l > 2).repeat(-1).batch(2)", "filter(lambda d, l: l > 2).repeat(-1).take(25)",
    )
}  # fmt: skip
TRANSFORMS = [
    *(
        f"V.Resize({s}, V.Inter.{i})({x})"
        for i in ("NEAREST", "BILINEAR", "BICUBIC", "AREA", "PILCUBIC")
        for s, x in (("(3, 4)", "IMAGE"), ("(8, 9)", "IMAGE"), ("3", "IMAGE"))
    ),
    *(
        f"V.Resize((3, 3), V.Inter.{i})({x})"
        for i in ("NEAREST", "BILINEAR", "BICUBIC", "AREA")
        for x in ("GRAY", "FLOAT")
    ),
    *(f"V.Resize((3, 4), V.Inter.{i})(PIL)" for i in ("NEAREST", "BILINEAR", "BICUBIC", "ANTIALIAS")),
    *(f"V.CenterCrop({s})({x})" for s in ("3", "(2, 5)", "(8, 9)", "(6, 4)") for x in ("IMAGE", "PIL")),
    *(
        f"V.Pad({p}, {f}, V.Border.{m})({x})"
        for p, f in (("[1, 2]", "7"), ("(1, 2, 3, 1)", "(7, 8, 9)"))
        for m in ("CONSTANT", "EDGE", "REFLECT", "SYMMETRIC")
        for x in ("IMAGE", "PIL")
    ),
    "V.Pad(1, 5)(GRAY)",
    "V.Rescale(1 / 255., 0.)(IMAGE)",
    "V.Rescale(2., -1.)(FLOAT)",
    "V.Rescale(0.5, -1)(GRAY.astype(np.float64))",
    "V.Normalize([120., 110., 100.], [60., 50., 40.])(IMAGE)",
    "V.Normalize([.5, .4, .3], [.6, .5, .4], is_hwc=False)(FLOAT.transpose(2, 0, 1))",
    "V.Normalize([120.], [60.])(GRAY)",
    "V.Normalize([120.], [60.])(IMAGE)",
    "V.HWC2CHW()(IMAGE)",
    "V.HWC2CHW()(GRAY)",
    "V.ToTensor()(IMAGE)",
    "V.ToTensor()(GRAY)",
    "V.ToTensor()(PIL)",
    "V.ToTensor()(FLOAT)",
    "V.ToTensor(np.float16)(GRAY)",
    "V.ToPIL()(IMAGE)",
    "V.ToPIL()(GRAY)",
    "V.RandomHorizontalFlip(1.0)(IMAGE)",
    "V.RandomHorizontalFlip(1.0)(PIL)",
    "V.RandomHorizontalFlip(0.0)(GRAY)",
    "V.RandomColorAdjust(brightness=(1.3, 1.3))(IMAGE)",
    "V.RandomColorAdjust(contrast=(0.6, 0.6))(IMAGE)",
    "V.RandomColorAdjust(saturation=(1.4, 1.4))(IMAGE)",
    "V.RandomColorAdjust(saturation=(0.3, 0.3))(IMAGE)",
    "V.RandomColorAdjust(brightness=(1.2, 1.2))(FLOAT)",
    "V.RandomRotation((90, 90))(IMAGE)",
    "V.RandomRotation((30, 30))(IMAGE)",
    "V.RandomRotation((30, 30), expand=True, fill_value=9)(IMAGE)",
    "V.RandomRotation((30, 30))(PIL)",
    "V.RandomRotation((30, 30), V.Inter.BILINEAR)(PIL)",
    "V.RandomRotation((30, 30), expand=True, fill_value=9)(PIL)",
    "V.RandomCrop((5, 7))(IMAGE)",
    "V.RandomCrop((7, 11), padding=(2, 1, 2, 1), fill_value=3)(IMAGE)",
    "V.RandomResizedCrop(3, (1., 1.), (7/5, 7/5))(IMAGE)",
    "V.RandomResizedCrop(3, (1., 1.), (7/5, 7/5))(PIL)",
    "V.Decode()(PNG)",
    "V.Decode(True)(PNG)",
    "V.Decode()(GRAYPNG)",
    "V.Invert()(IMAGE)",
    "V.Invert()(PIL)",
    *(f"V.AutoContrast({a})({x})" for a in ("", "10.0", "0.0, [12, 40]", "20.0, 7") for x in ("DIM", "FROMDIM")),
    "V.AutoContrast()(FLAT)",
    "V.Equalize()(DIM)",
    "V.Equalize()(FLAT)",
    "V.Equalize()(FROMDIM)",
    *(f"V.RandomSolarize({a})(IMAGE)" for a in ("(128, 128)", "(0, 0)", "(200, 200)")),
    *(f"V.RandomPosterize({a})(IMAGE)" for a in ("(1, 1)", "3", "(8, 8)")),
    *(f"V.{a}(GRAY)" for a in ("AutoContrast(10.0)", "Equalize()", "RandomSolarize((99, 99))", "RandomPosterize(3)")),
    *(f"V.RandomColor(({a}, {a}))({x})" for a in (0.3, 1.0, 1.7) for x in ("IMAGE", "PIL")),
    *(f"V.RandomSharpness(({a}, {a}))({x})" for a in (0.3, 1.0, 1.9) for x in ("IMAGE", "PIL")),
    *(f"V.GaussianBlur({a})(IMAGE)" for a in ("3", "(3, 5)", "5, 1.5", "(5, 3), (0.7, 2.0)")),
    "V.GaussianBlur(3, 1.0)(FLOAT)",
    "V.GaussianBlur(3, 0.8)(PIL)",
    "V.RandomVerticalFlip(1.0)(IMAGE)",
    "V.RandomVerticalFlip(1.0)(PIL)",
    "V.RandomVerticalFlip(0.0)(GRAY)",
    "V.RandomAffine(0, shear=(-10, -10))(IMAGE)",
    "V.RandomAffine(0, shear=(0, 0, 15, 15))(IMAGE)",
    "V.RandomAffine((20, 20), scale=(1.3, 1.3), fill_value=(9, 8, 7))(IMAGE)",
    "V.RandomAffine((-40, -40), (0.2, 0.2, -0.3, -0.3), (0.8, 0.8), (5, 5, -8, -8))(IMAGE)",
    "V.RandomAffine((20, 20), shear=(5, 5), resample=V.Inter.BILINEAR)(IMAGE)",
    "V.RandomAffine(0, translate=(0.25, 0.25))(GRAY[..., None].repeat(3, 2))",
    "V.RandomAffine((20, 20), None, (0.8, 0.8), (5, 5, -8, -8))(PIL)",
    "V.RandomCropDecodeResize(3, (1., 1.), (7/5, 7/5))(PNG)",
    "V.RandomErasing(0.0)(FLOAT.transpose(2, 0, 1))",
    "V.RandomErasing(1.0, (1e-9, 1e-9), (1., 1.), 3)(FLOAT.transpose(2, 0, 1))",
    "T.OneHot(4)(np.array(2))",
    "T.OneHot(4)(np.array([1, 3]))",
    "T.OneHot(4)(np.array([[1], [2]]))",
    "T.OneHot(4, 0.1)(np.array(2))",
    "T.OneHot(4)(np.array(2, np.uint8))",
    "T.TypeCast('int32')(np.array([1.7, -2.5], np.float32))",
    "T.TypeCast(np.float16)(np.array([1, 2]))",
    "T.TypeCast('uint8')(np.array([300, -1]))",
    "T.TypeCast('bool')(np.array([0, 2]))",
    "T.Compose([T.TypeCast('int32'), T.OneHot(3)])(np.array(2.))",
    "T.Concatenate(0, np.array([9, 8]), np.array([7]))(np.array([1, 2]))",
    "T.Concatenate(-1)(np.array([1, 2]), np.array([3]))",
    "T.Duplicate()(np.array([1, 2]))",
    "T.Fill(3)(np.array([1., 2.], np.float32))",
    "T.Fill(3.7)(np.array([1, 2]))",
    "T.Fill('z')(np.array(['a', 'b']))",
    *(f"T.Mask(T.Relational.{r}, 3)(np.array([1, 3, 5]))" for r in ("EQ", "NE", "GT", "GE", "LT", "LE")),
    "T.Mask(T.Relational.EQ, 3.5)(np.array([3]))",
    "T.Mask(T.Relational.EQ, 'a')(np.array(['a', 'b']))",
    "T.PadEnd([4], -1)(np.array([1, 2]))",
    "T.PadEnd([4])(np.array([1, 2]))",
    "T.PadEnd([1], 0)(np.array([1, 2]))",
    "T.PadEnd([3], 'x')(np.array(['a']))",
    "T.PadEnd([3, 3], 1.7)(np.array([[1]]))",
    "T.Unique()(np.array([[3, 1], [3, 2]]))",
    "T.RandomApply([lambda x: x + 1], 1.0)(np.array([1]))",
    "T.RandomChoice([lambda x: x + 1])(np.array([1]))",
    "T.RandomOrder([lambda x: x + 1, lambda x: x + 2])(np.array([1]))",
]
#: Arguments that both refuse.
REFUSED = [
    "V.Resize(0)",
    "V.Resize(1.5)",
    "V.Resize((1, 2, 3))",
    "V.Resize(3, 3)",
    "V.CenterCrop(0)",
    "V.Pad(-1)",
    "V.Pad((1, 2, 3))",
    "V.Pad(1, 300)",
    "V.Pad(1, 0, 'edge')",
    "V.Rescale('a', 1)",
    "V.Normalize([1.], [0.])",
    "V.Normalize([1.], [1., 2.])",
    "V.Normalize([300.], [2.])",
    "V.Normalize([-1.], [2.])",
    "V.Normalize([1.], [1.], 1)",
    "V.RandomHorizontalFlip(1.5)",
    "V.RandomHorizontalFlip('a')",
    "V.RandomColorAdjust(brightness=-1)",
    "V.RandomColorAdjust(hue=(-1, 1))",
    "V.RandomColorAdjust(hue=0.7)",
    "V.RandomColorAdjust(contrast=(2, 1))",
    "V.RandomRotation(-1)",
    "V.RandomRotation((1, 2, 3))",
    "V.RandomCrop(0)",
    "V.RandomCrop(3, padding=-1)",
    "V.RandomCrop(3, pad_if_needed=1)",
    "V.RandomResizedCrop(4, (1., .5))",
    "V.RandomResizedCrop(4, ratio=(0, 1))",
    "V.RandomResizedCrop(4, max_attempts=0)",
    "V.CutOut(0)",
    "V.CutOut(1, 0)",
    "V.MixUpBatch(0)",
    "V.MixUpBatch('a')",
    "V.Decode(1)",
    "V.AutoContrast(50.0)",
    "V.AutoContrast(0.0, 256)",
    "V.RandomSolarize((5, 300))",
    "V.RandomSolarize((9, 5))",
    "V.RandomPosterize(0)",
    "V.RandomPosterize((5, 2))",
    "V.RandomColor((2, 1))",
    "V.RandomSharpness((-1, 1))",
    "V.GaussianBlur(4)",
    "V.GaussianBlur(3, -1.0)",
    "V.RandomVerticalFlip(2)",
    "V.RandomAffine(-1)",
    "V.RandomAffine(1, translate=(0, 2))",
    "V.RandomAffine(1, scale=(0, 0))",
    "V.RandomAffine(1, shear=(1, 2, 3))",
    "V.RandomErasing(1.5)",
    "V.RandomErasing(0.5, (0.5, 0.1))",
    "V.RandomErasing(0.5, value=300)",
    "V.RandomErasing(0.5, value='other')",
    "V.RandomErasing(0.5, max_attempts=0)",
    "V.ToTensor('x')",
    "T.OneHot(0)",
    "T.OneHot(4, 1.5)",
    "T.OneHot('a')",
    "T.TypeCast('x')",
    "T.Compose([])",
    "T.Compose(3)",
    "T.Concatenate(1)",
    "T.Concatenate(0, np.array([[1]]))",
    "T.Fill(np.array([1]))",
    "T.Mask('EQ', 3)",
    "T.RandomApply([], 1.0)",
    "T.RandomApply([len], 2)",
    "T.RandomChoice([])",
    "ds.SubsetSampler([1.5])",
    "ds.RandomSampler(replacement=1)",
    "ds.WeightedRandomSampler(['a'])",
    "ds.DistributedSampler(1.5, 0)",
    "ds.NumpySlicesDataset('abc')",
    "ds.NumpySlicesDataset(([1, 2], [3]))",
    "ds.NumpySlicesDataset(([1], [3]), ['a'])",
    "ds.GeneratorDataset(3, ['a'])",
    "ds.GeneratorDataset(Numbers())",
    "ds.GeneratorDataset(Numbers(), [''])",
    "ds.GeneratorDataset(Numbers(), ['a', 'a'])",
    "ds.GeneratorDataset(Numbers(), ('a', 'b'))",
    "ds.GeneratorDataset(Numbers(), ['a', 'b'], num_parallel_workers=0)",
    "ds.GeneratorDataset(Numbers(), ['a', 'b'], num_shards=3)",
    "ds.GeneratorDataset(Numbers(), ['a', 'b'], num_shards=3, shard_id=3)",
    "ds.GeneratorDataset(Numbers(), ['a', 'b'], collate_fn=len)",
    "ds.GeneratorDataset(Numbers(), ['a', 'b'], batch_sampler=[[0]], shuffle=True)",
    "ds.GeneratorDataset(Numbers(), ['a', 'b'], num_samples=-1)",
    "ds.GeneratorDataset(lambda: iter([]), ['a'], num_shards=2, shard_id=0)",
    f"{X}.batch(0)",
    f"{X}.batch(1.5)",
    f"{X}.batch(2, 1)",
    f"{X}.shuffle(1)",
    f"{X}.repeat(0)",
    f"{X}.take(0)",
    f"{X}.skip(-1)",
    f"{X}.map(3)",
    f"{X}.project(['d', 'd'])",
    f"{X}.split([0.6, 0.5])",
    f"{X}.split([6, 1])",
    f"{X}.apply(3)",
    f"{X}.apply(lambda d: 3)",
    f"{R}.bucket_batch_by_length(['a'], [3, 8], [2, 3])",
    "ds.config.set_seed(-1)",
    "ds.config.set_prefetch_size(0)",
    "ds.config.set_num_parallel_workers(0)",
]


def plain(value):
    """A value as JSON: its kind, shape and elements."""
    if hasattr(value, "getbands"):
        return ["image", value.mode, np.asarray(value).tolist()]
    array = np.asarray(value)
    kind = "text" if array.dtype.kind in "US" else str(array.dtype)
    return [kind, list(array.shape), array.tolist()]


def rows(dataset, **named):
    return [[plain(v) for v in row] for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def passes(dataset):
    """The only column, in three passes."""
    iterator = dataset.create_tuple_iterator(num_epochs=3, output_numpy=True)
    return [[int(row[-1]) for row in iterator] for _ in range(3)]


def names(ds, transforms, vision):
    """What expressions may name."""
    import io

    from PIL import Image

    files = {}
    for name, image in (("PNG", IMAGE), ("GRAYPNG", GRAY)):
        file = io.BytesIO()
        Image.fromarray(image).save(file, "PNG")
        files[name] = np.frombuffer(file.getvalue(), np.uint8)
    shared = {"np": np, "Numbers": Numbers, "Ragged": Ragged, "IMAGE": IMAGE, "GRAY": GRAY, "FLOAT": FLOAT}
    shared |= {"DIM": DIM, "FLAT": FLAT, "PIL": Image.fromarray(IMAGE), "FROMDIM": Image.fromarray(DIM)}
    return {"ds": ds, "T": transforms, "V": vision, **files, **shared}


def sizes(dataset):
    return [
        dataset.get_dataset_size(),
        dataset.get_batch_size(),
        dataset.get_repeat_count(),
        dataset.output_shapes(),
        dataset.get_col_names(),
    ]


def error(action):
    """The name of the builtin exception that an action raises; None if it raises none."""
    try:
        action()
    except Exception as raised:
        return next(c.__name__ for c in type(raised).__mro__ if c.__module__ == "builtins" and c is not Exception)
    return None


def main():
    import mindspore.dataset as ds
    from mindspore.dataset import transforms, vision

    known = names(ds, transforms, vision)
    found = {"orders": {}, "operations": {}, "sizes": {}, "transforms": {}, "refused": {}}
    for seed in (1, 1234):
        ds.config.set_seed(seed)
        for title, text in ORDERS.items():
            found["orders"][f"{title}, seed {seed}"] = [text, seed, passes(eval(text, known))]
    for title, text in OPERATIONS.items():
        found["operations"][title] = [text, rows(eval(text, known)), eval(text, known).get_col_names()]
    for text in SIZES:
        found["sizes"][text] = sizes(eval(text, known))
    for text in TRANSFORMS:
        result = eval(text, known)
        found["transforms"][text] = [plain(r) for r in (result if isinstance(result, tuple) else (result,))]
    for text in REFUSED:
        found["refused"][text] = error(lambda text=text: eval(text, known))
    pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
