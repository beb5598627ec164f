"""SentencePiece: models that cut texts into pieces, trained on texts, by the package sentencepiece."""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphc.dataset.checks import integer, names, number
from graphc.dataset.core.dataset import maker
from graphc.dataset.text.base import TextTransform, texts
from graphc.dataset.text.kinds import SentencePieceModel, SPieceTokenizerOutType
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, MissingPackageError, user_loc
from graphc.validation.checks import member, string

if TYPE_CHECKING:
    from graphc.dataset.core.dataset import Dataset

Array = np.ndarray[Any, np.dtype[Any]]

#: Parameters of the library that arguments have in their place.
_SET = ("input", "model_prefix", "model_writer", "sentence_iterator", "vocab_size", "character_coverage", "model_type")


def _library() -> Any:
    """The package; MissingPackageError, an ImportError, that names the extra."""
    try:
        return import_module("sentencepiece")
    except ImportError as error:
        raise MissingPackageError(
            "SentencePiece's models are trained and read by the package sentencepiece, which is not installed",
            loc=user_loc(),
            help="pip install 'graphc[sentencepiece]'",
        ) from error


class SentencePieceVocab:
    """A model of SentencePiece's: made by from_dataset or from_file, for SentencePieceTokenizer."""

    def __init__(self) -> None:
        #: The model as the bytes of its file; none before it is made.
        self.model = b""

    @classmethod
    def from_dataset(
        cls,
        dataset: Dataset,
        col_names: list[str],
        vocab_size: int,
        character_coverage: float,
        model_type: SentencePieceModel,
        params: dict[str, str],
    ) -> SentencePieceVocab:
        """Train a model of vocab_size pieces on the texts of columns, whose characters it covers to such a part (0.98 .. 1).

        params: other parameters of the library's trainer. DataError where it refuses to train.
        """
        owner = "SentencePieceVocab.from_dataset"
        columns = dataset.among(owner, "col_names", names(owner, "col_names", col_names))
        given = _checked(owner, vocab_size, character_coverage, model_type, params)
        return cls._trained(owner, sentence_iterator=_sentences(dataset, columns), **given)

    @classmethod
    def from_file(
        cls,
        file_path: list[str],
        vocab_size: int,
        character_coverage: float,
        model_type: SentencePieceModel,
        params: dict[str, str],
    ) -> SentencePieceVocab:
        """As from_dataset, of the lines of text files."""
        owner = "SentencePieceVocab.from_file"
        if not isinstance(file_path, list):
            raise ArgumentTypeError(
                f"{owner}: file_path must be a list of paths, got {type(file_path).__name__}", loc=user_loc()
            )
        if not file_path:
            raise ArgumentValueError(f"{owner}: file_path is empty", loc=user_loc())
        paths = [string(owner, "file_path", path) for path in file_path]
        given = _checked(owner, vocab_size, character_coverage, model_type, params)
        return cls._trained(owner, input=paths, **given)

    @classmethod
    def save_model(cls, vocab: SentencePieceVocab, path: str, filename: str) -> None:
        """Write the model into a folder. DataError where that cannot be done."""
        owner = "SentencePieceVocab.save_model"
        if not isinstance(vocab, SentencePieceVocab):
            raise ArgumentTypeError(
                f"{owner}: vocab must be a SentencePieceVocab, got {type(vocab).__name__}", loc=user_loc()
            )
        file = Path(string(owner, "path", path)) / string(owner, "filename", filename)
        try:
            file.write_bytes(vocab.model)
        except OSError as error:
            raise DataError(f"{owner}: {file} cannot be written: {error}", code="GC204", loc=user_loc()) from None

    @classmethod
    def _trained(cls, owner: str, **given: Any) -> SentencePieceVocab:
        library, written, made = _library(), io.BytesIO(), cls()
        try:
            library.SentencePieceTrainer.train(model_writer=written, minloglevel=2, **given)
        except (OSError, RuntimeError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{owner}: SentencePiece: {error}", code="GC204", loc=user_loc()) from None
        made.model = written.getvalue()
        return made


def _checked(owner: str, vocab_size: Any, coverage: Any, kind: Any, params: Any) -> dict[str, Any]:
    """The arguments as the library's parameters."""
    member(owner, "model_type", kind, SentencePieceModel)
    if not isinstance(params, dict):
        raise ArgumentTypeError(f"{owner}: params must be a dict, got {type(params).__name__}", loc=user_loc())
    twice = [name for name in params if name in _SET]
    if twice:
        raise ArgumentValueError(f"{owner}: params has {twice[0]!r}, which an argument says", loc=user_loc())
    return {
        **params,
        "vocab_size": integer(owner, "vocab_size", vocab_size, 1),
        "character_coverage": number(owner, "character_coverage", coverage, 0.98, 1.0),
        "model_type": kind.name.lower(),
    }


def _sentences(dataset: Dataset, columns: list[str]) -> Iterator[str]:
    with dataset.create_tuple_iterator(columns, num_epochs=1, output_numpy=True) as rows:
        for row in rows:
            for value, name in zip(row, columns, strict=True):
                if value.dtype.kind != "U":
                    raise DataError(
                        f"SentencePieceVocab: column {name!r} must be text, got {value.dtype}", code="GC201"
                    )
                yield from value.ravel().tolist()


class SentencePieceTokenizer(TextTransform):
    """The pieces of a text [], [n], or with out_type INT their numbers, int32 [n].

    mode: the path of a model's file, or a SentencePieceVocab. DataError for a file that is no model.
    """

    axes = (0,)

    def __init__(self, mode: str | SentencePieceVocab, out_type: SPieceTokenizerOutType) -> None:
        if not isinstance(mode, (str, SentencePieceVocab)):
            raise ArgumentTypeError(
                f"SentencePieceTokenizer: mode must be a path or a SentencePieceVocab, got {type(mode).__name__}",
                loc=user_loc(),
            )
        member("SentencePieceTokenizer", "out_type", out_type, SPieceTokenizerOutType)
        self.out_type = out_type
        self._model = mode.model if isinstance(mode, SentencePieceVocab) else _read(mode)
        self._processor = _processor(self._model)

    def apply(self, value: Array) -> Array:
        if self.out_type is SPieceTokenizerOutType.INT:
            return np.array(self._processor.encode(value.item(), out_type=int), np.int32)
        return texts(self._processor.encode(value.item(), out_type=str))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_processor": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._processor = _processor(self._model)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DataError(
            f"SentencePieceTokenizer: {path} cannot be read: {error}", code="GC204", loc=user_loc()
        ) from None


def _processor(model: bytes) -> Any:
    library = _library()
    try:
        return library.SentencePieceProcessor(model_proto=model)
    except RuntimeError as error:
        raise DataError(
            f"SentencePieceTokenizer: this is no model of SentencePiece's: {error}", code="GC204", loc=user_loc()
        ) from None


maker("pieces", SentencePieceVocab.from_dataset)
