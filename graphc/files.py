"""Writing files so that a reader, or a crash, never sees half of one."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from graphc.errors import ArgumentValueError


def write_atomic(path: Path, data: bytes) -> Path:
    """Write a file through a temporary one beside it: fsync, then rename. Returns the path.

    Nothing is left behind when writing fails or is interrupted.
    Raises OSError, and ArgumentValueError if the path is a directory.
    """
    if path.is_dir():
        raise ArgumentValueError(f"{str(path)!r} is a directory, a file is to be written there")
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path


def make_directory(path: Path) -> Path:
    """Create a directory with its parents. ArgumentValueError if the path, or a parent, is a file; OSError
    otherwise.
    """
    for part in (path, *path.parents):
        if part.exists() and not part.is_dir():
            raise ArgumentValueError(
                f"{str(part)!r} is a file, a directory is needed there",
                help="give another directory, or move the file away",
            )
    path.mkdir(parents=True, exist_ok=True)
    return path
