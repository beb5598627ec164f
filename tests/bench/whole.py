"""Whole programs side by side: seconds from `python script.py` to a trained model, imports and compilation included.

    python tests/bench/whole.py --peers torch=PYTHON,torch-compile=PYTHON,jax=PYTHON,mindspore=PYTHON

PYTHON is an interpreter in whose environment that peer is installed; graphc runs in this one. Three tasks:

digits    LeNet-5 on graphc's 1442 handwritten digits, 20 epochs of batches of 32
mnist     LeNet-5 on 60,000 images of MNIST's size and kind (the digits, moved and with noise), 1 epoch
gpt       nanoGPT's CPU setting on Python's language reference, to a mean loss of 1.9 over 50 steps

The LeNet scripts are those of docs/examples/side_by_side: MindSpore's is run by MindSpore, with and without sinking, and,
unchanged, by graphc. Every run is a process of its own with all threads. A cold run finds no object cache, a warm one that of
the run before; bytecode is there for everybody. Runs take turns; medians are printed as a Markdown table, everything measured
is written with --json FILE.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from processes import ROOT, environment, interpreters
from workloads import GPT

SCRIPTS = ROOT / "docs" / "examples" / "side_by_side"
EPOCHS = {"digits": 20, "mnist": 1}
LOSS = 1.9
TASKS = (*EPOCHS, "gpt")


def main() -> int:
    args = _parser().parse_args()
    pythons, left_out = interpreters(args.peers)
    for line in left_out:
        print(line, file=sys.stderr)
    measured: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for task in args.tasks.split(","):
            data = DATA[task](scratch)
            measured[task] = _rounds(dict(_programs(task, data, pythons)), scratch / task, args)
    print("\n".join(table(measured)))
    if args.json:
        Path(args.json).write_text(json.dumps(measured, indent=1))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default="", help="NAME=PYTHON,... of torch, torch-compile, jax, mindspore")
    parser.add_argument("--tasks", default=",".join(TASKS), help=f"some of {','.join(TASKS)}")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each program (default %(default)s)")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one run (default %(default)s)")
    parser.add_argument("--json", help="write every number here")
    return parser


def _programs(task: str, data: Path, pythons: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """(what it is called in the table, its command) of every program of a task."""
    for name, python in pythons.items():
        if task == "gpt":
            yield name, [python, str(ROOT / "tests" / "bench" / "train_gpt.py"), name, str(data), str(LOSS)]
            continue
        given = [str(data), "--epochs", str(EPOCHS[task])]
        script = str(SCRIPTS / f"lenet_{'mindspore' if name == 'graphc' else name.partition('-')[0]}.py")
        runner = [python, "-m", "graphc", "run", "--mindspore"] if name == "graphc" else [python]
        if name in ("graphc", "mindspore"):
            yield name, [*runner, script, *given]
            yield f"{name}, sunk", [*runner, script, *given, "--sink"]
        else:
            yield name, [*runner, script, *given, *(["--compile"] if name == "torch-compile" else [])]


def _rounds(programs: dict[str, list[str]], scratch: Path, args: argparse.Namespace) -> dict[str, list[float]]:
    """Seconds of every program by name and "cold" or "warm", for each round; what fails is left out from then on."""
    found: dict[str, list[float]] = {}
    for _ in range(args.rounds):
        for name, command in list(programs.items()):
            cache = scratch / name.replace(" ", "-")
            shutil.rmtree(cache, ignore_errors=True)
            try:
                found.setdefault(f"{name} cold", []).append(_seconds(command, cache, args.limit))
                if name.startswith("graphc"):
                    found.setdefault(f"{name} warm", []).append(_seconds(command, cache, args.limit))
            except (subprocess.SubprocessError, RuntimeError) as error:
                print(f"{name} left out: {error}", file=sys.stderr)
                del programs[name]
    return found


def _seconds(command: list[str], cache: Path, limit: float) -> float:
    """From the start of a process to its end. RuntimeError with its last line when it fails."""
    variables = environment(str(cache), None)
    began = time.perf_counter()
    done = subprocess.run(command, env=variables, cwd=cache, capture_output=True, text=True, timeout=limit, check=False)
    seconds = time.perf_counter() - began
    said = (done.stdout + done.stderr).strip().splitlines()
    if done.returncode:
        raise RuntimeError(said[-1][:200] if said else "no message")
    print(
        f"{seconds:7.2f} s  {' '.join(map(os.path.basename, command))}: {said[-1][:100]}", file=sys.stderr, flush=True
    )
    return seconds


def table(measured: dict[str, dict[str, list[float]]]) -> list[str]:
    """A Markdown table: medians in seconds, and the ratio of graphc's cold run to the best peer's."""
    names = list(dict.fromkeys(name for found in measured.values() for name in found))
    lines = [f"| seconds | {' | '.join(names)} | graphc cold / best peer |", "|---|" + "---:|" * (len(names) + 1)]
    for task, found in measured.items():
        median = {name: statistics.median(times) for name, times in found.items() if times}
        peers = [m for name, m in median.items() if not name.startswith("graphc")]
        own = [m for name, m in median.items() if name.startswith("graphc") and name.endswith("cold")]
        ratio = f"{min(own) / min(peers):.2f}" if own and peers else ""
        cells = [f"{median[name]:.2f}" if name in median else "" for name in names]
        lines.append(f"| {task} | {' | '.join(cells)} | {ratio} |")
    return lines


# ---- data


def _digits(scratch: Path) -> Path:
    from graphc.dataset import load_digits

    path = scratch / "digits.npz"
    np.savez(path, **load_digits()._asdict())
    return path


def _mnist(scratch: Path) -> Path:
    """The digits, each moved by up to two pixels, darker or lighter, and with noise, in random order."""
    from graphc.dataset import load_digits

    digits, rng = load_digits(), np.random.default_rng(0)

    def varied(images: Any, labels: Any, count: int) -> tuple[Any, Any]:
        rows = rng.integers(0, len(images), count)
        made = np.empty((count, *images.shape[1:]), np.float32)
        which = rng.integers(0, 25, count)
        for i, moves in enumerate(np.ndindex(5, 5)):
            hit = which == i
            made[hit] = np.roll(images[rows[hit]], (moves[0] - 2, moves[1] - 2), (2, 3))
        left = rng.uniform(0.7, 1.0, (count, 1, 1, 1)).astype(np.float32)
        return made * left + rng.normal(0, 0.05, made.shape).astype(np.float32), labels[rows]

    train_images, train_labels = varied(digits.train_images, digits.train_labels, 60_000)
    test_images, test_labels = varied(digits.test_images, digits.test_labels, 10_000)
    path = scratch / "mnist.npz"
    np.savez(
        path, train_images=train_images, train_labels=train_labels, test_images=test_images, test_labels=test_labels
    )
    return path


def _text(scratch: Path) -> Path:
    """The language reference, its rarest characters as one."""
    from pydoc_data import topics

    text = "".join(topics.topics[name] for name in sorted(topics.topics))
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    kinds, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    order = np.argsort(-counts)
    number = np.empty(len(kinds), np.int32)
    number[order] = np.minimum(np.arange(len(kinds)), GPT.vocabulary - 1)
    path = scratch / "text.npy"
    np.save(path, number[places].astype(np.int32))
    return path


DATA: dict[str, Callable[[Path], Path]] = {"digits": _digits, "mnist": _mnist, "gpt": _text}

if __name__ == "__main__":
    sys.exit(main())
