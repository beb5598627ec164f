"""The file: data, style and script in one, under a policy that lets it load and run nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from importlib.resources import files
from pathlib import Path

from graphc.files import make_directory, write_atomic
from graphc.inspect.document import Record
from graphc.page.material import Material
from graphc.page.view import view

#: The parts of the script, in the order in which they stand in it.
SCRIPTS = ("data", "model", "memory", "rows", "geometry", "draw", "edges", "panel", "passes", "search", "main")
#: What is there before the style is unpacked.
_FIRST = "body{font:14px system-ui,sans-serif}"


def write_page(record: Record, path: str | Path, material: Material) -> Path:
    """Write the page about a step record; it appears complete or not at all, folders are made. Returns its path.

    Raises ArgumentValueError if a parent is a file, OSError.
    """
    file = make_directory(Path(path).parent) / Path(path).name
    return write_atomic(file, page_of(record, material).encode())


def page_of(record: Record, material: Material) -> str:
    """The page as HTML."""
    room = files("graphc.page")
    body, style, loader = ((room / name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "loader.js"))
    script = "".join((room / "script" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    policy = (
        f"default-src 'none'; style-src '{_hash(_FIRST)}' '{_hash(style)}'; script-src '{_hash(loader)}' '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    data = json.dumps(view(record.to_document(), material), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    parts = {
        "policy": policy,
        "first": _FIRST,
        "style": _packed(style),
        "loader": loader,
        "script": _packed(script),
        "data": _packed(data),
        "title": html.escape(record.name),
    }
    # Cut before anything is put in: names may hold what looks like a place.
    pieces = body.split("@")
    pieces[1::2] = [parts[name] for name in pieces[1::2]]
    return "".join(pieces)


def embedded(record: Record, material: Material, height: int = 720) -> str:
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
