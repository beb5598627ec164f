"""Of `mindspore.ops.function.nn_func`."""

from __future__ import annotations

from graphc.compat.extended import put

__all__ = put(
    globals(),
    "avg_pool2d_ext avg_pool3d_ext batch_norm_ext conv2d_ext cross_entropy_ext dropout2d_ext dropout_ext "
    "flatten_ext gather_ext glu_ext interpolate_ext kl_div_ext log_softmax_ext logsigmoid_ext max_pool2d_ext "
    "nll_loss_ext relu_ softmax_ext=nn.functional.softmax",
)
