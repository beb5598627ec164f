"""The tree of a network: a Cell holds Parameters and child Cells by name. Adds to it, walks over it, names what it finds."""

from __future__ import annotations

import copy
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Self, TypeVar, cast

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.tensor.parameter import Parameter, ParameterTuple
from graphc.validation.checks import string

Child = TypeVar("Child", bound="Structure[Any]")


class NameTakenError(ArgumentValueError, KeyError):
    """A child's or parameter's name that a cell has already, or that cannot be one."""

    __str__ = ArgumentValueError.__str__


class Held(dict[str, Any]):
    """Parameters or children by name; where one takes the place of another, so does it as an attribute."""

    def __init__(self, owner: Any) -> None:
        super().__init__()
        self.owner: Callable[[], Any] = weakref.ref(owner)

    def __setitem__(self, name: str, value: Any) -> None:
        before, owner = self.get(name), self.owner()
        super().__setitem__(name, value)
        if before is not None and before is not value:
            if owner is not None and owner.__dict__.get(name) is before:
                owner.__dict__[name] = value
            dispatch.touch()

    def __deepcopy__(self, memo: dict[int, Any]) -> Held:
        made = Held(memo.get(id(self.owner()), self.owner()))
        made.update({name: copy.deepcopy(value, memo) for name, value in self.items()})
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _held, (self.owner(), dict(self))


def _held(owner: Any, items: dict[str, Any]) -> Held:
    made = Held(owner)
    made.update(items)
    return made


def _path(cell: str, name: str) -> str:
    return f"{cell}.{name}" if cell else name


class Structure(Generic[Child]):
    """Parameters and children by name, the children of the class that derives from it: Cell, a structure of Cells."""

    _params: dict[str, Parameter]
    _cells: dict[str, Child]
    _auto_prefix: bool

    # ---- adding

    def _free_name(self, kind: str, name: Any) -> str:
        """The name, if it can be one and is not taken."""
        owner = type(self).__name__
        given = string(owner, f"the name of a {kind}", name)
        if not given or "." in given:
            raise NameTakenError(f"{owner}: {given!r} cannot name a {kind}", loc=user_loc(), help="use an identifier")
        return given

    def insert_child_to_cell(self, child_name: str, child_cell: Any) -> None:
        """Add a child under a name that need not be an identifier, or put another one in its place; None changes nothing. Its
        parameters keep their names, as in MindSpore. NameTakenError, an ArgumentValueError and KeyError, if something else
        has the name, or it is empty or has a dot.
        """
        name = self._free_name("child", child_name)
        if name in self.__dict__ and name not in self._cells:
            raise NameTakenError(f"{type(self).__name__} already has an attribute {name!r}", loc=user_loc())
        if child_cell is None:
            return
        if not isinstance(child_cell, Structure):
            raise ArgumentTypeError(f"child {name!r} must be a Cell, got {type(child_cell).__name__}", loc=user_loc())
        self._cells[name] = cast(Child, child_cell)
        dispatch.touch()

    def insert_param_to_cell(self, param_name: str, param: Any, check_name_contain_dot: bool = True) -> None:
        """Add a parameter as the attribute of this name; a parameter of this name is replaced. Errors as for
        insert_child_to_cell.
        """
        if check_name_contain_dot or not param_name:
            self._free_name("parameter", param_name)
        if param_name in self.__dict__ and param_name not in self._params:
            raise NameTakenError(f"{type(self).__name__} already has an attribute {param_name!r}", loc=user_loc())
        if not isinstance(param, Parameter):
            raise ArgumentTypeError(
                f"{type(self).__name__}: {param_name!r} must be a Parameter, got {type(param).__name__}", loc=user_loc()
            )
        setattr(self, param_name, param)

    # ---- what it holds

    def cells(self) -> Iterable[Child]:
        """The child cells, each once."""
        return self.name_cells().values()

    def name_cells(self) -> OrderedDict[str, Child]:
        """The child cells by attribute name, each once, by its first."""
        seen: set[int] = set()
        found: OrderedDict[str, Child] = OrderedDict()
        for name, cell in self._cells.items():
            if id(cell) not in seen:
                seen.add(id(cell))
                found[name] = cell
        return found

    def cells_and_names(self, cells: set[Any] | None = None, name_prefix: str = "") -> Iterator[tuple[str, Child]]:
        """This cell and all below it with their paths behind the prefix, each once; those of the set `cells` are left out,
        and what is given is added to it.
        """
        seen = {id(cell) for cell in cells or ()}
        stack: list[tuple[str, Child]] = [(name_prefix, cast(Child, self))]
        while stack:
            path, cell = stack.pop()
            if id(cell) in seen:
                continue
            seen.add(id(cell))
            if cells is not None:
                cells.add(cell)
            yield path, cell
            children = [(f"{path}.{n}" if path else n, c) for n, c in cell._cells.items()]
            stack += reversed(children)

    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their paths from this cell behind the prefix, each once; `expand` includes those of child
        cells.

        Each cell's own come before those of its children, in the order of its attributes; a ParameterTuple stands for its
        members, with the names that they had when it was set.
        """
        cells = self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, cast(Child, self))]
        seen: set[int] = set()
        for path, cell in cells:
            for name, param in cell._here():
                if id(param) not in seen:
                    seen.add(id(param))
                    yield _path(path, name), param

    def _here(self) -> Iterator[tuple[str, Parameter]]:
        """The parameters of this cell by name, members of tuples among them; some twice."""
        keys: dict[int, str] = self.__dict__.get("_tuple_keys", {})
        held, params = vars(self), self._params
        # What the dict of attributes does not hold, because it lies in a slot or was added without a name, goes before what
        # was added next.
        before: dict[str, list[str]] = {}
        waiting: list[str] = []
        for name in params:
            waiting.append(name)
            if name in held:
                before[name], waiting = waiting, []
        for name, value in held.items():
            if name in params:
                yield from ((n, params[n]) for n in before[name])
            elif isinstance(value, ParameterTuple):
                yield from ((keys.get(id(p), p.name), p) for p in self._members(value))
        yield from ((n, params[n]) for n in waiting)

    def _members(self, held: ParameterTuple) -> Iterable[Parameter]:
        """The members of a tuple that count as parameters of this cell."""
        return held

    def _note_members(self, name: str, held: ParameterTuple) -> None:
        """Name the members of a tuple that have no names, and keep the names that they have here."""
        keys = self.__dict__.setdefault("_tuple_keys", {})
        for p in held:
            if not p.is_named:
                p.name, p.is_named = f"{name}.{p.name}", True
            keys[id(p)] = p.name

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (p for _, p in self.parameters_and_names(expand=expand))

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters with `requires_grad`."""
        return [p for p in self.get_parameters(recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters without `requires_grad`."""
        return [p for p in self.get_parameters(recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter]:
        """The parameters by name."""
        return OrderedDict((p.name, p) for p in self.get_parameters(recurse))

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Name every parameter `prefix` + its path from this cell."""
        for path, param in self.parameters_and_names(expand=recurse):
            param.name, param.is_named = prefix + path, True

    def _put_under(self, prefix: str) -> None:
        """Name the parameters by the place that another cell gives this one."""
        self.update_parameters_name(prefix)

    def _move_names(self, place: str, parts: int) -> None:
        """Put another place before what follows the first so many parts of every parameter's name."""
        for param in self.get_parameters():
            param.name, param.is_named = ".".join((place, *param.name.split(".")[parts:])), True

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call fn with every cell below, children before parents, and with this one. Returns self."""
        for cell in self.cells():
            cell.apply(fn)
        fn(self)
        return self

    def check_names(self) -> None:
        """ArgumentValueError if two parameters have one name."""
        names: set[str] = set()
        for p in self.get_parameters():
            if p.name in names:
                raise ArgumentValueError(
                    f"two parameters are named {p.name!r}",
                    code="GC141",
                    loc=user_loc(),
                    help="give each parameter its own name",
                )
            names.add(p.name)


__all__ = [
    "NameTakenError",
    "Structure",
]
