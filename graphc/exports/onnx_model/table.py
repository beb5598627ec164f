"""op -> ONNX: every op's rule by its name. A rule stands in the module of its subject and is declared by `rule` or `plain`."""

from __future__ import annotations

from collections.abc import Callable

from graphc.exports.onnx_model.writer import View, Writer

#: (writer, the node, names of its operands) -> the name of its result, or those of its results.
Rule = Callable[..., "str | tuple[str, ...]"]

RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Declare the function behind it as the rule of these ops."""

    def declare(function: Rule) -> Rule:
        for name in names:
            if name in RULES:
                raise ValueError(f"op {name!r} has two rules")
            RULES[name] = function
        return function

    return declare


def plain(op: str, onnx: str = "", native: str = "") -> None:
    """An op that is an ONNX operator of that name; `native`: the dtypes that onnxruntime has it for, all if not given."""
    dtypes = native.split()

    def translate(w: Writer, n: View, *inputs: str) -> str:
        if not dtypes:
            return w(onnx or op, *inputs)
        return w.widened(onnx or op, inputs, n.dtype, dtypes)

    rule(op)(translate)
