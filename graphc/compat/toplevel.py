"""Names of MindSpore's packages `mindspore`, `.context`, `.common` that scripts set and that mean little or nothing here.

Settings of devices, dumps and parallel training are accepted and remembered; the compiler has no use for them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from graphc import context as _context
from graphc.arguments import no_effect, only
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.dtype import DType, to_name
from graphc.ops.tensor.tensor import Tensor

GRAPH_MODE, PYNATIVE_MODE = _context.GRAPH_MODE, _context.PYNATIVE_MODE
STRICT, COMPATIBLE, LAX = 0, 1, 2

_accepted: dict[str, Any] = {"device_id": 0, "save_graphs": False, "save_graphs_path": ".", "max_call_depth": 1000}
_logger = logging.getLogger("graphc")


def set_context(**settings: Any) -> None:
    """`mode` chooses how Cells run. Every other setting is remembered for get_context; devices other than a CPU are not
    there: the script runs on the CPU, with a warning in the log.
    """
    mode = settings.pop("mode", None)
    target = settings.pop("device_target", None)
    if mode is not None:
        _context.set_context(mode=int(mode))
    if target not in (None, "CPU"):
        _logger.warning("device_target %r is not there: running on the CPU", target)
    _accepted.update(settings)


def get_context(attr_key: str) -> Any:
    """A setting; ArgumentValueError if it was never set and has no default."""
    return _accepted[attr_key] if attr_key in _accepted else _context.get_context(attr_key)


def set_device(device_target: str, device_id: int | None = None) -> None:
    """As set_context(device_target=...); there is one device, number 0."""
    only("set_device", "device_id", device_id, None, 0)
    set_context(device_target=device_target)


def _without_effect(name: str, why: str) -> Callable[..., None]:
    """A function that takes anything, and says once that it does nothing."""

    def function(*args: Any, **kwargs: Any) -> None:
        no_effect("mindspore", name, why)

    function.__name__ = name
    function.__doc__ = f"Nothing, said once: {why}."
    return function


_ONE_PLAN = "how a step is compiled is decided by the compiler"
set_deterministic = _without_effect("set_deterministic", "a step of a number of threads always gives the same bits")
set_recursion_limit = _without_effect("set_recursion_limit", "Python's own limit holds")
set_algo_parameters = _without_effect("set_algo_parameters", _ONE_PLAN)
reset_algo_parameters = _without_effect("reset_algo_parameters", _ONE_PLAN)
set_ps_context = _without_effect("set_ps_context", "there are no parameter servers")
reset_ps_context = _without_effect("reset_ps_context", "there are no parameter servers")
set_dump = _without_effect("set_dump", "step.dump() writes what there is to see")
set_cpu_affinity = _without_effect("set_cpu_affinity", "the process's own affinity holds")
set_memory = _without_effect("set_memory", "a step's memory is planned when it is compiled")
empty_cache = _without_effect("empty_cache", "a step's memory is freed with it")
synchronize = _without_effect("synchronize", "a call returns when it is done")


def run_check() -> None:
    """Print that the installation works, after adding two tensors."""
    assert (Tensor([1.0]) + Tensor([1.0])).item() == 2.0
    print("graphc computes.")


class JitConfig:
    """Accepted: how MindSpore should compile. `jit_config_dict` holds what was given."""

    def __init__(self, jit_level: str = "", exc_mode: str = "auto", jit_syntax_level: str = "", **kwargs: Any) -> None:
        levels = ("", "O0", "O1", "O2")
        if jit_level not in levels:
            raise ArgumentValueError(f"JitConfig: jit_level must be one of {levels}, got {jit_level!r}", loc=user_loc())
        self.jit_config_dict = {
            "jit_level": jit_level,
            "exc_mode": exc_mode,
            "jit_syntax_level": jit_syntax_level,
            **kwargs,
        }


def _marker(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A decorator, with or without arguments, that returns what it decorates."""
    return fn if fn is not None else lambda function: function


lazy_inline = no_inline = _marker


def add_flags(fn: Any = None, **flags: Any) -> Any:
    """A decorator that returns what it decorates; a Cell gets the flags as attributes."""
    if isinstance(fn, Cell):
        return fn.add_flags(**flags)
    return _marker(fn)


core = add_flags


def constexpr(
    fn: Callable[..., Any] | None = None, get_instance: bool = True, name: str | None = None, **_: Any
) -> Any:
    """A decorator for functions of Python values that run when a Cell is compiled: here every such function does."""
    return fn if fn is not None else lambda function: function


_primexpr = constexpr


def recompute(block: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """block(*args): what to keep for the gradient is decided by the compiler."""
    return block(*args, **kwargs)


def tensor(
    input_data: Any = None,
    dtype: Any = None,
    shape: Any = None,
    init: Any = None,
    internal: bool = False,
    const_arg: bool = False,
) -> Tensor:
    """A Tensor."""
    only("tensor", "internal", internal, False)
    only("tensor", "const_arg", const_arg, False)
    return Tensor(input_data, dtype, shape, init)


def from_numpy(array: Any) -> Tensor:
    """A Tensor with the contents of an array; ArgumentTypeError for anything else."""
    if not isinstance(array, np.ndarray):
        raise ArgumentTypeError(f"from_numpy: expected an array, got {type(array).__name__}", loc=user_loc())
    return Tensor(array)


# ---- dtypes


def dtype_to_nptype(type_: Any) -> Any:
    """The NumPy type of a dtype."""
    from graphc.ir.types import numpy_dtype

    return numpy_dtype(to_name(type_)).type


def dtype_to_pytype(type_: Any) -> Any:
    """The Python type of a dtype: bool, int or float."""
    name = to_name(type_)
    return bool if name == "bool" else float if "float" in name else int


def pytype_to_dtype(obj: Any) -> DType:
    """The dtype of a Python or NumPy type."""
    if obj is int:
        return DType("int64")
    if obj is float:
        return DType("float64")
    return DType(to_name(obj))


def get_py_obj_dtype(obj: Any) -> Any:
    """The dtype of a tensor or number, the type of anything else."""
    if isinstance(obj, Tensor):
        return obj.dtype
    return pytype_to_dtype(type(obj)) if isinstance(obj, (bool, int, float)) else type(obj)


int_, float_, single, half, double = (
    DType("int64"),
    DType("float32"),
    DType("float32"),
    DType("float16"),
    DType("float64"),
)
string, list_, tuple_, type_none, number = str, list, tuple, type(None), (int, float)
Type, TensorType = DType, Tensor
tensor_type = Tensor


class RowTensor:
    """Stands for MindSpore's sparse gradients, of which there are none here: making one is ArgumentTypeError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise ArgumentTypeError(f"graphc has no sparse tensors: {type(self).__name__} cannot be made", loc=user_loc())


class COOTensor(RowTensor):
    """As RowTensor."""


class CSRTensor(RowTensor):
    """As RowTensor."""


SparseTensor = RowTensorInner = RowTensor


def _get_cache_prim(cls: Any) -> Any:
    """The primitive class itself: making one costs nothing worth keeping."""
    return cls
