"""Of `mindspore.ops.function.random_func`."""

from __future__ import annotations

from graphc.compat.extended import same

_NAMES = (
    "multinomial_ext normal_ext rand_ext rand_like_ext randint_ext randint_like_ext randn_ext randn_like_ext "
    "randperm_ext"
)
_SAME = same(_NAMES)
globals().update(_SAME)
__all__ = list(_SAME)
