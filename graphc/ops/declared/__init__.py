"""The registry of ops: one declaration each, and the NumPy interpreter that runs them. Knows the IR; no tensors, no functions.

Importing this package fills the registry.
"""

from graphc.ops.declared import (  # noqa: F401
    attention,
    batching,
    begun,
    casts,
    collective,
    complex,
    control,
    convolution,
    custom_grad,
    decompositions,
    distributions,
    elementwise,
    error_function,
    fourier,
    indexing,
    log,
    matmul,
    order,
    parts,
    peers,
    pooling,
    random,
    reduce,
    scan,
    shape,
    softmax,
    special,
    state,
    transcendental,
    transforms,
    while_loop,
    windows,
)
