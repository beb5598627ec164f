"""Queues of batches for a compiled step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import SignatureError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


def batches_of(queue: list[Array], plain: Sequence[tuple[Any, Any]] | None, name: str, types: Sequence[Any]) -> int:
    """How many batches a queue holds, if it fits a step; else SignatureError GC170.

    plain: dtype and shape of each input, None where the step takes more than tensors; name, types: of its graph and inputs.
    """
    steps = len(queue[0]) if queue and queue[0].ndim else 0
    fits = plain is not None and len(plain) == len(queue) > 0 and steps > 0
    if fits and all(
        q.dtype == dtype and q.shape == (steps, *shape) and q.flags.c_contiguous
        for q, (dtype, shape) in zip(queue, plain or (), strict=True)
    ):
        return steps
    held = [f"{q.dtype}{list(q.shape)}" for q in queue]
    raise SignatureError(
        f"a queue of batches does not fit this step of {name}",
        loc=user_loc(),
        details=[f"compiled for {', '.join(map(str, types))}", f"the queue holds {', '.join(held)}"],
        help="every input needs a C-contiguous array (steps, *its shape) of its dtype",
    )
