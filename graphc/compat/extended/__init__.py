"""Names that functions of graphc.mint have in MindSpore's modules of functions, where they are the same objects.

mindspore.mint gives such functions, many called NAME_ext there, names without an ending.
"""

from __future__ import annotations

from operator import attrgetter
from types import ModuleType
from typing import Any

from graphc import mint
from graphc.mint.nn import functional

#: Where mint's functions are found.
_MINT = (mint, functional, mint.linalg)


def put(space: dict[str, Any], names: str, *homes: ModuleType) -> list[str]:
    """Put what such names stand for in other modules, by default mint's, into a module; the names.

    "acos_ext" is acos, "chunk_view=chunk" is chunk, "linalg_norm=linalg.norm" that of linalg.
    """
    made: list[str] = []
    for each in names.split():
        name, _, of = each.partition("=")
        space[name] = found(of or name.removesuffix("_ext"), homes or _MINT)
        made.append(name)
    return made


def found(name: str, homes: tuple[ModuleType, ...]) -> Any:
    """What a dotted name stands for in the first of modules that has it."""
    return next(attrgetter(name)(home) for home in homes if hasattr(home, name.partition(".")[0]))
