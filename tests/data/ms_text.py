"""What mindspore.dataset.text of MindSpore 2.10 gives and refuses (CPU): writes ms_text.json beside this file.

usage: python ms_text.py, where MindSpore is installed. tests/dataset/test_text.py evaluates the same expressions on graphc.
"""

import hashlib
import json
import pathlib
import random
import tempfile

import numpy as np

FILES = {
    "words.txt": "apple,1\nbanana, 2\n\ncat\napple2\n",
    "ends.txt": "a\r\nb\r\nc d\n",
    "twice.txt": "a\nb\na\n",
    "spaces.txt": " x \n\ty\nz",
    "empty.txt": "",
    "vectors.txt": "ok 0.1 0.2 0.3\nthe 1 2 3\nThe 4 5 6\nthe 9 9 9\n",
    "header.txt": "2 5\nb 3 4\nc 5 6\n",
    "odd.txt": "a 0.1 1e39\nb 1.5e-3x -2\nc x 1e-40\ne 0x10 1_0\nf -nan ٣\nd 16777217 0.30000001192092896 \n",
    "lead.txt": " b 3 4\n",
    "uneven.txt": "a 1 2\nb 3 4 5\n",
    "short.txt": "a 1 2\nb 3\n",
    "blank.txt": "b 3 4\n\nc 5 6\n",
    "header.vec": "3 2\na 1 2\nb 3 4\nc 5 6\n",
    "plain.vec": "a 1 2\nb 3 4\n",
    "glove.6B.2d.txt": "a 1 2\nb 3 4\n",
    "grams.txt": "1gram-a 1 2\n2gram-ab 5 6\n2gram-#BEGIN#a 10 20\n2gram-b#END# 1 1\n3gram-#BEGIN#ab 2 2\n"
    "4gram-#BEGIN#ab#END# 9 9\n"
    "2gram-é 0.1 0.7\n2gram-éa 1 2\n2gram-a#END# 0.2 0.3\n",
}
CHINESE = "床前明月光疑是地上霜举头望低思故乡北京大学生清华欢迎你我们的中国人民"


def jieba_files():
    """A dictionary of some of the words, and a hidden Markov model of most of the characters, in cppjieba's forms."""
    draw = random.Random(1)
    pairs = (CHINESE[k : k + n] for k in range(len(CHINESE)) for n in (2, 3))
    words = sorted({*CHINESE[::2], *(w for w in pairs if draw.random() < 0.35)})
    numbers = [-0.26, None, None, -1.46], [None, -0.51, -0.91, None], [-0.58, None, None, -0.8]
    numbers += [None, -0.33, -1.26, None], [-0.72, None, None, -0.66]
    lines = [" ".join("-3.14e+100" if x is None else str(x) for x in row) for row in numbers]
    lines += [",".join(f"{c}:{-draw.random() * 10:.4f}" for c in CHINESE if draw.random() < 0.8) for _ in range(4)]
    return {
        "words.utf8": "".join(f"{w} {draw.randint(1, 5000)} n\n" for w in words),
        "model.utf8": "#B E M S\n" + "\n\n#\n".join(lines) + "\n",
        "own.utf8": "望低 100\n思故乡\n 地上霜 x\n*bad 3\n人民 7 \n的中国12\n",
        "short.utf8": "一 2\n",
    }


def chinese():
    """Sentences, with what is not Chinese in some of them."""
    draw = random.Random(2)
    made = ["".join(draw.choice(CHINESE) for _ in range(draw.randint(1, 14))) for _ in range(40)]
    made += ["".join(draw.choice(CHINESE + "ab1.2 ，。?Zé😀\t") for _ in range(20)) for _ in range(40)]
    return [*made, *(CHINESE[k : k + 12] for k in range(0, 24)), " ", "3.14abc 1.2.3北京", "abc123北", "，，"]


FILES |= jieba_files()
PIECES = [
    *"床前明月光体字+/-=", "i", "am", "mak", "make", "small", "mistake", "##s", "during", "work", "##ing", "hour", "😀",
    "12", "28", " ", "I", "[CLS]", "[SEP]", "[UNK]",
]  # fmt: skip
SENTENCE = "'I am making small mistakes during working hours'"
V = "text.Vocab.from_list(['a', 'b', 'c'], ['<pad>', '<unk>'])"
P = f"text.Vocab.from_list({PIECES})"
D = "ds.NumpySlicesDataset(list('bacabad'), ['t'], shuffle=False)"
TWO = "ds.NumpySlicesDataset((['a', 'b', 'b'], ['b', 'c', 'c'], [1, 2, 3]), ['x', 'y', 'z'], shuffle=False)"
VECTORS = "text.ToVectors(text.Vectors.from_file(FOLDER + '{}'))({})"
VOCABS = [
    V, "text.Vocab.from_list(['b', 'a'], ['s'], False)", "text.Vocab.from_list([])", "text.Vocab.from_dict({'a': 3, 'b': 9})",
    "text.Vocab.from_dict({})",
    *(f"text.Vocab.from_file(FOLDER + '{f}'{more})" for f, more in (
        ("words.txt", ""), ("words.txt", ", ','"), ("words.txt", ", ',', 2"), ("words.txt", ", ',', 2, ['<p>'], False"),
        ("words.txt", ", ',', 99, ['<p>']"), ("ends.txt", ""), ("ends.txt", ", ' '"), ("spaces.txt", ""), ("empty.txt", ""),
        ("twice.txt", ""), ("words.txt", ", 'pl'"), ("words.txt", ", ',', 2, ['apple']"), ("none.txt", ""),
        ("words.txt", ", 1"), ("words.txt", ", None"), ("words.txt", ", '', 0"), ("words.txt", ", '', 1.5"),
        ("words.txt", ", special_first=1"), ("words.txt", ", special_tokens='a'"),
        ("words.txt", ", special_tokens=['a', 'a']"),
    )),
    *(f"text.Vocab.from_dataset({D}{more})" for more in (
        "", ", 't'", ", ['t'], (2, None)", ", ['t'], (None, 2)", ", ['t'], (1, 2)", ", ['t'], (None, None)", ", ['t'], None, 2",
        ", ['t'], None, 99", ", ['t'], None, 2, ['<p>', '<u>']", ", ['t'], None, 2, ['<p>'], False", ", []",
        ", ['t'], None, None, ['a']", ", ['none']", ", ['t'], (3, 1)", ", ['t'], (-1, 1)", ", ['t'], (1,)", ", ['t'], [1, 2]",
        ", ['t'], (1.5, 2)", ", ['t'], None, 0", ", ['t'], None, 1.5", ", ['t'], None, None, 'a'",
        ", ['t'], None, None, ['a', 'a']", ", ['t'], None, None, [], 1", ", 1", ", ('t',)",
    )),
    f"text.Vocab.from_dataset({D}.repeat(2), ['t'], (2, 4))", f"text.Vocab.from_dataset({TWO}, ['x', 'y'])",
    f"text.Vocab.from_dataset({TWO})",
    "text.Vocab.from_dataset(ds.NumpySlicesDataset(['É', 'é', 'Z', 'a', '北', ''], ['t'], shuffle=False))",
    "text.Vocab.from_dataset(ds.NumpySlicesDataset([['a', 'b'], ['a', 'c']], ['t'], shuffle=False).batch(2))",
    "text.Vocab.from_list(['a', 'a'])", "text.Vocab.from_list(('a', 'b'))", "text.Vocab.from_list(['a'], ['a'])",
    "text.Vocab.from_list(['a'], ('x',))", "text.Vocab.from_list(['a', 1])", "text.Vocab.from_list(['a'], special_first=1)",
    "text.Vocab.from_dict({'a': -1})", "text.Vocab.from_dict({'a': 1.5})", "text.Vocab.from_dict({'a': True})",
    "text.Vocab.from_dict({'a': 2**31})", "text.Vocab.from_dict({1: 1})", "text.Vocab.from_dict([('a', 1)])", "text.Vocab()",
]  # fmt: skip
WORDS = [
    *(f"{V}.tokens_to_ids({x})" for x in (
        "'a'", "['a']", "['a', 'zz']", "[]", "'zz'", "np.array(['a', 'b'])", "np.array('a')", "np.array([['a', 'b']])",
        "np.array([1])", "('a',)", "[1]",
    )),
    *(f"{V}.ids_to_tokens({x})" for x in (
        "1", "[1]", "[1, 77]", "77", "-1", "[-1]", "[]", "np.array([1, 2])", "np.array(2)", "np.array([-1])", "[1.0]", "True",
        "(1,)",
    )),
    *(f"text.Lookup({V}{more})({x})" for more, x in (
        ("", "'a'"), ("", "['a', 'b']"), ("", "[['a', 'b'], ['c', 'c']]"), ("", "'zz'"), (", '<unk>'", "['zz', 'a', '']"),
        (", 'none'", "'a'"), (", None, ms.int64", "'a'"), (", None, ms.float16", "['a', 'b']"), (", None, ms.bool_", "['a']"),
        (", 1", "'a'"), ("", "1"), ("", "b'a'"), ("", "'a', 'b'"),
    )),
    "text.Lookup(text.Vocab.from_dict({'a': 300}), None, ms.uint8)('a')", "text.Lookup('x')", "text.Lookup(text.Vocab())",
]  # fmt: skip
NUMBERS = [
    *(f"text.ToNumber(ms.{dtype})([{x}])" for dtype, x in (
        ("int32", "'12', '-3', ' 12', '12 ', '+12', '12.5', '1e2', '0x10', '010', '12a', '\\t2'"), ("int32", "''"),
        ("int32", "'a'"), ("int32", "'2147483648'"), ("int32", "'-2147483648'"), ("int64", "'9223372036854775807'"),
        ("int64", "'9223372036854775808'"), ("int8", "'128'"), ("uint8", "'255'"), ("uint8", "'-1'"), ("uint8", "'1-2'"),
        ("uint64", "'18446744073709551615'"), ("uint64", "'-0'"), ("int32", "'--2'"), ("int32", "'٣'"),
        ("float32", "'1.5', '-2e3', '1.5x', ' 1.5', '0x1p3', '0.1', '16777217', '3.4028235e38', 'nan', '0x1p-149'"),
        ("float32", "'-0', '0e999', '0x', '0x.8', '1e', '1e+', '.5', '5.'"),
        ("float32", "'1.00000005960464477539062500000000000000000001', '1.000000059604644775390625'"),
        ("float32", "'1e39'"), ("float32", "'1e-50'"), ("float32", "'1e-40'"), ("float32", "'inf'"), ("float32", "'.'"),
        ("float32", "'x'"), ("float64", "'0.1', '1e308', '1_0', '0x1p-1074', '1,5'"), ("float64", "'1e309'"),
        ("float64", "'1e-310'"), ("float16", "'0.1', '65504', '1e-9', '2049', '2051', '6e-8', '2.9e-8'"),
        ("float16", "'65504.1'"), ("bool_", "'1'"),
    )),
    "text.ToNumber(ms.int32)(5)", "text.ToNumber(ms.int32)([['1', '2'], ['3', '4']])", "text.ToNumber(ms.int32)('7')",
]  # fmt: skip
SEQUENCES = [
    *(f"text.Truncate(2)({x})" for x in (
        "['a', 'b', 'long']", "['a']", "'abc'", "[1, 2, 3]", "[[1, 2, 3], [4, 5, 6]]", "np.array([1, 2, 3], np.float16)", "5",
        "np.array([b'a'])",
    )),
    "text.Truncate(0)", "text.Truncate(1.5)", "text.Truncate(True)",
    *(f"text.TruncateSequencePair({n})({x})" for n, x in (
        (4, "['a', 'b', 'c'], ['d', 'e', 'f']"), (4, "['a', 'b', 'c', 'd', 'e'], ['d']"),
        (5, "['a', 'b', 'c'], ['d', 'e', 'f']"), (3, "['a', 'b', 'c'], ['d', 'e', 'f']"),
        (2, "['a', 'b', 'c', 'd', 'e'], ['d', 'e']"), (0, "['a', 'b'], ['d']"), (1, "['a', 'b'], ['d']"),
        (9, "['a', 'b'], ['d']"), (3, "['a', 'b'], ['c', 'd', 'e', 'f']"), (4, "[1, 2, 3]"), (4, "'a', 'b'"),
        (4, "np.array([1, 2, 3], np.float32), np.array([4, 5, 6], np.int8)"), (4, "[1], [2], [3]"),
    )),
    *(f"text.AddToken({t})({x})" for t, x in (
        ("'T'", "['a', 'b']"), ("'T', False", "['a', 'b']"), ("'TOK'", "[['a', 'b'], ['c', 'd']]"), ("'T'", "'a'"),
        ("'T'", "[1]"), ("''", "['a']"), ("1", "['a']"), ("'T', 1", "['a']"),
    )),
    *(f"text.SlidingWindow({w})({x})" for w, x in (
        ("2", "['a', 'b', 'c']"), ("2", "[1, 2, 3]"), ("2, -1", "[1, 2, 3]"), ("2, 1", "[1, 2, 3]"), ("4", "[1, 2, 3]"),
        ("4", "['a']"), ("3", "[1, 2, 3]"), ("2", "[[1, 2]]"), ("2", "'a'"), ("0", "[1]"), ("1.5", "[1]"), ("2, 1.0", "[1]"),
    )),
    *(f"text.Ngram({n})({x})" for n, x in (
        ("2", "['a', 'b', 'c']"), ("[3, 2]", "['a', 'b']"), ("3", "['a', 'b']"), ("1", "['a', 'b']"),
        ("2, ('_', 5), ('=', 5)", "['a', 'b']"), ("[3, 2], ('_', 2), ('=', 1)", "['a', 'b']"), ("3, ('_', 1)", "['a']"),
        ("2, separator='-'", "['a', 'b']"), ("2, ('', 1)", "['a']"), ("2", "'a'"), ("2", "[1, 2]"), ("[]", "['a']"),
        ("0", "['a']"), ("1.5", "['a']"), ("[1.5]", "['a']"), ("2, ('a',)", "['a']"), ("2, ('a', -1)", "['a']"),
        ("2, separator=1", "['a']"), ("True", "['a']"),
    )),
]  # fmt: skip
TOKENS = [
    *(f"text.{t}({o})({x})" for t in ("UnicodeCharTokenizer", "WhitespaceTokenizer", "BasicTokenizer")
      for o, x in (("", "'aé 北'"), ("with_offsets=True", "'aé  北😀\\t\\u3000x,'"), ("", "''"), ("with_offsets=True", "' '"),
                   ("", "['a']"), ("", "1"), ("with_offsets=1", "'a'"), ("", "'a\\x1cb'"))),
    "text.PythonTokenizer(str.split)(np.array('a b c'))", "text.PythonTokenizer(str.split)(np.array(['a b', 'c d']))",
    "text.PythonTokenizer(str.split)(np.array(b'a b'))", "text.PythonTokenizer(lambda s: 1 / 0)(np.array('a'))",
    "text.PythonTokenizer(lambda s: 'ab')(np.array('a'))", "text.PythonTokenizer(str.split)('a b')", "text.PythonTokenizer(3)",
    *(f"text.BasicTokenizer({o})({x!r})" for o, x in (
        ("", "Welcome to Beijing, 北京! [CLS] [unk] [UNK] don't a_b $+<=>^`|~"), ("True", "WÉlcome [cls] Straße [SEP]"),
        ("False, True", "a  b\tc\x01\x02 \x01d"), ("True, True, with_offsets=True", "ÉÀ\u0301  b\tc"),
        ("preserve_unused_token=False", "[CLS] a"), ("True, preserve_unused_token=False", "[CLS] A"),
        ("False, False, text.NormalizeForm.NFKC", "ﬁ ＡÉ [ＣＬＳ]"), ("False, False, text.NormalizeForm.NFD", "É"),
        ("", "[unused1] [unused12] [unused] [MASK] [PAD] [SEP][CLS] [[CLS]] [unused٣]"), ("True", "\u0301"),
        ("1", "a"), ("False, 1", "a"), ("False, False, 1", "a"), ("False, False, text.NormalizeForm.NONE, 1", "a"),
    )),
    *(f"text.BertTokenizer({P}{o})({SENTENCE})" for o in (
        "", ", with_offsets=True", ", lower_case=True", ", unknown_token=''", ", '@@'", ", max_bytes_per_token=3",
        ", keep_whitespace=True", ", max_bytes_per_token=1.5", ", max_bytes_per_token=-1", ", 1", ", unknown_token=None",
    )),
    f"text.BertTokenizer({P}, with_offsets=True)('床前明月光😀, [CLS] 12')", f"text.BertTokenizer({P})('')",
    "text.BertTokenizer(None)", "text.BertTokenizer('x')",
    *(f"text.WordpieceTokenizer({P}{o})({x})" for o, x in (
        ("", "'making'"), ("", "['making', 'small', 'zebra', '']"), (", with_offsets=True", "['making', 'zebra', 'working']"),
        (", unknown_token=''", "['zebra', 'workx']"), (", max_bytes_per_token=6", "['making', 'workings']"), ("", "['']"),
        (", max_bytes_per_token=0", "['am']"), (", '', with_offsets=True", "['workam']"), ("", "[['a']]"), ("", "1"),
        (", max_bytes_per_token=True", "'a'"), (", max_bytes_per_token=-1", "'a'"),
    )),
    "text.WordpieceTokenizer(None)",
]  # fmt: skip
FORMS = [
    *(f"text.CaseFold()({x})" for x in ("'Welcome TO ß İ ΑΣ Ａ ﬁ\\u00ad'", "['A', 'B']", "[['A']]", "''", "1")),
    *(f"text.NormalizeUTF8(text.NormalizeForm.{f})(['ṩ', 'ḍ̇', 'ﬁ', '2⁵', 'ẛ', '\\U0001e030'])"
      for f in ("NONE", "NFC", "NFKC", "NFD", "NFKD")),
    "text.NormalizeUTF8()('ﬁ')", "text.NormalizeUTF8(None)", "text.NormalizeUTF8('NFC')", "text.NormalizeUTF8()(1)",
    *(f"text.FilterWikipediaXML()({x!r})" for x in (
        "Welcome    to    China", "b1c 12", "a<b>c<d>e", "x<a\nb>y<c>z", "x<a\rb>y<c>z", "a&amp;lt;b &nbsp; & b; c", "&<a>;b",
        "[[Image:foo.jpg|thumb|caption]] {{ref}} {|c|} https://a.b/c?d=1", "x #REDIRECT y", "#redirect z", "a\nb\n c \n d", "\n",
        "É\tb\u2028c", "",
    )),
    "text.FilterWikipediaXML()(1)",
    "text.to_bytes(np.array(['1', 'é']))", "text.to_bytes(np.array(['é']), 'latin1')", "text.to_bytes(['1'])",
    "text.to_bytes(np.array([1]))", "text.to_str(np.array([b'1']))", "text.to_str(np.array([b'\\xe9']), 'latin1')",
    "text.to_str([b'1'])",
    # Every character, as digests.
    *(f"DIGEST(text.NormalizeUTF8(text.NormalizeForm.{f})(EVERY))" for f in ("NFC", "NFKC", "NFD", "NFKD")),
    "DIGEST(text.CaseFold()(EVERY))",
    *(f"DIGEST(text.RegexReplace(r'{p}+', '')(''.join(EVERY.tolist())))" for p in
      (r"\p{L}", r"\P{Mn}", r"\p{P}", r"\p{Cc}", r"[\p{Cf}\p{S}]", r"\p{N}", r"\s", r"\W", r"\d", r".", r"\h", r"\v")),
    *(f"DIGEST(text.{t}('\\n'.join('a' + c + 'b' for c in EVERY.tolist())))" for t in
      ("WhitespaceTokenizer()", "BasicTokenizer()", "BasicTokenizer(True)")),
]  # fmt: skip
REGULAR = [
    *(f"text.RegexReplace({p!r}, {r!r})({x!r})" for p, r, x in (
        ("apple", "orange", "apple x apple"), ("(a)(b)", "$2$1", "abab"), ("(a)(b)", "$3", "abab"), ("(a)", r"\$1", "a"),
        ("(a)", r"\1", "a"), ("(a)", "$0$0", "a"), ("(a)", "$", "a"), ("(a)", "$x", "a"), ("(?<n>a)", "${n}!", "a"),
        ("(?<n>a)", "${q}!", "a"), ("(a)", "$12", "a"), ("a", r"\n\u0041", "a"), ("a", "x\\", "a"), ("(a)|b", "[$1]", "ab"),
        ("a*", "-", "baac"), ("", "-", "ab"), ("x*", "-", ""), ("a|", "x", "ab"), ("a||b", "x", "ab"), ("a*?", "x", "aab"),
        ("[", "x", "a"), ("(", "x", "a"), ("a)", "x", "a"), ("*a", "x", "a"), ("a**", "x", "a"), ("a{,2}", "x", "a"),
        ("a{", "x", "a"), ("}", "x", "a"), ("[]", "x", "a"), ("[z-a]", "x", "a"), (r"[a-\d]", "x", "a"), ("\\", "x", "a"),
        (r"(a)\2", "x", "a"), (r"\8", "x", "8"), (r"\pL", "x", "a"), ("(?P<n>a)", "x", "a"), ("a{3,2}", "x", "a"),
        ("^a", "x", "a\na"), ("a$", "x", "a\n"), ("a$", "x", "a\r\n"), ("a$", "x", "a\u0085"), ("a$", "x", "a\n\n"),
        (r"a\Z", "x", "a\n"), (r"a\z", "x", "a\n"), (r"\Aa", "x", "aa"), ("$", "x", "a\n"), ("$", "x", "a\r\n"),
        ("^", "x", "a\nb"),
        ("a{2}", "x", "aaa"), ("a{2,}", "x", "aaa"), ("a{0}", "x", "aa"), ("a*+a", "x", "aaa"), ("(?>a*)a", "x", "aaa"),
        ("a+?", "x", "aaa"), ("a.c", "x", "a\x0bc a\x1cc"), ("]", "x", "]"), ("[]a]", "x", "]a"), ("[^]a]", "x", "]ab"),
        ("[a b]", "x", "a b"), ("[a-]", "x", "a-"), (r"[a\-b]", "x", "a-b"), ("[$.*+?|(){}&]", "x", "$.*+?|(){}&a"),
        ("[!-/:-@]", "x", "!:a"), (r"[^\x00-\x7f]", "x", "aé"), (r"[\d.]", "x", "1.a"), (r"[\W]", "x", "é b"),
        (r"\x41\x{1F600}\u4e00\U0001F600", "x", "A😀一😀"), (r"\a\e\f\n\r\t", "x", "\a\x1b\f\n\r\t"),
        (r"\-\_\!\/\é\ ", "x", "-_!/é "),
        (r"(a)\1", "x", "aa"), ("a(?=b)", "x", "ab"), ("(?<=a)b", "x", "ab"), ("(?<!a)b", "x", "ab"), ("(?:a|b)+", "x", "abba"),
        (r"\bfoo\b", "x", "foo foot don't foo-bar fooé"), (r"\B", "x", "ab c"), (".", "x", "😀"), ("[😀-😂]", "x", "😁"),
        (r"[\p{L}\p{N}]+", "x", "abc é1!"), (r"\P{L}+", "x", "abc é1"), (r"[^\p{L}]", "x", "a1"), ("é", "x", "e\u0301 é"),
    )),
    "text.RegexReplace('a', 'b', False)('aa')", "text.RegexReplace('a', 'b')(['a'])", "text.RegexReplace('a', 'b')(1)",
    "text.RegexReplace(1, 'x')", "text.RegexReplace('a', 1)", "text.RegexReplace('a', 'b', 1)",
    *(f"text.RegexTokenizer({p})({x!r})" for p, x in (
        ("'[ |,]', with_offsets=True", "Welcome  |,  To  |,  BeiJing!"), ("'To', 'To', True", "Welcome     To   BeiJing!"),
        (r"'\\s+', '', True", "é 北 b"), (r"'\\s+', '\\s+', True", " é 北 b "), ("'a|b', 'a'", "xaybz"), ("'ab', 'a'", "xaby"),
        ("'ab', 'ab|x'", "xaby"), ("'x*', 'x*'", "abxc"), ("''", "abc"), ("'x'", ""), ("'x', with_offsets=True", "xx"),
        ("'(?=b)'", "abab"), ("'a+', '^a+$'", "xaay"), ("'a|ab', 'ab'", "xaby"), ("'['", "a"), ("'x', '['", "a"), ("None", "a"),
        ("1", "a"), ("'x', 1", "a"), ("'x', '', 1", "a"),
    )),
    "text.RegexTokenizer('x')(['a'])",
]  # fmt: skip
EMBEDDED = [
    *(VECTORS.format(f, x) for f, x in (
        ("vectors.txt", "'ok'"), ("vectors.txt", "['ok', 'zz', 'The', 'the']"), ("vectors.txt", "[['ok', 'the']]"),
        ("vectors.txt", "['ok']"), ("vectors.txt", "1"), ("header.txt", "['b', 'c', '2']"),
        ("odd.txt", "['a', 'b', 'c', 'd', 'e', 'f']"),
        ("lead.txt", "['b', '']"), ("uneven.txt", "'a'"), ("short.txt", "'a'"), ("blank.txt", "'b'"), ("empty.txt", "'b'"),
        ("none.txt", "'b'"),
    )),
    *(f"text.ToVectors(text.Vectors.from_file(FOLDER + 'vectors.txt'{n}){o})(['ok', 'zz', 'The'])" for n, o in (
        (", 1", ""), (", 0", ""), ("", ", [-1, -2, -3.5]"), ("", ", (-1, -2)"), ("", ", 'abc'"), ("", ", ['a']"),
        ("", ", None, 1"), (", -1", ""), (", 1.5", ""),
    )),
    "text.ToVectors(text.Vectors.from_file(FOLDER + 'vectors.txt'), None, True)(['OK', 'tHE'])",
    "text.ToVectors('x')", "text.ToVectors(text.FastText.from_file(FOLDER + 'header.vec'))(['a', 'b', '3'])",
    "text.ToVectors(text.FastText.from_file(FOLDER + 'plain.vec'))(['a', 'b'])",
    "text.FastText.from_file(FOLDER + 'vectors.txt')",
    "text.ToVectors(text.GloVe.from_file(FOLDER + 'glove.6B.2d.txt'))(['a', 'b'])", "text.GloVe.from_file(FOLDER + 'header.txt')",
    "text.ToVectors(text.CharNGram.from_file(FOLDER + 'grams.txt'))(['a', 'ab', 'aab', 'b', 'x', '', 'é', 'éa', 'ba'])",
    "text.ToVectors(text.CharNGram.from_file(FOLDER + 'grams.txt'), [-1, -2])(['x', 'ab', 'AB'])",
]  # fmt: skip
ROWS = [
    f"{D}.map(text.Lookup({V}, '<unk>'))", f"{D}.map(text.Lookup({V}))", f"{D}.batch(2, True).map(text.Lookup({V}, '<unk>'))",
    f"{TWO}.map(text.Lookup({V}), ['x', 'y'])",
    "ds.NumpySlicesDataset(['a b', 'c'], ['t'], shuffle=False).map(text.WhitespaceTokenizer(True), 't', ['t', 'i', 'j'])",
    f"ds.NumpySlicesDataset(['a b', 'c'], ['t'], shuffle=False).map([text.WhitespaceTokenizer(), text.Lookup({V})], 't')",
    "ds.NumpySlicesDataset(['a b', 'c'], ['t'], shuffle=False).map(text.PythonTokenizer(str.split), 't')",
]  # fmt: skip


JIEBA = "text.JiebaTokenizer(FOLDER + 'model.utf8', FOLDER + 'words.utf8', {})"
#: With words that are added, and with a file of them.
ADDED = (
    "[t := " + JIEBA + ", t.add_word('月光疑是'), t.add_word('霜', 5000), t.add_word('前', 3),"
    " t.add_dict({{'京大': 200, '们': 1, '你我': 0}}), cut(t)][-1]"
)
OWN = "[t := " + JIEBA + ", t.add_dict(FOLDER + 'own.utf8'), cut(t)][-1]"
CHINESE_WORDS = [
    *(form.format(mode) for mode in ("mode=text.JiebaMode.MP", "mode=text.JiebaMode.HMM", "text.JiebaMode.MIX")
      for form in (f"cut({JIEBA})", ADDED, OWN)),
    *(JIEBA.format("with_offsets=True") + f"({text!r})" for text in ("北京大学 abc1.5，大", "é明月光", "我")),
    JIEBA.format("mode=2"), JIEBA.format("with_offsets=1"), JIEBA.format("") + "(['北', '京'])",
    "text.JiebaTokenizer(FOLDER + 'none', FOLDER + 'words.utf8')", "text.JiebaTokenizer(FOLDER + 'model.utf8', FOLDER + 'none')",
    JIEBA.format("") + ".add_word('北', -1)",
    JIEBA.format("") + ".add_dict(1)", JIEBA.format("") + ".add_dict('none')",
]  # fmt: skip
SCRIPTS = [
    f"scripts(text.UnicodeScriptTokenizer(True), {k})" for k in range(0, 0x110000, 0x1000)
    if k < 0x33000 or k >= 0xE0000
] + [
    f"text.UnicodeScriptTokenizer({given})({text!r})" for given in ("", "True", "with_offsets=True", "True, True")
    for text in ("Chinese中国 abc", "a\u0301b", "  a  b ", "", "   ", "a1", "あア", "１２ａ", "😀a", "а\u0300\u1680\u3000")
] + ["text.UnicodeScriptTokenizer(1)", "text.UnicodeScriptTokenizer()(['a', 'b'])"]  # fmt: skip


def cut(tokenizer):
    """A digest of the words of all sentences."""
    return digest(np.concatenate([tokenizer(sentence) for sentence in chinese()]))


def scripts(tokenizer, first):
    """A digest of the parts of 4096 characters in a row."""
    codes = [c for c in range(first, first + 0x1000) if c and not 0xD800 <= c < 0xE000]
    return digest(tokenizer("".join(map(chr, codes)))) if codes else None


def plain(value):
    """A result as JSON."""
    if isinstance(value, np.ndarray):
        kind = {"U": "text", "S": "bytes"}.get(value.dtype.kind, value.dtype.name)
        return [kind, list(value.shape), str(value.tolist())]
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, [plain(v) for v in value]]
    return [type(value).__name__, str(value)]


def folder(path):
    """The files, in a folder; its path, with a slash."""
    for name, content in FILES.items():
        (pathlib.Path(path) / name).write_text(content, encoding="utf-8", newline="\n")
    return f"{path}/"


def digest(value):
    """A digest of texts."""
    return hashlib.sha256("\n".join(np.atleast_1d(value).tolist()).encode()).hexdigest()


def names(ms, ds, text, path):
    """What expressions may name."""
    every = np.array([chr(c) for c in [*range(1, 0xD800), *range(0xE000, 0x20000)]])
    return {
        "ms": ms,
        "ds": ds,
        "text": text,
        "np": np,
        "FOLDER": folder(path),
        "EVERY": every,
        "DIGEST": digest,
        "cut": cut,
        "scripts": scripts,
    }


def outcome(text, known):
    """What an expression gives, or the builtin exception that it raises."""
    try:
        made = eval(text, known)
        if text in VOCABS:
            return plain(sorted(made.vocab().items()))
        if text in ROWS:
            return plain([list(row) for row in made.create_tuple_iterator(num_epochs=1, output_numpy=True)])
        # What is constructed alone is fine.
        return plain(made) if isinstance(made, (np.ndarray, tuple, list, str, int)) else "made"
    except Exception as raised:
        return next(c.__name__ for c in type(raised).__mro__ if c.__module__ == "builtins" and c is not Exception)


ALL = [*VOCABS, *WORDS, *NUMBERS, *SEQUENCES, *TOKENS, *FORMS, *REGULAR, *EMBEDDED, *ROWS, *CHINESE_WORDS, *SCRIPTS]


def main():
    import mindspore as ms
    import mindspore.dataset as ds

    with tempfile.TemporaryDirectory() as path:
        known = names(ms, ds, ds.text, path)
        found = {text: outcome(text, known) for text in ALL}
    pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
