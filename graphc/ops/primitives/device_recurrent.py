"""Recurrent layers under the names that they have on MindSpore's devices: one layer, one direction, every gate returned."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.control import scan
from graphc.ops.tensor.primitive import Hint, Only, declare
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only


def _check(owner: str, **wanted: tuple[Tensor, tuple[int, ...]]) -> None:
    """ShapeError where an operand has another shape than wanted, ArgumentTypeError where it has no floats."""
    for name, (x, shape) in wanted.items():
        if x.shape != shape:
            raise ShapeError(f"{owner}: {name} is {x.tensor_type}, expected shape {shape}", loc=user_loc())
        if not x.tensor_type.is_float:
            raise ArgumentTypeError(f"{owner}: {name} is {x.tensor_type}, expected floats", loc=user_loc())


def _sizes(owner: str, x: Tensor, init_h: Tensor, rank: int) -> tuple[int, int, int, int]:
    """Steps, batch, width and units. ShapeError for tensors of other ranks."""
    if x.ndim != 3 or init_h.ndim != rank:
        raise ShapeError(
            f"{owner}: x is {x.tensor_type} and init_h {init_h.tensor_type}, expected 3 and {rank} axes", loc=user_loc()
        )
    steps, batch, width = x.shape
    return steps, batch, width, init_h.shape[-1]


# ---- LSTM


def _lstm(
    x: Tensor, w: Tensor, b: Tensor, seq_length: Any, init_h: Tensor, init_c: Tensor, forget_bias: float
) -> tuple[Tensor, ...]:
    """(results, h, c, the gates i, j, f, o, tanh c) of an LSTM, each [steps, batch, units].

    h has the dtype of init_h, all others that of b. x: [steps, batch, width]; w: [width + units, 4 units], the gates in this
    order; b: [4 units]; init_h, init_c: [1, batch, units]. forget_bias is added to what f is the sigmoid of. seq_length must be
    None.
    """
    owner = "DynamicRNN"
    only(owner, "seq_length", seq_length, None)
    if isinstance(forget_bias, bool) or not isinstance(forget_bias, (int, float)):
        raise ArgumentTypeError(f"{owner}: forget_bias must be a float, got {forget_bias!r}", loc=user_loc())
    _, batch, width, units = _sizes(owner, x, init_h, 3)
    state = (1, batch, units)
    _check(
        owner,
        x=(x, x.shape),
        w=(w, (width + units, 4 * units)),
        b=(b, (4 * units,)),
        init_h=(init_h, state),
        init_c=(init_c, state),
    )
    own, kept = b.tensor_type.dtype, init_h.tensor_type.dtype

    def turn(states: tuple[Tensor, Tensor], now: Tensor) -> tuple[Any, Any]:
        h, c = states
        made = F.add(F.cast(F.matmul(F.concat((now, F.cast(h, now.dtype)), 1), w), own), b)
        i, j, f, o = F.split(made, units, 1)
        i, j, f, o = F.sigmoid(i), F.tanh(j), F.sigmoid(F.add(f, forget_bias)), F.sigmoid(o)
        c = F.add(F.mul(f, c), F.mul(i, j))
        bent = F.tanh(c)
        y = F.mul(o, bent)
        h = F.cast(y, kept)
        return (h, c), (y, h, c, i, j, f, o, bent)

    _, made = scan(turn, (F.reshape(init_h, state[1:]), F.cast(F.reshape(init_c, state[1:]), own)), x)
    return tuple(made)


#: What has one meaning on the devices, too.
_FIXED: dict[str, Any] = {
    "keep_prob": Only(1.0),
    "cell_clip": Only(-1.0),
    "num_proj": Only(0),
    "time_major": Only(True),
}

DynamicRNN = declare(
    "DynamicRNN",
    _lstm,
    cell_type=Only("LSTM"),
    direction=Only("UNIDIRECTIONAL"),
    cell_depth=Only(1),
    use_peephole=Only(False),
    **_FIXED,
    activation=Only("tanh"),
    forget_bias=0.0,
    is_training=Hint(True),
)

# ---- GRU


def _gru(
    x: Tensor,
    weight_input: Tensor,
    weight_hidden: Tensor,
    bias_input: Tensor | None,
    bias_hidden: Tensor | None,
    seq_length: Any,
    init_h: Tensor,
    gate_order: str,
    reset_after: bool,
) -> tuple[Tensor, ...]:
    """(results, h, update, reset, new, hidden part of new) of a GRU, each [steps, batch, units].

    They have the dtype of the first bias, without one that of init_h. x: [steps, batch, width]; weight_input: [width, 3 units];
    weight_hidden: [units, 3 units]; biases: [3 units] or None; init_h: [batch, units]. gate_order: "rzh" or "zrh", reset, update
    and new. reset_after: the reset gate multiplies the hidden part, bias included, else h before its product. seq_length must be
    None.
    """
    owner = "DynamicGRUV2"
    only(owner, "seq_length", seq_length, None)
    if gate_order not in ("rzh", "zrh"):
        raise ArgumentValueError(f"{owner}: gate_order must be 'rzh' or 'zrh', got {gate_order!r}", loc=user_loc())
    _, batch, width, units = _sizes(owner, x, init_h, 2)
    biases = {
        n: (b, (3 * units,)) for n, b in (("bias_input", bias_input), ("bias_hidden", bias_hidden)) if b is not None
    }
    _check(
        owner,
        x=(x, x.shape),
        weight_input=(weight_input, (width, 3 * units)),
        weight_hidden=(weight_hidden, (units, 3 * units)),
        init_h=(init_h, (batch, units)),
        **biases,
    )
    own = next((b for b, _ in biases.values()), init_h).dtype

    def product(a: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
        made = F.cast(F.matmul(F.cast(a, w.dtype), w), own)
        return made if b is None else F.add(made, b)

    def turn(h: Tensor, now: Tensor) -> tuple[Any, Any]:
        given, held = (
            F.split(product(now, weight_input, bias_input), units, 1),
            F.split(product(h, weight_hidden, bias_hidden), units, 1),
        )
        r, z = (F.sigmoid(F.add(given[k], held[k])) for k in (gate_order.index("r"), gate_order.index("z")))
        hidden = held[2]
        if not reset_after:
            last = (slice(None), slice(2 * units, None))
            hidden = product(F.mul(r, h), weight_hidden[last], None if bias_hidden is None else bias_hidden[last[1]])
        n = F.tanh(F.add(given[2], F.mul(r, hidden) if reset_after else hidden))
        h = F.add(F.mul(F.sub(1.0, z), n), F.mul(z, h))
        return h, (h, h, z, r, n, hidden)

    _, made = scan(turn, F.cast(init_h, own), x)
    return tuple(made)


DynamicGRUV2 = declare(
    "DynamicGRUV2",
    _gru,
    direction=Only("UNIDIRECTIONAL"),
    cell_depth=Only(1),
    **_FIXED,
    activation=Only("tanh"),
    gate_order="rzh",
    reset_after=True,
    is_training=Hint(True),
)
