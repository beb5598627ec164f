"""The cost model: how long calls take, roughly, and from that how many threads a step is worth.

The figures are for one core with wide vectors; only their ratios matter. They were read off profiling builds (GRAPHC_PROFILE=1)
of the networks in tests/bench.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from graphc_codegen.program import SCALAR_OPS, ChainKernel, Instr, Kernel, LoopKernel, facts

#: Nanoseconds: of an addition per element, of an operand per element, of a multiply-add in a matrix product or convolution,
#: of an operand's element in any other named kernel, of a pixel that Winograd's convolution transforms.
_ADD, _TOUCH, _MULTIPLY_ADD, _ELEMENT, _TRANSFORM = 0.02, 0.04, 0.02, 0.3, 0.25
#: Nanoseconds of a meeting, a constant and more for each thread, and to hand a step to other threads and to wait for their end.
_MEET, _MEET_EACH, _DISPATCH = 300.0, 60.0, 6000.0
#: Nanoseconds that a line of the cache took from one processor to another where these figures were read off.
NEAR = 100.0
#: From so much slowing on, half way from 1 to 2, two processors are threads of one core; how many times as fast both compute as
#: one of them, and nanoseconds of a meeting, where each waits for what it takes from the other. From steps that took 0.46 to 2.2
#: times as long on two threads, on one core for some of the time, as on one (docs/performance.md, Emerald Rapids): of each the
#: shorter is chosen.
_ONE_CORE, _BOTH, _MEET_ON_ONE = 1.5, 1.25, 30_000.0
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
    """A call: nanoseconds on one thread, the bytes of its operands, and whether threads can share it."""

    alone: float
    nbytes: int
    divisible: bool


class Apart(NamedTuple):
    """How far two cores are from each other, as measured; None is not known, which counts as near and as cores of their own.

    nanoseconds     that a line of the cache takes from one to the other
    slowing         how many times as long arithmetic takes on one while the other computes, too: 2 where both are threads of one
                    core, as those of a small virtual machine often are, which does not tell
    """

    nanoseconds: float | None = None
    slowing: float | None = None

    @property
    def is_one_core(self) -> bool:
        return (self.slowing or 1.0) > _ONE_CORE

    @property
    def is_near(self) -> bool:
        """Whether the cost model takes them to be as near as any, and cores of their own."""
        return not self.is_one_core and stepped(self.nanoseconds or NEAR) == NEAR


NEARBY = Apart()


class Team(NamedTuple):
    """Threads that share the calls of a step: how many, how many times as fast as one they compute, nanoseconds of a meeting,
    nanoseconds more for each byte that a call touches, and nanoseconds to hand them a step and to wait for their end.
    """

    threads: int
    speed: float
    meeting: float
    crossing: float = 0.0
    dispatch: float = 0.0


def team(threads: int, most: int, apart: Apart) -> Team:
    """So many threads on a machine of `most` processors. Where two are threads of one core all others are, too; while there are
    cores for all threads, each has one.
    """
    cores = (most + 1) // 2 if apart.is_one_core else most
    distance = stepped(apart.nanoseconds or NEAR)
    # It is made of words that go from one processor to another.
    meeting = (_MEET + _MEET_EACH * threads) * distance / NEAR
    crossing = (distance - NEAR) / _CROSSING
    if threads <= cores:
        return Team(threads, threads, meeting, crossing, _DISPATCH)
    return Team(threads, cores + (_BOTH - 1.0) * (threads - cores), max(meeting, _MEET_ON_ONE), crossing, _DISPATCH)


def stepped(distance: float) -> float:
    """NEAR up to 2.8 times that, else four times, sixteen times and so on, each up to 2.8 times itself: two runs that measure a
    little differently, or one on a busy machine that cannot measure, should not make two programs.
    """
    return NEAR * 4.0 ** max(0, math.floor(math.log(distance / NEAR, 4) + 0.25))
