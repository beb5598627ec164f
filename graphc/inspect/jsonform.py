"""The graph of a JSON document.

Documents say {"schema": "graphc.step", "version": 2, ...}; see `graphc.inspect.document`. Those of version 1,
{"schema": "graphc.graph", "version": 1, "text": the text IR, ...}, are read, too. A graph is made from the text alone, so that
there is one grammar.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphc.errors import ParseError
from graphc.inspect.document import SCHEMA, VERSION
from graphc.ir import Graph, parse

#: What can be read: versions by schema.
_KNOWN = {SCHEMA: VERSION, "graphc.graph": 1}


def from_document(document: Any, constants: Mapping[str, np.ndarray[Any, Any]] | None = None) -> Graph:
    """The graph of a JSON document, from its `text`. ParseError if it is none, or of another version."""
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or schema not in _KNOWN:
        raise ParseError("this JSON is no graph of graphc", help=f'expected {{"schema": "{SCHEMA}", ...}}')
    if document.get("version") != _KNOWN[schema]:
        raise ParseError(
            f"this graph has version {document.get('version')!r} of the JSON form, only {_KNOWN[schema]} can be read"
        )
    if not isinstance(document.get("text"), str):
        raise ParseError("this JSON graph is damaged: it has no text")
    return parse(document["text"], constants)
