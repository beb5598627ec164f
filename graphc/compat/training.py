"""What scripts take from `mindspore.train._utils`, `.serialization` and `.model` for training loops and files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphc.compat import checkparam
from graphc.compat.callbacks import _CallbackManager as _CallbackManager
from graphc.compat.callbacks import _InternalCallbackParam as _InternalCallbackParam
from graphc.compat.toplevel import dtype_to_nptype
from graphc.errors import DTypeError, user_loc
from graphc.ops.tensor.dtype import BY_NAME
from graphc.ops.tensor.tensor import Tensor
from graphc.parallel.settings import ParallelMode
from graphc.train.callbacks.base import Callback

#: Dtypes by their text.
tensor_to_ms_type = {str(dtype): dtype for dtype in BY_NAME.values()}


def tensor_to_np_type(tensor_type_str: str) -> Any:
    """The NumPy type of a dtype by its text, such as "Float32". DTypeError for what is none."""
    if tensor_type_str not in tensor_to_ms_type:
        raise DTypeError(f"{tensor_type_str!r} is no dtype, only {', '.join(tensor_to_ms_type)}", loc=user_loc())
    return dtype_to_nptype(tensor_to_ms_type[tensor_type_str])


def check_value_type(arg_name: str, arg_value: Any, valid_types: Any) -> None:
    """ArgumentTypeError unless a value is of one of the types; a bool is no int here."""
    checkparam.check_value_type(arg_name, arg_value, valid_types)


def _make_directory(path: str, arg_name: str = "path") -> str:
    """A directory, made if it is not there: its whole path. ArgumentTypeError for what is no text."""
    checkparam.check_value_type(arg_name, path, (str,))
    made = Path(path).resolve()
    made.mkdir(parents=True, exist_ok=True)
    return str(made)


def _transfer_tensor_to_tuple(inputs: Any) -> Any:
    """A tensor as a tuple of it, anything else itself."""
    return (inputs,) if isinstance(inputs, Tensor) else inputs


class _StepSync(Callback):
    """Waits for a step's end, which has come when its call returns."""


__all__ = ["ParallelMode", "check_value_type", "tensor_to_ms_type", "tensor_to_np_type"]
