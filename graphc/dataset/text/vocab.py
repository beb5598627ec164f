"""`Vocab`: words and their numbers, and `Lookup`, which finds them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from graphc.dataset.checks import INT32_MAX, integer, truth
from graphc.dataset.core.dataset import Dataset, maker
from graphc.dataset.schema import numpy_dtype
from graphc.dataset.text.base import TextTransform, lines_of
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.ops.tensor.dtype import int32
from graphc.validation.checks import string

Array = np.ndarray[Any, np.dtype[Any]]


class Vocab:
    """Words and their numbers (MindSpore: text.Vocab): made by from_list, from_dict, from_file or from_dataset.

    special_tokens stand before the other words, or after them with special_first=False.
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] | None = None
        self._words: dict[int, str] = {}

    @classmethod
    def _of(cls, ids: dict[str, int]) -> Vocab:
        made = cls()
        made._ids = ids
        made._words = {number: token for token, number in ids.items()}
        return made

    @classmethod
    def _joined(cls, words: list[str], special: list[str], first: bool) -> Vocab:
        """Words numbered in order, with the special ones at one end. DataError for a word that is among both."""
        for token in special:
            if token in set(words):
                raise DataError(f"Vocab: {token!r} is a word and a special token", loc=user_loc())
        return cls._of({token: k for k, token in enumerate(special + words if first else words + special)})

    @classmethod
    def from_list(
        cls, word_list: list[str], special_tokens: list[str] | None = None, special_first: bool = True
    ) -> Vocab:
        """The words of a list, numbered in its order. ArgumentValueError for a word that is there twice."""
        words, special = _words("from_list", "word_list", word_list), _special("from_list", special_tokens)
        if both := set(words) & set(special):
            raise ArgumentValueError(
                f"Vocab.from_list: {sorted(both)[0]!r} is in word_list and in special_tokens", loc=user_loc()
            )
        return cls._joined(words, special, truth("Vocab.from_list", "special_first", special_first))

    @classmethod
    def from_dict(cls, word_dict: dict[str, int]) -> Vocab:
        """{word: its number, 0 or more}. Of words with one number the last is the number's word."""
        if not isinstance(word_dict, dict):
            raise ArgumentTypeError(
                f"Vocab.from_dict: word_dict must be a dict, got {type(word_dict).__name__}", loc=user_loc()
            )
        return cls._of(
            {
                string("Vocab.from_dict", "a word", token): integer("Vocab.from_dict", "a number", number, 0, INT32_MAX)
                for token, number in word_dict.items()
            }
        )

    @classmethod
    def from_file(
        cls,
        file_path: str,
        delimiter: str = "",
        vocab_size: int | None = None,
        special_tokens: list[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """The lines of a file, or what stands before the delimiter in them; the first vocab_size ones.

        DataError for a file that cannot be read, and for a word that is there twice.
        """
        special = _special("from_file", special_tokens)
        path, mark = (
            string("Vocab.from_file", "file_path", file_path),
            string("Vocab.from_file", "delimiter", delimiter),
        )
        most = None if vocab_size is None else integer("Vocab.from_file", "vocab_size", vocab_size, 1)
        words: list[str] = []
        for line in lines_of("Vocab.from_file", path)[:most]:
            words.append(line.partition(mark)[0] if mark else line)
        if len(set(words)) < len(words):
            twice = next(w for w, count in Counter(words).items() if count > 1)
            raise DataError(f"Vocab.from_file: {path} has {twice!r} twice", loc=user_loc())
        return cls._joined(words, special, truth("Vocab.from_file", "special_first", special_first))

    @classmethod
    def from_dataset(
        cls,
        dataset: Dataset,
        columns: str | list[str] | None = None,
        freq_range: tuple[int | None, int | None] | None = None,
        top_k: int | None = None,
        special_tokens: list[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """The words in columns of a data set (all by default), the most frequent first; those of one frequency by their letters.

        freq_range: (least, most) occurrences, None for any. top_k: the first so many of what is left.
        """
        if not isinstance(dataset, Dataset):
            raise ArgumentTypeError(
                f"Vocab.from_dataset: dataset must be a data set, got {type(dataset).__name__}", loc=user_loc()
            )
        if columns is not None and not isinstance(columns, (str, list)):
            raise ArgumentTypeError(
                f"Vocab.from_dataset: columns must be a list of names, got {type(columns).__name__}", loc=user_loc()
            )
        least, most = _frequencies(freq_range)
        best = None if top_k is None else integer("Vocab.from_dataset", "top_k", top_k, 1)
        special = _special("from_dataset", special_tokens)
        first = truth("Vocab.from_dataset", "special_first", special_first)
        counts = _counted(dataset, dataset.among("Vocab.from_dataset", "columns", columns) if columns else None)
        frequent = [token for token, n in counts.items() if n >= least and (most is None or n <= most)]
        frequent.sort(key=lambda token: (-counts[token], token))
        return cls._joined(frequent[:best], special, first)

    def vocab(self) -> dict[str, int]:
        """{word: its number}, by number."""
        return dict(sorted(self._built().items(), key=lambda item: item[1]))

    def tokens_to_ids(self, tokens: Any) -> int | list[int]:
        """The number of a word, or the numbers of a list or array of words; -1 for those that are not there."""
        ids = self._built()
        listed = tokens
        if isinstance(tokens, np.ndarray):
            listed = np.char.decode(tokens, "utf-8").tolist() if tokens.dtype.kind == "S" else tokens.tolist()
        elif not isinstance(tokens, (str, list)):
            raise ArgumentTypeError(
                f"tokens_to_ids: tokens must be a str, a list or an array, got {type(tokens).__name__}", loc=user_loc()
            )
        found = [
            ids.get(string("tokens_to_ids", "a token", t), -1)
            for t in ([listed] if isinstance(listed, str) else listed)
        ]
        return found[0] if len(found) == 1 else found

    def ids_to_tokens(self, ids: Any) -> str | list[str]:
        """The word of a number, or the words of a list or array of numbers; "" for those that are not there."""
        self._built()
        if isinstance(ids, np.ndarray):
            listed, least = ids.tolist(), None
        elif isinstance(ids, (int, np.integer, list)):
            listed, least = ids, 0
        else:
            raise ArgumentTypeError(
                f"ids_to_tokens: ids must be an int, a list or an array, got {type(ids).__name__}", loc=user_loc()
            )
        numbers = listed if isinstance(listed, list) else [listed]
        found = [self._words.get(integer("ids_to_tokens", "ids", i, least, INT32_MAX), "") for i in numbers]
        return found[0] if len(found) == 1 else found

    def _built(self) -> dict[str, int]:
        if self._ids is None:
            raise DataError(
                "the Vocab has no words",
                loc=user_loc(),
                help="Vocab.from_list, from_dict, from_file and from_dataset make one",
            )
        return self._ids


def ids_of(owner: str, vocab: Any) -> dict[str, int]:
    """{word: number} of a Vocab. ArgumentTypeError for what is none, or has not been made."""
    if not isinstance(vocab, Vocab):
        raise ArgumentTypeError(f"{owner}: vocab must be a Vocab, got {type(vocab).__name__}", loc=user_loc())
    if vocab._ids is None:
        raise ArgumentTypeError(
            f"{owner}: the vocab has no words", loc=user_loc(), help="Vocab.from_list and the like make one"
        )
    return vocab._ids


def _words(owner: str, name: str, value: Any) -> list[str]:
    """A list of different str."""
    if not isinstance(value, list):
        raise ArgumentTypeError(f"Vocab.{owner}: {name} must be a list, got {type(value).__name__}", loc=user_loc())
    words = [string(f"Vocab.{owner}", name, token) for token in value]
    if len(set(words)) < len(words):
        twice = next(w for w, count in Counter(words).items() if count > 1)
        raise ArgumentValueError(f"Vocab.{owner}: {name} has {twice!r} twice", loc=user_loc())
    return words


def _special(owner: str, value: Any) -> list[str]:
    return [] if value is None else _words(owner, "special_tokens", value)


def _frequencies(value: Any) -> tuple[int, int | None]:
    """(least, most) of freq_range."""
    if value is None:
        return 0, None
    if not isinstance(value, tuple):
        raise ArgumentTypeError(
            f"Vocab.from_dataset: freq_range must be a tuple, got {type(value).__name__}", loc=user_loc()
        )
    if len(value) != 2 or not all(v is None or (isinstance(v, int) and v >= 0) for v in value):
        raise ArgumentValueError(
            f"Vocab.from_dataset: freq_range must be (least, most), ints of 0 or more or None, got {value}",
            loc=user_loc(),
        )
    least, most = value
    if most is not None and (least or 0) > most:
        raise ArgumentValueError(f"Vocab.from_dataset: freq_range must be (least, most), got {value}", loc=user_loc())
    return least or 0, most


def _counted(dataset: Dataset, columns: list[str] | None) -> Counter[str]:
    counts: Counter[str] = Counter()
    with dataset.create_tuple_iterator(columns, num_epochs=1, output_numpy=True) as rows:
        for row in rows:
            for array, name in zip(row, columns or dataset.get_col_names(), strict=True):
                if array.dtype.kind != "U":
                    raise DataError(
                        f"Vocab.from_dataset: column {name!r} must be text, it is {array.dtype}", loc=user_loc()
                    )
                counts.update(array.ravel().tolist())
    return counts


maker("vocab", Vocab.from_dataset)


class Lookup(TextTransform):
    """Words as their numbers in a Vocab, of the same shape, in data_type, int32 by default.

    unknown_token: the word whose number those have that are not there; without it they are a DataError, a RuntimeError.
    """

    def __init__(self, vocab: Vocab, unknown_token: str | None = None, data_type: Any = int32) -> None:
        self.ids = ids_of("Lookup", vocab)
        self.unknown_token = None if unknown_token is None else string("Lookup", "unknown_token", unknown_token)
        self.dtype = numpy_dtype("Lookup", data_type)
        if self.dtype.kind not in "biuf":
            raise ArgumentTypeError(f"Lookup: data_type must be a dtype of numbers, got {data_type!r}", loc=user_loc())

    def apply(self, value: Array) -> Array:
        unknown = self._unknown()
        numbers = [self.ids.get(token, unknown) for token in value.ravel().tolist()]
        if None in numbers:
            token = value.ravel().tolist()[numbers.index(None)]
            raise DataError(f"Lookup: {token!r} is not in the vocab, and there is no unknown_token", code="GC201")
        return np.array(numbers, np.int32).reshape(value.shape).astype(self.dtype)

    def _unknown(self) -> int | None:
        if self.unknown_token is None:
            return None
        if self.unknown_token not in self.ids:
            raise DataError(f"Lookup: unknown_token {self.unknown_token!r} is not in the vocab", code="GC201")
        return self.ids[self.unknown_token]
