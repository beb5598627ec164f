"""Complex numbers become pairs of real ones: kernels know no others.

`split` is the pass, and what it does with subgraphs; `rules` has the table of what becomes of each op; `arithmetic`, `functions`
and `fourier` the rules that are more than the op on each part.
"""

from graphc.passes.complex_parts.split import split_complex

__all__ = ["split_complex"]
