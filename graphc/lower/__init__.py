"""From a graph to a finished program: everything about fusion, storage, order, memory and threads is decided here.

Not here: what an op means (`graphc.ops`), changes of the graph (`graphc.passes`), and how kernels are written; of the code
generator this room knows nothing but the contract, `graphc_codegen.program`.
"""

from graphc.lower.cost import Apart
from graphc.lower.pipeline import REWRITES, Stage
from graphc.lower.rewrite import Context, Rewrite, Statements
from graphc.lower.step import Lowered, lower

__all__ = ["REWRITES", "Apart", "Context", "Lowered", "Rewrite", "Stage", "Statements", "lower"]
