"""What every named kernel provides: its operands, its IR emitter and its NumPy twin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from graphc_codegen.thread_context import WORDS
from graphc_codegen.writer import Writer

Params = Mapping[str, Any]
Array = np.ndarray[Any, np.dtype[Any]]

#: Elements of float32 in a cache line.
LINE = 16


@dataclass(frozen=True, slots=True)
class Operand:
    """One buffer of a call: dtype, number of elements, and whether the kernel writes it."""

    dtype: str
    size: int
    role: Literal["in", "out"]


@dataclass(frozen=True, slots=True)
class Emitter:
    """A named kernel.

    operands(params)          the buffers of a call in order, inputs first; the checked mode compares them with what it gets
    emit(writer, params, p)   writes the function body; p[i] is the SSA name of the pointer to operand i
    twin(params, *arrays)     the same work in NumPy on flat arrays of exactly the declared sizes, writing the outputs in place
    """

    operands: Callable[[Params], tuple[Operand, ...]]
    emit: Callable[[Writer, Params, Sequence[str]], None]
    twin: Callable[..., None]


def note_failure(w: Writer, failed: str) -> None:
    """Let the step do nothing more where a condition holds: the place of this call in the pointer table, plus one, is noted."""
    number = w.op("add i64 %first, 1")
    failure = w.load(w.at("%context", WORDS["failure"], "i64"), "ptr")
    w.store(w.op(f"select i1 {failed}, i64 {number}, i64 0"), failure, "i64")
