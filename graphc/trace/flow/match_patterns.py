"""Patterns of `match`, as tests, and as what they give names.

case [0, x, *rest]:    is_sequence(s, 2, True) and s[0] == 0           x = s[1]; rest = starred(s, 2, 0)
case {"k": v, **o}:    is_mapping(s, "k")                              v = s["k"]; o = rest_of(s, "k")
case P(0, y=b):        is_of(s, P, 1, "y") and part_of(s, P, 0) == 0   b = s.y
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from typing import Any

from graphc.trace.conversion.rewrite import hook

#: What always fits.
ALWAYS = ast.Constant(True)
#: Names, and what each is given.
Given = list[tuple[str, ast.expr]]
#: Of these a pattern in parentheses is one for the object itself.
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def fits(pattern: ast.pattern, subject: ast.expr) -> tuple[ast.expr, Given]:
    """What decides whether a pattern fits a subject, ALWAYS for what always does, and the names that it gives values."""
    match pattern:
        case ast.MatchValue(value=value):
            return ast.Compare(left=_again(subject), ops=[ast.Eq()], comparators=[value]), []
        case ast.MatchSingleton(value=value):
            return ast.Compare(left=_again(subject), ops=[ast.Is()], comparators=[ast.Constant(value)]), []
        case ast.MatchAs(pattern=inner, name=name):
            test, given = (ALWAYS, []) if inner is None else fits(inner, subject)
            return test, given if name is None else [*given, (name, _again(subject))]
        case ast.MatchOr(patterns=patterns):
            return _one_of([fits(p, subject) for p in patterns])
        case ast.MatchSequence(patterns=patterns):
            return _sequence(patterns, subject)
        case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
            items = [ast.Subscript(_again(subject), key, ast.Load()) for key in keys]
            last: Given = [] if rest is None else [(rest, hook("rest_of", _again(subject), *map(_again, keys)))]
            return _all(hook("is_mapping", _again(subject), *map(_again, keys)), patterns, items, last)
        case ast.MatchClass(cls=kind, patterns=positional, kwd_attrs=names, kwd_patterns=named):
            count = ast.Constant(len(positional))
            test = hook("is_of", _again(subject), kind, count, *map(ast.Constant, names))
            parts: list[ast.expr] = [
                hook("part_of", _again(subject), _again(kind), ast.Constant(i)) for i in range(len(positional))
            ]
            parts += [ast.Attribute(_again(subject), name, ast.Load()) for name in names]
            return _all(test, [*positional, *named], parts, [])
    raise AssertionError(f"Python has no such pattern: {ast.unparse(pattern)}")


def _sequence(patterns: list[ast.pattern], subject: ast.expr) -> tuple[ast.expr, Given]:
    star = next((i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)), None)
    behind = 0 if star is None else len(patterns) - star - 1
    inner: list[ast.pattern] = []
    parts: list[ast.expr] = []
    given: Given = []
    for i, pattern in enumerate(patterns):
        if isinstance(pattern, ast.MatchStar):
            if pattern.name is not None:
                given.append((pattern.name, hook("starred", _again(subject), ast.Constant(i), ast.Constant(behind))))
            continue
        inner.append(pattern)
        place: ast.expr = ast.Constant(i)
        if star is not None and i > star:
            place = ast.UnaryOp(ast.USub(), ast.Constant(len(patterns) - i))
        parts.append(ast.Subscript(_again(subject), place, ast.Load()))
    count, more = ast.Constant(len(inner)), ast.Constant(star is not None)
    return _all(hook("is_sequence", _again(subject), count, more), inner, parts, given)


def _all(
    test: ast.expr, patterns: list[ast.pattern], parts: Sequence[ast.expr], given: Given
) -> tuple[ast.expr, Given]:
    """That a test holds, and that then each pattern fits its part."""
    tests = [test]
    for pattern, part in zip(patterns, parts, strict=True):
        inner, names = fits(pattern, part)
        given = [*names, *given]
        if inner is not ALWAYS:
            tests.append(inner)
    return (test if len(tests) == 1 else ast.BoolOp(op=ast.And(), values=tests)), given


def _one_of(ways: list[tuple[ast.expr, Given]]) -> tuple[ast.expr, Given]:
    """Patterns of which the first that fits gives the names."""
    tests = [test for test, _ in ways]
    given = ways[-1][1]
    for test, names in reversed(ways[:-1]):
        mine = dict(names)
        given = [(name, ast.IfExp(_again(test), mine[name], value)) for name, value in given]
    return ALWAYS if ALWAYS in tests else ast.BoolOp(op=ast.Or(), values=tests), given


def _again(expression: ast.expr) -> ast.expr:
    """The same expression once more: malt notes on each node what it finds out about it."""
    return copy.deepcopy(expression)


class Named(ast.NodeTransformer):
    """A guard, which reads what the pattern gives names in the place of these."""

    def __init__(self, given: Given) -> None:
        self._given = dict(given)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return _again(self._given[node.id]) if node.id in self._given else node


# ---- what the tests call


def is_sequence(x: Any, count: int, more: bool) -> bool:
    """Whether a pattern of so many items, or more, fits the kind and length of x."""
    if not isinstance(x, Sequence) or isinstance(x, (str, bytes, bytearray)):
        return False
    return len(x) >= count if more else len(x) == count


def starred(x: Sequence[Any], before: int, behind: int) -> list[Any]:
    """The items of which `*rest` is the list."""
    return list(x[before : len(x) - behind])


def is_mapping(x: Any, *keys: Any) -> bool:
    """Whether x is a mapping with these keys."""
    return isinstance(x, Mapping) and all(k in x for k in keys)


def rest_of(x: Mapping[Any, Any], *keys: Any) -> dict[Any, Any]:
    """What `**rest` is: the items but for those of these keys."""
    return {k: v for k, v in x.items() if k not in keys}


def is_of(x: Any, kind: type, count: int, *names: str) -> bool:
    """Whether x is of a class, with the attributes of so many patterns by position, and these."""
    if not isinstance(x, kind):
        return False
    if count and kind not in _WHOLE:
        places = getattr(kind, "__match_args__", ())
        if count > len(places):
            raise TypeError(f"{kind.__name__}() accepts {len(places)} positional sub-patterns ({count} given)")
        names = (*places[:count], *names)
    return all(hasattr(x, n) for n in names)


def part_of(x: Any, kind: type, place: int) -> Any:
    """What the pattern at a place in the parentheses is for."""
    return x if kind in _WHOLE else getattr(x, kind.__match_args__[place])  # type: ignore[attr-defined]
