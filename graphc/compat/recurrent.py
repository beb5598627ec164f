"""Steps of recurrent layers as functions, of `mindspore.nn.layer.rnn_cells`.

x [N, input_size], a state [N, hidden_size] (for `_lstm_cell` a pair), weights [gates hidden_size, ...] and biases, or None.
"""

from __future__ import annotations

from typing import Any

from graphc.nn.layer.recurrent import RNNCellBase, gru_step, lstm_step, relu_step, rnn_step
from graphc.ops.tensor.tensor import Tensor


def _rnn_tanh_cell(inputs: Tensor, hidden: Tensor, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Tensor:
    return rnn_step(inputs, hidden, (w_ih, w_hh, b_ih, b_hh))


def _rnn_relu_cell(inputs: Tensor, hidden: Tensor, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Tensor:
    return relu_step(inputs, hidden, (w_ih, w_hh, b_ih, b_hh))


def _lstm_cell(
    inputs: Tensor, hidden: tuple[Tensor, Tensor], w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any
) -> tuple[Tensor, Tensor]:
    return lstm_step(inputs, hidden, (w_ih, w_hh, b_ih, b_hh))


def _gru_cell(inputs: Tensor, hidden: Tensor, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Tensor:
    return gru_step(inputs, hidden, (w_ih, w_hh, b_ih, b_hh))


__all__ = ["RNNCellBase"]
