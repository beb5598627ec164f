"""Arrays in another machine's byte order are the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops


class Scale(nn.Cell):
    def __init__(self, factor: Any) -> None:
        super().__init__()
        self.factor = factor

    def construct(self, x: Any) -> Any:
        return x * Tensor(self.factor) + self.factor


@pytest.mark.parametrize("order", [">", "<", "="])
@pytest.mark.parametrize("kind", ["i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8"])
def test_every_way_in(order: str, kind: str) -> None:
    given, want = np.arange(3).astype(order + kind), np.arange(3).astype("=" + kind)
    step = graphc.compile(nn.ReLU(), want)
    made = [
        step(given),
        nn.ReLU()(given),
        graphc.jit(lambda x: x)(given),
        Tensor(given),
        Parameter(given),
        Parameter(np.zeros(3, want.dtype)).set_data(given),
        ops.relu(Tensor(given)),
        Tensor(want) + given * 0,
    ]
    for tensor in made:
        assert tensor.asnumpy().dtype == want.dtype
        assert tensor.asnumpy().tolist() == want.tolist()
    assert Scale(given)(Tensor(want)).asnumpy().tolist() == (want * want + want).tolist()


def test_numbers_of_another_order() -> None:
    number = np.frombuffer(np.array(2.5, ">f4").tobytes(), ">f4")[0]
    assert Tensor(number).asnumpy() == ops.relu(Tensor([1.0]) * number).asnumpy()[0] == 2.5
