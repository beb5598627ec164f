"""For people who test compilers: passes on text, golden files, random graphs, and what every op must hold to.

Needs pytest only in `plugin`, hypothesis only in `strategies`: `pip install 'graphc[testing]'`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphc.passes import same_meaning
    from graphc.testing.golden import Golden
    from graphc.testing.gradients import check_gradient
    from graphc.testing.lowered import calls, copies, races
    from graphc.testing.ops import OpCase, check_op, op_cases
    from graphc.testing.random_graphs import random_graph, seeded_graph
    from graphc.testing.steps import agree, agree_everywhere, close_to_reference, small_integers
    from graphc.testing.strategies import graphs, programs
    from graphc.testing.transforms import graph_of, transform

#: Names by module: pytest loads the plugin, and with it this package, in every project of who has graphc installed.
_LAZY = {
    "graphc.passes": "same_meaning",
    "graphc.testing.golden": "Golden",
    "graphc.testing.gradients": "check_gradient",
    "graphc.testing.ops": "OpCase check_op op_cases",
    "graphc.testing.lowered": "calls copies races",
    "graphc.testing.random_graphs": "random_graph seeded_graph",
    "graphc.testing.steps": "agree agree_everywhere close_to_reference small_integers",
    "graphc.testing.strategies": "graphs programs",
    "graphc.testing.transforms": "graph_of transform",
}
_MODULE_OF = {name: module for module, names in _LAZY.items() for name in names.split()}

__all__ = [
    "Golden",
    "OpCase",
    "agree",
    "agree_everywhere",
    "calls",
    "check_gradient",
    "check_op",
    "close_to_reference",
    "copies",
    "graph_of",
    "graphs",
    "op_cases",
    "programs",
    "races",
    "random_graph",
    "same_meaning",
    "seeded_graph",
    "small_integers",
    "transform",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'graphc.testing' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
