"""The file: data, style and script in one, under a policy that lets it load and run nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from graphc.files import write_atomic
from graphc.page.view import view

#: The parts of the script, in the order in which they stand in it.
SCRIPTS = ("data", "model", "memory", "rows", "geometry", "draw", "edges", "panel", "passes", "search", "main")
#: What is there before the style is unpacked.
_FIRST = "body{font:14px system-ui,sans-serif}"


class Material(NamedTuple):
    """What a page shows beside the record; empty where it is not at hand.

    source: the generated step. kernels: the LLVM IR. gone: lines of nodes that a pass has removed, by id.
    """

    source: str = ""
    kernels: str = ""
    gone: Mapping[int, str] = {}


MATERIAL = Material()


def write_page(record: Mapping[str, Any], path: str | Path, material: Material = MATERIAL) -> Path:
    """Write the page about a step record's document; it appears complete or not at all. Returns its path. Raises OSError."""
    return write_atomic(Path(path), page_of(record, material).encode())


def page_of(record: Mapping[str, Any], material: Material = MATERIAL) -> str:
    """The page as HTML."""
    room = files("graphc.page")
    body, style, loader = ((room / name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "loader.js"))
    script = "".join((room / "script" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    policy = (
        f"default-src 'none'; style-src '{_hash(_FIRST)}' '{_hash(style)}'; script-src '{_hash(loader)}' '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    data = json.dumps(view(record, **material._asdict()), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    parts = {
        "policy": policy,
        "first": _FIRST,
        "style": _packed(style),
        "loader": loader,
        "script": _packed(script),
        "data": _packed(data),
        "title": html.escape(record["name"]),
    }
    # Cut before anything is put in: names may hold what looks like a place.
    pieces = body.split("@")
    pieces[1::2] = [parts[name] for name in pieces[1::2]]
    return "".join(pieces)


def embedded(record: Mapping[str, Any], material: Material = MATERIAL, height: int = 720) -> str:
    """The page as a frame of a notebook, `height` pixels high: it can run its own script and nothing around it."""
    return (
        f'<iframe title="the compiled step" sandbox="allow-scripts" width="100%" height="{height}" style="border:0" '
        f'srcdoc="{html.escape(page_of(record, material))}"></iframe>'
    )


def _packed(text: str) -> str:
    # A lone surrogate of a hostile name becomes a question mark. No time in it: the same step gives the same page.
    return base64.b64encode(gzip.compress(text.encode(errors="replace"), 9, mtime=0)).decode()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
