"""What each thread of a step has for itself: its context, of which kernels get the address, and scratch memory."""

from __future__ import annotations

#: Bytes of scratch memory per thread.
SCRATCH = 4096
#: The words of a thread's context, CONTEXT bytes in all. "table" must be the first.
WORDS = {
    "table": 0, "thread": 1, "barrier": 2, "scratch": 3, "pool": 4, "profile": 5, "patience": 6, "base": 7, "tickets": 8,
    "failure": 9, "interrupt": 10, "interrupted": 11, "links": 12, "loops": 13, "watch": 14,
}  # fmt: skip
CONTEXT = 128
#: What a profiling build counts of every call, by word: cycles that it waited for other threads and that it worked, how often it
#: ran, and the cycle counter when it last came.
COUNTED = {"waited": 0, "worked": 1, "calls": 2, "came": 3}
