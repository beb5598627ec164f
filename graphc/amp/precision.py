"""Networks in half precision: which Cells compute in float16 or bfloat16, by level or by list."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any, ParamSpec, TypeVar

from graphc import dispatch, ops
from graphc.amp.managers import DynamicLossScaleManager, LossScaleManager
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.nn import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Cell,
    Conv1d,
    Conv1dTranspose,
    Conv2d,
    Conv2dTranspose,
    Conv3d,
    Conv3dTranspose,
    Dense,
    GRUCell,
    LayerNorm,
    LSTMCell,
    Optimizer,
    PReLU,
    ReLU,
    RNNCell,
    TrainOneStepCell,
    TrainOneStepWithLossScaleCell,
    WithLossCell,
    checks,
)
from graphc.ops.tensor.autocast import computing
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.primitive import Primitive
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import map_tensors

P = ParamSpec("P")
R = TypeVar("R")
N = TypeVar("N")

LEVELS = ("O0", "O1", "O2", "O3", "auto")
HALVES = ("float16", "bfloat16")

#: Classes of Cells, and of primitives that a Cell holds.
Kind = type[Cell] | type[Primitive]

#: MindSpore's, and the layers PReLU and ReLU, which there hold one of these primitives.
WHITE_LIST: tuple[Kind, ...] = (
    Conv1d, Conv2d, Conv3d, Conv1dTranspose, Conv2dTranspose, Conv3dTranspose, Dense, LSTMCell, RNNCell, GRUCell,
    PReLU, ReLU,
    ops.Conv2D, ops.Conv3D, ops.Conv2DTranspose, ops.Conv3DTranspose, ops.Conv2DBackpropInput, ops.MatMul,
    ops.BatchMatMul, ops.PReLU, ops.ReLU, ops.Ger,
)  # fmt: skip
BLACK_LIST: tuple[type[Cell], ...] = (BatchNorm1d, BatchNorm2d, BatchNorm3d, LayerNorm)


def get_white_list() -> list[Kind]:
    """The Cells, and the primitives in attributes of Cells, that level O1 casts."""
    return list(WHITE_LIST)


def get_black_list() -> list[type[Cell]]:
    """The Cells that level O2 leaves in float32."""
    return list(BLACK_LIST)


def _half(owner: str, dtype: Any) -> str:
    name = to_name(dtype)
    if name not in HALVES:
        raise checks.wrong_value(owner, "dtype", f"one of {', '.join(HALVES)}", name)
    return name


def _cast_results(cell: Cell, dtype: str) -> None:
    """Let a cell give its float results in a dtype."""
    cell.result_dtype = dtype


def by_white_list(network: Cell, white: tuple[Kind, ...], dtype: str) -> None:
    """Let Cells and primitives of these classes compute in a dtype, with results in float32."""
    cast: set[int] = set()
    for _, cell in network.cells_and_names():
        if isinstance(cell, white):
            cell.to_float(dtype)
            _cast_results(cell, "float32")
            cast.update(id(below) for _, below in cell.cells_and_names())
    for _, cell in network.cells_and_names():
        if id(cell) not in cast:
            _cast_primitives(cell, white, dtype)


def by_black_list(network: Cell, black: tuple[type[Cell], ...], dtype: str) -> None:
    """Let all Cells but those of these classes compute in a dtype, in which these give their results."""
    network.to_float(dtype)
    for _, cell in network.cells_and_names():
        if cell is not network and isinstance(cell, black):
            cell.to_float("float32")
            _cast_results(cell, dtype)


def _cast_primitives(cell: Cell, kinds: tuple[Kind, ...], dtype: str) -> None:
    """Let primitives in a cell's attributes compute in dtype, and give their float results in float32."""
    for name, held in list(vars(cell).items()):
        if isinstance(held, Primitive) and isinstance(held, kinds):
            made: Any = copy.copy(held)
            kind: Any = getattr(type(held), "_kind", type(held))
            made.__class__ = _casting(kind)
            made._dtype = dtype
            setattr(cell, name, made)


@functools.cache
def _casting(kind: type[Primitive]) -> type[Primitive]:
    """The kind of primitive that does what another does, in its `_dtype`, with results in float32."""

    class Casting(kind):  # type: ignore[misc, valid-type]
        _kind = kind
        _dtype: str

        def __call__(self, *operands: Any) -> Any:
            given = map_tensors(lambda x: ops.cast(x, self._dtype) if x.tensor_type.is_float else x, operands)
            return map_tensors(_as_float32, super().__call__(*given))

    Casting.__name__ = Casting.__qualname__ = kind.__name__
    return Casting


def auto_mixed_precision(network: N, amp_level: str = "O0", dtype: Any = "float16") -> N:
    """The network, set to compute in dtype by level; parameters stay float32 (MindSpore: amp.auto_mixed_precision).

    O0: as it is. O1: the Cells of `get_white_list()` in dtype, and its primitives in attributes of other Cells, their
    results in float32. O2: everything in dtype but the Cells of `get_black_list()`; O3: everything. The network's own
    results are float32. auto: what is called while it runs computes in dtype, in float32 or in the widest dtype of what it is
    given, by lists of functions (`graphc.ops.tensor.autocast`); results keep the dtype they come out in, and Cells with
    `to_float` theirs.
    network is changed and returned; level auto takes a function as well, and returns another one. dtype: float16 or bfloat16.
    Raises ArgumentTypeError unless network is a Cell, ArgumentValueError for another level or dtype.
    """
    owner = "auto_mixed_precision"
    level = _level(owner, amp_level, "amp_level")
    taken = (Cell, FunctionType, MethodType) if level == "auto" else (Cell,)
    if not isinstance(network, taken):
        raise checks.wrong_type(owner, "network", "a Cell or function" if level == "auto" else "a Cell", network)
    half = _half(owner, dtype)
    if not isinstance(network, Cell):
        made: Any = network
        return _by_lists(made, half)  # type: ignore[return-value]
    if level == "O1":
        by_white_list(network, WHITE_LIST, half)
    elif level in ("O2", "O3"):
        by_black_list(network, BLACK_LIST if level == "O2" else (), half)
        _cast_results(network, "float32")
    elif level == "auto":
        object.__setattr__(network, "low_dtype", half)
        dispatch.touch()
    return network


def _by_lists(function: Callable[P, R], half: str) -> Callable[P, R]:
    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        active = dispatch.recorder.get()
        with computing(half):
            made: R = (function if active is None else active.prepared(function))(*args, **kwargs)
        return made

    return run


def custom_mixed_precision(
    network: Cell,
    *,
    white_list: Sequence[Kind] | None = None,
    black_list: Sequence[type[Cell]] | None = None,
    dtype: Any = "float16",
) -> Cell:
    """As level O1 with one's own white list, or O2 with one's own black list: lists of classes of Cells, the white
    one of primitives that Cells hold as well (MindSpore).

    Raises ArgumentTypeError or ArgumentValueError unless exactly one list of such classes is given.
    """
    owner = "custom_mixed_precision"
    if not isinstance(network, Cell):
        raise checks.wrong_type(owner, "network", "a Cell", network)
    if (white_list is None) == (black_list is None):
        raise ArgumentValueError(f"{owner} takes either white_list or black_list", loc=user_loc())
    kinds, words = ((Cell, Primitive), "Cells and primitives") if black_list is None else (Cell, "Cells")
    for c in white_list if black_list is None else black_list:  # type: ignore[union-attr]
        if not isinstance(c, type) or not issubclass(c, kinds):
            raise ArgumentTypeError(f"{owner}: the list holds classes of {words}, got {c!r}", loc=user_loc())
    half = _half(owner, dtype)
    if white_list is not None:
        by_white_list(network, tuple(white_list), half)
    else:
        by_black_list(network, tuple(black_list or ()), half)
        _cast_results(network, "float32")
    return network


def _level(owner: str, level: Any, name: str) -> str:
    if not isinstance(level, str):
        raise checks.wrong_type(owner, name, "a string", level)
    if level not in LEVELS:
        raise checks.wrong_value(owner, name, f"one of {', '.join(LEVELS)}", level)
    return level


class WithFloat32Loss(Cell):
    """loss_fn(backbone(data), label) with half-precision outputs and labels cast to float32."""

    def __init__(self, backbone: Cell, loss_fn: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone, self._loss_fn = backbone, loss_fn

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(map_tensors(_as_float32, self._backbone(data)), map_tensors(_as_float32, label))

    @property
    def backbone_network(self) -> Cell:
        """The network without the loss."""
        return self._backbone


def _as_float32(x: Tensor) -> Tensor:
    return ops.cast(x, "float32") if x.tensor_type.dtype in HALVES else x


def build_train_network(
    network: Cell,
    optimizer: Any,
    loss_fn: Cell | None = None,
    level: str = "O0",
    boost_level: str = "O0",
    **kwargs: Any,
) -> Cell:
    """A training cell around a network in mixed precision, in training mode (MindSpore: amp.build_train_network).

    network: returns the loss, or takes loss_fn for it. level: see `auto_mixed_precision`; O2 brings a
    DynamicLossScaleManager(). Keyword arguments overrule the level: cast_model_type (float16, bfloat16 or float32),
    keep_batchnorm_fp32 (bool), loss_scale_manager (a LossScaleManager or None). A manager whose update cell is None makes a
    TrainOneStepCell with the scale as sens, another a TrainOneStepWithLossScaleCell; none a TrainOneStepCell.
    Raises ArgumentTypeError or ArgumentValueError for other arguments. boost_level is "O0".
    """
    owner = "build_train_network"
    checks_failed = [k for k in kwargs if k not in ("cast_model_type", "keep_batchnorm_fp32", "loss_scale_manager")]
    if checks_failed:
        raise ArgumentValueError(f"{owner} has no argument {checks_failed[0]!r}", loc=user_loc())
    if not isinstance(network, Cell):
        raise checks.wrong_type(owner, "network", "a Cell", network)
    if not isinstance(optimizer, Optimizer):
        raise checks.wrong_type(owner, "optimizer", "an Optimizer", optimizer)
    if boost_level != "O0":
        raise checks.wrong_value(owner, "boost_level", "'O0'", boost_level)
    level = _level(owner, level, "level")
    manager = kwargs.get("loss_scale_manager", DynamicLossScaleManager() if level == "O2" else None)
    if manager is not None and not isinstance(manager, LossScaleManager):
        raise checks.wrong_type(owner, "loss_scale_manager", "a LossScaleManager or None", manager)
    network = _cast_network(owner, network, level, kwargs)
    if loss_fn is not None:
        network = with_loss(network, loss_fn)
    update = None if manager is None else manager.get_update_cell()
    if update is not None:
        return TrainOneStepWithLossScaleCell(network, optimizer, update).set_train()
    sens = None if manager is None else manager.get_loss_scale()
    return TrainOneStepCell(network, optimizer, sens).set_train()


def _cast_network(owner: str, network: Cell, level: str, kwargs: dict[str, Any]) -> Cell:
    """The network cast as the level says, or as the keyword arguments that overrule it."""
    keep = checks.boolean(owner, "keep_batchnorm_fp32", kwargs.get("keep_batchnorm_fp32", level == "O2"))
    if "cast_model_type" not in kwargs:
        if level in ("O2", "O3"):
            level = "O2" if keep else "O3"
        return auto_mixed_precision(network, level)
    wanted = to_name(kwargs["cast_model_type"])
    if wanted not in (*HALVES, "float32"):
        raise checks.wrong_value(owner, "cast_model_type", "float16, bfloat16 or float32", wanted)
    if wanted == "float32":
        return network if level in ("O2", "O3") else auto_mixed_precision(network, level)
    return auto_mixed_precision(network, "O2" if keep else "O3", wanted)


def with_loss(network: Cell, loss_fn: Any, halved: bool = False) -> Cell:
    """loss_fn of what the network returns, in float32 where that is half precision. ArgumentTypeError for what is no Cell."""
    if not isinstance(loss_fn, Cell):
        raise checks.wrong_type("build_train_network", "loss_fn", "a Cell", loss_fn)
    halved = halved or any(cell.compute_dtype is not None for _, cell in network.cells_and_names())
    return WithFloat32Loss(network, loss_fn) if halved else WithLossCell(network, loss_fn)
