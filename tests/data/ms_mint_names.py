"""Where MindSpore has the functions of mindspore.mint under other names, for tests/compat/test_extended.py.

Run with MindSpore's Python in an empty folder: python ms_mint_names.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from importlib import import_module

HOMES = ("mint", "mint.nn.functional", "mint.linalg", "mint.special")
MODULES = (
    "auto_generate",
    "function",
    "function.array_func",
    "function.math_func",
    "function.nn_func",
    "function.random_func",
    "functional_overload",
)


def main() -> None:
    functions = {}
    for home in HOMES:
        module = import_module(f"mindspore.{home}")
        for name in module.__all__:
            function = getattr(module, name, None)  # Some names there stand for nothing.
            if callable(function) and not isinstance(function, type):
                functions.setdefault(id(function), (function, f"{home}.{name}"))
    found = {}
    for path in MODULES:
        members = vars(import_module(f"mindspore.ops.{path}"))
        same = {n: functions[id(x)][1] for n, x in members.items() if id(x) in functions and not n.startswith("_")}
        found[f"mindspore.ops.{path}"] = dict(sorted(same.items()))
    with open(sys.argv[1], "w") as file:
        json.dump(found, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
