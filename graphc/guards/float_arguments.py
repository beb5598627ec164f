"""Floats among the arguments of a Cell that change from call to call: weights that are annealed, rates, temperatures."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from graphc.guards import arguments
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import Fixed, Leaf, Structure, fixed_values, flatten, unflatten

#: After so many changes a float is an input of the step.
_CHANGES = 3
#: So many ways of calling a cell are remembered.
_NESTINGS = 64


class Numbers:
    """What has become of the floats that one cell is called with.

    Constants of a step at first, which is compiled again for another value. Those that go on changing are inputs of a step, in
    float64, as Python computes with them; unless the step cannot be made so, or gives something else.
    """

    def __init__(self) -> None:
        #: By how the arguments nest: the latest floats by their places, and how often each has changed.
        self._seen: dict[Any, tuple[dict[int, float], Counter[int]]] = {}
        self._refused: set[tuple[Any, int]] = set()

    def as_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any] | None:
        """The arguments with such floats as tensors; None if there are none."""
        leaves, structure = flatten((args, kwargs))
        places = self._varying(structure)
        if not places:
            return None
        taken: list[int] = []
        made: tuple[Any, Any] = unflatten(_with_inputs(structure, places, leaves, taken), leaves)
        return made

    def refuse(self) -> None:
        """What varies now stays constant."""
        for nesting, (_, changes) in self._seen.items():
            self._refused |= {(nesting, place) for place, times in changes.items() if times >= _CHANGES}

    def _varying(self, structure: Structure) -> set[int]:
        """Which of the Python values are floats that keep changing."""
        nesting = arguments.nesting(structure)
        floats = {i: x for i, x in enumerate(fixed_values(structure)) if type(x) is float}
        if len(self._seen) >= _NESTINGS:
            self._seen.clear()
        before, changes = self._seen.get(nesting, ({}, Counter()))
        changes.update(i for i, x in floats.items() if x != before.get(i, x))
        self._seen[nesting] = floats, changes
        return {i for i in floats if changes[i] >= _CHANGES and (nesting, i) not in self._refused}


def _with_inputs(structure: Structure, places: set[int], leaves: list[Tensor], passed: list[int]) -> Structure:
    """The structure with tensors, which are put behind the `leaves`, for the Python values of these numbers."""
    if isinstance(structure, Fixed):
        passed.append(len(passed))
        if passed[-1] not in places:
            return structure
        number = Tensor(np.float64(structure.value))
        number.is_number = True
        leaves.append(number)
        return Leaf(len(leaves) - 1)
    if isinstance(structure, Leaf):
        return structure
    return structure._replace(items=tuple(_with_inputs(x, places, leaves, passed) for x in structure.items))
