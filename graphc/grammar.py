"""The text form's grammar as patterns: `graphc.ir.parse` makes graphs of it, `graphc.inspect.listing` lines to look at.

docs/ir.md has the same as a grammar. Patterns are compiled at their first use: few programs read graphs.
"""

from __future__ import annotations

import json
from typing import Literal

Region = Literal["forward", "backward", "overflow", "optimizer", "state"]
#: The regions, in the order in which they are shown.
REGIONS: tuple[Region, ...] = ("state", "forward", "backward", "overflow", "optimizer")

STRING = r'"(?:[^"\\]|\\.)*"'
NAME = rf"(?:[A-Za-z_][\w.\-]*|{STRING})"
#: id, name, types, op, operands, attributes, order predecessors, what is said about it.
NODE = (
    rf"%(\d+)(?: ({NAME}))?: (\([^=]*?\)|\S+) = (\w+)\(([^()]*)\)"
    rf'(?: \{{((?:[^"{{}}]|{STRING})*)\}})?(?: after\(([^()]*)\))?(?:  ; (.+))?\Z'
)
#: scope, file, line, forward node, pass, rule, sources.
ABOUT = (
    rf"(?:({NAME})(?= @| grad of| by|\Z) ?)?(?:@ ([\w./<>\-]+|{STRING}):(\d+) ?)?(?:grad of %(\d+) ?)?"
    rf"(?:by ({NAME})(?::({NAME}))?(?:\(([^()]*)\))?)?\Z"
)
#: id, name, type of a value that a subgraph takes.
TAKEN = rf"%(\d+)(?: ({NAME}))?: (\w+\[[\d,]*\])(?:, |\Z)"
UPDATE = rf"update %(\d+) = (%[\d#]+)  ; {NAME}\Z"
HEAD = rf"graph @({NAME}) \{{\Z"
#: Attribute and head of a subgraph.
BLOCK = r"(\w+) = (graph @.*)\Z"
RESULT = rf"\s*({NAME}|%\d+)=(%[\d#]+)(?:,|\Z)"
VALUE = r"\s*%(\d+)(?:#(\d+))?\s*\Z"


def unquoted(name: str) -> str:
    """A name as it is, whether the text has it in quotes or not. Raises ValueError for a broken string."""
    if not name.startswith('"'):
        return name
    found: str = json.loads(name)
    return found


def quoted(name: str) -> str:
    """A name as a JSON string: as it is where it can be printed, in whatever script; else in ASCII, escaped."""
    return json.dumps(name, ensure_ascii=not name.isprintable())
