"""What is rewritten in users' functions before malt converts them: stores to items, `append`, `is`, `print`,
`raise` and `assert`; and expressions, after it.

`x[i] = v`, `x[i][j] = v`, `x[i] += v` of local names become `x = ag__.set_item(x, i, v)`, so that malt finds the name among
those that a branch or loop changes. Tensors, lists and dicts are written in place, as Python does; a name that holds a constant
tensor is given the changed one. `self.table[i][j] = v` writes to the item of the item. `x.append(v)` as a statement becomes
`x = ag__.changed(x, "append", v)` for the same reason, as do other methods that change a list. `while i < n` tells how it counts.
`x is None` looks whether that is known. `print` becomes a function that prints at every run of the step. `raise` marks the
exception, so that a branch that a tensor chooses raises it when the step runs; `assert` becomes such a branch.
"""

from __future__ import annotations

import ast
import copy
import math
from typing import Any, TypeGuard, TypeVar

from graphc import dispatch
from graphc.ops import functional as F
from graphc.ops.functional.index import updated
from graphc.ops.functional.printing import print_line
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, TracedTensor
from graphc.trace.conversion.truth import shape_of
from graphc.trace.dynamic.size_numbers import measured
from graphc.trace.flow.counter_loops import counting_test
from graphc.trace.standins import Joined

Node = TypeVar("Node", bound=ast.AST)


def set_item(target: Any, index: Any, value: Any) -> Any:
    """`target[index] = value` as an expression: what the name holds afterwards."""
    if isinstance(target, Tensor) and not isinstance(target, (Parameter, TracedTensor)):
        return updated(target, index, value)  # A constant.
    # Of `x[i][j] = v` and `x[i].append(v)` the item at i may lie in a tuple.
    if hasattr(type(target), "__setitem__") or target[index] is not value:
        target[index] = value
    return target


def set_nested(target: Any, indices: tuple[Any, ...], value: Any) -> None:
    """`target[i][j] = value`: of a tensor the part at i is written, of a container the item at i."""
    first, *rest = indices
    if not rest:
        target[first] = value
    elif isinstance(target, Tensor):
        part = target[first]
        set_nested(part, tuple(rest), value)
        target[first] = part
    else:
        set_nested(target[first], tuple(rest), value)


def sized(x: Any, name: str) -> Any:
    """`x.shape` or `x.size`."""
    if not isinstance(x, TracedTensor):
        return getattr(x, name)
    shape = shape_of(x)
    return shape if name == "shape" else math.prod(shape)


def print_(*items: Any, **options: Any) -> None:
    """Python's `print` in a construct: at every run, each item on its line; at once if it has keywords. Where nobody has set a
    mode of MindSpore's, in one line, as Python prints; at once if it has a file.
    """
    plain = getattr(dispatch.recorder.get(), "plain", False)
    if options.get("file") or (options and not plain):
        print(*items, **options)
        return
    kinds = (Tensor, bool, int, float, tuple, list)
    shown = [measured(x) if isinstance(x, kinds) else str(x) for x in items]
    if not plain:
        F.print_(*shown)
        return
    sep, end = (
        " " if options.get("sep") is None else options["sep"],
        "\n" if options.get("end") is None else options["end"],
    )
    print_line(shown, lambda given: sep.join(map(str, given)) + end)


def is_(x: Any, value: Any) -> bool:
    """`x is value`, for None, True and False. TraceTypeError where that is known only when the step runs."""
    if isinstance(x, Joined):
        raise x.error()
    return x is value


def raising(error: Any) -> Any:
    """The exception of a `raise` statement, marked as one that the program asks for."""
    made = error() if isinstance(error, type) and issubclass(error, Exception) else error
    if isinstance(made, Exception):
        made.__dict__["graphc_asked_for"] = True
    return made


def lazy(function: ast.AST) -> ast.AST:
    """The syntax tree of a function with ternaries, `and`, `or`, `not`, `in` and chains of comparisons as calls, which compute
    an operand only where it counts. What malt has made of statements has such expressions, too.
    """
    made: ast.AST = _Lazy().visit(function)
    return made


def rewritten(function: ast.AST) -> ast.AST:
    """The syntax tree of a function with its stores to items, prints, raises and assertions replaced."""
    made: ast.AST = _Rewriter().visit(function)
    return made


#: Methods that change a list or dict.
_CHANGING = (
    "append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update",
)  # fmt: skip


class _Rewriter(ast.NodeTransformer):
    def __init__(self) -> None:
        self.locals: list[set[str]] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.locals.append(_local_names(node))
        self.generic_visit(node)
        self.locals.pop()
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._with_test(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        counted = counting_test(node)
        if counted is None:
            return self._with_test(node)
        self.generic_visit(node)
        node.test = located(hook("ticking", *counted), node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._with_test(node)

    def _with_test(self, node: ast.If | ast.While | ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        node.test = _tested(node.test)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _tested(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "print" and not any("print" in n for n in self.locals):
            node.func = located(hook("print_").func, node)
        match node:
            case ast.Call(func=ast.Name(id="zip"), args=[ast.Starred(value=items)], keywords=options) if not any(
                "zip" in n for n in self.locals
            ):
                made = hook("unzipped", items)
                made.keywords = options
                return located(made, node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """`x.append(value)`, and what else changes a list or dict, of a local name or of an item of one: `x[k].append(value)`."""
        self.generic_visit(node)
        match node.value:
            case ast.Call(func=ast.Attribute(value=target, attr=method), args=args, keywords=options) if (
                method in _CHANGING
            ):
                if (self._is_local(target) or self._is_store(target)) and not any(
                    isinstance(a, ast.Starred) for a in args
                ):
                    made = hook("changed", _loaded(target), ast.Constant(method), *args)
                    made.keywords = options
                    return located(_stored(target, made), node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`x is None` and `x is not None`."""
        self.generic_visit(node)
        right = node.comparators[0]
        if (
            len(node.ops) != 1
            or not isinstance(node.ops[0], (ast.Is, ast.IsNot))
            or not isinstance(right, ast.Constant)
        ):
            return node
        made: ast.expr = hook("is_", node.left, right)
        if isinstance(node.ops[0], ast.IsNot):
            made = ast.UnaryOp(op=ast.Not(), operand=made)
        return located(made, node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        self.generic_visit(node)
        if node.exc is not None:
            node.exc = hook("raising", node.exc)
        return located(node, node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        error = ast.Call(
            func=ast.Name(id="AssertionError", ctx=ast.Load()),
            args=[node.msg] if node.msg is not None else [],
            keywords=[],
        )
        test = ast.UnaryOp(op=ast.Not(), operand=node.test)
        check = ast.If(test=test, body=[ast.Raise(exc=error, cause=None)], orelse=[])
        made: ast.AST = self.visit(located(check, node))
        return made

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if len(node.targets) != 1 or not (self._is_store(node.targets[0]) or _is_nested(node.targets[0])):
            return self.generic_visit(node)
        stored = _stored if self._is_store(node.targets[0]) else _stored_nested
        self.generic_visit(node)
        return located(stored(node.targets[0], node.value), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not (self._is_store(node.target) or _is_nested(node.target)):
            return self.generic_visit(node)
        stored = _stored if self._is_store(node.target) else _stored_nested
        self.generic_visit(node)
        value = ast.BinOp(left=_loaded(node.target), op=node.op, right=node.value)
        return located(stored(node.target, value), node)

    def _is_store(self, target: ast.expr) -> TypeGuard[ast.Subscript]:
        if not isinstance(target, ast.Subscript):
            return False
        base = target.value
        while isinstance(base, ast.Subscript):
            base = base.value
        return self._is_local(base)

    def _is_local(self, target: ast.expr) -> TypeGuard[ast.Name]:
        return isinstance(target, ast.Name) and bool(self.locals) and target.id in self.locals[-1]


#: How an operator is written.
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**",
}  # fmt: skip


class _Lazy(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr not in ("shape", "size") or not isinstance(node.ctx, ast.Load):
            return node
        return located(hook("sized", node.value, ast.Constant(node.attr)), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`items[k]`, where k may be a number that only the run tells."""
        self.generic_visit(node)
        place = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
        if not isinstance(node.ctx, ast.Load) or isinstance(place, (ast.Constant, ast.Slice, ast.Tuple, ast.List)):
            return node
        return located(hook("item_at", node.value, node.slice), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        self.generic_visit(node)
        return _comprehended(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        self.generic_visit(node)
        return _comprehended(node)

    def visit_List(self, node: ast.List) -> ast.AST:
        """`[*items, x]`"""
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or not any(isinstance(x, ast.Starred) for x in node.elts):
            return node
        parts = [x.value if isinstance(x, ast.Starred) else ast.List([x], ast.Load()) for x in node.elts]
        return located(hook("displayed", *parts), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        text = ast.unparse(_Written().visit(copy.deepcopy(node.test)))
        self.generic_visit(node)
        made = hook("if_exp", node.test, later(node.body), later(node.orelse), ast.Constant(text))
        return located(made, node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """`a * b` of what may be a float and a size."""
        self.generic_visit(node)
        sign = _ARITHMETIC.get(type(node.op))
        if sign is None or not _asks_right(node.left, node.right):
            return node
        return located(hook("arithmetic", ast.Constant(sign), node.left, node.right), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        made = node.values[-1]
        for operand in reversed(node.values[:-1]):
            made = hook("and_" if isinstance(node.op, ast.And) else "or_", later(operand), later(made))
        return located(made, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return located(hook("not_", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            if not isinstance(node.ops[0], (ast.In, ast.NotIn)):
                sign, right = _SIGNS[type(node.ops[0])], node.comparators[0]
                if isinstance(node.ops[0], (ast.Is, ast.IsNot)) or not _asks_right(node.left, right):
                    return node
                return located(hook("arithmetic", ast.Constant(sign), node.left, right), node)
            made = hook("in_", node.left, node.comparators[0])
            return located(hook("not_", made) if isinstance(node.ops[0], ast.NotIn) else made, node)
        links = [
            ast.Tuple([ast.Constant(_SIGNS[type(sign)]), later(operand)], ast.Load())
            for sign, operand in zip(node.ops, node.comparators, strict=True)
        ]
        return located(hook("chained", node.left, *links), node)


class _Written(ast.NodeTransformer):
    """Gives calls the form back that they had before malt."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="ag__"), attr="converted_call"), args=[called, given, named, *_]
            ):
                args: list[ast.expr] = given.elts if isinstance(given, ast.Tuple) else [ast.Starred(given)]
                return ast.Call(called, args, named.keywords if isinstance(named, ast.Call) else [])
            case ast.Call(func=ast.Attribute(value=ast.Name(id="ag__"), attr="truth"), args=[operand]):
                return operand
        return node


def _asks_right(left: ast.expr, right: ast.expr) -> bool:
    """Whether an operand may be a float, which would not ask the one on its right, and that one a size."""
    is_float = not isinstance(left, ast.Constant) or isinstance(left.value, float)
    return is_float and not isinstance(right, (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.JoinedStr))


def hook(name: str, *args: ast.expr) -> ast.Call:
    """A call of one of the functions that converted code has."""
    function = ast.Attribute(value=ast.Name(id="ag__", ctx=ast.Load()), attr=name, ctx=ast.Load())
    return ast.Call(func=function, args=list(args), keywords=[])


def later(expression: ast.expr) -> ast.Lambda:
    """An expression that is computed when it is called."""
    return ast.Lambda(args=_arguments([]), body=expression)


def _comprehended(node: ast.ListComp | ast.GeneratorExp) -> ast.AST:
    """A comprehension as a call, which is told what it goes over, and how an element is computed."""
    if not all(map(_names, node.generators)) or any(isinstance(n, ast.NamedExpr) for n in ast.walk(node)):
        return node
    return located(_over(node, 0), node)


def _over(node: ast.ListComp | ast.GeneratorExp, level: int) -> ast.Call:
    """What a comprehension makes from one of its `for` on: of several the first goes over the lists that the others make."""
    (part, *others), items = node.generators[level:], "items_"
    own = ast.ListComp(elt=node.elt, generators=node.generators[level:]) if level else node
    own = copy.deepcopy(own)
    own.generators[0].iter = ast.Name(id=items, ctx=ast.Load())
    plain, test, names = ast.Lambda(args=_arguments([items]), body=own), _all(part.ifs), _names(part)
    keep = ast.Constant(None) if test is None else _of(names, part.target, test)
    element = _of(names, part.target, _over(node, level + 1) if others else node.elt)
    if not others:
        return hook("comprehended", part.iter, plain, element, keep)
    return hook("nested", part.iter, plain, element, keep, ast.Constant(isinstance(own, ast.GeneratorExp)))


def _names(part: ast.comprehension) -> list[Any]:
    """The names that stand for an item; none where it is taken apart in another way."""
    names = [part.target] if isinstance(part.target, ast.Name) else getattr(part.target, "elts", [])
    return [] if part.is_async or not all(isinstance(n, ast.Name) for n in names) else names


def _all(tests: list[ast.expr]) -> ast.expr | None:
    made = None
    for test in reversed(tests):
        made = test if made is None else hook("and_", later(test), later(made))
    return made


def _of(names: list[Any], target: ast.expr, value: ast.expr) -> ast.Lambda:
    """An expression as a function of an item, which these names stand for."""
    ids = [n.id for n in names]
    if isinstance(target, ast.Name):
        return ast.Lambda(args=_arguments(ids), body=value)
    item = ast.Starred(ast.Name(id="item_", ctx=ast.Load()), ctx=ast.Load())
    parts = ast.Call(func=ast.Lambda(args=_arguments(ids), body=value), args=[item], keywords=[])
    return ast.Lambda(args=_arguments(["item_"]), body=parts)


def _arguments(names: list[str]) -> ast.arguments:
    args = [ast.arg(arg=n) for n in names]
    return ast.arguments(posonlyargs=[], args=args, kwonlyargs=[], kw_defaults=[], defaults=[])


def _tested(test: ast.expr) -> ast.expr:
    """A test, with the operands of `and` and `or` as truth values, of which `and` of two flags is an op."""
    if isinstance(test, ast.BoolOp):
        test.values = [_tested(v) if isinstance(v, ast.BoolOp) else _truth(v) for v in test.values]
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test.operand = _tested(test.operand)
    return test


def _truth(operand: ast.expr) -> ast.expr:
    if isinstance(operand, (ast.Compare, ast.Constant)):
        return operand
    if isinstance(operand, ast.UnaryOp) and isinstance(operand.op, ast.Not):
        return _tested(operand)
    return located(hook("truth", operand), operand)


def _local_names(function: ast.FunctionDef) -> set[str]:
    """The parameters of a function and the names it assigns, without those of functions inside it."""
    names = {a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    outer: set[str] = set()
    stack: list[ast.AST] = [*function.body]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            outer.update(node.names)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        stack += ast.iter_child_nodes(node)
    return names - outer


def read(*values: Any) -> None:
    """What is given is read."""


def _stored(target: ast.expr, value: ast.expr) -> ast.Assign:
    """The assignment to a name, or to that under a chain of subscripts."""
    if isinstance(target, ast.Subscript):
        return _stored(target.value, hook("set_item", _loaded(target.value), _index(target.slice), value))
    assert isinstance(target, ast.Name)
    return ast.Assign(targets=[ast.Name(id=target.id, ctx=ast.Store())], value=value, type_comment=None)


def _is_nested(target: ast.expr) -> TypeGuard[ast.Subscript]:
    return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Subscript)


def _stored_nested(target: ast.Subscript, value: ast.expr) -> ast.Expr:
    """The write to an item of an item of what is no local name."""
    base: ast.expr = target
    indices: list[ast.expr] = []
    while isinstance(base, ast.Subscript):
        indices = [_index(base.slice), *indices]
        base = base.value
    return ast.Expr(value=hook("set_nested", _loaded(base), ast.Tuple(elts=indices, ctx=ast.Load()), value))


def _loaded(target: ast.expr) -> ast.expr:
    """The same target, as an expression that reads it."""
    if isinstance(target, ast.Subscript):
        # A copy: malt notes on each node what it finds out about it.
        return ast.Subscript(value=_loaded(target.value), slice=copy.deepcopy(target.slice), ctx=ast.Load())
    return ast.Name(id=target.id, ctx=ast.Load()) if isinstance(target, ast.Name) else copy.deepcopy(target)


def _index(index: ast.expr) -> ast.expr:
    """An index as an expression: slices become calls of `slice`."""
    if isinstance(index, ast.Tuple):
        return ast.Tuple(elts=[_index(i) for i in index.elts], ctx=ast.Load())
    if isinstance(index, ast.Slice):
        bounds = [b if b is not None else ast.Constant(value=None) for b in (index.lower, index.upper, index.step)]
        return ast.Call(func=ast.Name(id="slice", ctx=ast.Load()), args=bounds, keywords=[])
    return index


def located(made: Node, origin: ast.AST) -> Node:
    """`made` with the place in the source that `origin` has."""
    from malt.pyct import anno  # It is there by now: malt calls this.

    for node in ast.walk(made):
        if anno.hasanno(origin, anno.Basic.ORIGIN) and not anno.hasanno(node, anno.Basic.ORIGIN):
            anno.copyanno(origin, node, anno.Basic.ORIGIN)
    return ast.fix_missing_locations(ast.copy_location(made, origin))
