"""Data sets: rows from arrays, files and users' objects, transformed, batched and read ahead. Nothing is downloaded.

dataset = ds.NumpySlicesDataset({"data": images, "label": labels}).batch(32)
for images, labels in dataset.create_tuple_iterator(num_epochs=1): ...
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphc.dataset import config as config
from graphc.dataset.digits import Digits, load_digits
from graphc.errors.suggestions import no_member
from graphc.tracebacks import clean
from graphc.validation.signatures import accept, accepting

if TYPE_CHECKING:
    from graphc.dataset import audio as audio
    from graphc.dataset import dataloader as dataloader
    from graphc.dataset import debug as debug
    from graphc.dataset import text as text
    from graphc.dataset import transforms as transforms
    from graphc.dataset import vision as vision
    from graphc.dataset.callbacks import DSCallback
    from graphc.dataset.core.dataset import Dataset
    from graphc.dataset.lines import LineReader
    from graphc.dataset.nodes.batches import BatchDataset, BatchInfo, PaddedBatchDataset
    from graphc.dataset.nodes.zipping import zip
    from graphc.dataset.orders.samplers import (
        DistributedSampler,
        IterSampler,
        PKSampler,
        RandomSampler,
        Sampler,
        SequentialSampler,
        SubsetRandomSampler,
        SubsetSampler,
        WeightedRandomSampler,
    )
    from graphc.dataset.sample_rng import rng
    from graphc.dataset.schema import Schema
    from graphc.dataset.shuffle import Shuffle
    from graphc.dataset.sources.arrays import NumpySlicesDataset
    from graphc.dataset.sources.bundled import DigitsDataset
    from graphc.dataset.sources.cifar import Cifar10Dataset, Cifar100Dataset
    from graphc.dataset.sources.generator import GeneratorDataset
    from graphc.dataset.sources.images import ImageFolderDataset
    from graphc.dataset.sources.mindrecord import MindDataset
    from graphc.dataset.sources.mnist import (
        EMnistDataset,
        FashionMnistDataset,
        KMnistDataset,
        MnistDataset,
        QMnistDataset,
    )
    from graphc.dataset.sources.padded import PaddedDataset
    from graphc.dataset.sources.published.boxes import KITTIDataset, VOCDataset, WIDERFaceDataset
    from graphc.dataset.sources.published.coco import CocoDataset
    from graphc.dataset.sources.published.described import (
        CelebADataset,
        FlickrDataset,
        LFWDataset,
        ManifestDataset,
        SBUDataset,
    )
    from graphc.dataset.sources.published.folders import (
        Caltech256Dataset,
        Food101Dataset,
        LSUNDataset,
        OmniglotDataset,
        Places365Dataset,
        RenderedSST2Dataset,
        SUN397Dataset,
    )
    from graphc.dataset.sources.published.lines import (
        CoNLL2000Dataset,
        EnWik9Dataset,
        IMDBDataset,
        IWSLT2016Dataset,
        IWSLT2017Dataset,
        Multi30kDataset,
        PennTreebankDataset,
        SQuADDataset,
        UDPOSDataset,
        WikiTextDataset,
    )
    from graphc.dataset.sources.published.made_up import FakeImageDataset, RandomDataset
    from graphc.dataset.sources.published.matlab_sets import (
        Caltech101Dataset,
        Flowers102Dataset,
        SBDataset,
        SVHNDataset,
    )
    from graphc.dataset.sources.published.scenes import CityscapesDataset, DIV2KDataset, PhotoTourDataset
    from graphc.dataset.sources.published.small import SemeionDataset, STL10Dataset, USPSDataset
    from graphc.dataset.sources.published.speech import (
        CMUArcticDataset,
        GTZANDataset,
        LibriTTSDataset,
        LJSpeechDataset,
        SpeechCommandsDataset,
        TedliumDataset,
        YesNoDataset,
    )
    from graphc.dataset.sources.published.tables import (
        AGNewsDataset,
        AmazonReviewDataset,
        CLUEDataset,
        DBpediaDataset,
        SogouNewsDataset,
        SST2Dataset,
        YahooAnswersDataset,
        YelpReviewDataset,
    )
    from graphc.dataset.sources.text import CSVDataset, TextFileDataset
    from graphc.dataset.sources.tfrecord import TFRecordDataset
    from graphc.dataset.waited_callbacks import WaitedDSCallback
    from graphc.dataset.written.pipelines import compare, deserialize, serialize, show

#: Names by module: what reads images or starts workers is imported when it is first asked for.
_LAZY = {
    "audio": "",
    "text": "",
    "dataloader": "",
    "debug": "",
    "transforms": "",
    "vision": "",
    "callbacks": "DSCallback",
    "waited_callbacks": "WaitedDSCallback",
    "core.dataset": "Dataset",
    "lines": "LineReader",
    "nodes.batches": "BatchDataset BatchInfo PaddedBatchDataset",
    "nodes.zipping": "zip",
    "orders.samplers": "DistributedSampler IterSampler PKSampler RandomSampler Sampler SequentialSampler SubsetRandomSampler"
    " SubsetSampler WeightedRandomSampler",
    "sample_rng": "rng",
    "schema": "Schema",
    "shuffle": "Shuffle",
    "sources.source": "MappableDataset",
    "sources.arrays": "NumpySlicesDataset",
    "sources.bundled": "DigitsDataset",
    "sources.cifar": "Cifar10Dataset Cifar100Dataset",
    "sources.generator": "GeneratorDataset",
    "sources.images": "ImageFolderDataset",
    "sources.mindrecord": "MindDataset",
    "sources.mnist": "EMnistDataset FashionMnistDataset KMnistDataset MnistDataset QMnistDataset",
    "sources.published.boxes": "KITTIDataset VOCDataset WIDERFaceDataset",
    "sources.published.coco": "CocoDataset",
    "sources.published.described": "CelebADataset FlickrDataset LFWDataset ManifestDataset SBUDataset",
    "sources.published.folders": "Caltech256Dataset Food101Dataset LSUNDataset OmniglotDataset Places365Dataset"
    " RenderedSST2Dataset SUN397Dataset",
    "sources.published.lines": "CoNLL2000Dataset EnWik9Dataset IMDBDataset IWSLT2016Dataset IWSLT2017Dataset Multi30kDataset"
    " PennTreebankDataset SQuADDataset UDPOSDataset WikiTextDataset",
    "sources.published.made_up": "FakeImageDataset RandomDataset",
    "sources.published.matlab_sets": "Caltech101Dataset Flowers102Dataset SBDataset SVHNDataset",
    "sources.published.scenes": "CityscapesDataset DIV2KDataset PhotoTourDataset",
    "sources.published.small": "STL10Dataset SemeionDataset USPSDataset",
    "sources.published.speech": "CMUArcticDataset GTZANDataset LJSpeechDataset LibriTTSDataset SpeechCommandsDataset"
    " TedliumDataset YesNoDataset",
    "sources.published.tables": "AGNewsDataset AmazonReviewDataset CLUEDataset DBpediaDataset SST2Dataset SogouNewsDataset"
    " YahooAnswersDataset YelpReviewDataset",
    "sources.padded": "PaddedDataset",
    "sources.text": "CSVDataset TextFileDataset",
    "sources.tfrecord": "TFRecordDataset",
    "written.pipelines": "compare deserialize serialize show",
}
_MODULE_OF = {name: module for module, names in _LAZY.items() for name in (names or module).split()}

__all__ = [
    "AGNewsDataset",
    "AmazonReviewDataset",
    "BatchDataset",
    "BatchInfo",
    "CLUEDataset",
    "CMUArcticDataset",
    "CSVDataset",
    "Caltech101Dataset",
    "Caltech256Dataset",
    "CelebADataset",
    "Cifar10Dataset",
    "Cifar100Dataset",
    "CityscapesDataset",
    "CoNLL2000Dataset",
    "CocoDataset",
    "DBpediaDataset",
    "DIV2KDataset",
    "DSCallback",
    "Dataset",
    "Digits",
    "DigitsDataset",
    "DistributedSampler",
    "EMnistDataset",
    "EnWik9Dataset",
    "FakeImageDataset",
    "FashionMnistDataset",
    "FlickrDataset",
    "Flowers102Dataset",
    "Food101Dataset",
    "GTZANDataset",
    "GeneratorDataset",
    "IMDBDataset",
    "IWSLT2016Dataset",
    "IWSLT2017Dataset",
    "ImageFolderDataset",
    "IterSampler",
    "KITTIDataset",
    "KMnistDataset",
    "LFWDataset",
    "LJSpeechDataset",
    "LSUNDataset",
    "LibriTTSDataset",
    "LineReader",
    "ManifestDataset",
    "MindDataset",
    "MnistDataset",
    "Multi30kDataset",
    "NumpySlicesDataset",
    "OmniglotDataset",
    "PKSampler",
    "PaddedBatchDataset",
    "PaddedDataset",
    "PennTreebankDataset",
    "PhotoTourDataset",
    "Places365Dataset",
    "QMnistDataset",
    "RandomDataset",
    "RandomSampler",
    "RenderedSST2Dataset",
    "SBDataset",
    "SBUDataset",
    "SQuADDataset",
    "SST2Dataset",
    "STL10Dataset",
    "SUN397Dataset",
    "SVHNDataset",
    "Sampler",
    "Schema",
    "SemeionDataset",
    "SequentialSampler",
    "Shuffle",
    "SogouNewsDataset",
    "SpeechCommandsDataset",
    "SubsetRandomSampler",
    "SubsetSampler",
    "TFRecordDataset",
    "TedliumDataset",
    "TextFileDataset",
    "UDPOSDataset",
    "USPSDataset",
    "VOCDataset",
    "WIDERFaceDataset",
    "WaitedDSCallback",
    "WeightedRandomSampler",
    "WikiTextDataset",
    "YahooAnswersDataset",
    "YelpReviewDataset",
    "YesNoDataset",
    "audio",
    "compare",
    "config",
    "dataloader",
    "debug",
    "deserialize",
    "load_digits",
    "rng",
    "serialize",
    "show",
    "text",
    "transforms",
    "vision",
    "zip",
]  # fmt: skip

accept(globals(), ("Digits", "load_digits"), __name__)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        try:
            return no_member("graphc.dataset", name, _MODULE_OF)
        except (AttributeError, ImportError) as error:
            clean(error)
            raise
    module = import_module(f"graphc.dataset.{_MODULE_OF[name]}")
    value = module if _MODULE_OF[name] == name else accepting(getattr(module, name), __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
