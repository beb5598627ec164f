"""Which file a checkpoint's name means, and in which format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

FORMATS = ("ckpt", "safetensors")


def check_format(owner: str, format: Any) -> None:
    if not isinstance(format, str) or format not in FORMATS:
        raise ArgumentValueError(f"{owner}: format must be 'ckpt' or 'safetensors', got {format!r}", loc=user_loc())


def _spelled(owner: str, name: Any) -> str:
    text = os.fspath(name) if isinstance(name, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text:
        shown = repr(name) if isinstance(name, (str, bytes, int, float)) else type(name).__name__
        raise ArgumentTypeError(
            f"{owner}: ckpt_file_name must be the name of a file, got {shown}",
            loc=user_loc(),
            help="give a str or a Path",
        )
    try:
        os.stat(text)
    except ValueError as error:  # A zero byte, or what the system's encoding lacks.
        raise ArgumentValueError(
            f"{owner}: ckpt_file_name {text!r} cannot be the name of a file: {error}", loc=user_loc()
        ) from None
    except OSError:
        pass
    return text


def file_to_save(owner: str, name: Any, format: str) -> tuple[Path, str]:
    """The file that a name means, and its format: that of its suffix, or `format`, which then becomes the suffix. A name that
    ends with the format, such as "best_ckpt", stays as it is, as in MindSpore.
    """
    check_format(owner, format)
    text = _spelled(owner, name)
    if text.endswith(".safetensors"):
        return Path(text), "safetensors"
    return Path(text if text.endswith(format) else f"{text}.{format}"), format


def file_to_load(owner: str, name: Any, format: str) -> tuple[Path, str]:
    """The file that a name means, and its format: that of its suffix. Without one of the two suffixes the file of just this
    name, if it is there, in the format that its first bytes have; else the one with the suffix that saving gives it.
    """
    check_format(owner, format)
    text = _spelled(owner, name)
    if text.endswith(".safetensors"):
        return Path(text), "safetensors"
    if text.endswith(".ckpt"):
        if format != "ckpt":
            raise ArgumentValueError(f"{owner}: {text!r} is no file of format={format!r}", loc=user_loc())
        return Path(text), "ckpt"
    suffixed = Path(f"{text}.{format}")
    if suffixed.is_file() and not Path(text).is_file():
        return suffixed, format
    return Path(text), _format_of(Path(text))


def _format_of(path: Path) -> str:
    """Of a file, by its first bytes: those of a safetensors file are the length of a header, which begins with a brace."""
    with open(path, "rb") as file:
        start = file.read(9)
    return "safetensors" if len(start) == 9 and start[8:] == b"{" and not any(start[5:8]) else "ckpt"
