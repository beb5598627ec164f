"""Of `mindspore.ops.function.random_func`."""

from __future__ import annotations

from graphc.compat.extended import put

__all__ = put(
    globals(),
    "multinomial_ext normal_ext rand_ext rand_like_ext randint_ext randint_like_ext randn_ext randn_like_ext "
    "randperm_ext",
)
