"""This package's own files: what they generate from a program is known by their content."""

from __future__ import annotations

import hashlib
import time
from functools import cache
from pathlib import Path

#: When this package was imported, in seconds since the epoch.
_IMPORTED = time.time()


@cache
def fingerprint() -> str | None:
    """SHA-256 over the package's files; None when one has changed since they were imported: the code in memory is older."""
    digest = hashlib.sha256()
    root = Path(__file__).parent.parent
    for path in sorted(p for p in root.rglob("*") if p.suffix in (".py", ".j2")):
        if path.stat().st_mtime > _IMPORTED:
            return None
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()
