"""Sources and functions of data sets that worker processes can import."""

from __future__ import annotations

import os
import signal
import time

import numpy as np

import graphc.dataset as ds


class Samples:
    """Sample i is an array full of i, and i."""

    def __init__(self, count=60, bad=None, killer=None, slow=0.0):
        self.count, self.bad, self.killer, self.slow = count, bad, killer, slow

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        time.sleep(self.slow)
        if i == self.bad:
            raise KeyError("no such sample")
        if i == self.killer:
            os.kill(os.getpid(), signal.SIGKILL)
        return np.full((3, 2), i, np.float32), i


class Growing(Samples):
    """Sample i has i + 1 elements."""

    def __getitem__(self, i):
        return np.arange(i + 1), str(i)


def noisy(x):
    return x + ds.rng().random()


def fail_at_seven(x):
    if x[0, 0] == 7:
        raise ValueError("seven")
    return x


def total(xs, ys, info):
    return np.stack(xs) + info.get_batch_num(), np.array(ys)


def numbers():
    for i in range(20):
        yield np.array([i, -i]), i
