"""Places of what is true against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import run_all, run_kernel


@settings(max_examples=40, deadline=None)
@given(
    size=st.integers(1, 300), more=st.integers(0, 9), share=st.sampled_from([0, 0.01, 0.5, 1]), seed=st.integers(0, 99)
)
def test_nonzero(size: int, more: int, share: float, seed: int) -> None:
    mask = np.random.default_rng(seed).random(size) < share
    found = np.flatnonzero(mask)
    want = np.concatenate([found, np.full(size + more - found.size, found[-1] if found.size else -1)])
    for where, (places, count, ranks) in run_all("nonzero", {"size": size, "room": size + more}, mask).items():
        np.testing.assert_array_equal(places, want, err_msg=where)
        np.testing.assert_array_equal(count, [found.size], err_msg=where)
        np.testing.assert_array_equal(ranks, np.cumsum(mask) - mask, err_msg=where)


def test_there_must_be_room_for_all() -> None:
    with pytest.raises(ValueError, match="room for 4 places of 5 elements"):
        run_kernel("nonzero", {"size": 5, "room": 4}, np.ones(5, bool))
