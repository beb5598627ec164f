"""What a step or a Cell is called with: its tensors, and what there is beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import SignatureError, user_loc
from graphc.guards import arguments
from graphc.guards.walk import Names, walk
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.inputs import as_inputs
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.ops.tensor.tree import Structure, fixed_values, flatten
from graphc.trace.dynamic.known_values import Told

Array = np.ndarray[Any, np.dtype[Any]]


class Given:
    """The arguments that a step is compiled for: types of tensors, Parameters, Python values, and how they are nested.

    types    of the tensors
    plain    of positional tensors their NumPy dtypes and shapes; None where there is anything else
    """

    def __init__(self, leaves: list[Tensor], structure: Structure, names: Names) -> None:
        """`names`: what code reads of Python values."""
        self.types = [x.tensor_type for x in leaves]
        self._structure, self._reads = structure, names
        self._nesting = arguments.nesting(structure)
        self.look_again()
        self._references = [x if isinstance(x, Parameter) else None for x in leaves]
        plain = _is_plain(structure, len(leaves)) and all(r is None for r in self._references)
        #: The contents that it is compiled for, too, by the numbers of tensors.
        self._told = {i: x.contents for i, x in enumerate(leaves) if isinstance(x, Told)}
        self.plain = [(t.numpy, t.shape) for t in self.types] if plain and not self._told else None

    def look_again(self) -> None:
        """Take the Python values as they are now."""
        self._values = arguments.values(self._structure, self._reads)

    def arrays(self, args: tuple[Any, ...], kwargs: dict[str, Any], cell: str, names: tuple[str, ...]) -> list[Array]:
        """An array per tensor that is no Parameter. SignatureError for other arguments; cell, names: what it calls them."""
        leaves, structure = flatten((as_inputs(args), as_inputs(kwargs)))
        types = [x.tensor_type for x in leaves]
        same = types == self.types and self._same_constants(structure) and self._same_references(leaves)
        if not same or not all(np.array_equal(require_array(leaves[i]), held) for i, held in self._told.items()):
            raise self._mismatch(leaves, structure, cell, names)
        given = zip(leaves, self._references, strict=True)
        return [np.asarray(require_array(x), order="C") for x, reference in given if reference is None]

    def _same_constants(self, structure: Structure) -> bool:
        return (
            arguments.nesting(structure) == self._nesting and arguments.values(structure, self._reads) == self._values
        )

    def _same_references(self, leaves: list[Tensor]) -> bool:
        """A Parameter among the arguments is compiled in: the step reads and writes that very one."""
        pairs = zip(leaves, self._references, strict=True)
        return all(x is r if r is not None else not isinstance(x, Parameter) for x, r in pairs)

    def _mismatch(
        self, leaves: list[Tensor], structure: Structure, cell: str, names: tuple[str, ...]
    ) -> SignatureError:
        reasons = []
        if len(leaves) == len(self._references) and not self._same_references(leaves):
            reasons.append("another Parameter is given than it was compiled for")
        if len(leaves) != len(self.types):
            reasons.append(f"{len(leaves)} tensors are given, it was compiled for {len(self.types)}")
        elif not self._same_constants(structure):
            reasons.append(arguments.other_structure(structure, self._structure, self._reads))
        for i, (x, want) in enumerate(zip(leaves, self.types, strict=False)):
            if x.tensor_type != want:
                reasons.append(f"input {names[i]!r} is {x.tensor_type}, compiled for {want}")
            elif i in self._told and not np.array_equal(require_array(x), self._told[i]):
                reasons.append(f"input {names[i]!r} holds {require_array(x)}, compiled for {self._told[i]}")
        return SignatureError(
            f"this step of {cell} was compiled for other inputs",
            loc=user_loc(),
            details=reasons,
            help="compile again for these inputs, or call the cell itself, which compiles once per signature",
        )


def reads(cell: Cell, structure: Structure) -> Names:
    """The names that code reads which a cell can reach, where arguments have to be looked into."""
    names = Names()
    if any(True for _ in fixed_values(structure)):
        walk(names, [("self", cell)])
    return names


def _is_plain(structure: Structure, count: int) -> bool:
    """Whether the arguments are just `count` positional tensors."""
    return structure == flatten((tuple(Tensor.wrap(np.zeros(())) for _ in range(count)), {}))[1]
