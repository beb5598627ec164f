"""MindRecord files: written by FileWriter, read by FileReader, MindPage and dataset.MindDataset, and made of other files.

writer = FileWriter("train.mindrecord", shard_num=4)
writer.add_schema({"label": {"type": "int32"}, "image": {"type": "bytes"}})
writer.write_raw_data([{"label": 0, "image": data}])
writer.commit()
"""

from __future__ import annotations

from enum import IntEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphc.errors.suggestions import no_member
from graphc.tracebacks import clean
from graphc.validation.signatures import accepting

if TYPE_CHECKING:
    from graphc.mindrecord.converters.cifar import Cifar10ToMR, Cifar100ToMR
    from graphc.mindrecord.converters.csv import CsvToMR
    from graphc.mindrecord.converters.imagenet import ImageNetToMR
    from graphc.mindrecord.converters.mnist import MnistToMR
    from graphc.mindrecord.converters.tfrecord import TFRecordToMR
    from graphc.mindrecord.encryption import set_dec_mode, set_enc_key, set_enc_mode
    from graphc.mindrecord.reader import FileReader, MindPage
    from graphc.mindrecord.writer import FileWriter


class MSRStatus(IntEnum):
    """What `run` of converters returns."""

    SUCCESS = 0
    FAILED = 1


SUCCESS, FAILED = MSRStatus.SUCCESS, MSRStatus.FAILED

#: Names by module: what reads and writes is imported when it is first asked for.
_LAZY = {
    "converters.cifar": "Cifar10ToMR Cifar100ToMR",
    "converters.csv": "CsvToMR",
    "converters.imagenet": "ImageNetToMR",
    "converters.mnist": "MnistToMR",
    "converters.tfrecord": "TFRecordToMR",
    "encryption": "set_dec_mode set_enc_key set_enc_mode",
    "reader": "FileReader MindPage",
    "writer": "FileWriter",
}
_MODULE_OF = {name: module for module, names in _LAZY.items() for name in names.split()}

__all__ = [
    "FAILED", "SUCCESS", "Cifar10ToMR", "Cifar100ToMR", "CsvToMR", "FileReader", "FileWriter", "ImageNetToMR", "MindPage",
    "MnistToMR", "TFRecordToMR", "set_dec_mode", "set_enc_key", "set_enc_mode",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        try:
            return no_member("graphc.mindrecord", name, _MODULE_OF)
        except (AttributeError, ImportError) as error:
            clean(error)
            raise
    value = accepting(getattr(import_module(f"graphc.mindrecord.{_MODULE_OF[name]}"), name), __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
