"""Made-up folders in the layouts of published data sets of texts, a few lines each: what MindSpore reads of them is in
tests/data/ms_sources.json.
"""

import json


def put(root, files):
    """Write files {path: text} below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())


def tables(root):
    three = '"3","Wall St. Bears","Short-sellers, ""ultra-cynics"""\n"4"," A title ","back\\nslash ünï"\n2,plain,"with, comma"\n'
    test = '"1","Test title","Test text"\n"2","","empty title"\n'
    for name in ("agnews", "amazon", "dbpedia", "sogou"):
        put(root / name, {"train.csv": three, "test.csv": test, "classes.txt": "a\n"})
    put(
        root / "yahoo",
        {"train.csv": '"5","why?","because","Best, answer"\n"6","","","x"\n', "test.csv": '"1","a","b","c"\n'},
    )
    put(root / "yelp", {"train.csv": '"1","Bad ""food"" here\\n."\n"2","Good"\n', "test.csv": '"2","Fine."\n'})
    put(
        root / "sst2",
        {
            "train.tsv": "sentence\tlabel\nhide new secretions \t0\ncontains no wit  , only gags\t1\n\nloves its\t1\n",
            "dev.tsv": "sentence\tlabel\nit 's charming .\t1\n",
            "test.tsv": "index\tsentence\n0\tuneasy mishmash\n1\tthe old\n",
        },
    )


def lines(root):
    put(
        root / "ptb",
        {
            "ptb.train.txt": " aer banknote <unk> \n\n pierre N years old \n",
            "ptb.test.txt": " no it was\n",
            "ptb.valid.txt": " consumers may \n mr. n\n",
        },
    )
    put(
        root / "wiki",
        {
            "wiki.train.tokens": " \n = Valkyria = \n \n Senjō no \n",
            "wiki.test.tokens": " = Robert = \n",
            "wiki.valid.tokens": " \n = Homarus = \n",
        },
    )
    put(root / "enwik9", {"enwik9": "<mediawiki>\n  <siteinfo>\n\n    <case>x</case> \nünï"})
    for k, part in enumerate(("training/train", "validation/val", "mmt16_task1_test/test")):
        put(
            root / "multi30k",
            {f"{part}.{lang}": "".join(f"{lang} {k} {j} .\n" for j in range(3 - k)) for lang in ("de", "en")},
        )
    put(
        root / "imdb",
        {
            f"{part}/{kind}/{name}": f"{part} {kind} {name} <br />ünï"
            for part in ("train", "test")
            for kind in ("pos", "neg")
            for name in ("10_2.txt", "1_7.txt", "2_9.txt")[: 3 - (kind == "pos")]
        },
    )


def parts(root):
    put(root / "parts", {f"{k}.txt": f"{k}\n" + f"{k} again\n" * (k % 2) for k in range(6)})


def tagged(root):
    put(
        root / "conll",
        {
            "train.txt": "Confidence NN B-NP\nin IN B-PP\n. . O\n\nHe PRP B-NP\nsaid VBD B-VP\n\n",
            "test.txt": "Rockwell NNP B-NP\nInc NNP I-NP\n\nA DT O\n",
        },
    )
    put(
        root / "udpos",
        {
            "en-ud-tag.v2.train.txt": "Al\tPROPN\tNNP\n-\tPUNCT\tHYPH\nZaman\tPROPN\tNNP\n\nThis\tPRON\tDT\n\n",
            "en-ud-tag.v2.test.txt": "What\tPRON\tWP\nif\tSCONJ\tIN\n\n",
            "en-ud-tag.v2.dev.txt": "From\tADP\tIN\nthe\tDET\tDT\n\nAP\tPROPN\tNNP\n\n",
        },
    )
    entry = [
        {
            "title": "T",
            "paragraphs": [
                {
                    "context": "The Broncos won. ünï",
                    "qas": [
                        {
                            "id": "1",
                            "question": "Who won?",
                            "answers": [
                                {"answer_start": 4, "text": "Broncos"},
                                {"answer_start": 0, "text": "The Broncos"},
                            ],
                        },
                        {"id": "2", "question": "None?", "answers": []},
                    ],
                },
                {
                    "context": "Second.",
                    "qas": [{"id": "3", "question": "What?", "answers": [{"answer_start": 0, "text": "Second"}]}],
                },
            ],
        }
    ]
    for name, version in (("squad1", "1.1"), ("squad2", "2.0")):
        put(
            root / name,
            {
                f"{part}-v{version}.json": json.dumps({"version": version, "data": entry * (1 + k)})
                for k, part in enumerate(("train", "dev"))
            },
        )


CLUE = {
    "afqmc": [{"sentence1": "a", "sentence2": "b", "label": "0"}, {"sentence1": "c", "sentence2": "dé", "label": "1"}],
    "afqmc_test": [{"id": 0, "sentence1": "a", "sentence2": "b"}, {"id": 7, "sentence1": "c", "sentence2": "d"}],
    "tnews": [{"label": "102", "label_desc": "news_x", "sentence": "s", "keywords": "k,l"}],
    "tnews_test": [{"id": 3, "sentence": "s", "keywords": ""}],
    "iflytek": [{"label": "11", "label_des": "lbl", "sentence": "text"}],
    "iflytek_test": [{"id": 2, "sentence": "text"}],
    "cmnli": [{"sentence1": "a", "sentence2": "b", "label": "neutral"}],
    "cmnli_test": [{"id": 5, "sentence1": "a", "sentence2": "b"}],
    "wsc": [
        {
            "target": {"span2_index": 37, "span1_index": 5, "span1_text": "bed", "span2_text": "it"},
            "idx": 261,
            "label": "false",
            "text": "long",
        }
    ],
    "wsc_test": [
        {"target": {"span2_index": 1, "span1_index": 2, "span1_text": "x", "span2_text": "y"}, "idx": 4, "text": "long"}
    ],
    "csl": [{"id": 1, "abst": "abstract", "keyword": ["a", "b"], "label": "0"}],
    "csl_test": [{"id": 9, "abst": "abstract", "keyword": ["a", "b", "c"]}],
}


XML = """<?xml version="1.0" encoding="UTF-8"?>
<mteval>
<srcset setid="x" srclang="{0}">
<doc docid="1" genre="l">
<title>T</title>
<seg id="1"> {0} one &amp; more </seg>
<seg id="2"> {0} two </seg>
</doc>
</srcset>
</mteval>
"""
TAGS = """<url>http://x</url>
<title>{0} title</title>
<description>d</description>
{0} first line.
  {0} second .@
<keywords>k</keywords>
<reviewer></reviewer>
{0} third
""".replace("@", " ")


def translations(root):
    put(
        root / "clue",
        {
            f"{name}.json": "".join(json.dumps(e, ensure_ascii=False) + "\n" for e in entries)
            for name, entries in CLUE.items()
        },
    )
    at = root / "iwslt2016/texts/de/en/de-en"
    for lang in ("de", "en"):
        put(at, {f"train.tags.de-en.{lang}": TAGS.format(lang)})
        put(
            at,
            {
                f"IWSLT16.TED.{name}.de-en.{lang}.xml": XML.format(f"{lang} {name}")
                for name in ("dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014")
            },
        )
    at = root / "iwslt2017/texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo"
    for lang in ("de", "en"):
        put(at, {f"train.tags.de-en.{lang}": TAGS.format(lang)})
        put(
            at,
            {f"IWSLT17.TED.{name}.de-en.{lang}.xml": XML.format(f"{lang} {name}") for name in ("dev2010", "tst2010")},
        )
    for lang in ("en", "it"):
        put(at, {f"train.tags.it-en.{lang}": TAGS.format(lang)})
        put(
            at,
            {f"IWSLT17.TED.{name}.it-en.{lang}.xml": XML.format(f"{lang} {name}") for name in ("dev2010", "tst2010")},
        )


def make(root):
    """All folders below `root`."""
    for part in (tables, lines, parts, tagged, translations):
        part(root)
    return root
