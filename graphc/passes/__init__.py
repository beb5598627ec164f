"""Graph-to-graph passes, autodiff among them. Each is a plain function Graph -> Graph; `PIPELINE` is the compiler's order.

Not here: what is true of kernels, buffers and threads only, which is for the rewrites of statements in `graphc.lower`.
"""

from graphc.passes.attention import fuse_attention
from graphc.passes.autodiff import autodiff
from graphc.passes.buckets import bucket_reductions
from graphc.passes.by_name import find, up_to
from graphc.passes.cleanup import cse, prune, simplify
from graphc.passes.complex_parts import split_complex
from graphc.passes.cross_entropy import fuse_cross_entropy
from graphc.passes.pipeline import (
    PIPELINE,
    REASSOCIATING,
    Pass,
    Stage,
    before_buckets,
    before_stages,
    name_of,
    run,
    same_meaning,
)
from graphc.passes.pooling import pool_before_relu
from graphc.passes.scans import keep_turns, roll_loops, split_scans
from graphc.passes.scatter import scatter_reductions
from graphc.passes.stages import cut_stages, order_stages
from graphc.passes.write_order import order_writes

__all__ = [
    "PIPELINE",
    "REASSOCIATING",
    "Pass",
    "Stage",
    "autodiff",
    "before_buckets",
    "before_stages",
    "bucket_reductions",
    "cse",
    "cut_stages",
    "find",
    "fuse_attention",
    "fuse_cross_entropy",
    "keep_turns",
    "name_of",
    "order_stages",
    "order_writes",
    "pool_before_relu",
    "prune",
    "roll_loops",
    "run",
    "same_meaning",
    "scatter_reductions",
    "simplify",
    "split_complex",
    "split_scans",
    "up_to",
]
