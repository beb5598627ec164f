"""The cost model: how long calls take, roughly, and from that how many threads a step is worth.

The figures are for one core with wide vectors; only their ratios matter. They were read off profiling builds (GRAPHC_PROFILE=1)
of the networks in tests/bench.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from graphc_codegen.program import SCALAR_OPS, ChainKernel, Instr, Kernel, LoopKernel, divisible, facts

#: Nanoseconds: of an addition per element, of an operand per element, of a multiply-add in a matrix product or convolution,
#: of an operand's element in any other named kernel, of a pixel that Winograd's convolution transforms.
_ADD, _TOUCH, _MULTIPLY_ADD, _ELEMENT, _TRANSFORM = 0.02, 0.04, 0.02, 0.3, 0.25
#: Nanoseconds that a kernel shared by threads costs for their meeting: a constant, and more for each thread.
_MEET, _MEET_EACH = 300.0, 60.0
#: Nanoseconds to hand a step to the other threads and to wait for their end.
_DISPATCH = 6000.0
#: Nanoseconds that a line of the cache took from one processor to another where these figures were read off.
NEAR = 100.0
#: What a kernel touches costs a line's way, beyond that, once in so many bytes: a part of it is another thread's, and many lines
#: are under way at once. From steps that took 1.5 to 2.2 times as long on the same machine when its processors were 370 ns apart;
#: where the gain is in doubt, one thread is taken.
_CROSSING = 64 * 96


def weight(kernel: LoopKernel) -> int:
    """What one turn of a loop costs, in additions."""
    return price(kernel.body)


def price(body: Sequence[Instr]) -> int:
    """What instructions cost, in additions."""
    return sum(SCALAR_OPS[i.op].weight for i in body)


def nanoseconds(kernel: Kernel, sizes: Sequence[int]) -> float:
    """The estimated time of a call on one thread; `sizes` are its operands' numbers of elements."""
    if isinstance(kernel, LoopKernel):
        return math.prod(kernel.domain) * (_ADD * weight(kernel) * kernel.times + _TOUCH * len(sizes))
    if isinstance(kernel, ChainKernel):
        return sum(nanoseconds(k, places) for k, places in zip(kernel.loops, kernel.places, strict=True))
    work = facts(kernel).work
    if work is None:
        return _ELEMENT * sum(sizes)
    done = work(dict(kernel.params))
    return _MULTIPLY_ADD * done.products + _TRANSFORM * done.transformed


class Cost(NamedTuple):
    """A call: nanoseconds on one thread, the bytes of its operands, and how often it runs."""

    kernel: Kernel
    alone: float
    nbytes: int
    times: int


def stepped(distance: float) -> float:
    """NEAR up to 2.8 times that, else four times, sixteen times and so on, each up to 2.8 times itself: two runs that measure a
    little differently, or one on a busy machine that cannot measure, should not make two programs.
    """
    return NEAR * 4.0 ** max(0, math.floor(math.log(distance / NEAR, 4) + 0.25))


def _meeting(threads: int, distance: float) -> float:
    """It is made of words that go from one processor to another."""
    return (_MEET + _MEET_EACH * threads) * distance / NEAR


def is_shared(kernel: Kernel, alone: float, threads: int, distance: float = NEAR) -> bool:
    """Whether `threads` on processors so many nanoseconds apart do a call faster than one, which needs `alone` nanoseconds."""
    return divisible(kernel) and alone - alone / threads > _meeting(threads, distance)


def best_threads(calls: Sequence[Cost], most: int, distance: float = NEAR) -> int:
    """The number of threads up to `most`, on processors so many nanoseconds apart, with the least estimated time."""

    def time(threads: int) -> float:
        total = _DISPATCH if threads > 1 else 0.0
        for kernel, alone, nbytes, times in calls:
            shared = threads > 1 and is_shared(kernel, alone, threads, distance)
            crossing = (distance - NEAR) * nbytes / _CROSSING
            total += times * (alone / threads + _meeting(threads, distance) + crossing if shared else alone)
        return total

    return min(range(1, max(most, 1) + 1), key=time)
