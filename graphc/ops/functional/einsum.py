"""Einstein's sum, by diagonals, sums and matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.diagonals import diagonal
from graphc.ops.functional.products import matmul
from graphc.ops.functional.reduce import reduce_sum
from graphc.ops.functional.shapes import reshape, transpose
from graphc.ops.tensor.tensor import Tensor

#: The name of an axis: a letter, or (k,) for the k-th axis from the end of what `...` stands for.
Label = str | tuple[int]


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Einstein's sum over named axes: "bij,bjk->bik". Compiled into matrix products.

    A letter that repeats within an operand takes the diagonal. `...` stands for the axes that have no letter, which are
    broadcast; so are axes of size 1. Without "->" the result has `...`, then the letters that occur once in alphabetical order.
    Also einsum(x, [0, 1], y, [1, 2], [0, 2]) with numbers from 0 to 51, and Ellipsis, for letters.
    """
    if isinstance(equation, str):
        tensors = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else list(operands)
        text = equation
    else:
        tensors, text = _of_lists([equation, *operands])
    terms, wanted = _parsed(text, tensors)
    sizes = _sizes(text, terms, tensors)
    parts = [_plain(term, x, sizes) for term, x in zip(terms, tensors, strict=True)]
    names, value = parts[0]
    for i, (other, x) in enumerate(parts[1:], 1):
        later = {c for more, _ in parts[i + 1 :] for c in more} | set(wanted)
        names, value = _contracted(
            *_summed(names, value, {*other, *later}), *_summed(other, x, {*names, *later}), later
        )
    names, value = _summed(names, value, set(wanted))
    order = tuple(names.index(c) for c in wanted)
    return value.value() if order == tuple(range(len(order))) else transpose(value, order)


def _of_lists(items: list[Any]) -> tuple[list[Tensor], str]:
    """Operands and equation from x, its list, y, its list, ..., the list of the result."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    def text(numbers: Any) -> str:
        if not isinstance(numbers, (tuple, list)) or any(
            n is not Ellipsis and not (isinstance(n, int) and 0 <= n < len(letters)) for n in numbers
        ):
            raise ArgumentTypeError(
                f"einsum: axes must be a list of numbers from 0 to 51 or Ellipsis, got {numbers!r}", loc=user_loc()
            )
        return "".join("..." if n is Ellipsis else letters[n] for n in numbers)

    pairs = len(items) // 2
    left = ",".join(text(items[2 * i + 1]) for i in range(pairs))
    return items[: 2 * pairs : 2], left + (f"->{text(items[-1])}" if len(items) % 2 else "")


def _refused(equation: str, tensors: Sequence[Any], why: str) -> ArgumentValueError:
    types = ", ".join(str(x.tensor_type) for x in tensors)
    return ArgumentValueError(f"einsum: {equation!r} does not fit operands {types}: {why}", loc=user_loc())


def _parsed(equation: str, tensors: list[Tensor]) -> tuple[list[list[Label]], list[Label]]:
    """The labels of each operand's axes, and those of the result."""
    for x in tensors:
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(f"einsum: operands must be Tensors, got {type(x).__name__}", loc=user_loc())
    left, arrow, right = equation.replace(" ", "").partition("->")
    texts = left.split(",")
    if len(texts) != len(tensors):
        raise _refused(equation, tensors, f"it names {len(texts)}")
    terms = [_labels(equation, text, x, tensors) for text, x in zip(texts, tensors, strict=True)]
    spread = max((sum(isinstance(c, tuple) for c in term) for term in terms), default=0)
    dots: list[Label] = [(k,) for k in reversed(range(spread))]
    if not arrow:
        every = [c for term in terms for c in term if isinstance(c, str)]
        return terms, [*dots, *sorted(c for c in set(every) if every.count(c) == 1)]
    before, dotted, behind = right.partition("...")
    wanted: list[Label] = [*before, *(dots if dotted else ()), *behind]
    known = {c for term in terms for c in term}
    for c in wanted:
        if c not in known or wanted.count(c) > 1:
            raise _refused(
                equation, tensors, f"the result has {c!r} {'twice' if c in known else 'that no operand has'}"
            )
    return terms, wanted


def _labels(equation: str, text: str, x: Tensor, tensors: list[Tensor]) -> list[Label]:
    before, dotted, behind = text.partition("...")
    if not all(c.isascii() and c.isalpha() for c in before + behind):
        raise _refused(equation, tensors, f"{text!r} has more than letters and one '...'")
    rest = x.ndim - len(before) - len(behind)
    if rest < 0 or (rest and not dotted):
        raise _refused(equation, tensors, f"{text!r} names {len(before + behind)} axes of {x.tensor_type}")
    return [*before, *((k,) for k in reversed(range(rest))), *behind]


def _sizes(equation: str, terms: list[list[Label]], tensors: list[Tensor]) -> dict[Label, int]:
    """The size of each axis. ShapeError where two that go by one name differ, and none is 1."""
    sizes: dict[Label, int] = {}
    for term, x in zip(terms, tensors, strict=True):
        for c, n in zip(term, x.shape, strict=True):
            if 1 not in (n, sizes.get(c, n)) and sizes.get(c, n) != n:
                types = ", ".join(str(t.tensor_type) for t in tensors)
                name = repr(c) if isinstance(c, str) else "an axis of '...'"
                raise ShapeError(f"einsum: {name} of {equation!r} is {sizes[c]} and {n} of {types}", loc=user_loc())
            sizes[c] = n if sizes.get(c, 1) == 1 else sizes[c]
    return sizes


def _plain(term: list[Label], x: Tensor, sizes: dict[Label, int]) -> tuple[list[Label], Tensor]:
    """An operand with each label once, and without axes of size 1 that are broadcast."""
    kept = [i for i, c in enumerate(term) if not (x.shape[i] == 1 and sizes[c] != 1)]
    if len(kept) < len(term):
        x, term = reshape(x, tuple(x.shape[i] for i in kept)), [term[i] for i in kept]
    names = list(term)
    while len(set(names)) < len(names):
        c = next(c for c in names if names.count(c) > 1)
        first = names.index(c)
        second = names.index(c, first + 1)
        x = diagonal(x, 0, first, second)
        names = [*(n for i, n in enumerate(names) if i not in (first, second)), c]
    return names, x


def _summed(names: list[Label], x: Tensor, needed: set[Label]) -> tuple[list[Label], Tensor]:
    """x summed over the axes that nothing else needs."""
    gone = tuple(k for k, c in enumerate(names) if c not in needed)
    return ([c for c in names if c in needed], reduce_sum(x, gone)) if gone else (names, x)


def _contracted(a: list[Label], x: Tensor, b: list[Label], y: Tensor, later: set[Label]) -> tuple[list[Label], Tensor]:
    """Two operands as one: a product of matrices per shared index that stays."""
    batch = [c for c in a if c in b and c in later]
    common = [c for c in a if c in b and c not in later]
    mine, yours = [c for c in a if c not in b], [c for c in b if c not in a]
    size = {**dict(zip(a, x.shape, strict=True)), **dict(zip(b, y.shape, strict=True))}

    def arranged(names: list[Label], value: Tensor, order: list[list[Label]]) -> Tensor:
        moved = transpose(value, tuple(names.index(c) for group in order for c in group))
        return reshape(moved, tuple(math.prod(size[c] for c in group) for group in order))

    product = matmul(arranged(a, x, [batch, mine, common]), arranged(b, y, [batch, common, yours]))
    names = [*batch, *mine, *yours]
    return names, reshape(product, tuple(size[c] for c in names))


__all__ = ["einsum"]
