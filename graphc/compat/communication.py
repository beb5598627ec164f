"""`gather` and `scatter` of `mindspore.ops.communication`: `graphc.ops` has others of these names."""

from graphc.ops.communication import gather, scatter

__all__ = ["gather", "scatter"]
