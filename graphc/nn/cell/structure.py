"""The tree of a network: a Cell holds Parameters and child Cells by name. Adds to it, walks over it, names what it finds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Self, TypeVar, cast

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.tensor.tensor import Parameter, ParameterTuple

Child = TypeVar("Child", bound="Structure[Any]")


class NameTakenError(ArgumentValueError, KeyError):
    """A child's or parameter's name that a cell has already, or that cannot be one."""

    __str__ = ArgumentValueError.__str__


class Structure(Generic[Child]):
    """Parameters and children by name, the children of the class that derives from it: Cell, a structure of Cells."""

    _params: dict[str, Parameter]
    _cells: dict[str, Child]
    _auto_prefix: bool

    # ---- adding

    def _free_name(self, kind: str, name: Any) -> str:
        """The name, if it can be one and is not taken."""
        owner = type(self).__name__
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{owner}: the name of a {kind} must be a string, got {name!r}", loc=user_loc())
        if not name or "." in name:
            raise NameTakenError(f"{owner}: {name!r} cannot name a {kind}", loc=user_loc(), help="use an identifier")
        return name

    def insert_child_to_cell(self, child_name: str, child_cell: Any) -> None:
        """Add a child under a name that need not be an identifier; None holds a place. NameTakenError, an ArgumentValueError
        and KeyError, if the name is taken, empty or has a dot.
        """
        name = self._free_name("child", child_name)
        if name in self._cells or name in self.__dict__:
            raise NameTakenError(f"{type(self).__name__} already has a child or attribute {name!r}", loc=user_loc())
        if child_cell is None:
            return
        if not isinstance(child_cell, Structure):
            raise ArgumentTypeError(f"child {name!r} must be a Cell, got {type(child_cell).__name__}", loc=user_loc())
        if self._auto_prefix:
            child_cell._put_under(name + ".")
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
        """The child cells."""
        return self._cells.values()

    def name_cells(self) -> dict[str, Child]:
        """The child cells by attribute name."""
        return dict(self._cells)

    def cells_and_names(self, prefix: str = "") -> Iterator[tuple[str, Child]]:
        """This cell and all below it with their paths, each once."""
        seen: set[int] = set()
        stack: list[tuple[str, Child]] = [(prefix, cast(Child, self))]
        while stack:
            path, cell = stack.pop()
            if id(cell) in seen:
                continue
            seen.add(id(cell))
            yield path, cell
            children = [(f"{path}.{n}" if path else n, c) for n, c in cell._cells.items()]
            stack += reversed(children)

    def parameters_and_names(self, expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their paths from this cell, each once; `expand` includes those of child cells.

        Those that only a ParameterTuple holds come last, with their names in place of attribute names.
        """
        seen: set[int] = set()
        cells = list(self.cells_and_names()) if expand else [("", cast(Child, self))]
        own = ((path, name, p) for path, cell in cells for name, p in cell._params.items())
        held = ((path, p.name, p) for path, cell in cells for p in cell._in_tuples())
        for path, name, param in itertools.chain(own, held):
            if id(param) not in seen:
                seen.add(id(param))
                yield (f"{path}.{name}" if path else name), param

    def _in_tuples(self) -> Iterator[Parameter]:
        return (p for value in vars(self).values() if isinstance(value, ParameterTuple) for p in value)

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (p for _, p in self.parameters_and_names(expand))

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters with `requires_grad`."""
        return [p for p in self.get_parameters(recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters without `requires_grad`."""
        return [p for p in self.get_parameters(recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> dict[str, Parameter]:
        """The parameters by name."""
        return {p.name: p for p in self.get_parameters(recurse)}

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Name every parameter `prefix` + its path from this cell."""
        for path, param in self.parameters_and_names(recurse):
            param.name, param.is_named = prefix + path, True

    def _put_under(self, prefix: str) -> None:
        """Name the parameters by the place that another cell gives this one."""
        self.update_parameters_name(prefix)

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
