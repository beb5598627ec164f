"""The modules of MindSpore and the public names that each is for, for tests/compat/test_paths.py.

Run with MindSpore's Python in an empty folder: python ms_modules.py OUTPUT.json
"""

from __future__ import annotations

import json
import pkgutil
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import mindspore

PACKAGES = ("amp", "common", "communication", "context", "experimental", "mint", "nn", "numpy", "ops", "train")
#: Hundreds of names that files are made of, or what only Ascend has.
LEFT_OUT = (
    "auto_generate",
    "deprecated",
    "functional_overload",
    "manually_defined",
    "tensor_method",
    "distributed",
    "ps",
)


def public(module: Any) -> list[str]:
    names = getattr(module, "__all__", None)
    if names is None:
        own = module.__name__
        names = [
            n for n, v in vars(module).items() if getattr(v, "__module__", own) == own and not isinstance(v, ModuleType)
        ]
    return sorted({n for n in names if isinstance(n, str) and not n.startswith("_")})


def main(output: str) -> None:
    found = {}
    for each in pkgutil.walk_packages(mindspore.__path__, "mindspore.", onerror=lambda name: None):
        parts = each.name.split(".")[1:]
        if parts[0] not in PACKAGES or any(p.startswith("_") or p in LEFT_OUT for p in parts):
            continue
        try:
            found[each.name] = public(import_module(each.name))
        except Exception as error:
            print(each.name, error, file=sys.stderr)
    with open(output, "w", encoding="utf-8") as file:
        lines = (f"{json.dumps(name)}: {json.dumps(names)}" for name, names in sorted(found.items()) if names)
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
