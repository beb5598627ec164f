"""Files as errors and dumps name them, and their lines. Imports nothing of graphc."""

from __future__ import annotations

import linecache
import os
import sys
from typing import Any

#: The folder that graphc lies in.
_ABOVE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
#: Python's own modules, and the folders inside them of what is installed.
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = tuple(f"{_STANDARD}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


def is_pythons(filename: str) -> bool:
    """Whether a file is of Python's own library."""
    return filename.startswith((_STANDARD, "<frozen")) and not filename.startswith(_INSTALLED)


def working_directory() -> str:
    """The working directory; a name that no path begins with where it has been deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "<deleted>"


def display_path(filename: str) -> str:
    """The path as shown: relative inside the working directory or the package, else its last two parts."""
    if filename.startswith("<"):
        return filename
    for base in (working_directory() + os.sep, _ABOVE + os.sep):
        if filename.startswith(base):
            return filename[len(base) :]
    return os.path.join(*filename.split(os.sep)[-2:])


def source_line(path: str, line: int) -> str:
    """The text of a line of the file that a displayed path stands for, or ""."""
    file = find_file(path)
    linecache.checkcache(file)  # It may have been written since it was last read.
    return linecache.getline(file, line).rstrip("\n")


def find_file(path: str) -> str:
    """The file that a displayed path stands for; the path itself where there is none."""
    if os.path.exists(path) or path.startswith("<"):
        return path
    in_package = os.path.join(_ABOVE, path)
    if os.path.exists(in_package):
        return in_package
    # A copy: asking a lazy module for an attribute may import more.
    for known in list(sys.modules.values()):
        file = getattr(known, "__file__", None)
        if file and file.endswith(os.sep + path):
            return str(file)
    return path


def excerpt(loc: Any) -> list[str]:
    """A place, an `errors.Loc`, with its line of code, and a mark under the instruction, where that is a part of the line."""
    text = source_line(loc.file, loc.line)
    head = f"  {loc}  "
    stripped = text.strip()
    if not stripped:
        return [head.rstrip()]
    lines = [head + stripped]
    if loc.col is not None and loc.end_col is not None and loc.end_col > loc.col:
        # co_positions counts UTF-8 bytes.
        before = len(text.encode()[: loc.col].decode(errors="replace")) - (len(text) - len(text.lstrip()))
        width = len(text.encode()[loc.col : loc.end_col].decode(errors="replace"))
        if before >= 0 and width < len(stripped):
            lines.append(" " * (len(head) + before) + "^" * width)
    return lines
