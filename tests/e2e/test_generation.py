"""Text made token by token with kept keys and values is the text that the whole network would make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor
from graphc.examples.gpt import GPT, Generate, Sizes

SIZES = Sizes(vocabulary=11, layers=2, heads=2, width=16, context=12)


@pytest.fixture(scope="module")
def network() -> GPT:
    graphc.set_seed(3)
    made = GPT(SIZES).set_train(False)
    rng = np.random.default_rng(0)
    for p in made.get_parameters():  # Far enough from the beginning that tokens differ.
        p.set_data(p.asnumpy() + rng.normal(scale=0.3, size=p.shape).astype(np.float32))
    return made


def beginnings(batch: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(batch).integers(0, SIZES.vocabulary, (batch, SIZES.context)).astype(np.int32)


def numbers(*values: int) -> tuple[Tensor, ...]:
    return tuple(Tensor(v, graphc.int32) for v in values)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch", [1, 3])
def test_greedy_text_is_that_of_the_whole_network(network: GPT, batch: int, threads: int) -> None:
    given = beginnings(batch)
    with graphc.debug(threads=threads, canary=threads == 2):
        step = graphc.compile(Generate(network).set_train(False), given, *numbers(3, 12))
        whole = graphc.compile(network, given)
        for known, length in ((3, 12), (1, 12), (5, 9), (12, 12)):
            wanted = given.copy()
            for place in range(known, length):
                wanted[:, place] = whole(wanted).asnumpy()[:, place - 1].argmax(-1)
            assert step(given, *numbers(known, length)).asnumpy().tolist() == wanted.tolist()


def test_drawn_tokens_are_among_the_most_probable(network: GPT) -> None:
    given = beginnings(2)
    step = graphc.compile(Generate(network, top=3, temperature=2.0).set_train(False), given, *numbers(2, 12))
    texts = [step(given, *numbers(2, 12)).asnumpy() for _ in range(5)]
    assert len({text.tobytes() for text in texts}) == 5
    whole = graphc.compile(network, given)
    for text in texts:
        assert (text[:, :2] == given[:, :2]).all()
        best = whole(text).asnumpy().argsort(-1)[..., -3:]
        assert all(text[b, k + 1] in best[b, k] for b in range(2) for k in range(1, 11))


def test_rows_are_written_where_the_cache_lies(network: GPT) -> None:
    step = graphc.compile(Generate(network).set_train(False), beginnings(1), *numbers(3, 12))
    text = step.rewrites[-1][1]
    loop = text[text.index("while ") :]
    assert loop.count("in_place=True") == 2 * SIZES.layers
    cache = SIZES.context * SIZES.width
    assert f"for [{cache}]" not in loop, "no cache is copied from turn to turn"
