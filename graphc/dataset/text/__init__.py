"""Texts to tokens, tokens to numbers (MindSpore: mindspore.dataset.text)."""

from typing import TYPE_CHECKING, Any

from graphc.dataset.text.bert import BasicTokenizer, BertTokenizer, WordpieceTokenizer
from graphc.dataset.text.coding import to_bytes, to_str
from graphc.dataset.text.jieba import JiebaTokenizer
from graphc.dataset.text.kinds import JiebaMode, SentencePieceModel, SPieceTokenizerLoadType, SPieceTokenizerOutType
from graphc.dataset.text.normal import CaseFold, FilterWikipediaXML, NormalizeForm, NormalizeUTF8
from graphc.dataset.text.numbers import ToNumber
from graphc.dataset.text.pieces import SentencePieceTokenizer, SentencePieceVocab
from graphc.dataset.text.regex import RegexReplace, RegexTokenizer
from graphc.dataset.text.sequences import AddToken, Ngram, SlidingWindow, Truncate, TruncateSequencePair
from graphc.dataset.text.tokenizers import (
    PythonTokenizer,
    UnicodeCharTokenizer,
    UnicodeScriptTokenizer,
    WhitespaceTokenizer,
)
from graphc.dataset.text.vectors import CharNGram, FastText, GloVe, ToVectors, Vectors
from graphc.dataset.text.vocab import Lookup, Vocab
from graphc.errors.suggestions import no_member
from graphc.tracebacks import clean
from graphc.validation.signatures import accept

__all__ = [
    "AddToken", "BasicTokenizer", "BertTokenizer", "CaseFold", "CharNGram", "FastText", "FilterWikipediaXML", "GloVe",
    "JiebaMode", "JiebaTokenizer", "Lookup", "Ngram", "NormalizeForm", "NormalizeUTF8", "PythonTokenizer", "RegexReplace",
    "RegexTokenizer", "SPieceTokenizerLoadType", "SPieceTokenizerOutType", "SentencePieceModel", "SentencePieceTokenizer",
    "SentencePieceVocab", "SlidingWindow", "ToNumber", "ToVectors", "Truncate", "TruncateSequencePair",
    "UnicodeCharTokenizer", "UnicodeScriptTokenizer", "Vectors", "Vocab", "WhitespaceTokenizer", "WordpieceTokenizer",
    "to_bytes", "to_str",
]  # fmt: skip

accept(globals(), __all__, __name__)

if not TYPE_CHECKING:  # For type checkers the module has its names and no others.

    def __getattr__(name: str) -> Any:
        try:
            return no_member("graphc.dataset.text", name, __all__)
        except (AttributeError, ImportError) as error:
            clean(error)
            raise
