"""Shared by the tests of messages."""

from __future__ import annotations

import os
import traceback

import numpy as np
import pytest

import graphc
from graphc import nn
from graphc.errors import CODES, MOST_LINES, GraphcError, is_hidden

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def cell(construct, **attributes):
    """A Cell with these attributes and this construct."""

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            for name, value in attributes.items():
                setattr(self, name, value)

    Net.construct = construct
    return Net()


def failure(action, *args):
    """The error of `action(*args)`."""
    with pytest.raises(GraphcError) as caught:
        action(*args)
    return caught.value


def check(error, place, expected, *classes):
    """The error's whole text, with FILE for the user's line in file `place`, and the builtins it can be caught as."""
    lines = str(error).splitlines()
    assert len(lines) <= 15
    assert error.loc.file in (place, "tests/errors/messages.py", "<string>")
    place = str(error.loc)
    if lines[1].startswith(f"  {place}  "):
        lines[1] = lines[1].replace(place, "FILE")
        if len(lines) > 2 and not lines[2].strip("^ "):
            lines[2] = lines[2][len(place) - len("FILE") :]
    text = "\n".join(lines)
    assert text == expected.strip("\n"), f"\n{text}"
    assert text.startswith(f"[{error.code}] {error.message}")
    assert error.code in CODES
    for base in (GraphcError, *classes):
        assert isinstance(error, base)


def refused(action, code, words, *classes):
    """The error of an action: its code, words in its message, the user's line, few lines, none of graphc's frames."""
    with pytest.raises(GraphcError) as caught:
        action()
    error = caught.value
    lines = str(error).splitlines()
    assert len(lines) <= MOST_LINES
    assert (error.code, lines[0].startswith(f"[{code}]")) == (code, True), error
    assert words in lines[0], lines[0]
    assert lines[1].startswith(f"  tests/errors/{os.path.basename(action.__code__.co_filename)}:"), lines
    assert not [f for f in traceback.extract_tb(error.__traceback__) if is_hidden(f.filename)]
    for kind in classes:
        assert isinstance(error, kind)
    assert len(traceback.format_exception(error)) <= 8
    return error


def compiled(construct, *inputs, **attributes):
    """The error of compiling a cell, whose traceback holds the user's frames alone."""
    error = failure(graphc.compile, cell(construct, **attributes), *inputs)
    frames = traceback.extract_tb(error.__traceback__)
    hidden = [f for f in frames if is_hidden(f.filename)]
    assert hidden == [], frames
    return error
