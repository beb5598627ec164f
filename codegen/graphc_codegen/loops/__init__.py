"""Loop kernels: fused elementwise operations and reductions over strided n-dimensional domains.

`emit` writes a kernel as vector IR, `twin` computes the same in NumPy, `check` refuses malformed kernels.
"""

from graphc_codegen.loops.check import check
from graphc_codegen.loops.emit import emit
from graphc_codegen.loops.twin import twin

__all__ = ["check", "emit", "twin"]
