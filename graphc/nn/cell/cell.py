"""Cell: a network, or a part of one; owns Parameters and other Cells, and says in `construct` what it computes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn, Self

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, TraceAttributeError, TraceError, maker_loc, user_loc
from graphc.errors.suggestions import nearest, no_attribute
from graphc.errors.unsupported import instead
from graphc.ir import Region
from graphc.nn.cell.conversion import Conversion
from graphc.nn.cell.hooks import Hooks
from graphc.nn.cell.inputs import declare_inputs
from graphc.nn.cell.marks import Marks
from graphc.nn.cell.structure import Held
from graphc.ops.functional.state import assign_parameter
from graphc.ops.primitives import Cast
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.parameter import Parameter, ParameterTuple
from graphc.ops.tensor.tensor import Tensor
from graphc.tracebacks import clean
from graphc.validation.signatures import constructor
from graphc.validation.unused_arguments import no_effect


def is_set_by_class(cls: type[Cell], name: str) -> bool:
    """Whether a class of the user's says what setting an attribute does, as a property does."""
    return not hasattr(Cell, name) and hasattr(inspect.getattr_static(cls, name, None), "__set__")


def holds_state(cell: Cell, name: str) -> bool:
    """Whether a step may set an attribute: none that every Cell has, no part of the structure, none of a property."""
    own = name == "training" or hasattr(Cell, name) or is_set_by_class(type(cell), name)
    return not own and not isinstance(vars(cell).get(name), _STRUCTURE)


def _without_arguments(cls: type[Cell]) -> Callable[..., None]:
    """The `__init__` of a layer of graphc's that defines none: what Cell's own takes is for the Cells of users."""

    def __init__(self: Cell) -> None:
        super(cls, self).__init__()

    return __init__


class NoConstructError(ArgumentTypeError, AttributeError, NotImplementedError, shown_as="AttributeError"):
    """A Cell is called that computes nothing: an AttributeError in MindSpore, of containers a NotImplementedError."""


class Cell(Hooks["Cell"], Marks["Cell"], Conversion["Cell"]):
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
    #: The low dtype of level "auto" (amp.auto_mixed_precision), where that is on.
    low_dtype: str | None = None
    #: What `set_grad` has set; it changes nothing.
    requires_grad = False
    #: What MindSpore keeps beside a cell: prefix of its parameters' names in a checkpoint, and its phase.
    param_prefix = ""
    phase = "train"
    #: MindSpore's Cells before 2.5 have it, and scripts use it.
    cast = Cast()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.partition(".")[0] != "graphc":
            return
        init = vars(cls).get("__init__") or (_without_arguments(cls) if cls.__init__ is Cell.__init__ else None)
        if init is not None:
            type.__setattr__(cls, "__init__", constructor(init, cls.__name__))

    def __init__(self, auto_prefix: bool = True) -> None:
        object.__setattr__(self, "_params", Held(self))
        object.__setattr__(self, "_cells", Held(self))
        object.__setattr__(self, "_buffer_names", {})
        object.__setattr__(self, "_auto_prefix", auto_prefix)
        object.__setattr__(self, "training", False)
        object.__setattr__(self, "_made_at", maker_loc(self))
        if dispatch.recorder.get() is not None:
            object.__setattr__(self, "_made_in_construct", True)

    # ---- attributes

    def __setattr__(self, name: str, value: Any) -> None:
        if "_behind" in self.__dict__:
            self.__dict__["_behind"].set(self, name, value)
            return
        if "_params" not in self.__dict__:
            # As in MindSpore, what is no part of the structure may be there first.
            if not isinstance(value, (Parameter, ParameterTuple, Cell)):
                object.__setattr__(self, name, value)
                return
            raise TraceAttributeError(
                f"{type(self).__name__}: attribute {name!r} is set before Cell.__init__ has run",
                loc=user_loc(),
                help="call super().__init__() first in __init__",
            )
        params, cells = self._params, self._cells
        if dispatch.recorder.get() is not None and self._set_while_traced(name, value):
            return
        if name in params and value is not None and not isinstance(value, (Parameter, ParameterTuple, Cell)):
            self._set_data(name, value)
            return
        if name in self._buffer_names:
            value = self._as_buffer(name, value)
        dispatch.touch()
        # What stays in its place keeps its position.
        if not isinstance(value, Parameter):
            params.pop(name, None)
        if not isinstance(value, Cell):
            cells.pop(name, None)
        object.__setattr__(self, name, value)
        if isinstance(value, Parameter):
            if not value.is_named:
                value.name = name
                value.is_named = True
            params[name] = value
        elif isinstance(value, Cell):
            if self._auto_prefix:
                value._put_under(name + ".")
            cells[name] = value
        elif isinstance(value, ParameterTuple):
            self._note_members(name, value)

    def _set_data(self, name: str, value: Any) -> None:
        """A tensor set over a Parameter is its new contents, as in MindSpore. ArgumentTypeError for anything else."""
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(
                f"{type(self).__name__}: {name!r} is a Parameter, and is given a {type(value).__name__}",
                loc=user_loc(),
                help=f"a Tensor sets its contents: self.{name} = Tensor(...); None takes it away",
            )
        self._params[name].set_data(value)

    def _set_while_traced(self, name: str, value: Any) -> bool:
        """In construct a tensor set as an attribute that holds a Parameter is assigned to it, as in MindSpore; any other
        attribute is set when the step has run. Whether it is dealt with; False for a cell that construct itself has made, and
        where Python runs at every step.
        """
        active = dispatch.recorder.get()
        held = self.__dict__.get(name)
        if value is held and name in self.__dict__:
            return True
        if isinstance(held, Parameter) and isinstance(value, (Tensor, bool, int, float)):
            assign_parameter(held, value)
            return True
        if active is None or active.immediate or self.__dict__.get("_made_in_construct"):
            return False
        if is_set_by_class(type(self), name):
            return False  # What a setter of the user's sets is another attribute.
        if holds_state(self, name) and not isinstance(value, _STRUCTURE):
            if name in self._buffer_names:
                self._require_buffer(name, value)
            if active.sets(self, name, value):
                return True
        self._refuse_change(name, "set")
        return True

    def _refuse_change(self, name: str, how: str) -> NoReturn:
        raise TraceError(
            f"self.{name} is {how} inside construct: Python runs once, when the Cell is compiled, not at every step",
            code="GC133",
            loc=user_loc(),
            help="use a local variable, or a Parameter and ops.assign for state that changes at every step",
        )

    def __getattr__(self, name: str) -> Any:
        if name == "_params":
            raise AttributeError(name)
        if "_behind" in self.__dict__:
            return getattr(self.__dict__["_behind"].cell, name)
        early = "_params" not in self.__dict__
        if not early and name in self._cells:
            return self._cells[name]  # One that was added by its name.
        active = None if early else dispatch.recorder.get()
        if active is not None and active.recalls(self, name):
            return self.__dict__[name]
        known = () if early else [*self.__dict__, *dir(type(self))]
        hint = "call super().__init__() first in __init__" if early else instead("Cell", name)
        try:
            no_attribute(type(self).__name__, name, known, "self.", hint)
        except AttributeError as error:
            clean(error)
            raise

    def __delattr__(self, name: str) -> None:
        active = dispatch.recorder.get()
        if active is not None and not active.immediate and not self.__dict__.get("_made_in_construct"):
            self._refuse_change(name, "deleted")
        self._params.pop(name, None)
        child = self._cells.pop(name, None)
        self._buffer_names.pop(name, None)
        if child is None or name in self.__dict__:  # Inserted children are no attributes.
            object.__delattr__(self, name)
        dispatch.touch()

    # ---- computing

    def construct(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the cell computes; to be overridden."""
        own = [n for c in type(self).__mro__[: type(self).__mro__.index(Cell)] for n in vars(c) if callable(vars(c)[n])]
        meant = next((n for n in own if "construct" in nearest(n, ["construct"])), None)
        raise NoConstructError(
            f"{type(self).__name__} does not define construct",
            loc=user_loc(),
            help=f"{meant} is to be called construct" if meant else "write `def construct(self, ...)` in the class",
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        active = dispatch.recorder.get()
        if active is not None:
            return active.call_cell(self, args, kwargs)
        assert dispatch.execute_cell is not None
        try:
            return dispatch.execute_cell(self, args, kwargs)
        except BaseException as error:
            clean(error)
            raise

    def _put_under(self, prefix: str) -> None:
        """Name the parameters by the place that another cell gives this one."""
        self.update_parameters_name(prefix)

    # ---- modes

    def set_train(self, mode: bool = True) -> Self:
        """Set training (or evaluation) mode for this cell and all below it, and the phase of this one, "train" or "predict".

        Returns self. ArgumentTypeError for a string, of which "False" is true.
        """
        if isinstance(mode, str):
            raise ArgumentTypeError(f"set_train: mode must be a bool, got {mode!r}", loc=user_loc())
        object.__setattr__(self, "phase", "train" if mode else "predict")
        for _, cell in self.cells_and_names():
            object.__setattr__(cell, "training", bool(mode))
        dispatch.touch()
        return self

    def set_grad(self, requires_grad: bool = True) -> Self:
        """Set the flag `requires_grad` of this cell. It changes nothing: graphc differentiates whatever is asked for. Returns
        self.
        """
        object.__setattr__(self, "requires_grad", bool(requires_grad))
        return self

    def to_float(self, dst_type: Any) -> Self:
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

    def set_param_ps(self, recurse: bool = True, init_in_server: bool = False) -> None:
        """Nothing, said once: there are no parameter servers."""
        no_effect("Cell", "set_param_ps", "there are no parameter servers")

    def set_comm_fusion(self, fusion_type: int, recurse: bool = True) -> Self:
        """Note on the trainable parameters which of them are summed together over processes. Returns self."""
        for p in self.trainable_params(recurse):
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
        """Say what the cell is called with: where a Tensor has a shape with None, that size may vary from call to call.

        There is one compilation for all sizes up to 2, 4, 8, ...: inputs are padded (docs/shapes.md). Tensors without None are
        noted for `get_inputs` and have no effect: a cell is compiled for the shapes it is called with.
        Raises ArgumentValueError for more inputs than construct takes.
        """
        declare_inputs(self, inputs, kwargs)

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """Each parameter, mapped to itself: data are made at once."""
        return {p: p for p in self.get_parameters()}

    def compile_and_run(self, *args: Any, **kwargs: Any) -> Any:
        """Call the cell."""
        return self(*args, **kwargs)

    def cast_param(self, param: Tensor) -> Tensor:
        """The parameter: `to_float` casts parameters where they are used."""
        return param

    @property
    def cls_name(self) -> str:
        """The name of the class, as messages have it."""
        return type(self).__name__

    def add_flags(self, **flags: Any) -> Self:
        """Set attributes, and remember them as flags; to the compiler they mean nothing. Returns self."""
        object.__setattr__(self, "_flags", {**self.get_flags(), **flags})
        for name, value in flags.items():
            object.__setattr__(self, name, value)
        dispatch.touch()
        return self

    def add_flags_recursive(self, **flags: Any) -> Self:
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
        own = self.extend_repr()
        if not self._cells and "\n" not in own:
            return f"{type(self).__name__}({own})"
        below = [f"({name}): {cell!r}" for name, cell in self._cells.items()]
        lines = [line.replace("\n", "\n  ") for line in (*([own] if own else []), *below)]
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)"


#: What an attribute holds that is a part of the structure.
_STRUCTURE = (Parameter, ParameterTuple, Cell)

__all__ = ["Cell"]
