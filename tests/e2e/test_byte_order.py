"""Arrays in another machine's byte order are the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
import graphc.dataset as ds
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


@pytest.mark.parametrize("order", [">", "<"])
def test_ways_out_of_a_data_set(order: str) -> None:
    given, want = np.arange(6).astype(order + "f4").reshape(3, 2), np.arange(6, dtype=np.float32).reshape(3, 2)
    rows = [(row,) for row in given]
    for source in (
        ds.NumpySlicesDataset({"x": given}, shuffle=False),
        ds.GeneratorDataset(rows, ["x"], shuffle=False),
        ds.GeneratorDataset(lambda: iter(rows), ["x"]),
        ds.NumpySlicesDataset({"x": want}, shuffle=False).map(lambda x: x.astype(order + "f4"), "x"),
    ):
        for dataset in (source, source.batch(1), source.batch(2)):
            found = [x for (x,) in dataset.create_tuple_iterator(num_epochs=1)]
            arrays = [x for (x,) in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]
            (block,) = dataset.create_tuple_iterator(num_epochs=1).blocks(steps=1)
            for x in (*[t.asnumpy() for t in found], *arrays, block):
                assert x.dtype == np.float32
                assert x.dtype.isnative
            computed = np.concatenate([ops.add(t, 0.0).asnumpy().reshape(-1, 2) for t in found])
            assert computed.tolist() == want.tolist()


def test_numbers_of_another_order() -> None:
    number = np.frombuffer(np.array(2.5, ">f4").tobytes(), ">f4")[0]
    assert Tensor(number).asnumpy() == ops.relu(Tensor([1.0]) * number).asnumpy()[0] == 2.5
