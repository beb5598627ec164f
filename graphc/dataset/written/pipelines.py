"""`serialize`, `deserialize`, `compare` and `show`: data sets as JSON (MindSpore: mindspore.dataset.engine)."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

from graphc.dataset.core.dataset import Dataset
from graphc.dataset.written.nodes import read_node, write
from graphc.dataset.written.values import Writer
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.files import write_atomic

_logger = logging.getLogger("graphc")


def serialize(dataset: Dataset, json_filepath: str = "") -> dict[str, Any]:
    """The pipeline of a data set as a dict of JSON, which `deserialize` takes; json_filepath: a file that it is written to, too.

    DataError for a pipeline with Python code in it: functions and objects of the user's, arrays of NumPySlicesDataset,
    GeneratorDataset. OSError where the file cannot be written.
    """
    return _a_dataset("serialize", "dataset", dataset).to_json(json_filepath)


def to_json(dataset: Dataset, filename: Any) -> dict[str, Any]:
    """`Dataset.to_json`."""
    text = _text(dataset)
    if _a_path("to_json", "filename", filename):
        write_atomic(Path(filename), text.encode())
    made: dict[str, Any] = json.loads(text)  # What becomes of it does not reach the pipeline.
    return made


def deserialize(input_dict: dict[str, Any] | None = None, json_filepath: str | None = None) -> Dataset:
    """The data set of what `serialize` gave, or has written to a file; the file if both are given.

    ArgumentValueError for neither, DataError for what is no pipeline, OSError where the file cannot be read.
    """
    if input_dict is not None and not isinstance(input_dict, dict):
        raise ArgumentTypeError(
            f"deserialize: input_dict must be a dict, got {type(input_dict).__name__}", loc=user_loc()
        )
    path = None if json_filepath is None else _a_path("deserialize", "json_filepath", json_filepath)
    if not input_dict and not path:
        raise ArgumentValueError("deserialize needs input_dict or json_filepath", loc=user_loc())
    return read_node(_loaded(path) if path else input_dict)


def _text(dataset: Dataset, named: bool = False, indentation: int | None = 2) -> str:
    return json.dumps(write(dataset, Writer(named)), indent=indentation)


def _loaded(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        try:
            return json.load(file)
        except (ValueError, RecursionError) as error:
            raise DataError(f"deserialize: {path!r} is no JSON: {error}", code="GC205", loc=user_loc()) from None


def compare(pipeline1: Dataset, pipeline2: Dataset) -> bool:
    """Whether two pipelines are made of the same, in the same order. Python code and arrays of the program count by their names,
    as in MindSpore, not by what they compute or hold.
    """
    first, second = _a_dataset("compare", "pipeline1", pipeline1), _a_dataset("compare", "pipeline2", pipeline2)
    # Texts tell 1 from 1.0 and True, and NaN is NaN.
    return _text(first, named=True, indentation=None) == _text(second, named=True, indentation=None)


def show(dataset: Dataset, indentation: int | None = 2) -> None:
    """Log the pipeline as JSON, at level "info", for people to read: Python code stands there by its name. indentation: spaces,
    None for one line.
    """
    _logger.info("%s", _text(_a_dataset("show", "dataset", dataset), True, indentation))


def _a_dataset(owner: str, name: str, value: Any) -> Dataset:
    if not isinstance(value, Dataset):
        raise ArgumentTypeError(f"{owner}: {name} must be a data set, got {type(value).__name__}", loc=user_loc())
    return value


def _a_path(owner: str, name: str, value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentTypeError(f"{owner}: {name} must be a str, got {type(value).__name__}", loc=user_loc())
    return os.fspath(value)
