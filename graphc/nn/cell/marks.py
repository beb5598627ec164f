"""What MindSpore asks a Cell, or notes on it, beside computing: how it is compiled and placed, what scripts read of its names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Self

from graphc import dispatch
from graphc.context import parallel_settings
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.nn.cell.structure import Child, Structure
from graphc.ops.functional.core import cast
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import boolean, exact_int
from graphc.validation.unused_arguments import no_effect

#: What `jit` notes on a Cell, or on a function that it makes.
COMPILES = "_graphc_compiles"


class Marks(Structure[Child]):
    """The part of Cell that keeps such notes. Those without a meaning on one device are said once to have none."""

    #: Whether it computes nothing itself, as a CellList.
    only_holds = False
    #: Whether its children are parts of it: not where it stands for a function, which may call any cells.
    is_network = True
    #: What `update_cell_type` has set.
    cell_type: Any = None

    def update_cell_prefix(self) -> None:
        """Note the path from this cell as `param_prefix`, here and in all cells below."""
        for path, cell in self.cells_and_names():
            object.__setattr__(cell, "param_prefix", path)

    def update_cell_type(self, cell_type: str) -> None:
        """Note a type, which means nothing to the compiler."""
        object.__setattr__(self, "cell_type", cell_type)

    def check_names_and_refresh_name(self) -> None:
        """Name the parameters by their paths if two have one name, as the first call of a cell does."""
        names = [p.name for p in self.get_parameters()]
        if len(set(names)) < len(names):
            self.update_parameters_name()
            self.check_names()

    def settle_names(self) -> None:
        """`check_names_and_refresh_name`, once for a cell: names that are given later are kept. The cells of a function are
        no parts of one network, each has names of its own.
        """
        if not self.__dict__.get("_names_are_settled"):
            self.__dict__["_names_are_settled"] = True
            networks: Iterable[Any] = (self,) if self.is_network else self.cells()
            for cell in networks:
                cell.check_names_and_refresh_name()

    def parameters_broadcast_dict(self, recurse: bool = True) -> dict[str, Parameter] | None:
        """The parameters without `layerwise_parallel` by name; None if there are none."""
        found = OrderedDict((p.name, p) for p in self.get_parameters(recurse) if not p.layerwise_parallel)
        return found or None

    def remove_redundant_parameters(self) -> None:
        """Nothing, said once: with one process no parameter is cut into parts."""
        no_effect("Cell", "remove_redundant_parameters", "with one process no parameter is cut into parts")

    def set_data_parallel(self) -> None:
        """Nothing, said once: there is one process."""
        no_effect("Cell", "set_data_parallel", "there is one process")

    @property
    def bprop_debug(self) -> bool:
        """Whether the cell's own `bprop` is to be called by Python: in PYNATIVE_MODE it is, whatever is set."""
        return bool(self.__dict__.get("_bprop_debug", False))

    @bprop_debug.setter
    def bprop_debug(self, value: bool) -> None:
        boolean("", "bprop_debug", value)
        self.__dict__["_bprop_debug"] = value
        no_effect("Cell", "bprop_debug", "in PYNATIVE_MODE a bprop of your own is called by Python")

    @property
    def pipeline_stage(self) -> int:
        """The stage of a pipeline over processes that computes this cell and all below it, with the setting pipeline_stages; of
        a cell without `construct`, such as a CellList, the cells in it. With one stage it is said once to have no effect.
        """
        return int(self.__dict__.get("_pipeline_stage", 0))

    @pipeline_stage.setter
    def pipeline_stage(self, value: int) -> None:
        self._note_place("pipeline_stage", value)
        for cell in self.cells() if self.only_holds else ():
            setattr(cell, "pipeline_stage", value)  # noqa: B010, a Cell
        dispatch.touch()

    @property
    def own_stage(self) -> int | None:
        """The stage that has been set for this very cell."""
        return self.__dict__.get("_pipeline_stage")

    @property
    def pipeline_segment(self) -> int:
        """The segment of a pipeline over processes; said once to have no effect."""
        return int(self.__dict__.get("_pipeline_segment", 0))

    @pipeline_segment.setter
    def pipeline_segment(self, value: int) -> None:
        self._note_place("pipeline_segment", value)

    def _note_place(self, name: str, value: Any) -> None:
        exact_int("", name, value)
        if value < 0:
            raise ArgumentValueError(f"{name} must be at least 0, got {value}", loc=user_loc())
        self.__dict__[f"_{name}"] = value
        if name == "pipeline_segment" or parallel_settings().pipeline_stages == 1:
            no_effect("Cell", name, "a stage is one segment" if name == "pipeline_segment" else "there is one stage")

    # ---- calling

    @property
    def always_compiles(self) -> bool:
        """Whether calls are compiled in PYNATIVE_MODE, too: `jit` was called for the cell, or for its `construct`. Hooks are
        functions in Python there, so a cell that has some does not.
        """
        if any(getattr(self, "_hooks", {}).values()):
            return False
        construct: Any = getattr(self, "construct")  # noqa: B009, a method of Cell
        return COMPILES in self.__dict__ or COMPILES in getattr(
            getattr(construct, "__func__", construct), "__dict__", ()
        )

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the cell for such arguments ahead of the first call with them; nothing in PYNATIVE_MODE."""
        assert dispatch.compile_cell is not None
        dispatch.compile_cell(self, args, kwargs)

    def run_construct(self, cast_inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the cell with these inputs and keyword arguments."""
        if not isinstance(cast_inputs, (tuple, list)):
            raise ArgumentTypeError("run_construct: cast_inputs must be a tuple of inputs", loc=user_loc())
        made: Any = self
        return made(*cast_inputs, **kwargs)

    def cast_inputs(self, inputs: tuple[Any, ...], dst_type: Any) -> tuple[Any, ...]:
        """The inputs, floats among them cast."""
        name = to_name(dst_type)
        return tuple(cast(x, name) if isinstance(x, Tensor) and x.tensor_type.is_float else x for x in inputs)

    def get_inputs(self) -> Any:
        """What `set_inputs` was given; None before."""
        return self.__dict__.get("_given_inputs")

    def set_broadcast_flag(self, mode: bool = True) -> Self:
        """Set the flag `broadcast_flag` here and in all cells below; to the compiler it means nothing. Returns self."""
        for _, cell in self.cells_and_names():
            getattr(cell, "add_flags")(broadcast_flag=mode)  # noqa: B009, a method of Cell
        return self


__all__ = ["Marks"]
