"""Cell: a network, or a part of one; owns Parameters and other Cells, and says in `construct` what it computes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, TraceAttributeError, user_loc
from graphc.ir import Region
from graphc.nn.cell.hooks import Hooks
from graphc.nn.cell.structure import Structure
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.tensor import Parameter, ParameterTuple, Tensor


class Cell(Hooks, Structure):
    """Base of all layers, losses, optimizers and training steps (MindSpore: nn.Cell).

    auto_prefix: whether parameters of child cells are named after the attribute that holds the child.
    Calling a cell compiles its `construct` for the inputs' shapes and dtypes, then runs the compiled step; inside another
    cell's construct it is traced as part of that cell.
    """

    #: Which part of a training step the nodes of this cell belong to; None: that of the caller.
    region: Region | None = None
    #: The dtype in which the cell computes, see `to_float`; None: that of its inputs.
    compute_dtype: str | None = None
    #: The dtype that float results of a cell with a compute_dtype are cast to; None: as they come out.
    result_dtype: str | None = None

    def __init__(self, auto_prefix: bool = True) -> None:
        object.__setattr__(self, "_params", {})
        object.__setattr__(self, "_cells", {})
        object.__setattr__(self, "_auto_prefix", auto_prefix)
        object.__setattr__(self, "training", False)
        if dispatch.recorder.get() is not None:
            object.__setattr__(self, "_made_in_construct", True)

    # ---- attributes

    def __setattr__(self, name: str, value: Any) -> None:
        if "_params" not in self.__dict__:
            raise TraceAttributeError(
                f"{type(self).__name__}: attribute {name!r} is set before Cell.__init__ has run",
                loc=user_loc(),
                help="call super().__init__() first in __init__",
            )
        params, cells = self._params, self._cells
        if dispatch.recorder.get() is not None and self._set_while_traced(name, value):
            return
        dispatch.touch()
        params.pop(name, None)
        cells.pop(name, None)
        if isinstance(value, Parameter):
            if not value.is_named:
                value.name = name
                value.is_named = True
            params[name] = value
        elif isinstance(value, Cell):
            if self._auto_prefix:
                value.update_parameters_name(name + ".")
            cells[name] = value
        elif isinstance(value, ParameterTuple):
            for p in value:
                if not p.is_named:
                    p.name, p.is_named = f"{name}.{p.name}", True
        object.__setattr__(self, name, value)

    def _set_while_traced(self, name: str, value: Any) -> bool:
        """In construct a tensor set as an attribute that holds a Parameter is assigned to it, as in MindSpore. Whether the
        attribute is dealt with; False for a cell that construct itself has made, and where Python runs at every step.
        """
        from graphc.errors import TraceError

        held = self.__dict__.get(name)
        if value is held and name in self.__dict__:
            return True
        if isinstance(held, Parameter) and isinstance(value, (Tensor, bool, int, float)):
            from graphc.ops import functional

            functional.assign(held, value)
            return True
        if self.__dict__.get("_made_in_construct") or getattr(dispatch.recorder.get(), "immediate", False):
            return False
        raise TraceError(
            f"self.{name} is set inside construct: Python runs once, when the Cell is compiled, not at every step",
            code="GC133",
            loc=user_loc(),
            help="use a local variable, or a Parameter and ops.assign for state that changes at every step",
        )

    def __getattr__(self, name: str) -> Any:
        if name == "_params":
            raise AttributeError(name)
        if "_params" not in self.__dict__:
            help = "call super().__init__() first in __init__"
        else:
            import difflib

            near = difflib.get_close_matches(name, [*self.__dict__, *dir(type(self))], n=1)
            help = f"did you mean self.{near[0]}?" if near else None  # type: ignore[assignment]
        raise TraceAttributeError(f"{type(self).__name__} has no attribute {name!r}", loc=user_loc(), help=help)

    def __delattr__(self, name: str) -> None:
        self._params.pop(name, None)
        self._cells.pop(name, None)
        object.__delattr__(self, name)
        dispatch.touch()

    # ---- computing

    def construct(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the cell computes; to be overridden."""
        raise ArgumentTypeError(f"{type(self).__name__} does not define construct")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        active = dispatch.recorder.get()
        if active is not None:
            return active.call_cell(self, args, kwargs)
        assert dispatch.execute_cell is not None
        return dispatch.execute_cell(self, args, kwargs)

    # ---- structure

    def cells(self) -> Iterable[Cell]:
        """The child cells."""
        return self._cells.values()  # type: ignore[no-any-return]

    def name_cells(self) -> dict[str, Cell]:
        """The child cells by attribute name."""
        return dict(self._cells)

    def cells_and_names(self, prefix: str = "") -> Iterator[tuple[str, Cell]]:
        """This cell and all below it with their paths, each once."""
        seen: set[int] = set()
        stack: list[tuple[str, Cell]] = [(prefix, self)]
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
        cells = list(self.cells_and_names()) if expand else [("", self)]
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

    # ---- modes

    def set_train(self, mode: bool = True) -> Cell:
        """Set training (or evaluation) mode for this cell and all below it. Returns self."""
        for _, cell in self.cells_and_names():
            object.__setattr__(cell, "training", bool(mode))
        dispatch.touch()
        return self

    def set_grad(self, requires_grad: bool = True) -> Cell:
        """Set the flag `requires_grad` here and in all cells below. It changes nothing: graphc differentiates whatever is
        asked for. Returns self.
        """
        for _, cell in self.cells_and_names():
            object.__setattr__(cell, "requires_grad", bool(requires_grad))
        return self

    def to_float(self, dst_type: Any) -> Cell:
        """Compute in float16, bfloat16 or float32, here and in all cells below: float inputs and trainable parameters are
        cast when the cell is called; parameters themselves keep their dtype. Returns self (MindSpore: Cell.to_float).

        Raises ArgumentValueError for another dtype.
        """
        name = to_name(dst_type)
        if name not in ("float16", "bfloat16", "float32"):
            raise ArgumentValueError(
                f"to_float: dst_type must be float16, bfloat16 or float32, got {name}", loc=user_loc()
            )
        for _, cell in self.cells_and_names():
            object.__setattr__(cell, "compute_dtype", name)
        dispatch.touch()
        return self

    # ---- marks of MindSpore's

    @property
    def cls_name(self) -> str:
        """The name of the class, as messages have it."""
        return type(self).__name__

    def add_flags(self, **flags: Any) -> Cell:
        """Set attributes, and remember them as flags; to the compiler they mean nothing. Returns self."""
        object.__setattr__(self, "_flags", {**self.get_flags(), **flags})
        for name, value in flags.items():
            object.__setattr__(self, name, value)
        dispatch.touch()
        return self

    def add_flags_recursive(self, **flags: Any) -> Cell:
        """`add_flags` for this cell and all below it. Returns self."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        """What `add_flags` has set."""
        return dict(self.__dict__.get("_flags", {}))

    def _get_attr_from_cell(self, network: Cell) -> None:
        """Accepted: wrappers take over how MindSpore should compile the network; here there is nothing to take over."""

    def extend_repr(self) -> str:
        """What `repr` shows between the parentheses."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({n}): {r}" for n, c in self._cells.items() for r in [repr(c).replace("\n", "\n  ")]]
        if not lines:
            return f"{type(self).__name__}({self.extend_repr()})"
        return f"{type(self).__name__}({self.extend_repr()}\n  " + "\n  ".join(lines) + "\n)"


__all__ = ["Cell"]
