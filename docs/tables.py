"""Writes the generated tables of the documentation: `python docs/tables.py`. A test checks that they are up to date.

A table stands between `<!-- begin NAME -->` and `<!-- end NAME -->`; the list of a long page's sections has the name `contents`.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import graphc
from graphc import amp, dataset, mindrecord, mint, nn, ops, train
from graphc import numpy as graphc_numpy
from graphc import scipy as graphc_scipy
from graphc.errors import CODES, GraphcError
from graphc.errors.unsupported import INSTEAD
from graphc.experimental import optim
from graphc.ir import NO_GRAD, REQUIRED, OpDef, all_ops
from graphc.ir.op import Kernel, Lowering, Reduce
from graphc.nn.metrics.confusion import FORMULAS
from graphc.ops.tensor.dtype import DType

DOCS = Path(__file__).resolve().parent


def ops_table() -> list[str]:
    """Every declared op; some are declared in modules that are imported late."""
    for module in pkgutil.walk_packages(ops.__path__, "graphc.ops."):
        import_module(module.name)
    lines = ["| op | operands | attributes | gradient | lowering | what it is |", "|---|---|---|---|---|---|"]
    for op in sorted(all_ops().values(), key=lambda op: op.name):
        attrs = ", ".join(k if v is REQUIRED else f"{k}={v!r}" for k, v in op.attrs.items())
        cells = (f"`{op.name}`", ", ".join(op.operands), attrs, _gradient(op), _lowering(op.lower), op.doc)
        lines.append(_row(*cells))
    return lines


def _gradient(op: OpDef) -> str:
    if op.grad is None:
        return "none"
    return "zero" if op.grad is NO_GRAD else "yes"


def _lowering(lower: Lowering | None) -> str:
    if lower is None:
        return "none"
    name = type(lower).__name__.lower()
    if isinstance(lower, Reduce):
        return f"reduce: {'mean' if lower.mean else lower.combine}"
    if isinstance(lower, Kernel) and lower.dtypes != ("float32",):
        return f"{name}: {', '.join(lower.dtypes)}"
    return name


def codes_table() -> list[str]:
    """Every error code, with the classes whose default it is."""
    classes: dict[str, list[str]] = {}
    for cls in vars(graphc.errors).values():
        if inspect.isclass(cls) and issubclass(cls, GraphcError) and cls is not GraphcError:
            names = classes.setdefault(cls.default_code, [])
            names += [f"`{cls.__name__}`"] if f"`{cls.__name__}`" not in names else []
    lines = ["| code | meaning | default of |", "|---|---|---|"]
    return lines + [_row(f"`{code}`", text, ", ".join(classes.get(code, []))) for code, text in sorted(CODES.items())]


def switches_table() -> list[str]:
    """Every environment variable, from the documentation of graphc.debug."""
    rows = re.findall(r"^((?:GRAPHC|MS_DEV)_\S+)\s+(.+)$", sys.modules["graphc.debug"].__doc__ or "", re.MULTILINE)
    return ["| switch | effect |", "|---|---|", *(_row(f"`{name}`", text.replace("|", "/")) for name, text in rows)]


def _names(module: Any) -> Callable[[], list[str]]:
    def table() -> list[str]:
        lines = ["| name | what it is |", "|---|---|"]
        for name in sorted(module.__all__, key=lambda n: (n.lower(), n)):
            member = getattr(module, name)
            text = "a module" if inspect.ismodule(member) else _first_sentence(member)
            lines.append(_row(f"`{name}`", text))
        return lines

    return table


def _first_sentence(member: Any) -> str:
    if not (inspect.isclass(member) or callable(member)):
        return f"`{member if isinstance(member, DType) else repr(member)}`"
    paragraph = (inspect.getdoc(member) or "").split("\n\n")[0].replace("\n", " ")
    without_source = re.sub(r"(;| \() ?MindSpore: [^()]*\)", lambda m: ")" if m[1] == ";" else "", paragraph)
    return re.split(r"(?<=\.) (?=[A-Z\"])", without_source)[0].removesuffix(".")


def _row(*cells: str) -> str:
    return f"| {' | '.join(c.replace('|', chr(92) + '|') for c in cells)} |"


def confusion_table() -> list[str]:
    """The numbers of nn.ConfusionMatrixMetric, with all their names."""
    rows = (_row(*(f"`{n}`" for n in names.split()[:1]), ", ".join(names.split()[1:])) for names, _ in FORMULAS)
    return ["| metric_name | other names |", "|---|---|", *rows]


def instead_table() -> list[str]:
    """What is left out on purpose, by what to use for it."""
    lines = ["| names | of | what to use |", "|---|---|---|"]
    for part, entries in INSTEAD.items():
        names: dict[str, list[str]] = {}
        for name, use in entries.items():
            names.setdefault(use.removeprefix("use "), []).append(f"`{name}`")
        lines += [_row(", ".join(sorted(group)), f"`{part}`", use) for use, group in names.items()]
    return lines


TABLES: dict[str, Callable[[], list[str]]] = {
    "ops": ops_table,
    "codes": codes_table,
    "switches": switches_table,
    "nn-names": _names(nn),
    "distribution-names": _names(nn.probability.distribution),
    "bijector-names": _names(nn.probability.bijector),
    "bnn-names": _names(nn.probability.bnn_layers),
    "ops-names": _names(ops),
    "graphc-names": _names(graphc),
    "numpy-names": _names(graphc_numpy),
    "fft-names": _names(graphc_numpy.fft),
    "scipy-linalg-names": _names(graphc_scipy.linalg),
    "scipy-fft-names": _names(graphc_scipy.fft),
    "scipy-optimize-names": _names(graphc_scipy.optimize),
    "amp-names": _names(amp),
    "train-names": _names(train),
    "mint-names": _names(mint),
    "mint-linalg-names": _names(mint.linalg),
    "mint-special-names": _names(mint.special),
    "mint-nn-names": _names(mint.nn),
    "mint-functional-names": _names(mint.nn.functional),
    "experimental-names": _names(optim),
    "schedulers-names": _names(optim.lr_scheduler),
    "confusion-names": confusion_table,
    "instead": instead_table,
    "dataset-names": _names(dataset),
    "mindrecord-names": _names(mindrecord),
    "dataloader-names": _names(dataset.dataloader),
    "transforms-names": _names(dataset.transforms),
    "audio-names": _names(dataset.audio),
    "text-names": _names(dataset.text),
    "vision-names": _names(dataset.vision),
}
#: The page of each table.
PAGES = {
    "ops": "ops.md",
    "codes": "errors.md",
    "switches": "debugging.md",
    "nn-names": "mindspore.md",
    "distribution-names": "mindspore.md",
    "bijector-names": "mindspore.md",
    "bnn-names": "mindspore.md",
    "ops-names": "mindspore.md",
    "graphc-names": "mindspore.md",
    "numpy-names": "mindspore.md",
    "fft-names": "mindspore.md",
    "scipy-linalg-names": "mindspore.md",
    "scipy-fft-names": "mindspore.md",
    "scipy-optimize-names": "mindspore.md",
    "amp-names": "mindspore.md",
    "train-names": "mindspore.md",
    "mint-names": "mindspore.md",
    "mint-linalg-names": "mindspore.md",
    "mint-special-names": "mindspore.md",
    "mint-nn-names": "mindspore.md",
    "mint-functional-names": "mindspore.md",
    "experimental-names": "mindspore.md",
    "schedulers-names": "mindspore.md",
    "instead": "mindspore.md",
    "confusion-names": "training.md",
    "dataset-names": "data.md",
    "mindrecord-names": "data.md",
    "dataloader-names": "data.md",
    "transforms-names": "data.md",
    "audio-names": "data.md",
    "text-names": "data.md",
    "vision-names": "data.md",
}


def anchor(heading: str) -> str:
    """By which a heading is linked to, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def headings(text: str, marks: str = "##") -> list[str]:
    """The headings of a page that begin with such marks; `#+` for all."""
    return re.findall(
        rf"^{marks} (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )


def contents(text: str) -> list[str]:
    """Links to the sections of a page, some in a line."""
    return textwrap.wrap(
        " · ".join(f"[{h.replace(' ', chr(160))}](#{anchor(h)})" for h in headings(text)),
        125,
        break_on_hyphens=False,
        break_long_words=False,
    )


def fill(text: str, name: str) -> str:
    """A page's text with the table of that name as it should be."""
    pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(\n<!-- end {name} -->)", re.DOTALL)
    table = "\n".join(contents(text) if name == "contents" else TABLES[name]()).replace(chr(160), " ")
    filled, count = pattern.subn(lambda m: f"{m[1]}{table}{m[2]}", text)
    if count != 1:
        raise ValueError(f"the page has {count} places for table {name!r}, expected one")
    return filled


def main() -> int:
    """Rewrite the pages. Returns 1 if any changed, as pre-commit expects."""
    changed = False
    long = [("contents", page.name) for page in DOCS.glob("*.md") if "<!-- begin contents -->" in page.read_text()]
    for name, page in (*PAGES.items(), *long):
        path = DOCS / page
        before = path.read_text()
        after = fill(before, name)
        if after != before:
            path.write_text(after)
            print(f"{page}: table {name} rewritten")
            changed = True
    return int(changed)


if __name__ == "__main__":
    sys.exit(main())
