"""Parameter and ParameterTuple: the tensors that Cells own."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    GraphcError,
    GraphcWarning,
    KindError,
    TraceError,
    is_library,
    stacklevel,
    user_loc,
)
from graphc.errors.suggestions import nearest, question
from graphc.ir.types import TensorType
from graphc.ops.tensor.arrays import aligned, narrowed
from graphc.ops.tensor.operators import functions
from graphc.ops.tensor.param_info import ParameterExtras, ParamInfo, only_here
from graphc.ops.tensor.tensor import Array, Tensor, to_array
from graphc.processes import AxisCut, Cut, StageCut
from graphc.validation.checks import boolean, one_of
from graphc.validation.signatures import caller

_numbers = itertools.count()
#: What users set of a parameter.
_SETTINGS = ("requires_grad", "layerwise_parallel", "parallel_optimizer")


def _none_in_construct() -> None:
    active: Any = dispatch.recorder.get()
    if active is not None and not active.immediate:
        raise TraceError(
            "a Parameter is made inside construct: construct runs once, when the Cell is compiled",
            code="GC141",
            loc=user_loc(),
            help="make it in __init__ and keep it in an attribute; a value of one step needs no Parameter",
        )


class Parameter(ParameterExtras, Tensor):
    """A tensor that a Cell owns and a step may write.

    It keeps its memory for life: compiled steps update it in place. `asnumpy` copies, `set_data` writes into it; data of
    another shape move it, and steps that use it are bound anew.
    """

    is_parameter = True
    #: Grows whenever some parameter's memory moves; compiled steps compare it.
    moves = 0
    #: Whether draws read it and move it on; under vmap every index draws the same.
    is_random_state = False
    #: Whether it is one that random functions of any cell draw of, not the state of a layer.
    is_shared_state = False
    #: Whether it was made to be no weight but state, as averages are: not because somebody has frozen it since.
    is_state = False
    #: Where its gradients are added up in automatic parallel modes, see `graphc.ops.functional.collective.accumulate`.
    accumulator: Parameter | None = None
    #: Where it is this process's part of a tensor: how that is cut. `shape` and `asnumpy` are those of the part.
    cut: Cut | AxisCut | StageCut | None = None

    def __init__(
        self,
        default_input: Any,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
        storage_format: str = "",
        device: str | None = None,
    ) -> None:
        only_here(storage_format, device)
        if not is_library(caller(self).f_code.co_filename):
            _none_in_construct()
        data = to_array(
            default_input,
            "int32" if isinstance(default_input, int) and not isinstance(default_input, bool) else None,
            copy=False,
        )
        self._array = aligned(data)
        self.is_named = name is not None
        self.name = name if name is not None else f"Parameter#{next(_numbers)}"
        self.requires_grad = requires_grad
        if not requires_grad:
            self.is_state = True
        self.layerwise_parallel = layerwise_parallel
        self.parallel_optimizer = parallel_optimizer

    def __setattr__(self, name: str, value: Any) -> None:
        """Users keep in a parameter what they like; GraphcWarning for what looks like a slip of one of its own settings."""
        if not (name.startswith("_") or name in self.__dict__ or hasattr(type(self), name)):
            near = nearest(name, _SETTINGS)
            if near:
                text = GraphcError(
                    f"a Parameter has no {name!r}: setting it has no effect", loc=user_loc(), help=question(near)
                )
                warnings.warn(str(text), GraphcWarning, stacklevel=stacklevel())
        super().__setattr__(name, value)

    @property
    def name(self) -> str:
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        if not isinstance(value, str) or not value:
            raise KindError(f"a parameter's name must be a non-empty string, got {value!r}", loc=user_loc())
        self._name = value
        dispatch.touch()  # Gradients may be returned by name.

    def _is_state(self) -> bool:
        active = dispatch.recorder.get()
        return active is not None and not active.immediate

    def _is_traced(self) -> bool:
        return dispatch.recorder.get() is not None

    @property
    def storage(self) -> Array:
        """The memory itself, 64-byte aligned; compiled steps read and write it."""
        assert self._array is not None
        return self._array

    @property
    def array(self) -> Array | None:
        """The contents without a copy; None in construct, which runs once for all steps. ArgumentValueError GC112 where another
        stage of a pipeline has them.
        """
        self._check_here()
        return None if self._is_state() else self._array

    def _value(self, asked: str) -> Array:
        self._check_here()
        return super()._value(asked)

    def _check_here(self) -> None:
        if isinstance(self.cut, StageCut) and not self.cut.is_here:
            raise ArgumentValueError(
                f"{self.name!r} is held by stage {self.cut.stage} of the pipeline, not by this process",
                code="GC112",
                loc=user_loc(),
                help="p.whole() in all processes, or save_checkpoint(...), which gathers all parameters",
            )

    @property
    def requires_grad(self) -> bool:
        """Whether `trainable_params` includes it."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        boolean("", "requires_grad", value)
        self._requires_grad = value
        dispatch.touch()

    @property
    def data(self) -> Tensor:
        """The contents as a Tensor, a constant of differentiation: what is written to it is written to the parameter. Setting
        it is `set_data`.
        """
        if dispatch.recorder.get() is None:
            return Tensor.wrap(self._shared())
        made: Tensor = functions["stop_gradient"](self)
        if self._is_state():
            made.taken_of = self, ...
        return made

    @data.setter
    def data(self, value: Any) -> None:
        self._set_contents(value, by_user=not is_library(caller(self).f_code.co_filename))

    def value(self) -> Tensor:
        """The contents as they are now, as a Tensor."""
        active: Any = dispatch.recorder.get()
        if active is not None:
            snapshot: Tensor = active.wrap(active.resolve(self))
            return snapshot
        return Tensor(self.storage)

    def twin(self) -> Tensor:
        return self.value() if self._is_state() else super().twin()

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Write new contents, cast to the parameter's dtype. Another shape is accepted, as in MindSpore. Returns self.

        In construct it is an assignment, so that it is made at every step: of the parameter's shape.
        """
        return self._set_contents(data, by_user=not is_library(caller(self).f_code.co_filename))

    def _set_contents(self, data: Any, by_user: bool) -> Parameter:
        active: Any = dispatch.recorder.get()
        if active is not None and by_user:
            value: Any = data if isinstance(data, Tensor) else Tensor(to_array(data))
            active.assign(self, value.astype(self.dtype))
            return self
        array = narrowed(to_array(data, copy=False), self.storage.dtype, copy=False)
        if array.shape == self.storage.shape:
            self.storage[...] = array
        else:
            self.move(array)
        return self

    def move(self, array: Array) -> None:
        """Hold contents of any shape and dtype, in memory of their own."""
        self._array = aligned(array)
        Parameter.moves += 1

    @property
    def whole_type(self) -> TensorType:
        """The type of the tensor that this is, or is a part of."""
        return self.tensor_type if self.cut is None else TensorType(self.tensor_type.dtype, self.cut.shape)

    def whole(self) -> Array:
        """The contents, of all parts where it is one: then all processes call it."""
        return self.storage if self.cut is None else self.cut.join(self.storage)

    def set_whole(self, array: Array) -> None:
        """Write contents of `whole_type`'s shape, of which a part takes its own."""
        self.set_data(array if self.cut is None else self.cut.part(array))

    def clone(self, init: str = "same") -> Any:
        """A new parameter of the same name, with the same data, or "zeros" or "ones"; in construct a Tensor of that."""
        makers: dict[str, Callable[[Array], Array]]
        makers = {"same": np.asarray, "zeros": np.zeros_like, "ones": np.ones_like}
        one_of("", "init", init, makers)
        if self._is_state():  # What it holds at that point of every step.
            return self.value() if init == "same" else self.value().fill(int(init == "ones"))
        made = Parameter(makers[init](self.storage), name=self.name, requires_grad=self.requires_grad)
        made.is_state = self.is_state
        made.cut = self.cut
        return made

    def copy(self) -> Any:
        """A new parameter of the same name, with the same data; in construct a Tensor of what it holds there."""
        return self.clone()

    def __copy__(self) -> Any:
        return self.__deepcopy__()

    def __deepcopy__(self, memodict: dict[int, Any] | None = None) -> Any:
        """As `copy`, but that in construct gradients end at it."""
        if self._is_state():
            return functions["stop_gradient"](self)
        made = Parameter(self.storage, self.name, self.requires_grad, self.layerwise_parallel, self.parallel_optimizer)
        made.is_random_state = self.is_random_state
        made.is_state = self.is_state
        made.cut = self.cut
        return made

    @property
    def param_info(self) -> ParamInfo:
        """Name and flags; writing it names this parameter and sets its flags."""
        info: ParamInfo | None = getattr(self, "_param_info", None)
        if info is None:
            self._param_info = info = ParamInfo(self.name, self.requires_grad, self.layerwise_parallel)
        info.name, info.requires_grad, info.layerwise_parallel = self.name, self.requires_grad, self.layerwise_parallel
        return info

    @param_info.setter
    def param_info(self, info: ParamInfo) -> None:
        self._param_info = info
        self.name, self.is_named, self.requires_grad = info.name, True, info.requires_grad
        self.layerwise_parallel = info.layerwise_parallel

    def __repr__(self) -> str:
        flags = f"requires_grad={self.requires_grad}"
        return f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype}, {flags})"

    __str__ = __repr__

    __hash__ = Tensor.__hash__


class ParameterTuple(tuple[Parameter, ...]):
    """Parameters of which no two have one name; ArgumentTypeError for anything else, ArgumentValueError for two of one name. The
    same one may be there twice, as where layers share a weight.
    """

    def __new__(cls, iterable: Any) -> ParameterTuple:
        made = tuple(iterable)
        names: dict[str, Parameter] = {}
        for p in made:
            if not isinstance(p, Parameter):
                raise ArgumentTypeError(f"a ParameterTuple holds Parameters, got {type(p).__name__}", loc=user_loc())
            if names.setdefault(p.name, p) is not p:
                raise ArgumentValueError(
                    f"two parameters are named {p.name!r}", code="GC141", loc=user_loc(), help="give each its own name"
                )
        return super().__new__(cls, made)

    def clone(self, prefix: str, init: str = "same") -> ParameterTuple:
        """Copies named `prefix.name`."""
        _none_in_construct()
        copies = {id(p): p.clone(init) for p in self}
        for p in self:
            copy = copies[id(p)]
            copy.name = f"{prefix}.{p.name}"
            if prefix == "accu_grads":
                p.accumulator = copy
        return ParameterTuple(copies[id(p)] for p in self)


__all__ = ["ParamInfo", "Parameter", "ParameterTuple"]
