"""Writing files so that a reader, or a crash, never sees half of one."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from graphc.errors import ArgumentValueError


def write_atomic(path: Path, *parts: bytes | Iterable[bytes | memoryview]) -> Path:
    """Write a file through a temporary one beside it: fsync, rename, fsync of the directory. Returns the path.

    parts: bytes, or buffers that are written one after the other. A link stays one: what it points to is replaced. A file that
    was there before keeps its mode. Nothing is left behind when writing fails or is interrupted; what a killed process has
    left of this file is removed. A device or pipe, such as /dev/null, is written into and stays what it is.
    Raises OSError, which names the file, and ArgumentValueError if the path is a directory.
    """
    if path.is_dir():
        raise ArgumentValueError(f"{str(path)!r} is a directory, a file is to be written there")
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        return _write_into(path, parts)
    # Names can be as long as the system allows, the temporary one, too.
    prefix = f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}."
    temporary = target.with_name(f"{prefix}{secrets.token_hex(6)}.tmp")
    try:
        _remove_abandoned(target.parent, prefix)
        with open(temporary, "xb") as file:
            # Tells it from one that nobody writes any more; some network file systems cannot.
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            file.writelines(_buffers(parts))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        _sync_directory(target.parent)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    return path


def _write_into(path: Path, parts: Iterable[bytes | Iterable[bytes | memoryview]]) -> Path:
    """Write into what is there and is no file: a rename would put one in its place."""
    try:
        with open(path, "wb") as file:
            file.writelines(_buffers(parts))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    return path


def _buffers(parts: Iterable[bytes | Iterable[bytes | memoryview]]) -> Iterator[bytes | memoryview]:
    for part in parts:
        yield from [part] if isinstance(part, bytes) else part


def _sync_directory(path: Path) -> None:
    """Make the names in a directory last through a crash of the system, where a directory can be opened and synced."""
    try:
        directory = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(directory)


def _remove_abandoned(directory: Path, prefix: str) -> None:
    """Remove temporary files of this prefix that no process has open to write."""
    for path in directory.glob(f"{prefix}*.tmp"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


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
