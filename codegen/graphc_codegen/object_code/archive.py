"""Objects of a cache as one file, for another machine: a zip of what the cache holds of each, a description and machine code.

Objects are found by what they were made from, by the versions of everything that made them, and by the processor's features:
where one of these differs they lie there unused.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from graphc_codegen.object_code.cache import LIMIT, ObjectCache, versions

_NAME = 64  # Hexadecimal digits of a key.


def pack(cache: ObjectCache, path: Path) -> int:
    """Write all sound objects into a new file; returns how many. Raises OSError."""
    count = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name in cache.names():
            found = cache.described(name)
            if found is not None:
                file.writestr(f"{name}.json", json.dumps(found[0]))
                file.writestr(f"{name}.o", b"".join(found[1]))
                count += 1
    return count


def unpack(cache: ObjectCache, path: Path) -> tuple[int, int]:
    """(objects taken into the cache, such as other versions have made, which are left). Raises OSError, and ValueError for a file
    that is no such archive; nothing is taken from one of which a part is damaged.
    """
    taken: list[tuple[str, list[bytes], str]] = []
    left = 0
    try:
        with zipfile.ZipFile(path) as file:
            for name in sorted(n.removesuffix(".json") for n in file.namelist() if n.endswith(".json")):
                described = json.loads(file.read(f"{name}.json"))
                if file.getinfo(f"{name}.o").file_size > LIMIT:
                    raise ValueError(f"{name}.o is too long")
                code = file.read(f"{name}.o")
                if len(name) != _NAME or not set(name) <= set("0123456789abcdef"):
                    raise ValueError(f"{name!r} is no key")
                if not ObjectCache.is_sound(name, described, code):
                    raise ValueError(f"{name}.o is damaged")
                if described["versions"] != versions():
                    left += 1
                    continue
                taken.append((name, ObjectCache.parts(described["sizes"], code), str(described["entry"])))
    except (zipfile.BadZipFile, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    for name, objects, entry in taken:
        cache.store(name, objects, entry)
    return len(taken), left
