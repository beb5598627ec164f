"""Pieces of texts by SentencePiece in MindSpore 2.10 (CPU): writes ms_pieces.json beside this file.

usage: python ms_pieces.py, where MindSpore is installed. tests/dataset/test_text.py does the same on graphc. Models of kind
UNIGRAM differ between versions of the library where pieces are about as likely; they are left out.
"""

import json
import pathlib
import random
import tempfile

WORDS = [
    "hello", "world", "the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "piece", "sentence", "token", "model",
    "training", "data", "small", "北京", "大学", "é",
]  # fmt: skip
SIZES = {"BPE": 70, "CHAR": 33, "WORD": 20}
TEXTS = ("hello world", "quick  fox Z!", "", " ", "北京大学é", "tokens over 9 dogs")


def pieces(ds, text, kind, folder):
    """Texts and numbers, of a model of lines in a file and of one of a data set, saved and read."""
    draw = random.Random(3)
    lines = [" ".join(draw.choice(WORDS) for _ in range(draw.randint(3, 9))) for _ in range(200)]
    file = pathlib.Path(folder) / "lines.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = (SIZES[kind], 0.9995, text.SentencePieceModel[kind], {})
    of_file = text.SentencePieceVocab.from_file([str(file)], *options)
    data = ds.TextFileDataset(str(file), shuffle=False)
    of_data = text.SentencePieceVocab.from_dataset(data, ["text"], *options)
    text.SentencePieceVocab.save_model(of_data, folder, "data.model")
    whole = text.SentencePieceTokenizer(of_file, text.SPieceTokenizerOutType.STRING)
    numbers = text.SentencePieceTokenizer(f"{folder}/data.model", text.SPieceTokenizerOutType.INT)
    mapped = data.take(2).map(whole, "text").create_tuple_iterator(num_epochs=1, output_numpy=True)
    found = [[row[0].tolist() for row in mapped]]
    return found + [[whole(t).tolist(), numbers(t).tolist(), str(numbers(t).dtype)] for t in TEXTS]


def main():
    import mindspore.dataset as ds
    from mindspore.dataset import text

    with tempfile.TemporaryDirectory() as folder:
        found = {kind: pieces(ds, text, kind, folder) for kind in SIZES}
    pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
