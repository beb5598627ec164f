"""Recurrent layers: loops over the steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.initializer.distributions import Uniform
from graphc.nn.initializer.make import initializer
from graphc.nn.layer.regularization import Dropout
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, as_tensor

State = Any


def rnn_step(x: Tensor, h: Tensor, w: Any, activation: Any = ops.tanh) -> Tensor:
    """activation(W x + b + U h + c)."""
    made: Tensor = activation(_gates(x, h, w))
    return made


def relu_step(x: Tensor, h: Tensor, w: Any) -> Tensor:
    """As rnn_step, with relu."""
    return rnn_step(x, h, w, ops.relu)


def lstm_step(x: Tensor, state: tuple[Tensor, Tensor], w: Any) -> tuple[Tensor, Tensor]:
    """Gates i, f, g, o of W x + b + U h + c: c = f c + i g, h = o tanh(c) (Hochreiter and Schmidhuber, 1997)."""
    h, c = state
    gates = _gates(x, h, w)
    i, f, g, o = ops.split(gates, gates.shape[-1] // 4, -1)
    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
    return ops.sigmoid(o) * ops.tanh(c), c


def gru_step(x: Tensor, h: Tensor, w: Any) -> Tensor:
    """Gates r, z, n: n = tanh(W x + b + r (U h + c)), h = n + z (h - n) (Cho et al., 2014)."""
    a, b = _linear(x, w[0], w[2]), _linear(h, w[1], w[3])
    ar, az, an = ops.split(a, a.shape[-1] // 3, -1)
    br, bz, bn = ops.split(b, b.shape[-1] // 3, -1)
    n = ops.tanh(an + ops.sigmoid(ar + br) * bn)
    return n + ops.sigmoid(az + bz) * (h - n)


def _gates(x: Tensor, h: Tensor, w: Any) -> Tensor:
    """W x + b + c + U h: what is without the state comes first, so that a loop over steps leaves that out."""
    given = _linear(x, w[0], w[2])
    return (given if w[3] is None else ops.bias_add(given, w[3])) + _linear(h, w[1], None)


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    y = ops.matmul(x, weight, transpose_b=True)
    return y if bias is None else ops.bias_add(y, bias)


def _pair(owner: str, hx: Any) -> tuple[Any, Any]:
    """The states h and c of a long short-term memory."""
    if not isinstance(hx, (tuple, list)):
        raise checks.wrong_type(owner, "hx", "a pair (h, c) of Tensors", hx)
    if len(hx) != 2:
        raise ArgumentValueError(f"{owner}: hx must be a pair (h, c) of Tensors, got {len(hx)} of them", loc=user_loc())
    return hx[0], hx[1]


def _state(owner: str, value: Any, shape: tuple[int, ...]) -> Tensor:
    """A state of this shape."""
    state = as_tensor(value, f"{owner}: hx")
    if state.shape != shape:
        meaning = "batch, hidden_size" if len(shape) == 2 else "layers times directions, batch, hidden_size"
        raise ShapeError(
            f"{owner}: hx is {state.tensor_type}, expected [{', '.join(map(str, shape))}]: {meaning}", loc=user_loc()
        )
    return state


class RNNCellBase(Cell):
    """Base of a step. Weights weight_ih [num_chunks hidden_size, input_size], weight_hh [num_chunks hidden_size, hidden_size],
    and biases bias_ih, bias_hh if has_bias (else None), uniform within 1 / sqrt(hidden_size). num_chunks: how many gates.
    """

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool, num_chunks: int, dtype: Any = "float32"
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.input_size = checks.integer(owner, "input_size", input_size)
        self.hidden_size = checks.integer(owner, "hidden_size", hidden_size)
        self.has_bias = checks.boolean(owner, "has_bias", has_bias)
        rows = num_chunks * hidden_size
        # Drawn twice, as in MindSpore: a seed gives its numbers.
        self.weight_ih = Parameter(Tensor(np.random.standard_normal((rows, input_size)), dtype), name="weight_ih")
        self.weight_hh = Parameter(Tensor(np.random.standard_normal((rows, hidden_size)), dtype), name="weight_hh")
        self.bias_ih: Parameter | None = None
        self.bias_hh: Parameter | None = None
        if has_bias:
            self.bias_ih = Parameter(Tensor(np.random.standard_normal(rows), dtype), name="bias_ih")
            self.bias_hh = Parameter(Tensor(np.random.standard_normal(rows), dtype), name="bias_hh")
        self.reset_parameters(dtype)

    def reset_parameters(self, dtype: Any = "float32") -> None:
        """Draw all weights anew."""
        init = Uniform(1 / math.sqrt(self.hidden_size))
        for weight in self.get_parameters():
            weight.set_data(initializer(init, weight.shape, dtype))

    def _checked(self, x: Any, *states: Any) -> tuple[Tensor, ...]:
        """x [N, input_size] and states [N, hidden_size]. Raises ShapeError for others."""
        owner = type(self).__name__
        x = as_tensor(x, f"{owner}: x")
        if x.ndim != 2 or x.shape[1] != self.input_size:
            raise ShapeError(f"{owner}: x is {x.tensor_type}, expected [N, {self.input_size}]", loc=user_loc())
        return x, *(_state(owner, each, (x.shape[0], self.hidden_size)) for each in states)

    def weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh


class RNNCell(RNNCellBase):
    """h = tanh(W x + b + U h + c), or with relu, of x [N, input_size] and h [N, hidden_size] (MindSpore: nn.RNNCell)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: Any = "float32",
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, 1, dtype)
        self.nonlinearity = checks.one_of("RNNCell", "nonlinearity", nonlinearity, ("tanh", "relu"))

    def construct(self, x: Any, hx: Any) -> Tensor:
        x, hx = self._checked(x, hx)
        return rnn_step(x, hx, self.weights(), ops.tanh if self.nonlinearity == "tanh" else ops.relu)


class LSTMCell(RNNCellBase):
    """(h, c) after a step of a long short-term memory, from x [N, input_size] and hx = (h, c) (MindSpore: nn.LSTMCell)."""

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: Any = "float32") -> None:
        super().__init__(input_size, hidden_size, has_bias, 4, dtype)

    def construct(self, x: Any, hx: Any) -> tuple[Tensor, Tensor]:
        x, h, c = self._checked(x, *_pair("LSTMCell", hx))
        return lstm_step(x, (h, c), self.weights())


class GRUCell(RNNCellBase):
    """h after a step of a gated recurrent unit, from x [N, input_size] and h [N, hidden_size] (MindSpore: nn.GRUCell)."""

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: Any = "float32") -> None:
        super().__init__(input_size, hidden_size, has_bias, 3, dtype)

    def construct(self, x: Any, hx: Any) -> Tensor:
        x, hx = self._checked(x, hx)
        return gru_step(x, hx, self.weights())


class _Recurrent(Cell):
    """Layers over sequences x [L, N, input_size] ([N, L, input_size] with batch_first).

    hx: the state before, [layers directions, N, hidden_size] (for LSTM a pair), zeros by default. Returns the last layer's
    outputs [L, N, directions hidden_size] and the state behind the last step. seq_length, int32[N], ends each sequence: later
    outputs are zeros. Parameters: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse, ..., uniform
    within 1 / sqrt(hidden_size). dropout: the probability in training mode, on the outputs of all layers but the last.
    """

    _gates = 1
    _pair = False

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.input_size = checks.integer(owner, "input_size", input_size)
        self.hidden_size = checks.integer(owner, "hidden_size", hidden_size)
        self.num_layers = checks.integer(owner, "num_layers", num_layers)
        self.has_bias = checks.boolean(owner, "has_bias", has_bias)
        self.batch_first = checks.boolean(owner, "batch_first", batch_first)
        self.bidirectional = checks.boolean(owner, "bidirectional", bidirectional)
        self.dropout = checks.real(owner, "dropout", dropout, least=0)
        if not 0 <= dropout < 1:
            raise checks.wrong_value(owner, "dropout", "in [0, 1)", dropout)
        self.drop = Dropout(p=float(dropout))
        names = ("weight_ih", "weight_hh", *(("bias_ih", "bias_hh") if has_bias else ()))
        suffixes = [(layer, suffix) for layer in range(num_layers) for suffix in self._suffixes(layer)]
        # Drawn layer by layer from NumPy's generator itself, as MindSpore does, which has them by kind all the same.
        drawn = {name + suffix: self._drawn(name, layer) for layer, suffix in suffixes for name in names}
        for name in names:
            for _, suffix in suffixes:
                made = Parameter(Tensor(drawn[name + suffix], dtype), name=name + suffix)
                setattr(self, name + suffix, made)

    def _drawn(self, name: str, layer: int) -> Any:
        """float32 initial values of one parameter of a layer."""
        rows, bound = self._gates * self.hidden_size, 1 / math.sqrt(self.hidden_size)
        below = self.input_size if layer == 0 else self.hidden_size * (2 if self.bidirectional else 1)
        columns = {"weight_ih": (below,), "weight_hh": (self.hidden_size,)}.get(name, ())
        return np.random.uniform(-bound, bound, (rows, *columns)).astype(np.float32)

    def _suffixes(self, layer: int) -> tuple[str, ...]:
        return (f"_l{layer}", f"_l{layer}_reverse") if self.bidirectional else (f"_l{layer}",)

    def step(self, x: Tensor, state: State, weights: tuple[Any, ...]) -> State:
        """One step of one layer."""
        raise NotImplementedError

    def construct(self, x: Any, hx: Any = None, seq_length: Any = None) -> tuple[Tensor, State]:
        x = as_tensor(x, f"{type(self).__name__}: x")
        if x.ndim != 3 or x.shape[2] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__}: x is {x.tensor_type}, expected three axes, the last of {self.input_size}",
                loc=user_loc(),
            )
        steps = ops.swapaxes(x, 0, 1) if self.batch_first else x
        if seq_length is not None:
            seq_length = self._lengths(seq_length, steps.shape[1])
        given = self._given(hx, steps)
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        finals: list[State] = []
        for layer in range(self.num_layers):
            outputs = []
            for suffix in self._suffixes(layer):
                weights = tuple(getattr(self, n + suffix) if self.has_bias or "w" in n else None for n in names)
                out, final = self._run(steps, given[len(finals)], weights, seq_length, suffix.endswith("reverse"))
                outputs.append(out)
                finals.append(final)
            steps = ops.concat(outputs, -1) if len(outputs) > 1 else outputs[0]
            if self.dropout and layer < self.num_layers - 1:
                steps = self.drop(steps)
        state = tuple(ops.stack(parts) for parts in zip(*finals, strict=True)) if self._pair else ops.stack(finals)
        return ops.swapaxes(steps, 0, 1) if self.batch_first else steps, state

    def _given(self, hx: Any, steps: Tensor) -> list[State]:
        """The state before, for each layer and direction."""
        count = self.num_layers * (2 if self.bidirectional else 1)
        if hx is None:
            zeros = ops.zeros((count, steps.shape[1], self.hidden_size), steps.dtype)
            hx = (zeros, zeros) if self._pair else zeros
        owner, shape = type(self).__name__, (count, steps.shape[1], self.hidden_size)
        if self._pair:
            h, c = (ops.unstack(_state(owner, each, shape)) for each in _pair(owner, hx))
            return list(zip(h, c, strict=True))
        return list(ops.unstack(_state(owner, hx, shape)))

    def _lengths(self, given: Any, batch: int) -> Tensor:
        """The number of steps of each sequence."""
        owner = type(self).__name__
        if not isinstance(given, Tensor):
            raise checks.wrong_type(owner, "seq_length", "a Tensor", given)
        if given.tensor_type.dtype not in ("int32", "int64") or given.shape != (batch,):
            raise ShapeError(
                f"{owner}: seq_length is {given.tensor_type}, expected int32 or int64 of [{batch}]: a number of steps for each"
                " sequence",
                loc=user_loc(),
            )
        return given

    def _run(
        self, steps: Tensor, state: State, weights: tuple[Any, ...], lengths: Any, backwards: bool
    ) -> tuple[Tensor, State]:
        """The outputs of all steps, and the last state, of one direction of one layer."""

        def turn(state: State, row: tuple[Tensor, ...]) -> tuple[State, Tensor]:
            made = self.step(row[0], state, weights)
            output = made[0] if self._pair else made
            if lengths is None:
                return made, output
            inside = ops.expand_dims(lengths > row[1], 1)
            kept = (
                tuple(ops.select(inside, a, b) for a, b in zip(made, state, strict=True))
                if self._pair
                else ops.select(inside, made, state)
            )
            return kept, ops.select(inside, output, ops.zeros_like(output))

        count = steps.shape[0]
        rows = (steps,) if lengths is None else (steps, Tensor(np.arange(count, dtype=np.int32)))
        state, outputs = ops.scan(turn, state, rows, reverse=backwards)
        return outputs, state


class LSTM(_Recurrent):
    __doc__ = f"Long short-term memory (MindSpore: nn.LSTM). {_Recurrent.__doc__}"
    _gates, _pair = 4, True

    def step(self, x: Tensor, state: State, weights: tuple[Any, ...]) -> State:
        return lstm_step(x, state, weights)


class GRU(_Recurrent):
    __doc__ = f"Gated recurrent unit (MindSpore: nn.GRU). {_Recurrent.__doc__}"

    _gates = 3

    def step(self, x: Tensor, state: State, weights: tuple[Any, ...]) -> State:
        return gru_step(x, state, weights)


class RNN(_Recurrent):
    __doc__ = f"Recurrent layer with tanh or, with nonlinearity='relu', relu (MindSpore: nn.RNN). {_Recurrent.__doc__}"

    def __init__(self, *args: Any, nonlinearity: str = "tanh", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.nonlinearity = checks.one_of("RNN", "nonlinearity", nonlinearity, ("tanh", "relu"))

    def step(self, x: Tensor, state: State, weights: tuple[Any, ...]) -> State:
        return (rnn_step if self.nonlinearity == "tanh" else relu_step)(x, state, weights)


__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]
