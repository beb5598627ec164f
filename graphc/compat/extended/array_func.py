"""Of `mindspore.ops.function.array_func`."""

from __future__ import annotations

from graphc.compat.extended import put

__all__ = put(
    globals(),
    "arange_ext chunk_view=chunk full_ext full_like_ext gather_ext meshgrid_ext ones_like_ext scatter_add_ext "
    "sort_ext split_view=split tril_ext unbind_ext unsqueeze_view=unsqueeze zeros_like_ext",
)
