"""`python -m tests.fuzz --count 20000`: random programs, run in every way; what fails is shrunk and printed."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.compare import check
from tests.fuzz.program import Program, generate
from tests.fuzz.shrink import shrink


def failure(program: Program, cache: Path | None = None) -> str | None:
    """What is wrong with a program, or None."""
    try:
        check(program, cache)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--steps", type=int, default=8, help="at most so many steps each")
    options = parser.parse_args()
    failed, start = 0, time.monotonic()
    for seed in range(options.seed, options.seed + options.count):
        with tempfile.TemporaryDirectory() as folder:
            wrong = failure(generate(seed, options.steps), Path(folder))
        if wrong is not None:
            failed += 1
            smallest = shrink(generate(seed, options.steps), lambda p: failure(p) is not None)
            print(f"seed {seed}: {wrong}\n{smallest}\n-> {failure(smallest)}\n", flush=True)
        done = seed - options.seed + 1
        if done % 100 == 0:
            print(f"{done} programs, {failed} failed, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    print(f"{options.count} programs, {failed} failed")
    return min(failed, 1)


sys.exit(main())
