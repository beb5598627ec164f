"""What MindSpore's inner modules import for themselves, and scripts import from there: names that its files share."""

from __future__ import annotations

from graphc.paths.table import MODULES

#: A name in such a file -> the module of MindSpore's that it stands for.
ALIASES = {
    "mindspore": "mindspore",
    "ms": "mindspore",
    "nn": "mindspore.nn",
    "ops": "mindspore.ops",
    "mint": "mindspore.mint",
    "P": "mindspore.ops.operations",
    "F": "mindspore.ops.functional",
    "C": "mindspore.ops.composite",
    "inner": "mindspore.ops.operations._inner_ops",
    "sig": "mindspore.ops.signature",
    "mstype": "mindspore.common.dtype",
    "typing": "mindspore._c_expression.typing",
    "context": "mindspore.context",
    "logger": "mindspore.log",
    "validator": "mindspore._checkparam",
    "Validator": "mindspore._checkparam",
}
#: The modules of graphc whose names such files import, in the order of the search.
COMMON = (
    "graphc.compat.usual",
    "graphc.nn.initializer",
    "graphc.parallel",
    "graphc.parallel.settings",
    "graphc.compat.checkparam",
    "graphc.compat.native",
)


def is_file(key: str) -> bool:
    """Whether a module of MODULES is a file inside of one of MindSpore's packages.

    Packages have no more than they are for, and so have the modules that users know by their names, as `mindspore.amp`.
    """
    return key.count(".") > 1 and not any(other.startswith(f"{key}.") for other in MODULES)
