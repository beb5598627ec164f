"""Names that functions inside of a function share with it.

    n = 1                               n = 1
    scaled = [lambda x: x * n]          scaled = [lambda x: x * n]
    def count():                        def count():
        nonlocal k                          nonlocal k
        k = k + 1                           k = k + 1
    if more:                            if more:
        count()                             if False:
        n = 2                                   k = read(k)
    y = scaled[0](x)                        count()
    n = 3                                   if False:
                                                read(n)
                                            n = 2
                                        y = scaled[0](x)
                                        if False:
                                            read(n)
                                        n = 3

To malt, n = 2 has no reader, and nothing in the branch changes k. So what functions inside read, and what is not the function's
own, is read before it is set, and at the end; what those inside change may change in every block: where nobody comes by.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from graphc.trace.conversion.rewrite import hook, located
from graphc.trace.flow.try_statements import is_look, looked_at, with_reads

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
#: What is run later, or somewhere else.
_LATER = (*_FUNCTIONS, ast.ClassDef, ast.GeneratorExp)


def with_shared(function: ast.FunctionDef) -> ast.FunctionDef:
    """A function whose shared names are seen to be read and changed by those inside."""
    bound = Counter(a.arg for a in _arguments(function))
    inside: list[ast.AST] = []
    for node in _own(function, inside):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound[node.id] += 1
    own = [node for node in _own(function, []) if isinstance(node, (ast.Nonlocal, ast.Global))]
    outer = {n for node in own for n in node.names}
    below = [n for part in inside for n in ast.walk(part)]
    changed = {n for node in below if isinstance(node, ast.Nonlocal) for n in node.names if n in bound}
    read = {n.id for n in below if isinstance(n, ast.Name) and bound[n.id] > 1} | changed
    read.update(n for node in own if isinstance(node, ast.Nonlocal) for n in node.names)
    parameters = {a.arg for part in inside for n in ast.walk(part) if isinstance(n, ast.Lambda) for a in _arguments(n)}
    _mark(function, sorted(changed))
    if read:
        function.body = with_reads(function.body, read, ends=True)
    # To malt, a name of a lambda's own has a value.
    unset = parameters & bound.keys() - {a.arg for a in _arguments(function)} - outer
    function.body[:0] = [
        located(ast.Assign([ast.Name(n, ast.Store())], hook("Undefined", ast.Constant(n)), type_comment=None), function)
        for n in sorted(unset)
    ]
    return function


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    given = function.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *(a for a in (given.vararg, given.kwarg) if a)]


def _own(function: ast.FunctionDef, inside: list[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function's own scope; what is run later, or elsewhere, goes to `inside`."""
    stack: list[ast.AST] = [*function.body]
    while stack:
        node = stack.pop()
        if isinstance(node, _LATER):
            inside.append(node)
            continue
        yield node
        stack += ast.iter_child_nodes(node)


def _mark(function: ast.FunctionDef, names: list[str]) -> None:
    """Let each block of a function seem to change these names, and what comes behind a statement that may leave the block: malt
    makes a block of that.
    """
    if not names:
        return
    for node in [n for n in _own(function, []) if isinstance(n, (ast.If, ast.For, ast.While))]:
        for block in (node.body, node.orelse):
            if block and not is_look(node):
                block[:] = [_look(names, node), *_behind_leaving(block, names)]
    function.body = _behind_leaving(function.body, names)


def _behind_leaving(block: list[ast.stmt], names: list[str]) -> list[ast.stmt]:
    """The statements of a block, with a look behind each that may leave it."""
    made: list[ast.stmt] = []
    for statement in block:
        made.append(statement)
        if statement is not block[-1] and _may_leave(statement):
            made.append(_look(names, statement))
    return made


def _look(names: list[str], near: ast.AST) -> ast.stmt:
    return located(looked_at(names, changed=True), near)


def _may_leave(statement: ast.AST) -> bool:
    """Whether a `break`, `continue` or `return` is in a compound statement, but for those of functions inside."""
    return any(
        not isinstance(inner, _LATER)
        and (isinstance(inner, (ast.Break, ast.Continue, ast.Return)) or _may_leave(inner))
        for inner in ast.iter_child_nodes(statement)
    )
