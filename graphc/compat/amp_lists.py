"""`mindspore.train.amp`: lists of mixed precision, and what goes by them, for scripts with levels of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.amp import DynamicLossScaleManager, precision
from graphc.ir.types import HALVES
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.dtype import float16, float32, to_name

AMP_WHITE_LIST: list[Any] = precision.get_white_list()
AMP_BLACK_LIST: list[type[Cell]] = precision.get_black_list()


def _auto_black_list(network: Cell, black_list: Sequence[type[Cell]], dtype: Any = "float16") -> Cell:
    """The network, all of whose Cells compute in dtype but those of the list, which give their results in it."""
    precision.by_black_list(network, tuple(black_list), to_name(dtype))
    return network


def _auto_white_list(network: Cell, white_list: Sequence[Any], dtype: Any = "float16") -> Cell:
    """The network, whose Cells and primitives of the list compute in dtype, with results in float32."""
    precision.by_white_list(network, tuple(white_list), to_name(dtype))
    return network


def _auto_mixed_precision_rewrite(
    network: Cell, dtype: Any, white_list: Sequence[Any] | None = None, black_list: Sequence[type[Cell]] | None = None
) -> Cell:
    """The network by a white list, or, if that is None, by a black list."""
    if white_list is not None:
        return _auto_white_list(network, white_list, dtype)
    return _auto_black_list(network, black_list or (), dtype)


def _level(dtype: Any, keep: bool = False, manager: Any = None) -> dict[str, Any]:
    return {"keep_batchnorm_fp32": keep, "cast_model_type": dtype, "loss_scale_manager": manager}


#: What `build_train_network` takes for each level where it is not told otherwise.
_config_level = {
    "O0": _level(float32),
    "O1": _level(float32),
    "O2": _level(float16, True, DynamicLossScaleManager()),
    "O3": _level(float16),
    "auto": _level(float32),
}


def _add_loss_network(network: Cell, loss_fn: Cell, cast_model_type: Any) -> Cell:
    """The loss of what a network returns, which is cast to float32 first where the network is cast to half precision."""
    return precision.with_loss(network, loss_fn, to_name(cast_model_type) in HALVES)


__all__ = ["AMP_BLACK_LIST", "AMP_WHITE_LIST"]
