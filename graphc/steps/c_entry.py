"""A compiled step for loops of one's own: its C entry, and the memory that it reads and writes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from graphc.ir import TensorType
    from graphc_codegen.run.native import NativeBound

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Entry:
    """What `step.entry` gives: `call(context)` runs the step once, from Python or from a function jitted by Numba.

    call     a ctypes function `int32 (int64)`; 0 means that the step is done, anything else that a kernel of the user's own
             has failed, or that an index is out of range. A jitted function refers to it as a global or closure variable.
    context  the int64 to call it with
    inputs   the arrays that the step reads, in order, zeros at first: write a batch into them, then call
    results  the arrays that it writes, in the order of what `construct` returns through its nest: copy what is to be kept

    Parameters are those of the cell. Whoever calls it has to see to what `step(...)` checks: that a list of learning rates
    has a rate for the step, that one thread at a time runs it, and that `step.entry` is asked for again when a parameter has
    got another dtype or shape by set_data.
    """

    call: Any
    context: int
    inputs: tuple[Array, ...]
    results: tuple[Array, ...]

    @staticmethod
    def of(
        bound: NativeBound,
        address: int,
        inputs: Sequence[tuple[np.dtype[Any], tuple[int, ...]]],
        results: Sequence[tuple[int, TensorType]],
    ) -> Entry:
        """The entry of a program bound to memory of its own."""
        arrays = tuple(np.zeros(shape, dtype) for dtype, shape in inputs)
        bound.bind_inputs(arrays)
        call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(address)
        call.graphc_step = bound  # type: ignore[attr-defined]  # Code and memory live as long as the function.
        return Entry(
            call, bound.context, arrays, tuple(bound.memory(id, type.shape, type.dtype) for id, type in results)
        )
