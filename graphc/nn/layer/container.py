"""Cells that hold Cells in order."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, TraceError, user_loc
from graphc.nn.cell.cell import Cell, NoConstructError
from graphc.nn.cell.structure import NameTakenError


class _Container(Cell):
    """Children are named by position, "0", "1", ..., or as given; when positions change, so do those names.

    Slices share the cells and leave the names of their parameters alone.
    """

    def __init__(self, cells: Iterable[tuple[str, Any]], auto_prefix: bool = True) -> None:
        super().__init__(auto_prefix)
        self._replace([(name, self._checked(cell)) for name, cell in cells])

    def _checked(self, cell: Any) -> Cell:
        if not isinstance(cell, Cell):
            raise ArgumentTypeError(f"{type(self).__name__} holds Cells, got {type(cell).__name__}", loc=user_loc())
        return cell

    def _items(self) -> list[tuple[str, Cell]]:
        return list(self._cells.items())

    def _prefix(self) -> tuple[str, int]:
        """What stands before a cell's place in its parameters' names, "seq." once `net.seq` is this container, and how many
        parts that are. Told, as MindSpore does, from the name of the first parameter alone: the last part that is its
        cell's name, or the first one where the second cell's name stands in the same place.
        """
        firsts = ((name, next((p.name for p in cell.get_parameters()), None)) for name, cell in self._cells.items())
        named = [(name, param.split(".")) for name, param in firsts if param is not None][:2]
        if not named:
            return "", 0
        (key, parts), *second = named
        found = 0
        for i in (i for i, part in enumerate(parts) if part == key):
            found = i
            if second and second[0][1][i : i + 1] == [second[0][0]]:
                break
        return "".join(f"{part}." for part in parts[:found]), found

    def _replace(self, items: Iterable[tuple[str, Cell]]) -> None:
        """Hold these cells. A name that is a number gives way to the position; parameters are named anew where a cell has
        moved, or is new.
        """
        if dispatch.recorder.get() is not None:
            raise TraceError(
                f"a {type(self).__name__} is changed inside construct, which runs once: at compile time",
                code="GC133",
                loc=user_loc(),
                help="change it before the first call",
            )
        prefix, depth = self._prefix()
        places = {id(cell): name for name, cell in self._cells.items()}
        made = {str(i) if name.isdigit() else name: cell for i, (name, cell) in enumerate(items)}
        self._cells.clear()
        self._cells.update(made)
        for name, cell in made.items() if self._auto_prefix else ():
            before = places.get(id(cell))
            if before is None:
                cell._put_under(f"{prefix}{name}.")
            elif before != name:
                cell._move_names(prefix + name, depth + 1)
        dispatch.touch()

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Cell]:
        return iter(list(self._cells.values()))

    def _position(self, index: Any) -> int:
        if isinstance(index, bool) or not isinstance(index, int):
            raise ArgumentTypeError(
                f"{type(self).__name__}: an index must be an int or a slice, got {type(index).__name__}",
                loc=user_loc(),
            )
        if not -len(self) <= index < len(self):
            # Iteration and unpacking rely on IndexError.
            raise IndexError(f"{type(self).__name__}: index {index} is out of range for {len(self)} cells")
        return index % len(self)

    def __getitem__(self, index: int | slice) -> Any:
        """One cell, or a container of the same kind that shares some of the cells."""
        if not isinstance(index, slice):
            return self._items()[self._position(index)][1]
        made = type(self).__new__(type(self))
        Cell.__init__(made, self._auto_prefix)
        made._cells.update((str(i) if n.isdigit() else n, c) for i, (n, c) in enumerate(self._items()[index]))
        return made

    def __setitem__(self, index: int, cell: Cell) -> None:
        items = self._items()
        at = self._position(index)
        items[at] = (items[at][0], self._checked(cell))
        self._replace(items)

    def __delitem__(self, index: int | slice) -> None:
        items = self._items()
        del items[index if isinstance(index, slice) else self._position(index)]
        self._replace(items)

    def append(self, cell: Cell) -> Self:
        """Add a cell at the end. Returns self."""
        self._replace([*self._items(), ("0", self._checked(cell))])
        return self

    def insert(self, index: int, cell: Cell) -> None:
        """Add a cell before position `index`, from -len to len; those behind it move up. IndexError for others."""
        items = self._items()
        if not -len(items) <= index <= len(items):
            raise IndexError(f"{type(self).__name__}: {index} is no place to insert at among {len(items)} cells")
        items.insert(index, ("0", self._checked(cell)))
        self._replace(items)


def _unnamed(args: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """Cells given one by one, or as one list."""
    cells = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return [("0", cell) for cell in cells]


class SequentialCell(_Container):
    """Cells applied one after the other (MindSpore: nn.SequentialCell).

    Made of cells, of one list of cells, or of one mapping name -> cell; names default to "0", "1", ... and
    are part of the parameters' names ("0.weight"). Raises ArgumentTypeError for anything that is no Cell.
    """

    def __init__(self, *args: Any) -> None:
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name in args[0]:
                if not isinstance(name, str) or not name or "." in name or hasattr(type(self), name):
                    raise ArgumentValueError(
                        f"SequentialCell: {name!r} cannot name a cell",
                        loc=user_loc(),
                        help="use an identifier",
                    )
            super().__init__(args[0].items())
        else:
            super().__init__(_unnamed(args))

    @property
    def cell_list(self) -> tuple[Cell, ...]:
        """The cells that are applied. Another sequence of cells takes their place."""
        return tuple(self._cells.values())

    @cell_list.setter
    def cell_list(self, cells: Iterable[Cell]) -> None:
        self._replace([("0", self._checked(cell)) for cell in cells])

    def construct(self, x: Any) -> Any:
        for cell in self:
            x = cell(x)
        return x


class CellList(_Container):
    """A list of cells whose parameters belong to the cell that holds it (MindSpore: nn.CellList).

    It computes nothing itself: loop over it, or index it, in `construct`.
    """

    only_holds = True

    def __init__(self, *args: Any, auto_prefix: bool = True) -> None:
        super().__init__(_unnamed(args), auto_prefix)

    def extend(self, cells: Iterable[Cell]) -> Self:
        """Add several cells at the end. Returns self."""
        self._replace([*self._items(), *(("0", self._checked(cell)) for cell in cells)])
        return self

    __iadd__ = extend

    def construct(self, *inputs: Any, **kwargs: Any) -> Any:
        raise NoConstructError(
            "a CellList cannot be called: it holds cells and computes nothing itself",
            loc=user_loc(),
            help="call its cells: `for cell in self.cells: x = cell(x)`, or use nn.SequentialCell",
        )


class CellDict(_Container):
    """Cells by name, whose parameters belong to the cell that holds it (MindSpore: nn.CellDict).

    Made of a mapping, an iterable of pairs (name, cell), or another CellDict. It computes nothing itself. A name that
    is no string is ArgumentTypeError, an empty one or one that the class has as an attribute NameTakenError.
    """

    only_holds = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__((), kwargs.get("auto_prefix", True))
        if len(args) > 1:
            raise ArgumentTypeError(f"CellDict takes one argument at most, got {len(args)}", loc=user_loc())
        if args:
            self.update(args[0])

    def __getitem__(self, key: Any) -> Cell:
        """The cell of that name; KeyError if there is none."""
        if key not in self._cells:
            raise KeyError(key)
        return self._cells[key]

    def __setitem__(self, key: Any, cell: Any) -> None:
        name = self._free_name("cell", key)
        if hasattr(type(self), name):
            raise NameTakenError(f"CellDict: {name!r} is the name of something it has already", loc=user_loc())
        self._cells[name] = self._checked(cell)
        if self._auto_prefix:
            cell._put_under(f"{self._prefix()[0]}{name}.")
        dispatch.touch()

    def __delitem__(self, key: Any) -> None:
        if key not in self._cells:
            raise KeyError(key)
        del self._cells[key]
        dispatch.touch()

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._cells))

    def __contains__(self, key: Any) -> bool:
        return key in self._cells

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._cells.keys()

    def values(self) -> ValuesView[Cell]:
        """The cells."""
        return self._cells.values()

    def items(self) -> ItemsView[str, Cell]:
        """Names and cells."""
        return self._cells.items()

    def clear(self) -> None:
        """Hold nothing."""
        self._cells.clear()
        dispatch.touch()

    def pop(self, key: str) -> Cell:
        """Take a cell out."""
        cell = self[key]
        del self[key]
        return cell

    def update(self, cells: Any) -> None:
        """Add cells of a mapping, or of pairs; a name that is there is given the new cell."""
        if not isinstance(cells, Iterable):
            raise ArgumentTypeError(
                f"CellDict: expected a mapping or pairs, got {type(cells).__name__}", loc=user_loc()
            )
        for name, cell in cells.items() if isinstance(cells, (Mapping, CellDict)) else cells:
            self[name] = cell

    def construct(self, *inputs: Any, **kwargs: Any) -> Any:
        raise NoConstructError(
            "a CellDict cannot be called: it holds cells and computes nothing itself", loc=user_loc()
        )


__all__ = ["CellDict", "CellList", "SequentialCell"]
