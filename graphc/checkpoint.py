"""Checkpoints: all state of a Cell in one safetensors file.

The format is the one MindSpore writes with `save_checkpoint(..., format="safetensors")`: one tensor per parameter
name, metadata {"format": "ms"}. A training cell's parameters include the optimizer's state, the loss scale and its
counters, and the random states of its layers are saved with them, so a run continues exactly where it was saved.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from graphc import tensorfile
from graphc.errors import ArgumentTypeError, ArgumentValueError, CheckpointError, user_loc
from graphc.files import make_directory
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Parameter, Tensor, require_array

_METADATA = {"format": "ms"}
#: Lines of the table in an error before it is cut.
_ROWS = 10


def save_checkpoint(save_obj: Cell | Mapping[str, Tensor] | Iterable[Parameter], path: str | os.PathLike[str]) -> Path:
    """Write all parameters of a cell, a dict of tensors by name, or parameters, to a safetensors file. Returns its
    path.

    Of a cell the random states of its layers are written, too, by the paths that they have: "network.dropout.state".
    The file appears complete or not at all (temporary file, fsync, rename); missing directories are made. It takes no
    memory; what is saved should not be trained meanwhile. Raises ArgumentTypeError for another kind of object,
    ArgumentValueError (GC141) where two parameters have one name, OSError.
    """
    tensors = _named(save_obj)
    target = Path(path)
    make_directory(target.parent)
    arrays = {n: np.ascontiguousarray(require_array(t)).reshape(t.shape) for n, t in tensors.items()}
    return tensorfile.write(target, arrays, _METADATA)


def _named(save_obj: object) -> dict[str, Tensor]:
    if isinstance(save_obj, Mapping):
        return _unique(save_obj.items())
    if isinstance(save_obj, Cell):
        named = ((p.name, p) for p in save_obj.get_parameters())
        return _unique([*named, *_random_states(save_obj).items()])
    items = save_obj
    if isinstance(items, (str, bytes, Tensor)) or not isinstance(items, Iterable):
        raise ArgumentTypeError(
            f"save_checkpoint takes a Cell, a dict of tensors or Parameters, got {type(save_obj).__name__}",
            loc=user_loc(),
        )
    return _unique((getattr(p, "name", None), p) for p in items)


def _random_states(net: Cell) -> dict[str, Parameter]:
    """The random states of layers by path; they are not among the parameters."""
    return {
        f"{path}.{name}" if path else name: value
        for path, cell in net.cells_and_names()
        for name, value in vars(cell).items()
        if isinstance(value, Parameter) and name not in cell._params
    }


def _unique(pairs: Iterable[tuple[object, object]]) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for name, tensor in pairs:
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"a checkpoint holds tensors with names, not {type(tensor).__name__} under {name!r}",
                loc=user_loc(),
            )
        if name in tensors:
            raise ArgumentValueError(
                f"two parameters are named {name!r}: a checkpoint cannot tell them apart",
                code="GC141",
                loc=user_loc(),
                help="give each its own name",
            )
        if name == "__metadata__":
            raise ArgumentValueError("a checkpoint cannot hold a tensor named '__metadata__'", loc=user_loc())
        tensors[name] = tensor
    return tensors


def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, Parameter]:
    """The tensors of a safetensors file by name, as Parameters of these names.

    Raises CheckpointError if the file is missing, is no safetensors file, is cut off, does not fit into memory, or holds
    a dtype graphc has not.
    """
    file = Path(path)
    try:
        return {name: Parameter(Tensor.wrap(array), name=name) for name, array in tensorfile.read(file)}
    except OSError as error:
        raise CheckpointError(f"checkpoint {str(path)!r} cannot be read: {error.strerror}", loc=user_loc()) from None
    except tensorfile.DTypeNameError as error:
        raise CheckpointError(f"checkpoint {str(path)!r}: {error}", loc=user_loc()) from None
    except (tensorfile.DamagedError, ValueError) as error:
        raise CheckpointError(
            f"checkpoint {str(path)!r} is damaged or no safetensors file: {error}",
            loc=user_loc(),
            details=[f"the file has {file.stat().st_size} bytes"],
        ) from None
    except MemoryError as error:
        raise CheckpointError(f"checkpoint {str(path)!r} does not fit into memory: {error}", loc=user_loc()) from None


def load_param_into_net(
    net: Cell, parameter_dict: Mapping[str, Tensor], strict_load: bool = False
) -> tuple[list[str], list[str]]:
    """Write a checkpoint's tensors into the parameters of the same names.

    Returns (names of the net that the checkpoint lacks, names of the checkpoint that the net lacks), as MindSpore
    does. Random states of layers (see save_checkpoint) are loaded where the checkpoint has them: files of older versions
    and of MindSpore have none, and leave them as they are. Shapes must be equal; so must dtypes, except that one float is
    converted to another without `strict_load`. With `strict_load` no name may be missing or left over. Everything is
    checked first: after a CheckpointError the net holds what it held before. Raises ArgumentTypeError for other kinds of
    arguments.
    """
    if not isinstance(net, Cell):
        raise ArgumentTypeError(f"load_param_into_net: net must be a Cell, got {type(net).__name__}", loc=user_loc())
    if not isinstance(parameter_dict, Mapping) or not all(isinstance(t, Tensor) for t in parameter_dict.values()):
        raise ArgumentTypeError(
            "load_param_into_net: parameter_dict must be a dict of Tensors by name, as load_checkpoint returns it",
            loc=user_loc(),
        )
    _unique((p.name, p) for p in net.get_parameters())
    states = _random_states(net)
    params = {**states, **net.parameters_dict()}
    missing = [n for n in params if n not in parameter_dict and n not in states]
    unexpected = [n for n in parameter_dict if n not in params]
    common = [n for n in params if n in parameter_dict]
    differing = [row for n in common if (row := _difference(n, params[n], parameter_dict[n], strict_load))]
    if differing or (strict_load and (missing or unexpected)):
        raise _mismatch(differing, missing, unexpected)
    for name in common:
        params[name].set_data(parameter_dict[name])
    return missing, unexpected


def _difference(name: str, param: Parameter, tensor: Tensor, strict: bool) -> str | None:
    """A row of the table if the two do not fit."""
    ours, theirs = param.type, tensor.type
    if ours.shape != theirs.shape:
        return f"shape differs  {name}: the net has {ours}, the checkpoint {theirs}"
    if ours.dtype != theirs.dtype and (strict or not (ours.is_float and theirs.is_float)):
        return f"dtype differs  {name}: the net has {ours}, the checkpoint {theirs}"
    return None


def _mismatch(differing: list[str], missing: list[str], unexpected: list[str]) -> CheckpointError:
    rows = [*differing]
    for name in missing:
        near = difflib.get_close_matches(name, unexpected, n=1)
        rows.append(f"missing        {name}" + (f" (the checkpoint has {near[0]})" if near else ""))
    for name in unexpected:
        near = difflib.get_close_matches(name, missing, n=1)
        rows.append(f"unexpected     {name}" + (f" (the net has {near[0]})" if near else ""))
    counts = [
        f"{len(differing)} of another shape or dtype" if differing else "",
        f"{len(missing)} missing" if missing else "",
        f"{len(unexpected)} unexpected" if unexpected else "",
    ]
    if len(rows) > _ROWS:
        rows = [*rows[:_ROWS], f"... and {len(rows) - _ROWS} more"]
    return CheckpointError(
        f"the checkpoint does not match the network: {', '.join(filter(None, counts))}; nothing was loaded",
        loc=user_loc(),
        details=rows,
        help="build the network with the sizes it was saved with"
        if differing
        else "load without strict_load to accept this, or rename the entries of the dict",
    )
