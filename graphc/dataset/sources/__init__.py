"""Where rows come from: arrays, users' objects, files. The operations on them come along."""

from graphc.dataset.nodes import batches, buckets, columns, concat, mapping, saving, sequence, shares, waiting, zipping
from graphc.dataset.text import pieces, vocab

__all__ = [
    "batches",
    "buckets",
    "columns",
    "concat",
    "mapping",
    "pieces",
    "saving",
    "sequence",
    "shares",
    "vocab",
    "waiting",
    "zipping",
]
