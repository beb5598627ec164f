"""What scripts with callbacks and checkpoints of their own take from the inside of MindSpore's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphc.checkpoint import into_net
from graphc.checkpoint.saving import save_checkpoint
from graphc.errors import CheckpointError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.validation.unused_arguments import only


def set_cur_net(net: Any) -> None:
    """Nothing is kept: a checkpoint is written from the network that is saved, not from the last one that was named."""


def _get_merged_param_data(
    net: Any, parameter_layout_dict: Any, param_name: str, param_data: Tensor, integrated_save: bool
) -> Tensor:
    """param_data itself: every process has the whole of a parameter."""
    return param_data


def _handle_loss(loss: Any) -> Any:
    """What a step returned, for a callback: the first of several tensors, the mean of one as a float, anything else itself."""
    if isinstance(loss, (tuple, list)):
        return loss[0] if isinstance(loss[0], Tensor) else loss
    return float(np.mean(loss.asnumpy())) if isinstance(loss, Tensor) else loss


def _update_param(param: Parameter, new_param: Any, strict_load: bool) -> None:
    """Give a parameter the value of another, as `load_param_into_net` does. CheckpointError where it does not fit."""
    given = new_param if isinstance(new_param, Tensor) else Tensor(new_param)
    row = into_net.difference(param.name, param, given, strict_load)
    if row is not None:
        raise CheckpointError(f"load_param_into_net: {row}", loc=user_loc())
    param.set_whole(require_array(given).reshape(param.whole_type.shape))


def _load_dismatch_prefix_params(
    net: Cell, parameter_dict: Mapping[str, Any], param_not_load: list[str], strict_load: bool
) -> None:
    """Load what is left from under a prefix that the names of a checkpoint have, and take it off the list."""
    params = {p.name: p for p in net.get_parameters()}
    tensors = {name: value for name, value in parameter_dict.items() if isinstance(value, Tensor)}
    used = {name for name in params if name in tensors and name not in param_not_load}
    for name, entry in into_net.under_prefixes(list(param_not_load), params, tensors, used).items():
        _update_param(params[name], tensors[entry], strict_load)
        param_not_load.remove(name)


def _exec_save(
    ckpt_file_name: str,
    data_list: Mapping[str, Sequence[Any]],
    enc_key: bytes | None = None,
    enc_mode: str = "AES-GCM",
    map_param_inc: bool = False,
    crc_check: bool = False,
    format: str = "ckpt",
    remove_redundancy: bool | None = None,
) -> None:
    """Write entries to a file, as `save_checkpoint` does: of each name (its sizes, the name of its dtype, an array), or
    (anything, "str", a text). remove_redundancy counts for nothing: every process has the whole of each. map_param_inc is False.
    """
    only("_exec_save", "map_param_inc", map_param_inc, False)
    entries = {name: _entry(*entry) for name, entry in data_list.items()}
    save_checkpoint(entries, ckpt_file_name, enc_key=enc_key, enc_mode=enc_mode, crc_check=crc_check, format=format)


def _entry(sizes: Any, kind: str, data: Any) -> Any:
    if kind == "str":
        return data if isinstance(data, str) else "".join(np.asarray(data).reshape(-1).tolist())
    array = data.asnumpy() if isinstance(data, Tensor) else np.asarray(data)
    return Tensor(array.reshape(() if list(sizes) == [0] and array.size == 1 else tuple(sizes)))


__all__ = ["set_cur_net"]
