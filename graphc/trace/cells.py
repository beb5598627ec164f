"""Which Cells are called while a step is traced: their paths, from where, and with which arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from graphc import dispatch
from graphc.errors import ArgumentTypeError, GraphcError, Loc, loc_of_definition, user_loc
from graphc.errors.locations import is_same_code
from graphc.errors.suggestions import nearest_argument, question
from graphc.nn.cell.cell import Cell
from graphc.ops.gradients.reverse import name_of
from graphc.trace.mutation.containers import iter_of
from graphc.validation.signatures import is_ours
from graphc.validation.wrong_arguments import refuse_kind, without_annotations


@dataclass(slots=True)
class CellCall:
    """One call of a Cell while tracing.

    path    from the outermost Cell; "" for that one
    kind    its class
    caller  the user's line that calls it
    made    the user's line that made it
    own     the line of nodes that it makes without any of the user's code
    around  the call that makes this one
    first   ids from here on, up to `end`, are of nodes that it or what it calls has made
    """

    path: str
    kind: type[Cell]
    caller: Loc | None
    made: Loc | None
    own: Loc | None
    around: CellCall | None
    first: int
    end: int = -1

    @staticmethod
    def begin(cell: Cell, path: str, caller: Loc | None, around: CellCall | None, first: int) -> CellCall:
        """The call of a cell that begins."""
        made: Loc | None = cell.__dict__.get("_made_at")
        own = made if made is not None and (around is None or is_same_code(caller, around.caller)) else caller
        return CellCall(path, type(cell), caller, made, own, around, first)

    @property
    def definition(self) -> Loc | None:
        """Where its construct begins; None where there is no Python code."""
        code = getattr(inspect.unwrap(self.kind.construct), "__code__", None)
        return None if code is None or self.kind.construct is Cell.construct else loc_of_definition(code)


@dataclass(slots=True)
class CellNames:
    """The names that Cells have in the one that calls them."""

    #: Cells between two that call each other, such as a CellList, as calls in which no node is made.
    holders: list[CellCall] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)
    _found: dict[int, tuple[int, Cell, dict[int, tuple[str, Cell]]]] = field(default_factory=dict)

    def of(self, parent: Cell, cell: Cell) -> str | None:
        """The path of a cell from another one, "blocks.0", as `parent.cells_and_names()` has it; of one in a plain list, tuple or
        dict, which is not there, the attribute and the place. None for a cell that is neither.
        """
        for fresh in (False, True):
            version, _, names = self._names(parent, fresh)
            if id(cell) in names:
                return names[id(cell)][0]
            if version == dispatch.version:
                break
        return None

    def note_holders(self, parent: Cell, name: str, scope: str) -> None:
        """Note the Cells on the way from one to another that have not been yet: their paths begin with `scope`."""
        paths: dict[str, Cell] | None = None
        parts = name.split(".")
        for k in range(1, len(parts)):
            inner = ".".join(parts[:k])
            path = f"{scope}.{inner}" if scope else inner
            if path not in self._known:
                self._known.add(path)
                paths = dict(parent.cells_and_names()) if paths is None else paths
                if inner in paths:
                    self.holders.append(CellCall.begin(paths[inner], path, None, None, 0))

    def take_holders(self) -> list[CellCall]:
        """Those that have been noted since this was asked last."""
        taken, self.holders = self.holders, []
        return taken

    def clear(self) -> None:
        """Forget the Cells, which would be kept alive."""
        self._found.clear()

    def _names(self, parent: Cell, fresh: bool) -> tuple[int, Cell, dict[int, tuple[str, Cell]]]:
        found = self._found.get(id(parent))
        if found is None or (fresh and found[0] != dispatch.version):
            names: dict[int, tuple[str, Cell]] = {}
            for path, cell in (*parent.cells_and_names(), *_listed(parent)):
                names.setdefault(id(cell), (path, cell))
            names.pop(id(parent), None)
            found = self._found[id(parent)] = (dispatch.version, parent, names)
        return found


def _listed(parent: Cell) -> Iterator[tuple[str, Cell]]:
    """Cells in plain lists, tuples and dicts among the attributes, and what is below them."""
    for name, value in vars(parent).items():
        if not name.startswith("_") and isinstance(value, (list, tuple, dict)):
            for path, cell in _inside(name, value, set()):
                yield from cell.cells_and_names(name_prefix=path)


def _inside(path: str, value: Any, around: set[int]) -> Iterator[tuple[str, Cell]]:
    if isinstance(value, Cell):
        yield path, value
    elif isinstance(value, (list, tuple, dict)) and id(value) not in around:
        around = around | {id(value)}
        for key, each in value.items() if isinstance(value, dict) else enumerate(iter_of(value)):
            yield from _inside(f"{path}.{key}", each, around)


def own_signature(cell: Cell) -> inspect.Signature:
    """Of construct, or of the function that it stands for."""
    return _signature(cell, follow_wrapped=True)


def _signature(cell: Cell, follow_wrapped: bool) -> inspect.Signature:
    """follow_wrapped: of a decorated function that of the one it wraps, by whose names its inputs are known."""
    try:
        return inspect.signature(_function(cell), follow_wrapped=follow_wrapped)
    except (TypeError, ValueError):  # Of what is written in C the inputs are numbered.
        return inspect.signature(cell.construct)


def _function(cell: Cell) -> Callable[..., Any]:
    found: Callable[..., Any] = cell.__dict__.get("_function", cell.construct)
    return found


def bound_arguments(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
    """What the parameters of construct receive. ArgumentTypeError (GC100) for other arguments than it has."""
    try:
        return own_signature(cell).bind(*args, **kwargs)
    except TypeError:
        pass
    signature = _signature(cell, follow_wrapped=False)
    try:
        return signature.bind(*args, **kwargs)
    except TypeError as error:
        own = cell.__dict__.get("_function")
        name = f"{type(cell).__name__}.construct" if own is None else name_of(own)
        unknown = _unknown_name(signature, kwargs)
        near = None if unknown is None else question(nearest_argument(unknown, signature.parameters))
        raise ArgumentTypeError(
            f"{name}: {error if unknown is None else f'got an unexpected keyword argument {unknown!r}'}",
            loc=user_loc(),
            details=[f"its signature is {name.rpartition('.')[2]}{without_annotations(signature)}"],
            help=near,
        ) from None


def _unknown_name(signature: inspect.Signature, kwargs: dict[str, Any]) -> str | None:
    """The first argument by a name that a signature lacks: Python tells of those that are missing for it."""
    if any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        return None
    return next((name for name in kwargs if name not in signature.parameters), None)


def refuse_arguments(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> None:
    """ArgumentTypeError (GC100) where a call of a cell has failed because construct has no such arguments; where a layer of
    graphc's has, because one is of a kind that it does not take.
    """
    if isinstance(error, TypeError) and not isinstance(error, GraphcError):
        bound_arguments(cell, args, kwargs)
    if is_ours(type(cell).__module__):
        refuse_kind(cell.construct, error, args, kwargs, type(cell).__name__)
