"""How long connectionist temporal classification takes: python tests/bench/ctc.py T,N,S,C ... [--torch]

Processor time of the first call and the least of further ones, of the loss of a log_softmax and its gradient. With --torch, where
that is installed, torch's on one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="+", metavar="T,N,S,C")
    parser.add_argument("--torch", action="store_true")
    args = parser.parse_args()
    for sizes in args.sizes:
        steps, n, labels, classes = map(int, sizes.split(","))
        rng = np.random.default_rng(0)
        x = rng.normal(size=(steps, n, classes)).astype(np.float32)
        targets = rng.integers(1, classes, (n, labels)).astype(np.int32)
        wanted = rng.integers(max(1, labels // 2), labels + 1, n).astype(np.int32)
        run = (torch_step if args.torch else step)(x, targets, np.full(n, steps, np.int32), wanted)
        first, *others = (taken(run) for _ in range(8))
        print(f"{sizes}: first call {first:.2f} s, then {1e3 * min(others):.2f} ms")
    return 0


def taken(run: Callable[[], Any]) -> float:
    """Processor seconds of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def step(*arrays: Any) -> Callable[[], Any]:
    """The loss and its gradient by graphc."""
    import graphc
    from graphc import Tensor, nn, ops

    class Loss(nn.Cell):  # type: ignore[misc]
        def construct(self, x: Tensor, targets: Tensor, given: Tensor, wanted: Tensor) -> Tensor:
            return ops.ctc_loss(ops.log_softmax(x, 2), targets, given, wanted)[0]

    both, tensors = graphc.value_and_grad(Loss()), [Tensor(a) for a in arrays]
    return lambda: both(*tensors)


def torch_step(*arrays: Any) -> Callable[[], Any]:
    """The same by torch."""
    import torch

    torch.set_num_threads(1)
    x, *others = (torch.tensor(a) for a in arrays)

    def run() -> Any:
        logits = x.clone().requires_grad_()
        loss = torch.nn.functional.ctc_loss(torch.log_softmax(logits, 2), *(t.long() for t in others))
        loss.backward()
        return logits.grad

    return run


if __name__ == "__main__":
    raise SystemExit(main())
