"""What MindSpore's mint.distributed gives the first of two processes on a CPU, for tests/parallel/eager.py.

Run with MindSpore's Python in PATH, in an empty folder:
msrun --worker_num=2 --local_worker_num=2 --join=True ms_distributed.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

import mindspore
import mindspore.mint.distributed as dist
import numpy as np
from mindspore import Tensor
from mindspore.communication import init

DTYPES = ("float32", "float16", "bfloat16", "int8", "int32", "int64")
OPS = ("sum", "prod", "max", "min", "avg")


def given(rank: int, dtype: str, first: float = 0) -> Tensor:
    numbers = np.array([[3, -7, 2], [5, 1, -4]], np.float32) + 3 * rank + first
    return Tensor(numbers).astype(getattr(mindspore, dtype))


def shown(x: Tensor) -> list[Any]:
    return [str(x.dtype), x.astype(mindspore.float32).asnumpy().tolist()]


def main(output: str) -> None:
    mindspore.set_device("CPU")
    init("mccl")
    rank = dist.get_rank()
    pair = dist.new_group([1, 0], backend="mccl")
    found: dict[str, Any] = {}
    for dtype in DTYPES:
        for op in OPS:
            x = given(rank, dtype)
            found[f"all_reduce {op} {dtype}"] = [dist.all_reduce(x, op, pair), shown(x)]
        x = given(rank, dtype)
        found[f"broadcast {dtype}"] = [dist.broadcast(x, 1, pair), shown(x)]
        outs = [given(9, dtype), given(9, dtype)]
        found[f"all_gather {dtype}"] = [dist.all_gather(outs, given(rank, dtype), pair), [shown(o) for o in outs]]
        found[f"gather {dtype}"] = [dist.gather(given(rank, dtype), outs, 0, pair), [shown(o) for o in outs]]
        sent = [given(rank, dtype, first) for first in (10, 20)]
        found[f"scatter {dtype}"] = [dist.scatter(x, sent, 1, pair), shown(x)]
    found["groups"] = [
        dist.get_rank(pair),
        dist.get_world_size(pair),
        dist.get_process_group_ranks(pair),
        dist.get_group_rank(pair, 1),
        dist.get_global_rank(pair, 1),
        dist.get_rank("none of them"),
        dist.get_world_size("none of them"),
    ]
    if rank == 0:
        with open(output, "w", encoding="utf-8") as file:
            file.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}")
            file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
