"""Kinds that tokenizers of Jieba's and SentencePiece's are told by."""

from __future__ import annotations

from enum import IntEnum


class JiebaMode(IntEnum):
    """How Jieba finds words: by both of its ways, by a dictionary, by a hidden Markov model."""

    MIX = 0
    MP = 1
    HMM = 2


class SentencePieceModel(IntEnum):
    """What kind of model SentencePiece trains."""

    UNIGRAM = 0
    BPE = 1
    CHAR = 2
    WORD = 3


class SPieceTokenizerLoadType(IntEnum):
    """Where SentencePiece's model comes from."""

    FILE = 0
    MODEL = 1


class SPieceTokenizerOutType(IntEnum):
    """What SentencePiece's tokens are."""

    STRING = 0
    INT = 1
