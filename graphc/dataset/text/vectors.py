"""Word vectors that others have trained, from their text files, and `ToVectors`, which looks them up."""

from __future__ import annotations

import fnmatch
import os
from typing import Any, Self

import numpy as np

from graphc.dataset.checks import INT32_MAX, integer, truth
from graphc.dataset.text.base import TextTransform, lines_of
from graphc.dataset.text.numbers import atof
from graphc.errors import ArgumentTypeError, DataError, user_loc
from graphc.validation.checks import string

Array = np.ndarray[Any, np.dtype[Any]]

#: ASCII's letters alone become small, as MindSpore's do.
_SMALL = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


class Vectors:
    """The vectors of words, float32 [n] each, from a file with one word and its numbers in a line (MindSpore: text.Vectors)."""

    #: What the names of files look like, for an error that says so.
    _files = "*"

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._table: Array = np.zeros((0, 0), np.float32)

    @classmethod
    def from_file(cls, file_path: str, max_vectors: int | None = None) -> Self:
        """The vectors of a file, whose first line may say how many there are; of max_vectors lines, None or 0 for all.

        Of lines for one word the first counts. DataError for a file that cannot be read, has vectors of different lengths or of
        length 1, or has another name than such files have: *.vec for FastText, glove.6B.*.txt for GloVe.
        """
        path = string(f"{cls.__name__}.from_file", "file_path", file_path)
        most = (
            0 if max_vectors is None else integer(f"{cls.__name__}.from_file", "max_vectors", max_vectors, 0, INT32_MAX)
        )
        if not fnmatch.fnmatchcase(os.path.basename(path), cls._files):
            raise DataError(
                f"{cls.__name__}.from_file: the file must be named {cls._files}, got {path}", loc=user_loc()
            )
        made = cls()
        made._read(path, most)
        return made

    def _read(self, path: str, most: int) -> None:
        owner = f"{type(self).__name__}.from_file"
        lines = lines_of(owner, path)
        # A first line of two parts says how many words and numbers there are.
        lines = lines[1:] if lines and len(_parts(lines[0])) == 2 else lines
        if not lines:
            raise DataError(f"{owner}: {path} has no vectors", loc=user_loc())
        rows: list[Array] = []
        for line in lines[: most or None]:
            token, *numbers = _parts(line)
            if len(numbers) < 2 or (rows and len(numbers) != len(rows[0])):
                wanted = len(rows[0]) if rows else "2 or more"
                raise DataError(
                    f"{owner}: {path} has {len(numbers)} numbers for {token!r}, there must be {wanted}", loc=user_loc()
                )
            if token not in self._rows:
                self._rows[token] = len(rows)
                rows.append(_numbers(numbers))
        self._table = np.array(rows, np.float32)

    @property
    def dim(self) -> int:
        """How many numbers a vector has."""
        return int(self._table.shape[1])

    def vector(self, token: str) -> Array | None:
        """The vector of a word; None if there is none."""
        row = self._rows.get(token)
        return None if row is None else self._table[row]


class GloVe(Vectors):
    """Vectors of GloVe's files, glove.6B.*.txt."""

    _files = "glove.6B.*.txt"


class FastText(Vectors):
    """Vectors of FastText's files, *.vec."""

    _files = "*.vec"


class CharNGram(Vectors):
    """Vectors of parts of words, 2, 3 and 4 bytes, beginnings and ends with them: a word has the mean of its parts' vectors."""

    def vector(self, token: str) -> Array | None:
        """The mean of the vectors of a word's parts; None if it has none."""
        bytes_ = [b"#BEGIN#", *(bytes([b]) for b in token.encode("utf-8", "surrogatepass")), b"#END#"] if token else []
        found = []
        for n in (2, 3, 4):
            for k in range(len(bytes_) - n + 1):
                gram = b"".join(bytes_[k : k + n]).decode("utf-8", "replace")
                row = self._rows.get(f"{n}gram-{gram}")
                if row is not None:
                    found.append(self._table[row])
        if not found:
            return None
        total = np.zeros(self.dim, np.float32)
        for vector in found:
            total += vector
        return total / np.float32(len(found))


def _parts(line: str) -> list[str]:
    """What stands between single spaces, without an empty last part."""
    return line.removesuffix(" ").split(" ")


def _numbers(texts: list[str]) -> Array:
    """The numbers that texts begin with, as C's atof reads them, float32; 0 where there is none."""
    together = "".join(texts)
    try:
        # What Python's float takes and C's does not: digits of other scripts, and underscores between digits.
        made = list(map(float, texts)) if together.isascii() and "_" not in together else list(map(atof, texts))
    except ValueError:
        made = list(map(atof, texts))
    with np.errstate(over="ignore"):
        return np.array(made).astype(np.float32)


class ToVectors(TextTransform):
    """Words as their vectors, float32 [count, n], whatever the shape of the words; of one word [n].

    unk_init: the vector of those that have none, 0 by default. lower_case_backup: words that have none are looked up in small
    letters, as documented; MindSpore 2.10 looks up all of them so.
    """

    def __init__(self, vectors: Vectors, unk_init: Any = None, lower_case_backup: bool = False) -> None:
        if not isinstance(vectors, Vectors):
            raise ArgumentTypeError(f"ToVectors: vectors must be Vectors, got {type(vectors).__name__}", loc=user_loc())
        given = [] if unk_init is None else unk_init
        if not isinstance(given, (list, tuple)) or not all(type(v) in (int, float) for v in given):
            raise ArgumentTypeError(f"ToVectors: unk_init must be a list of numbers, got {unk_init!r}", loc=user_loc())
        self.vectors = vectors
        self.unk_init = np.array(list(given) or [0.0] * vectors.dim, np.float32)
        self.lower_case_backup = truth("ToVectors", "lower_case_backup", lower_case_backup)

    def apply(self, value: Array) -> Array:
        if not self.vectors.dim:
            raise DataError(
                "ToVectors: there are no vectors", code="GC201", help="from_file of a class of vectors reads them"
            )
        if len(self.unk_init) != self.vectors.dim:
            raise DataError(
                f"ToVectors: unk_init has {len(self.unk_init)} numbers, the vectors have {self.vectors.dim}",
                code="GC201",
            )
        found = [self._vector(token) for token in value.ravel().tolist()]
        return found[0].copy() if len(found) == 1 else np.array(found, np.float32).reshape(-1, self.vectors.dim)

    def _vector(self, token: str) -> Array:
        found = self.vectors.vector(token)
        if found is None and self.lower_case_backup:
            found = self.vectors.vector(token.translate(_SMALL))
        return self.unk_init if found is None else found
