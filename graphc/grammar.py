"""The text form's grammar as patterns: `graphc.ir.parse` makes graphs of it, `graphc.inspect.listing` lines to look at.

docs/ir.md has the same as a grammar. Patterns are compiled at their first use: few programs read graphs.
"""

from __future__ import annotations

import json
from typing import Literal, NoReturn

from graphc.errors import ParseError

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


class Lines:
    """A text that is read line by line; what is wrong is said with the number of the line."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.position = 0

    def fail(self, message: str) -> NoReturn:
        line = self.lines[self.position - 1] if self.position else ""
        raise ParseError(f"line {self.position} of the graph's text: {message}", details=[line.strip()[:200]])

    def peek(self) -> str | None:
        """The next line that is not empty, stripped; None at the end."""
        while self.position < len(self.lines):
            line = self.lines[self.position].strip()
            if line:
                return line
            self.position += 1
        return None

    def next(self) -> str:
        line = self.peek()
        self.position += 1
        if line is None:
            self.position = len(self.lines)
            self.fail("the text ends inside a graph")
        return line
