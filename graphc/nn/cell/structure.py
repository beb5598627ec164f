"""The part of Cell that adds children by name and walks over them, and marks that only MindSpore's compiler needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, cast

from graphc import dispatch
from graphc.arguments import no_effect
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.tensor.tensor import Parameter, Tensor

if TYPE_CHECKING:
    from graphc.nn.cell.cell import Cell


class NameTakenError(ArgumentValueError, KeyError):
    """A child's or parameter's name that a cell has already, or that cannot be one."""

    __str__ = ArgumentValueError.__str__


NameTakenError.__module__ = "graphc"


class Structure:
    """Children by name. See Cell."""

    #: What `set_grad` has set; it changes nothing.
    requires_grad = False
    #: What MindSpore keeps beside a cell: prefix of its parameters' names in a checkpoint, phase and options of compilation.
    param_prefix = ""
    phase = ""

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
        from graphc.nn.cell.cell import Cell

        me = cast("Cell", self)
        name = self._free_name("child", child_name)
        if name in me._cells or name in self.__dict__:
            raise NameTakenError(f"{type(self).__name__} already has a child or attribute {name!r}", loc=user_loc())
        if child_cell is None:
            return
        if not isinstance(child_cell, Cell):
            raise ArgumentTypeError(f"child {name!r} must be a Cell, got {type(child_cell).__name__}", loc=user_loc())
        if me._auto_prefix:
            child_cell.update_parameters_name(name + ".")
        me._cells[name] = child_cell
        dispatch.touch()

    def insert_param_to_cell(self, param_name: str, param: Any, check_name_contain_dot: bool = True) -> None:
        """Add a parameter as the attribute of this name; a parameter of this name is replaced. Errors as for
        insert_child_to_cell.
        """
        me = cast("Cell", self)
        if check_name_contain_dot or not param_name:
            self._free_name("parameter", param_name)
        if param_name in self.__dict__ and param_name not in me._params:
            raise NameTakenError(f"{type(self).__name__} already has an attribute {param_name!r}", loc=user_loc())
        if not isinstance(param, Parameter):
            raise ArgumentTypeError(
                f"{type(self).__name__}: {param_name!r} must be a Parameter, got {type(param).__name__}", loc=user_loc()
            )
        setattr(self, param_name, param)

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call fn with every cell below, children before parents, and with this one. Returns self."""
        for cell in cast("Cell", self).cells():
            cell.apply(fn)
        fn(self)
        return self

    def check_names(self) -> None:
        """ArgumentValueError if two parameters have one name."""
        names: set[str] = set()
        for p in cast("Cell", self).get_parameters():
            if p.name in names:
                raise ArgumentValueError(
                    f"two parameters are named {p.name!r}",
                    code="GC141",
                    loc=user_loc(),
                    help="give each parameter its own name",
                )
            names.add(p.name)

    def set_param_ps(self, recurse: bool = True, init_in_server: bool = False) -> None:
        """Nothing, said once: there are no parameter servers."""
        no_effect("Cell", "set_param_ps", "there are no parameter servers")

    def set_comm_fusion(self, fusion_type: int, recurse: bool = True) -> Self:
        """Note on the trainable parameters which of them are summed together over processes. Returns self."""
        for p in cast("Cell", self).trainable_params(recurse):
            p.comm_fusion = fusion_type
        return self

    def recompute(self, **options: Any) -> None:
        """Nothing, said once: what to keep for the gradient is decided by the compiler."""
        no_effect("Cell", "recompute", "what to keep for the gradient is decided by the compiler")

    def set_jit_config(self, jit_config: Any) -> None:
        """Nothing, said once: there is one way of compiling."""
        no_effect("Cell", "set_jit_config", "there is one way of compiling")

    def set_boost(self, boost_type: str) -> Self:
        """Nothing, said once: there is no boost mode. Returns self."""
        no_effect("Cell", "set_boost", "there is no boost mode")
        return self

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Nothing, said once: a cell is compiled for the shapes it is called with."""
        no_effect("Cell", "set_inputs", "a cell is compiled for the shapes it is called with")

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """Each parameter, mapped to itself: data are made at once."""
        return {p: p for p in cast("Cell", self).get_parameters()}

    def compile_and_run(self, *args: Any, **kwargs: Any) -> Any:
        """Call the cell."""
        return cast("Cell", self)(*args, **kwargs)

    def cast_param(self, param: Tensor) -> Tensor:
        """The parameter: `to_float` casts parameters where they are used."""
        return param


__all__ = [
    "NameTakenError",
    "Structure",
]
