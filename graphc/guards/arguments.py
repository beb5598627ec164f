"""The arguments of a call, as far as a step is compiled for them: how they nest, and the Python values among them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from graphc.guards.state import State
from graphc.guards.walk import Names, walk
from graphc.ops.tensor.tree import Fixed, Leaf, Structure, a_sparse, fixed_values, sparse_in


def nesting(structure: Structure) -> Hashable:
    """How tensors and Python values nest, without the values and the keys of dicts."""
    if isinstance(structure, Leaf):
        return structure.number
    if isinstance(structure, Fixed):
        return None
    return (structure.kind, *map(nesting, structure.items))


def values(structure: Structure, names: Names) -> State | None:
    """The Python values and keys in a nest, None if there are none. Objects are looked into as far as `names` are read."""
    found = list(_values(structure))
    return State(walk(names, [("an argument", x) for x in found])) if found else None


def same_value(a: Any, b: Any, names: Names) -> bool:
    """Whether two Python values are one to a compiled step."""
    one, other = (State(walk(names, [("", x)])) for x in (a, b))
    return one == other


def other_structure(given: Structure, compiled: Structure, names: Names) -> str:
    """What differs between the arguments of a call and those that a step was compiled for."""
    for a, b in zip(fixed_values(given), fixed_values(compiled), strict=False):
        if not same_value(a, b, names):
            other = repr(b) if repr(a) != repr(b) else "another one"
            return f"the Python value {a!r} is given, it was compiled for {other}"
    for one, other_one in zip(sparse_in(given), sparse_in(compiled), strict=False):
        if one.keys != other_one.keys:
            return f"{a_sparse(one)} is given, it was compiled for {a_sparse(other_one)}"
    return "the arguments are nested, named or counted otherwise"


def _values(structure: Structure) -> Iterator[Any]:
    if isinstance(structure, Fixed):
        yield structure.value
    elif not isinstance(structure, Leaf):
        yield from structure.keys
        for item in structure.items:
            yield from _values(item)
