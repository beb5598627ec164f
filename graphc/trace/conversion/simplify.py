"""Statements that malt does not know, written with those that it knows: `match`, `else` of a loop, `:=` in tests, several targets
of which one is an item, `try` that may fail halfway; and the `return` at the end of a function that returns elsewhere.

match mode:                     subject = mode              while more:            complete = True
    case "a" | "b":             if subject == "a" or ...        if last:           while more:
        x = f(x)                    x = f(x)                        break              if last:
    case _:                     else:                       else:                          complete = False
        x = g(x)                    x = g(x)                    x = f(x)                   break
                                                                                   if complete:
                                                                                       x = f(x)
"""

from __future__ import annotations

import ast
import copy
import itertools
from typing import Any

from graphc.errors import Loc, TraceError
from graphc.errors.source_lines import display_path
from graphc.trace.conversion.closures import with_shared
from graphc.trace.conversion.rewrite import located
from graphc.trace.flow import try_statements
from graphc.trace.flow.match_patterns import ALWAYS, Named, fits

_LOOPS = (ast.While, ast.For)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def simplified(function: ast.AST) -> ast.AST:
    """The syntax tree of a function without such statements. TraceError GC124, at the line, for what has no simpler form."""
    made: ast.AST = _Simplifier().visit(function)
    return made


class _Simplifier(ast.NodeTransformer):
    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._functions: list[ast.AST] = []

    def _name(self, what: str) -> str:
        return f"{what}_{next(self._numbers)}_"

    # ---- functions that may end without `return`

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self._functions.append(node)
        self.generic_visit(node)
        self._functions.pop()
        node = with_shared(node)
        if not _returns(node.body) or _ends(node.body):
            return node
        node.body.append(located(ast.Return(ast.Constant(None)), node))
        return node

    # ---- what may fail

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        self.generic_visit(node)
        return try_statements.with_caught(node)

    def visit_Try(self, node: ast.Try) -> Any:
        read = try_statements.read_after(node, self._functions[-1])
        self.generic_visit(node)
        node.body = try_statements.with_reads(node.body, read)
        return try_statements.with_else(node, self._name("complete")) if node.orelse else node

    # ---- loops with else

    def visit_While(self, node: ast.While) -> Any:
        return self._loop(node)

    def visit_For(self, node: ast.For) -> Any:
        return self._loop(node)

    def visit_If(self, node: ast.If) -> Any:
        """A test of which operands give names by `:=`, as statements: to malt, an operand gives none."""
        self.generic_visit(node)
        if not isinstance(node.test, ast.BoolOp) or not _gives_names(node.test):
            return node
        flag = self._name("flag")
        made = _operands(flag, node.test)
        node.test = _read(flag)
        return [*(located(statement, node) for statement in made), node]

    def _loop(self, node: ast.While | ast.For) -> Any:
        self.generic_visit(node)
        made: list[ast.stmt] = [node]
        if node.orelse:
            complete, orelse = self._name("complete"), node.orelse
            node.orelse = []
            marking = _Breaks(complete)
            node.body = marking.block(node.body)
            if marking.found:
                before = located(_assigned(complete, ALWAYS), node)
                made = [before, node, located(ast.If(test=_read(complete), body=orelse, orelse=[]), node)]
            else:
                made = [node, *orelse]
        if isinstance(node, ast.While) and _gives_names(node.test):
            leave = located(ast.If(test=node.test, body=[ast.Pass()], orelse=[ast.Break()]), node)
            left = self.visit(leave)
            node.body = [*(left if isinstance(left, list) else [left]), *node.body]
            node.test = located(ast.Constant(True), node)
        return made

    # ---- match

    def visit_Match(self, node: ast.Match) -> Any:
        self.generic_visit(node)
        subject = self._name("subject")
        rest: list[ast.stmt] = []
        for case in reversed(node.cases):
            test, given = fits(case.pattern, _read(subject))
            body: list[ast.stmt] = [*(_assigned(n, value) for n, value in given), *case.body]
            if case.guard is not None:
                guard: ast.expr = Named(given).visit(case.guard)
                test = guard if test is ALWAYS else ast.BoolOp(op=ast.And(), values=[test, guard])
            rest = body if test is ALWAYS else [ast.If(test=test, body=body, orelse=rest)]
        made = [_assigned(subject, node.subject), *rest]
        return [located(statement, node) for statement in made]

    # ---- assignments

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """`x: Tensor = v` without its annotation, which a name that an `if` changes may not have."""
        self.generic_visit(node)
        if node.value is None:
            return located(ast.Pass(), node)
        return located(ast.Assign(targets=[node.target], value=node.value, type_comment=None), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """`x[i], k = v, w` and `k = x[i] = v` target by target: to malt, `x[i]` would be a name that changes with i."""
        self.generic_visit(node)
        parts = [n for target in node.targets for n in ast.walk(target)]
        several = len(node.targets) > 1 or isinstance(node.targets[0], (ast.Tuple, ast.List))
        if not several or not any(isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) for n in parts):
            return node
        value = self._name("value")
        made = [_assigned(value, node.value)]
        for target in node.targets:
            made += self._unpacked(target, _read(value))
        return [located(statement, node) for statement in made]

    def _unpacked(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """The statements that give a target a value, names and items from left to right."""
        if not isinstance(target, (ast.Tuple, ast.List)):
            return [ast.Assign(targets=[target], value=value, type_comment=None)]
        names = [self._name("item") for _ in target.elts]
        made: list[ast.stmt] = []
        items: list[ast.expr] = []
        for name, part in zip(names, target.elts, strict=True):
            item = ast.Name(id=name, ctx=ast.Store())
            items.append(ast.Starred(item, ast.Store()) if isinstance(part, ast.Starred) else item)
            made += self._unpacked(part.value if isinstance(part, ast.Starred) else part, _read(name))
        first = ast.Assign(targets=[ast.Tuple(items, ast.Store())], value=value, type_comment=None)
        return [first, *made]

    # ---- what cannot be

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        raise _refusal(node, "`async def`", "a step runs from end to end: write `def`")

    def visit_Yield(self, node: ast.Yield) -> Any:
        raise _refusal(node, "`yield`", "collect the values in a list")

    def visit_YieldFrom(self, node: ast.YieldFrom) -> Any:
        raise _refusal(node, "`yield from`", "collect the values in a list")


def _refusal(node: ast.AST, what: str, help: str) -> TraceError:
    from malt.pyct import anno  # It is there by now: malt calls this.

    origin = next(
        (anno.getanno(n, anno.Basic.ORIGIN) for n in ast.walk(node) if anno.hasanno(n, anno.Basic.ORIGIN)), None
    )
    loc = (
        None
        if origin is None
        else Loc(display_path(origin.loc.filename), origin.loc.lineno, origin.function_name or "")
    )
    return TraceError(
        f"{what} cannot be converted, in a function whose control flow may depend on tensors",
        code="GC124",
        loc=loc,
        help=help,
    )


def _gives_names(expression: ast.expr) -> bool:
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(expression))


def _operands(flag: str, test: ast.expr) -> list[ast.stmt]:
    """Statements that give a flag the truth value of a test, and compute an operand only where it counts."""
    if not isinstance(test, ast.BoolOp) or not _gives_names(test):
        # A bool, or a tensor of dtype bool, whatever the operand is.
        return [_assigned(flag, ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), test)))]
    first, *others = test.values
    made = _operands(flag, first)
    for operand in others:
        counts = _read(flag) if isinstance(test.op, ast.And) else ast.UnaryOp(op=ast.Not(), operand=_read(flag))
        made.append(ast.If(test=counts, body=_operands(flag, operand), orelse=[]))
    return made


def _returns(body: list[ast.stmt]) -> bool:
    """Whether a `return` is among statements, but for those of functions inside."""
    return any(
        isinstance(s, ast.Return)
        or (not isinstance(s, _SCOPES) and _returns([n for n in _inner(s) if isinstance(n, ast.stmt)]))
        for s in body
    )


def _inner(statement: ast.AST) -> list[ast.AST]:
    """The statements of a statement, through the handlers of a `try`."""
    inner = ast.iter_child_nodes(statement)
    return [x for n in inner for x in (_inner(n) if isinstance(n, ast.ExceptHandler) else [n])]


def _ends(body: list[ast.stmt]) -> bool:
    """Whether statements never come to their end: the last one returns, raises or loops for good, on every way."""
    match body[-1] if body else None:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=then, orelse=orelse):
            return _ends(then) and _ends(orelse)
        case ast.With(body=inner):
            return _ends(inner)
        case ast.Try(body=tried, handlers=handlers, orelse=orelse, finalbody=final):
            return _ends(final) or (_ends(orelse or tried) and all(_ends(h.body) for h in handlers))
        case ast.While(test=ast.Constant(value=value), body=inner) if value:
            marking = _Breaks("")
            marking.block(copy.deepcopy(inner))
            return not marking.found
        case _:
            return False


class _Breaks(ast.NodeTransformer):
    """Marks the `break` statements of one loop."""

    def __init__(self, complete: str) -> None:
        self._complete = complete
        self.found = False

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            new = self.visit(statement)
            made += new if isinstance(new, list) else [new]
        return made

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (*_LOOPS, *_SCOPES)):
            return node  # Their breaks are their own.
        if isinstance(node, ast.Break):
            self.found = True
            return [located(_assigned(self._complete, ast.Constant(False)), node), node]
        return self.generic_visit(node)


def _read(name: str) -> ast.Name:
    return ast.Name(id=name, ctx=ast.Load())


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value, type_comment=None)
