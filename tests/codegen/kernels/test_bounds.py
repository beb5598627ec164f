"""Indices that must lie in range, in programs made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc_codegen import OutOfRange, compile_program
from graphc_codegen.program import Buffer, Call, NamedKernel, Program
from tests.codegen.programs import add


def program(count, dtype, negative, ignored, threads):
    """places = in_bounds(indices, size); w = x + 1, which must stay as it is where one is out of range."""
    params = {"count": count, "dtype": dtype, "ignored": ignored, "negative": negative}
    buffers = (
        Buffer(0, dtype, (count,), "input", 0),
        Buffer(1, dtype, (), "input", 1),
        Buffer(2, dtype, (count,), "param", 0),
        Buffer(3, "float32", (4,), "input", 2),
        Buffer(4, "float32", (4,), "param", 1),
    )
    body = (
        Call(NamedKernel("in_bounds", tuple(sorted(params.items()))), (0, 1, 2), "n1"),
        Call(replace(add(4, 1.0), threads=threads), (3, 4), "n2", wait=threads > 1),
    )
    return Program("p", buffers, body, 64, threads=threads)


@settings(max_examples=60, deadline=None)
@given(
    count=st.one_of(st.integers(1, 40), st.sampled_from([63, 64, 65, 257])), dtype=st.sampled_from(["int32", "int64"]),
    size=st.integers(0, 9), negative=st.booleans(), ignored=st.sampled_from([None, -100, 3]), wrong=st.integers(0, 2),
    seed=st.integers(0, 99), threads=st.sampled_from([1, 2]), checked=st.booleans(),
)  # fmt: skip
def test_in_bounds(count, dtype, size, negative, ignored, wrong, seed, threads, checked):
    rng = np.random.default_rng(seed)
    least = -size if negative else 0
    indices = rng.integers(least, size, count).astype(dtype) if size else np.full(count, -100, dtype)
    if ignored is not None:
        indices[rng.random(count) < 0.2] = ignored
    at = np.sort(rng.choice(count, min(wrong, count), replace=False))
    indices[at] = rng.choice([size, least - 1, 1 << 30, -(1 << 31)], len(at))
    bad = ((indices < least) | (indices >= size)) & (indices != ignored if ignored is not None else True)
    places, w = np.full(count, 77, dtype), np.zeros(4, np.float32)
    made = compile_program(program(count, dtype, negative, ignored, threads), cache_dir=None, checked=checked)
    step, x = made.bind([places, w], []), np.ones(4, np.float32)
    for _ in range(2):
        if not bad.any():
            step.run([indices, np.array(size, dtype), x])
            kept = indices == ignored if ignored is not None else np.zeros(count, bool)
            below = negative & (indices < 0) & ~kept
            np.testing.assert_array_equal(places, np.where(below, indices + size, indices))
            assert (w == 2).all()
            continue
        with pytest.raises(OutOfRange) as caught:
            step.run([indices, np.array(size, dtype), x])
        assert (caught.value.index, caught.value.size, caught.value.note) == (indices[bad][0], size, "n1")
        assert (w == 0).all()
