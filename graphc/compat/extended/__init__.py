"""Names that functions of graphc.mint have in MindSpore's modules of functions, where they are the same objects.

mindspore.mint gives such functions, many called NAME_ext there, names without an ending.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from graphc import mint
from graphc.mint.nn import functional

#: Where mint's functions are found.
_HOMES = (mint, functional, mint.linalg)


def put(space: dict[str, Any], names: str) -> list[str]:
    """Put what such names stand for into a module; the names. "acos_ext" is acos, "chunk_view=chunk" is chunk,
    "linalg_norm=linalg.norm" that of linalg.
    """
    made: list[str] = []
    for each in names.split():
        name, _, of = each.partition("=")
        space[name] = _of_mint(of or name.removesuffix("_ext"))
        made.append(name)
    return made


def _of_mint(name: str) -> Any:
    return next(attrgetter(name)(home) for home in _HOMES if hasattr(home, name.partition(".")[0]))
