"""`mindspore.ops.signature`: what primitives say of their operands in `__mindspore_signature__`.

It is remembered and has no effect: a primitive computes in its own `__call__`, which names and converts what it takes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple


class sig_rw(IntEnum):
    """Whether an operand is read, written, or a reference."""

    RW_READ = 0
    RW_WRITE = 1
    RW_REF = 2
    RW_EMPTY_DEFAULT_VALUE = 3


class sig_kind(IntEnum):
    """How an operand is given, as Python's kinds of parameters."""

    KIND_POSITIONAL_KEYWORD = 0
    KIND_VAR_POSITIONAL = 1
    KIND_KEYWORD_ONLY = 2
    KIND_VAR_KEYWARD = 3
    KIND_EMPTY_DEFAULT_VALUE = 4


class sig_dtype(IntEnum):
    """Groups of operands that have one dtype."""

    T = 0
    T1 = 1
    T2 = 2
    T3 = 3
    T4 = 4
    T5 = 5
    T6 = 6
    T7 = 7
    T8 = 8
    T9 = 9
    T_EMPTY_DEFAULT_VALUE = 10


class Signature(NamedTuple):
    """What is said of one operand."""

    name: str
    rw: sig_rw
    kind: sig_kind
    default: Any
    dtype: Any


def make_sig(
    name: str = "var",
    rw: sig_rw = sig_rw.RW_READ,
    kind: sig_kind = sig_kind.KIND_POSITIONAL_KEYWORD,
    default: Any = sig_kind.KIND_EMPTY_DEFAULT_VALUE,
    dtype: Any = sig_dtype.T_EMPTY_DEFAULT_VALUE,
) -> Signature:
    """The signature of one operand."""
    return Signature(name, rw, kind, default, dtype)


__all__ = ["Signature", "make_sig", "sig_dtype", "sig_kind", "sig_rw"]
