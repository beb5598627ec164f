"""Rows of published data sets as MindSpore 2.10 reads them (CPU): writes ms_sources.json beside this file.

usage: python ms_sources.py, where MindSpore and SciPy are installed. tests/dataset/test_sources.py makes the same folders and
evaluates the same expressions on graphc. In expressions R is where the folders are and S is shuffle=False.
"""

import base64
import json
import pathlib
import sys
import tempfile
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).parents[2]

#: Calls whose rows are recorded.
CALLS = """
KMnistDataset(R/kmnist, S)
KMnistDataset(R/kmnist, 'test', S)
KMnistDataset(R/kmnist, 'all')
KMnistDataset(R/kmnist, num_shards=2, shard_id=1)
EMnistDataset(R/emnist, 'mnist', S)
EMnistDataset(R/emnist, 'letters', 'test', S)
EMnistDataset(R/emnist, name='byclass', usage='train')
QMnistDataset(R/qmnist, 'train', S)
QMnistDataset(R/qmnist, 'train', False, S)
QMnistDataset(R/qmnist, 'nist', False, S)
QMnistDataset(R/qmnist, 'nist', None, S)
QMnistDataset(R/qmnist, 'test10k', num_samples=2, S)
QMnistDataset(R/qmnist, 'test', num_samples=2, S)
QMnistDataset(R/qmnist, 'all', sampler=[0, 1, 2, 3, 4, 10005, 10006, 10007])
SemeionDataset(R/semeion, S)
SemeionDataset(R/semeion)
STL10Dataset(R/stl10, S)
STL10Dataset(R/stl10, 'train+unlabeled', S)
STL10Dataset(R/stl10, 'unlabeled', S)
STL10Dataset(R/stl10, 'test', S)
USPSDataset(R/usps, S)
USPSDataset(R/usps, 'test', S)
USPSDataset(R/usps)
USPSDataset(R/usps, S, num_shards=2, shard_id=1)
USPSDataset(R/usps, num_shards=2, shard_id=1)
Caltech256Dataset(R/caltech256, S)
Caltech256Dataset(R/caltech256, S, decode=True, num_samples=2)
Caltech256Dataset(R/caltech256, sampler=ds.PKSampler(2))
ImageFolderDataset(R/caltech256, S)
ImageFolderDataset(R/caltech256, S, extensions=['.jpg'], decode=True)
ImageFolderDataset(R/caltech256, S, class_indexing={'002.american-flag': 7, '001.ak47': 3})
ImageFolderDataset(R/caltech256, S, decrypt=first_bytes)
Food101Dataset(R/food101, S, decode=True)
Food101Dataset(R/food101, 'train', S)
Food101Dataset(R/food101, 'test', S)
LSUNDataset(R/lsun, S)
LSUNDataset(R/lsun, 'train', S)
LSUNDataset(R/lsun, 'valid', S)
LSUNDataset(R/lsun, 'all', ['classroom'], S)
OmniglotDataset(R/omniglot, S)
OmniglotDataset(R/omniglot, False, S)
RenderedSST2Dataset(R/rendered, S)
RenderedSST2Dataset(R/rendered, 'val', S)
RenderedSST2Dataset(R/rendered, 'test', S)
SUN397Dataset(R/sun397, S)
SUN397Dataset(R/sun397, num_samples=3)
CelebADataset(R/celeba, S)
CelebADataset(R/celeba, S, usage='train', decode=True)
CelebADataset(R/celeba, S, usage='valid')
CelebADataset(R/celeba, S, usage='test')
CelebADataset(R/celeba, num_shards=3, shard_id=1)
CelebADataset(R/celeba, S, decrypt=first_bytes)
FlickrDataset(R/flickr/images, R/flickr/tokens.txt, S)
FlickrDataset(R/flickr/images, R/flickr/tokens.txt, decode=True, S)
SBUDataset(R/sbu, S)
SBUDataset(R/sbu, S, decode=True)
LFWDataset(R/lfw, S)
LFWDataset(R/lfw, 'people', '10fold', 'original', S)
LFWDataset(R/lfw, 'people', 'train', 'deepfunneled', S)
LFWDataset(R/lfw, 'pairs', S)
LFWDataset(R/lfw, 'pairs', '10fold', S)
LFWDataset(R/lfw, 'pairs', 'test', S)
Places365Dataset(R/places365, S)
Places365Dataset(R/places365, small=False, S)
Places365Dataset(R/places365, 'train-challenge', S)
Places365Dataset(R/places365, 'val', True, True, S)
ManifestDataset(R/manifest/list.manifest, S)
ManifestDataset(R/manifest/list.manifest, 'eval', S)
ManifestDataset(R/manifest/list.manifest, class_indexing={'dog': 5}, S)
CityscapesDataset(R/cityscapes, S)
CityscapesDataset(R/cityscapes, 'all', task='semantic', S, decode=True)
CityscapesDataset(R/cityscapes, 'val', task='color', S)
CityscapesDataset(R/cityscapes, 'val', task='polygon', S)
CityscapesDataset(R/cityscapes, 'all', 'coarse', S)
CityscapesDataset(R/cityscapes, 'train_extra', 'coarse', S)
DIV2KDataset(R/div2k, S)
DIV2KDataset(R/div2k, 'all', S, decode=True)
DIV2KDataset(R/div2k, 'valid', 'unknown', 4, S)
DIV2KDataset(R/div2k, 'valid', 'bicubic', 8, S)
DIV2KDataset(R/div2k, 'valid', 'mild', 4, S)
DIV2KDataset(R/div2k, 'train', 'wild', 4, S)
DIV2KDataset(R/div2k, 'train', 'difficult', 4, S)
KITTIDataset(R/kitti, S)
KITTIDataset(R/kitti, 'test', S)
VOCDataset(R/voc, S)
VOCDataset(R/voc, 'Segmentation', 'val', S, decode=True)
VOCDataset(R/voc, 'Detection', S)
VOCDataset(R/voc, 'Detection', S, extra_metadata=True)
VOCDataset(R/voc, 'Detection', 'val', S)
VOCDataset(R/voc, 'Detection', 'train', {'cat': 4}, S)
VOCDataset(R/voc, 'Detection', 'train', {'dog': 4}, S)
WIDERFaceDataset(R/wider, S)
WIDERFaceDataset(R/wider, 'train', S)
WIDERFaceDataset(R/wider, 'valid', S)
WIDERFaceDataset(R/wider, 'test', S)
PhotoTourDataset(R/phototour, 'liberty', sampler=[0, 1, 17, 258])
PhotoTourDataset(R/phototour, 'liberty', 'test', S)
CocoDataset(R/coco/images, R/coco/instances.json, S)
CocoDataset(R/coco/images, R/coco/instances.json, S, extra_metadata=True)
CocoDataset(R/coco/images, R/coco/stuff.json, 'Stuff', S)
CocoDataset(R/coco/images, R/coco/keypoints.json, 'Keypoint', S)
CocoDataset(R/coco/images, R/coco/panoptic.json, 'Panoptic', S)
CocoDataset(R/coco/images, R/coco/captions.json, 'Captioning', S, decode=True)
CocoDataset(R/coco/images, R/coco/captions.json, 'Captioning', S, decrypt=first_bytes)
FakeImageDataset(3, (2, 3, 3), 4, 0, S)
FakeImageDataset(4, (2, 3, 1), 3, 5, S)
FakeImageDataset(40, (20, 20, 3), 3, 7)
SVHNDataset(R/svhn, S)
SVHNDataset(R/svhn, 'test', S)
Flowers102Dataset(R/flowers, S)
Flowers102Dataset(R/flowers, 'Segmentation', 'train', S, decode=True)
Flowers102Dataset(R/flowers, 'Segmentation', 'valid', S)
SBDataset(R/sbd, S)
SBDataset(R/sbd, 'Segmentation', 'train', S, decode=True)
SBDataset(R/sbd, 'Segmentation', 'train_noval', S)
Caltech101Dataset(R/caltech101, S)
Caltech101Dataset(R/caltech101, 'all', S, decode=True)
Caltech101Dataset(R/caltech101, 'annotation', S)
AGNewsDataset(R/agnews, S)
AGNewsDataset(R/agnews, 'test', S)
AGNewsDataset(R/agnews)
AGNewsDataset(R/agnews, shuffle=ds.Shuffle.FILES)
AmazonReviewDataset(R/amazon, 'train', S)
AmazonReviewDataset(R/amazon, S, num_samples=3)
DBpediaDataset(R/dbpedia, S)
SogouNewsDataset(R/sogou, S)
YahooAnswersDataset(R/yahoo, S)
YelpReviewDataset(R/yelp, S)
SST2Dataset(R/sst2, S)
SST2Dataset(R/sst2, 'dev', S)
SST2Dataset(R/sst2, 'test', S)
PennTreebankDataset(R/ptb, S)
PennTreebankDataset(R/ptb, 'valid', S)
PennTreebankDataset(R/ptb)
PennTreebankDataset(R/ptb, shuffle=True, num_shards=2, shard_id=0)
WikiTextDataset(R/wiki, S)
WikiTextDataset(R/wiki, 'train', S)
EnWik9Dataset(R/enwik9, S)
EnWik9Dataset(R/enwik9, num_samples=3)
Multi30kDataset(R/multi30k, S)
Multi30kDataset(R/multi30k, 'valid', ['de', 'en'], S)
Multi30kDataset(R/multi30k, 'test', ('en', 'de'), S)
Multi30kDataset(R/multi30k)
IMDBDataset(R/imdb, S)
IMDBDataset(R/imdb, 'test')
CoNLL2000Dataset(R/conll, 'train', S)
UDPOSDataset(R/udpos, S)
UDPOSDataset(R/udpos, 'valid', S)
SQuADDataset(R/squad1, S)
SQuADDataset(R/squad2, 'dev', S)
CLUEDataset(R/clue/afqmc.json, S)
CLUEDataset(R/clue/afqmc.json, 'AFQMC', 'eval', S)
CLUEDataset(R/clue/afqmc_test.json, 'AFQMC', 'test', S)
CLUEDataset(R/clue/tnews.json, 'TNEWS', S)
CLUEDataset(R/clue/tnews_test.json, 'TNEWS', 'test', S)
CLUEDataset(R/clue/iflytek.json, 'IFLYTEK', S)
CLUEDataset(R/clue/iflytek_test.json, 'IFLYTEK', 'test', S)
CLUEDataset(R/clue/cmnli.json, 'CMNLI', S)
CLUEDataset(R/clue/cmnli_test.json, 'CMNLI', 'test', S)
CLUEDataset(R/clue/wsc.json, 'WSC', S)
CLUEDataset(R/clue/wsc_test.json, 'WSC', 'test', S)
CLUEDataset(R/clue/csl.json, 'CSL', S)
CLUEDataset(R/clue/csl_test.json, 'CSL', 'test', S)
CLUEDataset([R/clue/cmnli.json, R/clue/afqmc.json], 'CMNLI', S)
IWSLT2016Dataset(R/iwslt2016, S)
IWSLT2016Dataset(R/iwslt2016, 'valid', ('de', 'en'), 'dev2010', 'tst2010', S)
IWSLT2016Dataset(R/iwslt2016, 'test', S)
IWSLT2017Dataset(R/iwslt2017, S)
IWSLT2017Dataset(R/iwslt2017, 'valid', ('de', 'en'), S)
IWSLT2017Dataset(R/iwslt2017, 'train', ['it', 'en'], S)
TextFileDataset(R/parts/*.txt, shuffle=ds.Shuffle.FILES)
TextFileDataset(R/parts/*.txt, shuffle=True)
TextFileDataset(R/parts/*.txt, shuffle=True, num_samples=4)
TextFileDataset(R/parts/*.txt, shuffle=ds.Shuffle.FILES, num_shards=2, shard_id=1)
TextFileDataset(R/parts/*.txt, shuffle=True, num_shards=2, shard_id=1)
TextFileDataset(R/parts/*.txt, S, num_shards=4, shard_id=3)
YesNoDataset(R/yesno, S)
CMUArcticDataset(R/arctic, S)
CMUArcticDataset(R/arctic, 'bdl', S)
GTZANDataset(R/gtzan, S)
GTZANDataset(R/gtzan, 'train', S)
GTZANDataset(R/gtzan, 'test', S)
GTZANDataset(R/gtzan, 'valid', S)
LJSpeechDataset(R/ljspeech, S)
LibriTTSDataset(R/libritts, S)
LibriTTSDataset(R/libritts, 'dev-clean', S)
SpeechCommandsDataset(R/commands, S)
SpeechCommandsDataset(R/commands, 'train', S)
SpeechCommandsDataset(R/commands, 'test', S)
SpeechCommandsDataset(R/commands, 'valid', S)
TedliumDataset(R/tedlium1, 'release1', S)
TedliumDataset(R/tedlium1, 'release2', 'test', S)
TedliumDataset(R/tedlium3, 'release3', S)
VOCDataset(R/voc, 'Detection', S, extra_metadata=True).rename('_meta-filename', 'f')
VOCDataset(R/voc, 'Detection', S, extra_metadata=True).project(['_meta-filename', 'image'])
CocoDataset(R/coco/images, R/coco/captions.json, 'Captioning', S, extra_metadata=True).rename(['_meta-filename'], ['f'])
"""
#: Calls that are refused before anything is read.
REFUSED = """
KMnistDataset(R/none)
KMnistDataset(R/kmnist, 'tset')
KMnistDataset(R/kmnist, 1)
KMnistDataset(R/kmnist, num_samples=-1)
EMnistDataset(R/emnist)
EMnistDataset(R/emnist, 'x')
KMnistDataset(R/kmnist, num_shards=2, shard_id=2)
LSUNDataset(R/lsun, 'all', 'classroom')
LSUNDataset(R/lsun, 'all', ['hall'])
CelebADataset(R/celeba, usage='tset')
CelebADataset(R/celeba, decrypt=3)
CocoDataset(R/coco/images, R/coco/none.json)
CocoDataset(R/coco/images)
CocoDataset(R/coco/images, R/coco/stuff.json, 'Boxes')
CityscapesDataset(R/cityscapes, 'train_extra')
CityscapesDataset(R/cityscapes, 'test', 'coarse')
DIV2KDataset(R/div2k, downgrade='unknown', scale=8)
DIV2KDataset(R/div2k, downgrade='wild')
DIV2KDataset(R/div2k, scale=5)
DIV2KDataset(R/div2k, scale='2')
VOCDataset(R/voc, 'Detect')
VOCDataset(R/voc, 'Segmentation', class_indexing={'a': 1})
FakeImageDataset(0)
FakeImageDataset(3, (2, 2))
FakeImageDataset(3, 4)
PhotoTourDataset(R/phototour, 'paris')
AGNewsDataset(R/agnews, 'x')
AGNewsDataset(R/agnews, shuffle=3)
KMnistDataset(R/kmnist, shuffle='x')
CelebADataset(R/celeba, extensions=3)
ManifestDataset(R/manifest/list.manifest, class_indexing=3)
KMnistDataset(R/kmnist, num_samples='x')
Multi30kDataset(R/multi30k, language_pair=['en'])
CLUEDataset(R/clue/afqmc.json, 'A')
Multi30kDataset(R/multi30k, language_pair='en')
IWSLT2016Dataset(R/iwslt2016, valid_set='x')
SQuADDataset(R/squad1, 'test')
Food101Dataset(R/food101, decode=1)
ManifestDataset(R/manifest/none)
SBDataset(R/sbd, 'x')
SBDataset(R/sbd, usage=3)
SVHNDataset(R/svhn, 'x')
CMUArcticDataset(R/arctic, 'abc')
TedliumDataset(R/tedlium1)
TedliumDataset(R/tedlium3, 'release3', 'train')
TedliumDataset(R/tedlium3, 'release4')
LibriTTSDataset(R/libritts, 'train')
"""


def first_bytes(path):
    """What stands for decrypting."""
    return pathlib.Path(path).read_bytes()[:6]


def evaluated(text, ds, root):
    """The data set of an expression: R/x is a path, S is shuffle=False."""
    words = text.replace(", S", ", shuffle=False").split("R/")
    quoted = [words[0]]
    for word in words[1:]:
        path = word[: next((k for k, c in enumerate(word) if c in ",)]"), len(word))]
        quoted.append(f"{str(root / path)!r}{word[len(path) :]}")
    return eval(f"ds.{''.join(quoted)}", {"ds": ds, "first_bytes": first_bytes})


def plain(value):
    """A value as JSON: its kind, shape and elements, of many their sum of CRC-32."""
    array = np.asarray(value)
    if array.dtype.kind in "US":
        return ["text", list(array.shape), array.tolist()]
    return [str(array.dtype), list(array.shape), array.tolist() if array.size <= 16 else zlib.crc32(array.tobytes())]


def rows(dataset, most=8):
    """Names of columns, and rows, at most so many."""
    read = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [dataset.get_col_names(), [[plain(v) for v in row] for _, row in zip(range(most), read, strict=False)]]


def questions(dataset):
    """How many rows and classes there are, which, and the shapes and dtypes of a row."""
    answers = [dataset.get_dataset_size(), dataset.output_shapes(), [t.kind for t in dataset.output_types()]]
    for name in ("num_classes", "get_class_indexing"):
        try:
            answers.append(getattr(dataset, name)())
        except Exception:
            answers.append("refused")
    return answers


def error(action):
    """The name of the builtin exception that an action raises; None if it raises none."""
    try:
        action()
    except Exception as raised:
        return next(c.__name__ for c in type(raised).__mro__ if c.__module__ == "builtins" and c is not Exception)
    return None


def matlab():
    """{path: base64 of a file} as SciPy writes it, packed and not."""
    import scipy.io
    import scipy.sparse

    found = {}

    def save(name, values, packed=False):
        with tempfile.NamedTemporaryFile(suffix=".mat") as file:
            scipy.io.savemat(file.name, values, do_compression=packed)
            found[name] = base64.b64encode(pathlib.Path(file.name).read_bytes()).decode()

    for part, n in (("train", 3), ("test", 2), ("extra", 2)):
        images = (np.arange(32 * 32 * 3 * n) % 5).reshape(32, 32, 3, n).astype(np.uint8)
        save(f"svhn/{part}_32x32.mat", {"X": images, "y": np.array([[10.0], [3.0], [7.0]][:n])}, part != "test")
    save("flowers/imagelabels.mat", {"labels": np.array([[2, 1, 102, 1, 5, 6]], np.uint8)})
    sets = {"trnid": [[2, 5]], "tstid": [[1, 3]], "valid": [[6]]}
    save("flowers/setid.mat", {name: np.array(numbers, np.uint16) for name, numbers in sets.items()})
    for k in range(1, 4):
        cells = np.empty((20, 1), object)
        for i in range(20):
            cells[i, 0] = scipy.sparse.csc_matrix(np.arange(6).reshape(2, 3) == (i + k) % 6)
        classes = (np.arange(6).reshape(2, 3) * k).astype(np.uint8)
        save(f"sbd/cls/2008_{k}.mat", {"GTcls": {"Boundaries": cells, "Segmentation": classes}}, True)
    for name, n in (("Faces_2", 2), ("Faces_3", 1), ("Airplanes_Side_2", 1), ("ant", 1)):
        for j in range(1, n + 1):
            outline = np.array([[1.5, 2, 3], [4, 5, 6.25 + len(name) + j]])
            save(
                f"caltech101/Annotations/{name}/annotation_{j:04}.mat",
                {"obj_contour": outline, "box": np.array([[1, 2]])},
            )
    return found


def main():
    import mindspore.dataset as ds

    sys.path.insert(0, str(ROOT))
    from tests.dataset import folders, sound_folders, text_folders

    ds.config.set_num_parallel_workers(1)
    ds.config.set_seed(3)
    found = {"matlab": matlab(), "rows": {}, "questions": {}, "refused": {}}
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        folders.make(root, found["matlab"])
        text_folders.make(root)
        sound_folders.make(root)
        for text in CALLS.split("\n")[1:-1]:
            found["rows"][text] = rows(evaluated(text, ds, root))
            found["questions"][text] = questions(evaluated(text, ds, root))
        for text in REFUSED.split("\n")[1:-1]:
            found["refused"][text] = error(lambda text=text: evaluated(text, ds, root))
    pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
