"""Texts against what MindSpore 2.10 did (tests/data/ms_text.py wrote it), where graphc is better on purpose, and a training."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest

import graphc
import graphc.dataset as ds
from graphc import DataError, nn
from graphc.dataset import text
from tests.recorders import recorder

DATA = Path(__file__).parents[1] / "data"
RECORDED = json.loads((DATA / "ms_text.json").read_text(encoding="utf-8"))


PROBE = recorder("ms_text")


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    return PROBE.names(graphc, ds, text, tmp_path_factory.mktemp("texts"))


@pytest.mark.parametrize("expression", RECORDED)
def test_as_mindspore(expression, known):
    assert listed(json.loads(json.dumps(PROBE.outcome(expression, known)))) == listed(RECORDED[expression])


def listed(outcome):
    """An outcome whose texts are read: how Python writes one depends on the Unicode that its version knows."""
    match outcome:
        case ["text", [_, *_] as shape, str(written)]:
            return ["text", shape, ast.literal_eval(written)]
        case list():
            return [listed(x) for x in outcome]
    return outcome


def test_everything_is_recorded():
    assert list(RECORDED) == list(dict.fromkeys(PROBE.ALL))


PIECES = text.Vocab.from_list(["work", "##ing", "[CLS]", "a", "b", "[UNK]"])


def test_special_tokens_in_small_letters_are_followed_by_the_rest_once():
    assert text.BasicTokenizer(True)("[CLS] A [SEP] É c").tolist() == ["[CLS]", "a", "[SEP]", "e", "c"]
    assert text.BertTokenizer(PIECES, lower_case=True)("[CLS] A B").tolist() == ["[CLS]", "a", "b"]


def test_places_of_unknown_words():
    words, first, last = text.WordpieceTokenizer(PIECES, with_offsets=True)(["working", "workx", "é"])
    assert words.tolist() == ["work", "##ing", "[UNK]", "[UNK]"]
    assert (first.tolist(), last.tolist()) == ([0, 4, 0, 0], [4, 7, 5, 2])
    _, first, last = text.BertTokenizer(PIECES, max_bytes_per_token=4, with_offsets=True)("working a")
    assert (first.tolist(), last.tolist()) == ([0, 8], [7, 9])


def test_each_text_of_an_array_by_itself():
    assert text.RegexReplace("a", "b")([["xa", "aaa"]]).tolist() == [["xb", "bbb"]]
    assert text.FilterWikipediaXML()(["R1", "a\n\nb"]).tolist() == ["r one", "a b"]
    assert text.PythonTokenizer(str.split)(np.array(["a b", "c dd"])).tolist() == [["a", "b"], ["c", "dd"]]
    with pytest.raises(DataError, match="different numbers of tokens"):
        text.PythonTokenizer(str.split)(np.array(["a b", "c"]))


def test_words_are_looked_up_as_they_are_before_in_small_letters(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("The 4 5\nthe 1 2\nok 3 3\n")
    vectors = text.ToVectors(text.Vectors.from_file(str(path)), [0.0, 1.0], True)
    assert vectors(["The", "THE", "OK", "ÉX"]).tolist() == [[4, 5], [1, 2], [3, 3], [0, 1]]
    with pytest.raises(DataError, match="there are no vectors"):
        text.ToVectors(text.Vectors())("a")


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("(?i)a", "flags"),
        ("(?m)^a", "flags"),
        ("[a&&b]", "a set inside of a set"),
        ("[a--b]", "a set inside of a set"),
        ("[[:alpha:]]", "a set inside of a set"),
        ("[:alpha:]", "a class"),
        (r"\p{Greek}", r"\\p\{Greek\}"),
        (r"\p{Lx}", r"\\p\{Lx\}"),
        (r"\Qa\E", r"\\Q"),
        (r"\X", r"\\X"),
        (r"(?<=a*)b", "no regular expression, or none of Python's"),
    ],
)
def test_what_icu_and_python_take_differently_is_refused(pattern, what):
    with pytest.raises(DataError, match=what):
        text.RegexReplace(pattern, "x")("ab")
    with pytest.raises(DataError, match=what):
        text.RegexTokenizer("a", pattern)("ab")


def test_ends_of_words_beside_marks_are_refused():
    assert text.RegexReplace(r"\bé", "x")("é bé").tolist() == "x bé"
    with pytest.raises(DataError, match="combining marks"):
        text.RegexReplace(r"\bé", "x")("e\u0301")


MODELS = json.loads((DATA / "ms_pieces.json").read_text(encoding="utf-8"))
PIECES_PROBE = recorder("ms_pieces")


@pytest.mark.parametrize("kind", MODELS)
def test_sentence_pieces(kind, tmp_path):
    pytest.importorskip("sentencepiece")
    assert json.loads(json.dumps(PIECES_PROBE.pieces(ds, text, kind, str(tmp_path)))) == MODELS[kind]


def test_what_sentence_pieces_refuse(tmp_path):
    pytest.importorskip("sentencepiece")
    vocab, kinds = text.SentencePieceVocab, text.SentencePieceModel
    lines = tmp_path / "lines.txt"
    lines.write_text("a b c\n")
    good = ([str(lines)], 20, 0.9995, kinds.UNIGRAM, {})
    for place, bad, error, what in (
        (0, "lines.txt", TypeError, "file_path must be a list"),
        (0, [], ValueError, "file_path is empty"),
        (0, ["none"], RuntimeError, "SentencePiece: "),
        (1, 0, ValueError, "vocab_size"),
        (1, 5000, RuntimeError, "Vocabulary size too high"),
        (2, 0.5, ValueError, "character_coverage"),
        (3, "UNIGRAM", TypeError, "model_type must be one of SentencePieceModel"),
        (4, {"model_prefix": "m"}, ValueError, "which an argument says"),
        (4, {"nothing": "1"}, RuntimeError, "nothing"),
        (4, None, TypeError, "params must be a dict"),
    ):
        with pytest.raises(error, match=what):
            vocab.from_file(*good[:place], bad, *good[place + 1 :])
    with pytest.raises(RuntimeError, match="no column 'x'"):
        vocab.from_dataset(sentences(), ["x"], *good[1:])
    with pytest.raises(RuntimeError, match="'label' must be text, got int64"):
        sentences().build_sentencepiece_vocab(["label"], *good[1:])
    with pytest.raises(DataError, match="cannot be written"):
        vocab.save_model(vocab(), str(tmp_path / "none"), "m")
    for mode, kind, error, what in (
        (3, text.SPieceTokenizerOutType.INT, TypeError, "mode must be a path"),
        (str(lines), 1, TypeError, "out_type must be one of"),
        ("none", text.SPieceTokenizerOutType.INT, RuntimeError, "none cannot be read"),
        (str(lines), text.SPieceTokenizerOutType.INT, RuntimeError, "no model of SentencePiece's"),
    ):
        with pytest.raises(error, match=what):
            text.SentencePieceTokenizer(mode, kind)


def test_files_that_are_no_dictionaries_and_no_models(known):
    folder = known["FOLDER"]
    for model, words, what in (
        ("model.utf8", "short.utf8", r"short.utf8, line 1: must be a word, a number and a tag, got '一 2'"),
        ("model.utf8", "empty.txt", "empty.txt has no words"),
        ("words.utf8", "words.utf8", "words.utf8 is no hidden Markov model"),
    ):
        with pytest.raises(DataError, match=what):
            text.JiebaTokenizer(folder + model, folder + words)
    jieba = text.JiebaTokenizer(folder + "model.utf8", folder + "words.utf8")
    for bad, error in ((1, TypeError), ("", ValueError)):
        with pytest.raises(error, match="add_word: word"):
            jieba.add_word(bad)


def sentences():
    return ds.NumpySlicesDataset({"text": ["a b", "c [UNK]", "b working"], "label": [0, 1, 1]}, shuffle=False)


def test_worker_processes_give_the_same():
    operations = [
        text.BertTokenizer(PIECES, lower_case=True), text.RegexReplace("x", "y"), text.Lookup(PIECES, "[UNK]", graphc.int64),
    ]  # fmt: skip
    rows = []
    for options in ({}, {"num_parallel_workers": 2, "python_multiprocessing": True}):
        mapped = sentences().map(operations, "text", **options)
        rows.append([r[0].tolist() for r in mapped.create_tuple_iterator(num_epochs=1, output_numpy=True)])
    assert rows[0] == rows[1] == [[3, 4], [5, 5], [4, 0, 1]]


def test_a_data_set_makes_its_vocabulary():
    tokens = sentences().map(text.WhitespaceTokenizer(), "text")
    vocab = tokens.build_vocab(["text"], None, 2, ["<pad>"], True)
    assert vocab.vocab() == {"<pad>": 0, "b": 1, "[UNK]": 2}
    assert vocab.vocab() == text.Vocab.from_dataset(tokens, "text", top_k=2, special_tokens=["<pad>"]).vocab()
    with pytest.raises(DataError, match="at sample 1: Lookup: 'c' is not in the vocab"):
        list(tokens.map(text.Lookup(text.Vocab.from_list(["a", "b"])), "text"))


def test_from_sentences_to_a_training():
    good, bad = ["a fine day", "so fine", "what a fine fine film"], ["a bad day", "so bad", "what a bad film , bad"]
    tokens = ds.NumpySlicesDataset(
        {"text": good + bad, "label": np.array([1] * 3 + [0] * 3, np.int32)}, shuffle=False
    ).map(text.BasicTokenizer(lower_case=True), "text")
    vocab = text.Vocab.from_dataset(tokens, "text", special_tokens=["<pad>", "<unk>"])
    data = tokens.map(text.Lookup(vocab, "<unk>"), "text").padded_batch(3, pad_info={"text": ([6], 0)})

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(len(vocab.vocab()), 8)
            self.out = nn.Dense(8, 2)

        def construct(self, x):
            return self.out(self.words(x).mean(1))

    graphc.set_seed(1)
    net = Net()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = graphc.Model(net, loss, nn.Adam(net.trainable_params(), 0.05), metrics={"accuracy"})
    model.train(30, data, dataset_sink_mode=False)
    assert model.eval(data, dataset_sink_mode=False)["accuracy"] == 1.0
