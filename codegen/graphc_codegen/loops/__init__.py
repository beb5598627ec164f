"""Loop kernels: fused elementwise operations and reductions over strided n-dimensional domains. Not here: what the operations
themselves are (`scalars`).

`emit` writes a kernel as vector IR, `twin` computes the same in NumPy, `check` refuses malformed kernels; `emit_chain` and so
on do that for chains.
"""

from graphc_codegen.loops.chain import chain_twin, check_chain, emit_chain
from graphc_codegen.loops.check import check
from graphc_codegen.loops.emit import emit
from graphc_codegen.loops.sets import emit_sets
from graphc_codegen.loops.twin import twin

__all__ = ["chain_twin", "check", "check_chain", "emit", "emit_chain", "emit_sets", "twin"]
