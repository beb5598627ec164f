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


class Numbers:
    """What has become of the floats that one cell is called with.

    Constants of a step at first, which is compiled again for another value. Those that go on changing are inputs of a step, in
    float64, as Python computes with them; unless the step cannot be made so, or gives something else.
    """

    def __init__(self) -> None:
        self._nesting: Any = None
        self._values: list[Any] = []
        self._changes: Counter[int] = Counter()
        self._refused: set[int] = set()

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
        self._refused |= {place for place, times in self._changes.items() if times >= _CHANGES}

    def _varying(self, structure: Structure) -> set[int]:
        """Which of the Python values are floats that keep changing."""
        nesting, values = arguments.nesting(structure), list(fixed_values(structure))
        if nesting != self._nesting:
            self._nesting, self._changes = nesting, Counter()
        else:
            pairs = enumerate(zip(self._values, values, strict=True))
            self._changes.update(i for i, (a, b) in pairs if type(a) is float and type(b) is float and a != b)
        self._values = values
        often = (i for i, times in self._changes.items() if times >= _CHANGES)
        return {i for i in often if type(values[i]) is float} - self._refused


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
