"""Functions of tensors and masks, and what is asked of those that choose by masks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn
from graphc.errors import GraphcError
from graphc.ops.tensor.tree import tensors
from tests.e2e.changing import close

Function = Callable[..., Any]


class Net(nn.Cell):
    def __init__(self, body: Function) -> None:
        super().__init__()
        self.body = body

    def construct(self, *inputs: Any) -> Any:
        return self.body(*inputs)


def floats(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


def masks(shape: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    """None, all, some, one."""
    some, one = np.random.default_rng(3).random(shape) > 0.5, np.zeros(shape, bool)
    one[tuple(n // 2 for n in shape)] = True
    return [np.zeros(shape, bool), np.ones(shape, bool), some, one]


def of_both(body: Function) -> Function:
    """What a function gives, with the gradient of a sum of it if it has one."""

    def loss(x: Any, m: Any) -> Any:
        return sum((y * y).sum() for y in tensors(body(x, m)) if y.tensor_type.is_float)

    def both(x: Any, m: Any) -> Any:
        made = body(x, m)
        if not any(y.tensor_type.dtype == "float32" for y in tensors(made)):
            return made
        return made, graphc.grad(loss, 0)(x, m)

    return both


def agrees(body: Function, x: np.ndarray[Any, Any], chosen: list[np.ndarray[Any, Any]]) -> None:
    """A compiled step beside eager calls, one step for all masks."""
    both = of_both(body)
    step = graphc.compile(Net(both), x, chosen[0])
    for mask in chosen:
        close(step(x, mask), both(Tensor(x), Tensor(mask)))


def does_or_raises(body: Function, errors: tuple[type[Exception], ...], said: slice) -> None:
    """A compiled step beside eager calls, for none of six rows up to all of them: what it gives, or that it raises one of these
    errors, with the same part of the first line of its message.
    """
    x, order = floats(6, 4), np.random.default_rng(1)
    step = graphc.compile(Net(body), x, np.ones(6, bool))
    for count in range(7):
        mask = order.permutation(np.arange(6) < count)
        try:
            wanted = body(Tensor(x), Tensor(mask))
        except errors as error:
            with pytest.raises(type(error), match=re.escape(str(error).splitlines()[0][said])):
                step(x, mask)
        else:
            close(step(x, mask), wanted)


def refused(compiled: Callable[[], Any], file: str, kind: type[GraphcError], why: str) -> None:
    """What is compiled there is refused, at a line of this file."""
    with pytest.raises(kind, match=why) as caught:
        compiled()
    assert caught.value.loc is not None
    assert caught.value.loc.file.endswith(file)
