"""Transforms of complex numbers in pairs, of real numbers, and back to these: one kernel each, from one description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphc_codegen.kernels.base import Emitter


def emitters(*functions: Callable[..., Any]) -> tuple[Emitter, Emitter, Emitter]:
    """Emitters of operands, text and twin, which find the kind among the parameters: "pair", "real" and "half"."""

    def emitter(kind: str) -> Emitter:
        def of_kind(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *args: function(*[{**x, "kind": kind} if isinstance(x, Mapping) else x for x in args])

        return Emitter(*map(of_kind, functions))

    return emitter("pair"), emitter("real"), emitter("half")
