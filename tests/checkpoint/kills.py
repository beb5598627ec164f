"""Run as `python kills.py FILE COUNT SEED`: processes that save one generation after the other to a file are killed, and what is
there is read each time. Prints how many kills there were and how many of them left something half-written; fails where the file
is not one whole generation, or an older one than was there.

Each process is a fork of this one, which has imported everything: that takes a millisecond instead of half a second.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "codegen")]

import numpy as np  # noqa: E402

from graphc import Tensor, load_checkpoint, save_checkpoint  # noqa: E402

SIZES = (30_000, 1, 5_000)


def save(path: str, generation: int) -> None:
    tensors = {f"p{i}": Tensor(np.full(size, generation, np.int32)) for i, size in enumerate(SIZES)}
    save_checkpoint(tensors, path, append_dict={"text": str(generation)}, crc_check=True)


def generation_of(path: str) -> int:
    loaded = load_checkpoint(path, crc_check=True)
    found = {int(loaded["text"]), *(int(n) for i in range(len(SIZES)) for n in np.unique(loaded[f"p{i}"].asnumpy()))}
    (generation,) = found
    return generation


def main(path: str, count: int, seed: int) -> None:
    draw = random.Random(seed)
    save(path, 0)
    last = halves = 0
    for _ in range(count):
        child = os.fork()
        if child == 0:
            for generation in range(last + 1, last + 1_000_000):
                save(path, generation)
        time.sleep(draw.uniform(0.0, 0.006))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        now = generation_of(path)
        assert now >= last, (now, last)
        last = now
        halves += len(list(Path(path).parent.glob(".*.tmp")))
    save(path, last + 1)
    assert [p.name for p in Path(path).parent.iterdir()] == [Path(path).name]
    print(count, halves)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
